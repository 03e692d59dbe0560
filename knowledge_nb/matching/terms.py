"""What each term of a query stands for in the corpus, as written and in any form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.matching.lexicon import Lexicon
from knowledge_nb.matching.phrases import Crossing, Crossings
from knowledge_nb.matching.postings import Postings, phrase
from knowledge_nb.matching.query import Term
from knowledge_nb.records import TermReport


@dataclass(frozen=True, slots=True)
class TermMatch:
    """Where one term matches, within the folder asked for.

    Attributes
    ----------
    term : Term
        Of the query.
    parts, stems, written : tuple of str
        Its tokens as `index_text` gives them, stemmed, and as the exact table has them.
    body, heading : frozenset of int
        Chunks in which it matches there, in any form; empty where its scope leaves the place out.
        A phrase across chunks counts at its first chunk, once.
    documents : frozenset of int
        Documents that hold it in any form.
    as_written : frozenset of int
        Documents that hold its very words.
    related : tuple of (str, int)
        Every other form with its documents, most first, then by form.
    """

    term: Term
    parts: tuple[str, ...]
    stems: tuple[str, ...]
    written: tuple[str, ...]
    body: frozenset[int]
    heading: frozenset[int]
    documents: frozenset[int]
    as_written: frozenset[int]
    related: tuple[tuple[str, int], ...]

    def report(self) -> TermReport:
        """The part that an answer carries."""
        return TermReport(
            self.term.text,
            self.term.excluded,
            self.term.scope,
            " ".join(self.stems),
            len(self.documents),
            len(self.as_written),
            self.related,
        )


Families = dict[str, tuple[str, ...]]


class TermMatcher:
    """Matches the terms of one query.

    Parameters
    ----------
    postings : Postings
        Of the snapshot and folder.
    lexicon : Lexicon
        Of the same state; asked only when a term occurs at all.
    """

    def __init__(self, postings: Postings, lexicon: Lexicon) -> None:
        self._postings = postings
        self._lexicon = lexicon
        self._crossings = Crossings(postings)

    def match(self, terms: Sequence[Term]) -> list[TermMatch]:
        """Match all terms, in their order."""
        found = [self._places(term) for term in terms]
        present = [match for match, _ in found if match.documents]
        stems = {stem for match in present for stem in match.stems}
        families = self._lexicon.families(self._postings.connection, stems) if stems else {}
        return [self._forms(match, crossings, families) for match, crossings in found]

    def _places(self, term: Term) -> tuple[TermMatch, list[Crossing]]:
        parts = tuple(term.indexed.split(" "))
        analyzer, postings = self._postings.analyzer, self._postings
        body: list[int] = []
        heading: list[int] = []
        crossings: list[Crossing] = []
        if term.scope != "heading":
            crossings = self._crossings.find(parts)
            body = postings.chunks("porter", phrase(parts, "body"))
            body += [crossing.first for crossing in crossings]
        if term.scope != "body":
            heading = postings.chunks("porter", phrase(parts, "heading"))
        match = TermMatch(
            term,
            parts,
            tuple(analyzer.porter(term.indexed)),
            tuple(analyzer.exact(term.indexed)),
            frozenset(body),
            frozenset(heading),
            frozenset({chunk >> ORDINAL_BITS for chunk in body + heading}),
            frozenset(),
            (),
        )
        return match, crossings

    def _forms(self, match: TermMatch, crossings: list[Crossing], families: Families) -> TermMatch:
        if not match.documents:
            return match
        documents: dict[tuple[str, ...], set[int]] = {}
        scope = match.term.scope
        surfaces = self._surfaces(match, families)
        if surfaces == [match.written] and not crossings:
            # The only form there is stands wherever the stem stands.
            documents[match.written] = set(match.documents)
            surfaces = []
        for surface in surfaces:
            documents[surface] = self._postings.documents("exact", phrase(surface, scope))
        for crossing in crossings:
            documents.setdefault(crossing.surface, set()).add(crossing.first >> ORDINAL_BITS)
        as_written = frozenset(documents.pop(match.written, ()))
        related = [(" ".join(form), len(held)) for form, held in documents.items() if held]
        related.sort(key=lambda form: (-form[1], form[0]))
        return TermMatch(
            match.term,
            match.parts,
            match.stems,
            match.written,
            match.body,
            match.heading,
            match.documents,
            as_written,
            tuple(related),
        )

    def _surfaces(self, match: TermMatch, families: Families) -> list[tuple[str, ...]]:
        """Every sequence of words with these stems that stands in a chunk, and perhaps more.

        Grown a word at a time, only from sequences that occur, so that a phrase of words with
        many forms costs as many look-ups as there are forms of it, not their product.
        """
        found: list[tuple[str, ...]] = [()]
        alone = all(len(families.get(stem, ())) <= 1 for stem in match.stems)
        for stem in match.stems:
            longer = [(*start, word) for start in found for word in families.get(stem, ())]
            if len(match.stems) > 1 and not alone:
                scope = match.term.scope
                longer = [form for form in longer if self._postings.occurs(phrase(form, scope))]
            found = longer
        return found
