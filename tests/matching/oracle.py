"""Enumerate and vocabulary by brute force over the text of sections, without FTS5's matching.

Only the two tokenizers are SQLite's own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import apsw

from knowledge_nb.matching.postings import Analyzer
from knowledge_nb.matching.query import Term
from knowledge_nb.text import index_text
from tests.matching.corpus import Section


@dataclass
class Found:
    """Where one phrase stands in one document."""

    body: set[int] = field(default_factory=set)  # chunks in which it begins
    heading: set[int] = field(default_factory=set)  # chunks below such a heading
    surfaces: set[tuple[str, ...]] = field(default_factory=set)


class Oracle:
    """Scans documents given as sections."""

    def __init__(self, documents: dict[str, Sequence[Section]]) -> None:
        self._analyzer = Analyzer(apsw.Connection(":memory:"))
        self._documents = documents

    def _tokens(self, text: str) -> list[tuple[str, str]]:
        indexed = index_text(text)
        return list(zip(self._analyzer.porter(indexed), self._analyzer.exact(indexed), strict=True))

    def find(self, sections: Sequence[Section], term: Term) -> Found:
        """Every place of a term in one document."""
        need = self._analyzer.porter(index_text(term.text))
        found = Found()
        chunk = 0
        for levels, bodies in sections:
            section = [
                (chunk + number, *token)
                for number, body in enumerate(bodies)
                for token in self._tokens(body)
            ]
            for start in range(len(section) - len(need) + 1):
                window = section[start : start + len(need)]
                if term.scope != "heading" and [stem for _, stem, _ in window] == need:
                    found.body.add(window[0][0])
                    found.surfaces.add(tuple(word for _, _, word in window))
            for level in levels:
                heading = self._tokens(level)
                for start in range(len(heading) - len(need) + 1):
                    window = heading[start : start + len(need)]
                    if term.scope != "body" and [stem for stem, _ in window] == need:
                        found.heading.update(range(chunk, chunk + len(bodies)))
                        found.surfaces.add(tuple(word for _, word in window))
            chunk += len(bodies)
        return found

    def report(self, term: Term) -> tuple[set[str], set[str], dict[str, int]]:
        """Documents in any form and as written, and the documents of each other form."""
        written = tuple(self._analyzer.exact(index_text(term.text)))
        forms: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for path, sections in self._documents.items():
            for surface in self.find(sections, term).surfaces:
                forms[surface].add(path)
        every = set().union(*forms.values())
        exact = forms.pop(written, set())
        return every, exact, {" ".join(form): len(held) for form, held in forms.items()}

    def enumerate(self, terms: Sequence[Term]) -> list[tuple[str, int, int, int]]:
        """Path, body matches, heading matches and first chunk of every answer, by path."""
        answer = []
        for path, sections in sorted(self._documents.items()):
            found = [self.find(sections, term) for term in terms]
            holds = [bool(place.body or place.heading) for place in found]
            if any(held == term.excluded for held, term in zip(holds, terms, strict=True)):
                continue
            wanted = [p for p, term in zip(found, terms, strict=True) if not term.excluded]
            body = set().union(*(place.body for place in wanted))
            heading = set().union(*(place.heading for place in wanted))
            answer.append((path, len(body), len(heading), min(body | heading)))
        return answer

    def words(self) -> dict[str, tuple[str, int, int]]:
        """Stem, documents and occurrences of every word."""
        documents: defaultdict[str, set[str]] = defaultdict(set)
        occurrences: Counter[str] = Counter()
        stems: dict[str, str] = {}
        for path, sections in self._documents.items():
            before: Sequence[str] = ()
            for levels, bodies in sections:
                same = 0
                while same < min(len(before), len(levels) - 1) and before[same] == levels[same]:
                    same += 1
                before = levels
                for text in (*levels[same:], *bodies):
                    for stem, word in self._tokens(text):
                        documents[word].add(path)
                        occurrences[word] += 1
                        stems[word] = stem
        return {
            word: (stems[word], len(held), occurrences[word]) for word, held in documents.items()
        }
