"""Excerpts: the lines of a chunk in which the words of a query stand, with those words marked.

For the eye only: an excerpt without a mark says nothing of the match, which may lie in the heading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_nb.store.tokenizers import porter_stems
from knowledge_nb.text import index_text, is_unspaced, words

_PIECE = re.compile(r"[^\s!-&(-/:-@\[-`{-~\u2018-\u201f]+")  # an apostrophe stays in its word
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Part of one line of a chunk.

    Attributes
    ----------
    pieces : tuple of (str, bool)
        Text in order, each with whether it is a word of the query.
    """

    pieces: tuple[tuple[str, bool], ...]

    @property
    def marked(self) -> bool:
        """Whether a word of the query stands in it."""
        return any(mark for _, mark in self.pieces)


def excerpts(
    texts: Sequence[str],
    query: str,
    *,
    ignore: Sequence[str] = (),
    lines: int = 3,
    width: int = 160,
) -> list[tuple[Excerpt, ...]]:
    """Cut the lines with most words of a query out of each text.

    Parameters
    ----------
    texts : sequence of str
        Stored texts.
    query : str
        Free text; its words are compared by stem, as the index does.
    ignore : sequence of str
        Words of the query to leave unmarked, such as those too common to rank by.
    lines : int
        Lines of one excerpt at most.
    width : int
        Characters of one line, about; a longer one is cut at white space around its words.

    Returns
    -------
    list of tuple of Excerpt
        For each text, in text order; the first line that is not blank where no word stands in it,
        empty for a blank text.
    """
    wanted = frozenset(porter_stems(index_text(query)))
    wanted -= frozenset(porter_stems(index_text("\n".join(ignore))))
    runs = [word.replace(" ", "") for word in words(query) if is_unspaced(word)]
    found = {piece for text in texts for piece in _PIECE.findall(text)}
    marked = _marked(sorted(found), wanted)
    return [_excerpt(text, marked, runs, lines, width) for text in texts]


def _marked(pieces: Sequence[str], wanted: frozenset[str]) -> dict[str, str]:
    """The pieces that hold a wanted stem, each with it."""
    parts = [(piece, word) for piece in pieces for word in words(piece) if not is_unspaced(word)]
    stems = porter_stems("\n".join(word for _, word in parts))
    if len(stems) != len(parts):  # never seen: both split at the same characters
        return {}
    return {piece: stem for (piece, _), stem in zip(parts, stems, strict=True) if stem in wanted}


def _excerpt(
    text: str, marked: dict[str, str], runs: Sequence[str], lines: int, width: int
) -> tuple[Excerpt, ...]:
    candidates = []
    for number, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        spans = [
            (match.start(), match.end(), marked[match[0]])
            for match in _PIECE.finditer(line)
            if match[0] in marked
        ]
        for run in runs:
            spans += [(m.start(), m.end(), run) for m in re.finditer(re.escape(run), line)]
        candidates.append((number, line, sorted(spans)))
    if not candidates:
        return ()
    best = sorted(candidates, key=lambda c: (-len({stem for *_, stem in c[2]}), c[0]))
    chosen = [c for c in best if c[2]][:lines] or candidates[:1]
    return tuple(_cut(line, spans, width) for _, line, spans in sorted(chosen))


def _cut(line: str, spans: Sequence[tuple[int, int, str]], width: int) -> Excerpt:
    start, end = 0, len(line)
    if len(line) > width:
        middle = _densest(spans, width)
        start = max(min(middle - width // 2, len(line) - width), 0)
        end = start + width
        if start:
            space = line.find(" ", start, start + 20)
            start = space + 1 if space >= 0 else start
        if end < len(line):
            space = line.rfind(" ", end - 20, end)
            end = space if space >= 0 else end
    pieces: list[tuple[str, bool]] = [(_CUT, False)] if start else []
    at = start
    for first, last, _ in spans:
        if first < at or last > end:
            continue
        pieces += [(line[at:first], False), (line[first:last], True)]
        at = last
    pieces.append((line[at:end], False))
    if end < len(line):
        pieces.append((_CUT, False))
    return Excerpt(tuple((piece, mark) for piece, mark in pieces if piece))


def _densest(spans: Sequence[tuple[int, int, str]], width: int) -> int:
    """The middle of the window that holds most different words of the query."""
    best, middle = 0, 0
    for first, _, _ in spans:
        inside = [span for span in spans if first <= span[0] and span[1] <= first + width]
        different = len({stem for *_, stem in inside})
        if different > best:
            best, middle = different, (first + max(span[1] for span in inside)) // 2
    return middle
