"""Marks the words of a question in a text, as HTML.

For the eye: a text without a mark says nothing of the match, which may lie in its heading.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knowledge_nb.matching.occurrences import Occurrences, merged
from knowledge_nb.matching.query import parse
from knowledge_nb.notebook.html import LONG, MARK, element, escape
from knowledge_nb.records import SearchResult
from knowledge_nb.store.tokenizers import porter_stems
from knowledge_nb.text import index_text, words

LONGEST = 60_000  # characters of one text that are shown; the note says how to have the rest


class Marks:
    """The terms to mark.

    Parameters
    ----------
    terms : sequence of str
        Words and phrases, as typed; compared by stem, as the index does.
    """

    def __init__(self, terms: Sequence[str] = ()) -> None:
        stems = [tuple(porter_stems(index_text(term))) for term in terms]
        self._occurrences = Occurrences([term for term in stems if term], porter_stems)
        self._any = any(stems)

    def learn(self, texts: Sequence[str]) -> None:
        """Look at texts to come in one go, which is faster than one by one."""
        if self._any:
            self._occurrences.learn(texts)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Ranges of the text to mark, in order, without overlap."""
        return merged(self._occurrences.find(text)) if self._any else []

    def html(self, text: str) -> str:
        """The text, escaped, with its words marked; cut with a note past `LONGEST`."""
        rest = len(text) - LONGEST
        shown = text[:LONGEST]
        parts: list[str] = []
        at = 0
        for start, end in self.places(shown):
            parts += [escape(shown[at:start]), mark(shown[start:end])]
            at = end
        parts.append(escape(shown[at:]))
        if rest > 0:
            parts.append(f"<em> … {rest:,} more characters; kb.show gives them all</em>")
        return "".join(parts)

    def line(self, text: str, most: int = LONG) -> str:
        """The same for a text that has a line or two; the rest is in reach by pointing at it."""
        if len(text) <= most:
            return self.html(text)
        return element("span", self.html(text[: most - 1]) + "…", title=text)


def mark(text: str) -> str:
    """A marked word."""
    return element("mark", escape(text), MARK)


def marks_of(result: Any) -> Marks:
    """The terms of a result's question: words of a search, terms that must match of a query."""
    query = getattr(result, "query", None)
    if not isinstance(query, str):
        return Marks()
    if isinstance(result, SearchResult):
        common = set(result.common_terms)
        return Marks([word for word in words(query) if word not in common])
    return Marks([term.indexed for term in parse(query).terms if not term.excluded])
