"""Phrases that begin in one chunk and end in a later one of the same section.

FTS5 sees a chunk as a row, so such a phrase matches in no row. For every way to cut it in two,
`body : ^"rest"` finds the chunks that begin with its end; those that continue their predecessor's
section are walked back from, through chunks that lie inside the phrase or have no token, until
its first word is reached. A heading is never crossed: the chunk after it continues nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_nb.matching.postings import Postings, phrase
from knowledge_nb.store.sql import rows

_CONTINUING = (
    "SELECT chunks.id FROM chunks_fts JOIN chunks ON chunks.id = chunks_fts.rowid"
    " WHERE chunks_fts MATCH ? AND chunks.continues = 1"
)
_CHUNK = "SELECT coalesce(body_terms, body), continues FROM chunks WHERE id = ?"

_TAIL_CHARACTERS = 400
_BREAK = re.compile(r"[ \n]")


@dataclass(frozen=True, slots=True)
class Crossing:
    """One phrase across chunk boundaries.

    Attributes
    ----------
    first : int
        The chunk that holds its first word; the one that is cited and counted.
    surface : tuple of str
        Its words as written, case folded.
    """

    first: int
    surface: tuple[str, ...]


class Crossings:
    """Finds them; keeps the chunks that it has read for the next phrase of the same query."""

    def __init__(self, postings: Postings) -> None:
        self._postings = postings
        self._chunks: dict[int, tuple[str, bool]] = {}
        self._tails: dict[int, list[str]] = {}

    def find(self, parts: Sequence[str]) -> list[Crossing]:
        """Return every crossing of a phrase, by chunk.

        Parameters
        ----------
        parts : sequence of str
            One per token, as `index_text` gives them.

        Returns
        -------
        list of Crossing
            Without repeats; empty for fewer than two parts.
        """
        if len(parts) < 2:
            return []
        found: set[Crossing] = set()
        stems = self._postings.analyzer.porter(" ".join(parts))
        for cut in range(1, len(stems)):
            expression = f"body : ^{phrase(parts[cut:])}"
            ends = [
                chunk for (chunk,) in rows(self._postings.connection, _CONTINUING, (expression,))
            ]
            for end in self._postings.within(ends):
                crossing = self._walk_back(end, stems[:cut], len(stems) - cut)
                if crossing is not None:
                    found.add(crossing)
        return sorted(found, key=lambda crossing: (crossing.first, crossing.surface))

    def _walk_back(self, end: int, need: list[str], held: int) -> Crossing | None:
        spans: list[tuple[int, int]] = []  # chunk, number of the phrase's words at its end
        chunk = end
        while need:
            if not self._chunk(chunk)[1]:
                return None
            chunk -= 1
            tail = self._tail(chunk, len(need))
            if tail and tail != need[-len(tail) :]:
                return None
            need = need[: len(need) - len(tail)]
            spans.append((chunk, len(tail)))
        exact = self._postings.analyzer.exact
        surface: list[str] = []
        for number, count in reversed(spans):
            if count:
                surface += exact(self._chunk(number)[0])[-count:]
        surface += exact(self._chunk(end)[0])[:held]
        return Crossing(chunk, tuple(surface))

    def _chunk(self, chunk: int) -> tuple[str, bool]:
        known = self._chunks.get(chunk)
        if known is None:
            found = rows(self._postings.connection, _CHUNK, (chunk,))
            text, continues = found[0] if found else ("", 0)
            known = self._chunks[chunk] = text, bool(continues)
        return known

    def _tail(self, chunk: int, count: int) -> list[str]:
        """The last `count` stems of a chunk, fewer where it has fewer."""
        known = self._tails.get(chunk)
        if known is None:
            # Nearly always enough, and ten times cheaper than the chunk.
            text = self._chunk(chunk)[0]
            cut = _BREAK.search(text, len(text) - _TAIL_CHARACTERS)
            short = text[cut.start() :] if cut and len(text) > _TAIL_CHARACTERS else text
            known = self._tails[chunk] = self._postings.analyzer.porter(short)
            if short is text:
                return known[-count:]
        if len(known) < count:
            known = self._tails[chunk] = self._postings.analyzer.porter(self._chunk(chunk)[0])
        return known[-count:]
