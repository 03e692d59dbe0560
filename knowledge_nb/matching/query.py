"""The closed query language of `match`: from text to terms, without touching the store.

    QUERY  = TERM { white space TERM }
    TERM   = [ "-" ] [ "heading:" | "body:" ] ( WORD | "several words" )

A term without a minus must be in a document, a term with one must not. Nothing else is an
operator: what FTS5 or another tool would read as one (OR, AND, NOT, NEAR, a leading ``!``, ``^``
or ``~``, a trailing ``*``, grouping, other fields) is refused by name with a fix, because a query
that is answered as another question looks like an answer. Between double quotes (straight or
typographic) everything is text. A word that the index splits (``http://x``, ``std::vector``,
``12:30``, ``don't``) is the phrase of its parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from unicodedata import category

from knowledge_nb.matching.refusals import (
    refuse,
    refuse_field,
    refuse_group,
    refuse_leading,
    refuse_operator,
    refuse_prefix,
    refuse_star,
)
from knowledge_nb.text import has_unspaced, index_text, words

Scope = Literal["", "heading", "body"]

MAX_TERMS = 40
MAX_WORDS = 200  # in one term: each word past the first is one more look across chunk boundaries
MAX_CHARACTERS = 8_000  # in one term: FTS5 compares no more than 32,768 bytes of a token

TOO_SHORT = "under two characters"

_SCOPE = re.compile(r"(heading|body):")
_UNPRINTABLE = re.compile("[\0\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRAIGHT = '"\uff02'
_TYPOGRAPHIC = "“”„‟«»〝〞〟"
_QUOTES = _STRAIGHT + _TYPOGRAPHIC
_DASHES = "‐‑‒–—―−﹘﹣－"
_SIGNS = "#%&@/\\"  # with the symbols of Unicode but these: they tell `C++` from `c`, not `<c>`
_NO_SIGNS = "<>`^|=~\ufffd"
_AFTER_QUOTE = frozenset(".,;:!?)]}…")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a query.

    Attributes
    ----------
    text : str
        As typed, without minus, scope and quotes.
    words : tuple of str
        Its words in the form of `index_text`, never empty; several make a phrase, and so does
        one word of a script without spaces, whose clusters are set apart by spaces.
    scope : {"", "heading", "body"}
        Where it must be found; "" is either place.
    excluded : bool
        Whether it had a leading minus.
    quoted : bool
        Whether it stood between quotes.
    """

    text: str
    words: tuple[str, ...]
    scope: Scope = ""
    excluded: bool = False
    quoted: bool = False

    @property
    def indexed(self) -> str:
        """The text as the FTS5 tokenizers are given it."""
        return " ".join(self.words)

    @property
    def compiled(self) -> str:
        """The term in this language, quoted; parsing it again gives the same words."""
        shown = " ".join(word.replace(" ", "") for word in self.words)
        if _is_single(self.words):  # "C++" is searched as "c", but "c" would be dropped
            shown = " ".join(self.text.translate(_NO_QUOTE).split())
        return f'{"-" * self.excluded}{self.scope and self.scope + ":"}"{shown}"'


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query that the language accepts.

    Attributes
    ----------
    terms : tuple of Term
        In the order typed; empty when nothing can be searched.
    dropped : tuple of (str, str)
        Terms that are not searched, as typed with minus and scope, each with the reason.
    notes : tuple of str
        What a reader might not expect of how the terms were read.
    """

    terms: tuple[Term, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def left_out(self) -> str:
        """What is not searched, each with its reason, in one line; "" for nothing."""
        return ", ".join(f"`{text}` ({reason})" for text, reason in self.dropped)

    @property
    def compiled(self) -> str:
        """The terms in this language, every one quoted; "" for none."""
        return " ".join(term.compiled for term in self.terms)


_NO_QUOTE = {ord(mark): " " for mark in _QUOTES}


def _is_single(parts: tuple[str, ...]) -> bool:
    joined = "".join(parts)
    return len(joined) == 1 and not has_unspaced(joined)


def _is_sign(char: str) -> bool:
    return char in _SIGNS or (category(char)[0] == "S" and char not in _NO_SIGNS)


def printable(text: str) -> str:
    """Return a text that can be shown and stored: U+FFFD for NUL and for lone surrogates."""
    return _UNPRINTABLE.sub("\ufffd", text)


def _end_of_piece(text: str, start: int) -> int:
    end = start
    while end < len(text) and not text[end].isspace():
        end += 1
    return end


def _is_invisible(char: str) -> bool:
    """Whether a character shows and means nothing (a byte order mark before a minus)."""
    return char == "\u200b" or (not char.isascii() and index_text(char) == "")


class _Scanner:
    """One pass over a query, left to right."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.at = 0
        self.terms: list[Term] = []
        self.dropped: list[tuple[str, str]] = []
        self.split: list[str] = []
        self.signs: list[str] = []
        self.apostrophe = False
        self.single_quotes = False

    def run(self) -> ParsedQuery:
        query = self.query
        while True:
            while self.at < len(query) and (
                query[self.at].isspace() or _is_invisible(query[self.at])
            ):
                self.at += 1
            if self.at == len(query):
                break
            self._term()
        if len(self.terms) > MAX_TERMS:
            refuse(
                f"The query has {len(self.terms)} terms; at most {MAX_TERMS} are answered, and "
                "none is left out in silence. Ask in two queries and intersect their paths, or "
                "use `knowledge coverage` for a list of terms."
            )
        wanted = [term for term in self.terms if not term.excluded]
        if self.terms and not wanted and all(typed[0] == "-" for typed, _ in self.dropped):
            only = self.terms[0].compiled
            refuse(
                f"The query only excludes ({only}). Name at least one word that a document must "
                f"hold, such as `lantern {only}`."
            )
        return ParsedQuery(tuple(self.terms), tuple(self.dropped), self._notes())

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.split:
            shown = ", ".join(f"`{text}`" for text in self.split)
            notes.append(f"Searched as a phrase of its parts: {shown}.")
        notes += self.signs
        if self.single_quotes:
            notes.append(
                "Single quotes make no phrase; put double quotes around words that stand together."
            )
        return tuple(notes)

    def _term(self) -> None:
        query, start = self.query, self.at
        end = _end_of_piece(query, start)
        piece = query[start:end]
        excluded = self._minus(piece)
        scope = self._scope(piece, excluded)
        if self.at < len(query) and query[self.at] in _QUOTES:
            text, quoted = self._quoted(), True
        else:
            text, quoted = self._bare(piece, scope, excluded), False
        self._add(query[start : self.at], text, scope, excluded, quoted)

    def _minus(self, piece: str) -> bool:
        rest = piece[1:]
        if piece[0] == "-" and rest and not words(rest) and rest[0] not in _QUOTES:
            return False  # `---`: named whole as a term that cannot be searched
        if piece[0] in _DASHES and words(rest):
            refuse(
                f"`{piece}` begins with a dash that is not the minus sign. To exclude, write "
                f"`-{rest}`; to search for it as text, write `{rest}`."
            )
        if piece[0] != "-":
            return False
        if not rest:
            refuse(
                "A minus stands alone. Write it directly before the word that a document must "
                "not hold, such as `lantern -brass`."
            )
        if rest[0] in "-" + _DASHES and words(rest):
            word = rest.lstrip("-" + _DASHES)
            refuse(
                f"`{piece}` begins with two minus signs. To exclude, write `-{word}`; to search "
                f'for it as text, write `"{piece}"`.'
            )
        if rest[0] == "(":
            refuse_group(piece, "-")
        self.at += 1
        return True

    def _scope(self, piece: str, excluded: bool) -> Scope:
        found = _SCOPE.match(self.query, self.at)
        sign = "-" * excluded
        if found is None:
            refuse_field(piece, sign, _QUOTES)
            return ""
        scope: Scope = "heading" if found[1] == "heading" else "body"
        self.at = found.end()
        rest = piece[len(sign) + len(scope) + 1 :]
        if not rest:
            refuse(
                f"`{sign}{scope}:` has no word. Write the word directly after the colon, such as "
                f"`lantern {sign}{scope}:brass`."
            )
        if rest[0] in "-" + _DASHES and words(rest):
            word = rest.lstrip("-" + _DASHES)
            refuse(f"`{piece}` has its minus inside the scope. Write `-{scope}:{word}`.")
        if rest[0] == "(":
            refuse_group(piece, f"{scope}:")
        if rest[0] in ":/" or _SCOPE.match(rest):
            refuse(
                f"`{piece}` reads like a name, not like a word in a {scope}. To search for it as "
                f'text, write `{sign}"{piece[len(sign) :]}"`; to search below {scope}:, write '
                f"`{sign}{scope}:brass`."
            )
        return scope

    def _quoted(self) -> str:
        query, start = self.query, self.at
        closers = _STRAIGHT if query[start] in _STRAIGHT else _TYPOGRAPHIC
        end = start + 1
        while end < len(query) and query[end] not in closers:
            end += 1
        if end == len(query):
            refuse(
                f"The quote that begins `{query[start:][:40]}` is never closed. Write the phrase "
                'between two double quotes, such as `"brass ring"`.'
            )
        text = query[start + 1 : end]
        self.at = _end_of_piece(query, end + 1)
        rest = query[end + 1 : self.at]
        if rest.startswith(("*", "＊", "﹡")):
            refuse_prefix(text)
        if not all(char in _AFTER_QUOTE or _is_invisible(char) for char in rest):
            refuse(
                f"`{rest}` follows a closing quote. Put a space between them, such as "
                f'`"{text.strip() or "brass ring"}" lantern`.'
            )
        return text

    def _bare(self, piece: str, scope: Scope, excluded: bool) -> str:
        start = self.at
        self.at = _end_of_piece(self.query, start)
        text = self.query[start : self.at]
        sign = ("-" * excluded) + (f"{scope}:" if scope else "")
        if text.startswith("("):
            inner = text.lstrip("(")
            if inner[:1] and (inner[0] in "-" + _QUOTES or _SCOPE.match(inner)):
                refuse_group(piece, inner[0] if inner[0] == "-" else "heading:")
        refuse_leading(text, f"{scope}:" if scope else "", sign, _QUOTES)
        if any(mark in text for mark in _QUOTES):
            refuse(
                f"`{text}` has a double quote inside a word. A phrase begins after a space, "
                '`heading:` or `body:`, such as `lantern "brass ring"`; leave other quotes out.'
            )
        refuse_operator(text, sign)
        refuse_star(text, sign)
        if text[0] in "'‘":
            self.apostrophe = True
        if text[-1] in "'’" and self.apostrophe:
            self.single_quotes = self.single_quotes or text[0] not in "'‘"
            self.apostrophe = False
        return text

    def _add(self, typed: str, text: str, scope: Scope, excluded: bool, quoted: bool) -> None:
        typed, found = typed.strip(), tuple(words(text))
        if not found:
            if quoted and not text.strip():
                refuse(
                    f"`{typed}` is an empty phrase. Put words between the quotes, such as "
                    '`"brass ring"`, or leave it out.'
                )
            refuse(
                f"`{text.strip()}` cannot be searched: the index holds letters and digits, and it "
                "has none. Leave it out, or search for a word beside it."
            )
        count = sum(word.count(" ") + 1 for word in found)
        if count > MAX_WORDS or len(text) > MAX_CHARACTERS:
            refuse(
                f"The term that begins `{text[:40]}` has {count:,} words and {len(text):,} "
                f"characters; at most {MAX_WORDS} words or {MAX_CHARACTERS:,} characters are "
                "matched as one phrase. Shorten it."
            )
        if _is_single(found):
            if not any(map(_is_sign, text)):
                self.dropped.append((typed, TOO_SHORT))
                return
            self.signs.append(
                f"`{text}` is searched as `{found[0].lower()}`: its other signs are not indexed."
            )
        elif not quoted and len(found) > 1:
            self.split.append(text)
        self.terms.append(Term(text, found, scope, excluded, quoted))


def parse(query: str) -> ParsedQuery:
    """Read a query.

    Parameters
    ----------
    query : str
        Any text, NUL included (it counts as a space inside a word).

    Returns
    -------
    ParsedQuery
        Without terms for blank text, and where all that must be found was dropped; a caller
        reports that as an empty query, never as an empty answer.

    Raises
    ------
    QuerySyntaxError
        For anything that the language does not know; the message names it and holds a query
        that works. For lone surrogates too, which no document can hold: bytes of a shell that are
        not UTF-8, or half a character.
    """
    broken = _SURROGATE.search(query)
    if broken is not None:
        refuse(
            f"The query is not valid Unicode text: character {broken.start() + 1} "
            f"(U+{ord(broken[0]):04X}) is a lone surrogate, as bytes that are not UTF-8 become in "
            "a shell. Type the query again in UTF-8."
        )
    parsed = _Scanner(printable(query)).run()
    if all(term.excluded for term in parsed.terms):
        return ParsedQuery((), parsed.dropped, parsed.notes)
    return parsed
