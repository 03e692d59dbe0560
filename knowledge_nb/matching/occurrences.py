"""Where in a stored text the words of a query stand, as the index sees them.

The index compares stems of a prepared text (`text.index_text`); a reader sees the text as stored.
`located` ties the two together: each token with its place in the text as stored.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from knowledge_nb.text import index_text, tokens

Token = tuple[str, int, int]
"""A token as the exact table has it, and its first and last-plus-one character in the text."""

Place = tuple[int, int, int]
"""First and last-plus-one character of an occurrence, and the number of its term."""

_ASCII_WORD = re.compile("[0-9A-Za-z]+")
_PIECE = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
_JOINERS = "\u1039\u17d2\u1a60\u1b44\ua9c0\u200d"


def located(text: str) -> list[Token]:
    """Give every token of a text with its place.

    Parameters
    ----------
    text : str
        A text as stored.

    Returns
    -------
    list of Token
        In the order of the text; the tokens are those of `text.tokens`. Where a token cannot be
        told apart from its neighbours, all of them have the place of the whole run.
    """
    if text.isascii():
        lowered = text.lower()
        return [(m[0], m.start(), m.end()) for m in _ASCII_WORD.finditer(lowered)]
    found: list[Token] = []
    for piece in _PIECE.finditer(text):
        word = piece[0]
        if word.isascii():
            found.append((word.lower(), piece.start(), piece.end()))
        else:
            found += _in_piece(word, piece.start())
    return found


def _in_piece(piece: str, offset: int) -> list[Token]:
    """Locate the tokens of a run that holds no ASCII separator, atom by atom."""
    parts = tokens(piece)
    if not parts:
        return []
    prepared: list[str] = []
    starts: list[int] = []  # of each atom's form in the prepared text
    places: list[tuple[int, int]] = []
    length = 0
    for first, last in _atoms(piece):
        form = index_text(piece[first:last])
        prepared.append(form)
        starts.append(length)
        places.append((first, last))
        length += len(form)
    joined = "".join(prepared)
    spans = [(m.start(), m.end()) for m in _PIECE.finditer(joined)]
    if len(spans) != len(parts):
        return [(part, offset, offset + len(piece)) for part in parts]
    found = []
    for part, (start, end) in zip(parts, spans, strict=True):
        first = places[bisect_right(starts, start) - 1][0]
        last = places[bisect_right(starts, end - 1) - 1][1]
        found.append((part, offset + first, offset + last))
    return found


def _atoms(piece: str) -> Iterable[tuple[int, int]]:
    """Cut a run into characters with the marks that belong to them."""
    start = 0
    for at in range(1, len(piece)):
        mark = unicodedata.category(piece[at]) in ("Mn", "Mc", "Me", "Cf")
        if not mark and piece[at - 1] not in _JOINERS:
            yield start, at
            start = at
    if piece:
        yield start, len(piece)


class Occurrences:
    """Finds the places of some terms.

    Parameters
    ----------
    terms : sequence of sequence of str
        The stems of each term; several are a phrase. A term without stems is never found.
    stem : callable
        Gives the stems of a text, such as `Analyzer.porter`.
    """

    def __init__(self, terms: Sequence[Sequence[str]], stem: Callable[[str], list[str]]) -> None:
        self._stem = stem
        self._known: dict[str, str] = {}
        self._by_first: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        for number, term in enumerate(terms):
            if term:
                self._by_first.setdefault(term[0], []).append((number, tuple(term)))

    def learn(self, texts: Iterable[str]) -> None:
        """Stem all words of some texts in one call, which spares one call a text."""
        self._stems({token for text in texts for token, _, _ in located(text)})

    def find(self, text: str, searched: str | None = None) -> list[Place]:
        """Places of all terms in a text.

        Parameters
        ----------
        text : str
            As stored.
        searched : str, optional
            What the index was given for it, where that differs.

        Returns
        -------
        list of Place
            By first character, then longest first; places of different terms may overlap.
        """
        places = located(text)
        if searched is not None:
            places = aligned(places, [token for token, _, _ in located(searched)])
        return self.among(places)

    def among(self, places: Sequence[Token]) -> list[Place]:
        """Places of all terms in a text that was located already."""
        words = [token for token, _, _ in places]
        self._stems(set(words))
        known = self._known
        stems = [known.get(word, word) for word in words]
        found = []
        for at, stem in enumerate(stems):
            for number, term in self._by_first.get(stem, ()):
                last = at + len(term)
                if len(term) == 1 or tuple(stems[at:last]) == term:
                    found.append((places[at][1], places[last - 1][2], number))
        return sorted(found, key=lambda place: (place[0], -place[1], place[2]))

    def _stems(self, words: set[str]) -> None:
        new = [word for word in words if word not in self._known]
        if not new:
            return
        stems = self._stem("\n".join(new))
        if len(stems) != len(new):  # a word that FTS5 cuts otherwise is asked for by itself
            stems = [" ".join(self._stem(word)) for word in new]
        self._known.update(zip(new, stems, strict=True))


def aligned(places: list[Token], searched: list[str]) -> list[Token]:
    """Give each token that the index has the place of what it was made from."""
    words = [token for token, _, _ in places]
    if words == searched or not places:
        return places
    found: list[Token] = []
    matcher = SequenceMatcher(None, words, searched, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            found += places[first:last]
        elif start < end:
            # `wo**rd**` is searched as `word`, `caf&eacute;` as `café`.
            run = places[first:last] or places[max(first - 1, 0) : first + 1]
            found += [(token, run[0][1], run[-1][2]) for token in searched[start:end]]
    return found


def merged(places: Sequence[Place]) -> list[tuple[int, int]]:
    """Ranges that cover all places, without overlap, in order."""
    ranges: list[tuple[int, int]] = []
    for start, end, _ in places:
        if ranges and start < ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], end))
        else:
            ranges.append((start, end))
    return ranges
