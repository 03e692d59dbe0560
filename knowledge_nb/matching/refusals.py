"""The sentences with which the query language refuses: what, which term, and what to write."""

from __future__ import annotations

import re
from typing import NoReturn
from unicodedata import normalize

from knowledge_nb.errors import QuerySyntaxError
from knowledge_nb.text import words

OPERATORS = frozenset({"and", "or", "not", "near"})
# Fields of other tools, and near-misses of ours. `file://`, `text::x` and the like are no fields.
FIELDS = frozenset(
    (
        *("heading", "headings", "header", "headers", "headline", "title", "titles"),
        *("body", "bodies", "text", "content", "contents", "section", "document"),
        *("path", "file", "filename", "folder", "dir", "directory"),
    )
)

_FIELD = re.compile(r"([^\W\d_]+):(?!//|:)")
_OPERATOR_CALL = re.compile(r"(and|or|not|near)(/\d+)?\(|near/\d+$")
_AROUND = "()[]{}.,;:!?"
_STARS = {0xFF0A: "*", 0xFE61: "*"}  # full-width and small
_FIXES = {
    "AND": "Every word must be in the document anyway, so leave it out: `lantern brass`",
    "OR": "Ask for one word at a time and join the answers",
    "NOT": "To exclude a word, put a minus before it: `lantern -brass`",
    "NEAR": 'For words that stand together, quote them: `"brass lantern"`',
}


def refuse(message: str) -> NoReturn:
    """Refuse a query.

    Raises
    ------
    QuerySyntaxError
        Always.
    """
    raise QuerySyntaxError(message)


def refuse_operator(text: str, sign: str) -> None:
    """Refuse a bare word that is an operator elsewhere, or calls one; `sign` stands before it."""
    plain = normalize("NFKC", text).casefold()
    name = plain.strip(_AROUND)
    if name not in OPERATORS:
        call = _OPERATOR_CALL.match(plain.lstrip("([{"))
        if call is None:
            return
        name = call[1] or "near"
    operator, word = name.upper(), text.strip(_AROUND) or text
    refuse(
        f"{operator} (`{text}`) is not an operator here, and FTS5 would answer another question. "
        f'{_FIXES[operator]}. To search for the word itself, quote it: `{sign}"{word}"`.'
    )


def refuse_field(piece: str, sign: str, quotes: str) -> None:
    """Refuse a piece that begins with a field of another tool, or with ours misspelt."""
    bare = normalize("NFKC", piece[len(sign) :])
    found = _FIELD.match(bare)
    if found is None or found[1].casefold() not in FIELDS:
        return
    rest = bare[found.end() :]
    if found[1] in ("heading", "body"):  # ours, but for a sign that NFKC made one of ours
        letters = piece[len(sign) :].startswith(found[1])
        word = rest if words(rest[:1]) and not any(mark in rest for mark in quotes) else "brass"
        refuse(
            f"`{piece}` is not a scope: its {'colon is' if letters else 'letters are'} full-width. "
            f"Write it in ASCII, such as `{sign}{found[1]}:{word}`. To search for the text "
            f'itself, quote it: `{sign}"{found[1]}: {word}"`.'
        )
    name = "body" if found[1].casefold() in ("body", "bodies", "text", "content") else "heading"
    example = rest if words(rest) and not any(mark in rest for mark in quotes) else "brass"
    refuse(
        f"`{found[1]}:` is not a scope. The two scopes are `heading:` and `body:`, in small "
        f"letters, such as `{sign}{name}:{example}`; a folder is given with --under. To search "
        f'for the text itself, quote it: `{sign}"{found[1]}: {example}"`.'
    )


def refuse_group(piece: str, before: str) -> NoReturn:
    """Refuse brackets after a minus or a scope, or around one."""
    refuse(
        f"`{piece}`: brackets do not group here. Repeat `{before}` before each word, such as "
        f"`lantern {before}brass {before}ring`."
    )


def refuse_prefix(text: str) -> NoReturn:
    """Refuse a trailing star."""
    text = text.translate(_STARS)
    found = words(text)
    prefix = found[-1] if found else "brass"
    refuse(
        f"A trailing * (`{text.rstrip('*')}*`) is refused: on an index of stems a longer "
        f"prefix can find fewer documents. List the words with `knowledge words --prefix "
        f"{prefix}` (in Python `vocabulary(prefix={prefix!r})`), then match the ones you mean."
    )


def refuse_leading(text: str, scope: str, sign: str, quotes: str) -> None:
    """Refuse an exclamation mark, a caret or a tilde directly before a word or a phrase."""
    mark = normalize("NFKC", text[0])
    rest = text.lstrip("!！^＾~～")
    if mark not in ("!", "^", "~") or not (words(rest[:1]) or rest[:1] in tuple(quotes)):
        return
    phrase = any(quote in rest for quote in quotes)
    word = '"brass ring"' if phrase else rest.translate(_STARS).rstrip("*")
    fix = f"Leave it out: `{sign}{word}`."
    if mark == "!":
        fix = f"To exclude, write a minus, such as `lantern -{scope}{word}`."
    if not phrase:
        fix += f' To search for the text itself, quote it: `{sign}"{text}"`.'
    refuse(f"`{mark}` before a word (`{text}`) is not an operator here. {fix}")


def refuse_star(text: str, sign: str) -> None:
    """Refuse a star in a bare word, which elsewhere would be a wildcard."""
    text = text.translate(_STARS)
    if "*" not in text or not words(text):
        return
    if text.rstrip(".,;:!?)]}").endswith("*"):
        refuse_prefix(text)
    refuse(
        f"`{text}`: `*` is no wildcard here. To search for the text, quote it: "
        f'`{sign}"{text}"`; to list words by pattern, use `knowledge words PATTERN`.'
    )
