"""The documents of a whole query, as sets of ids: what `enumerate` lists and audits count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.matching.absence import intersection
from knowledge_nb.matching.lexicon import Lexicon
from knowledge_nb.matching.postings import Postings
from knowledge_nb.matching.query import ParsedQuery
from knowledge_nb.matching.terms import TermMatch, TermMatcher

QUERIES_AT_ONCE = 40  # their families are read in one pass; their chunk sets are in memory together


@dataclass(frozen=True, slots=True)
class QuerySet:
    """What one query matches.

    Attributes
    ----------
    matches : tuple of TermMatch
        Of its terms, in their order.
    documents : frozenset of int
        Ids of the documents that hold every term and none that is excluded.
    as_written : frozenset of int
        Those of them in which every term that is not excluded stands as written.
    body, heading : frozenset of int
        Chunks of those documents in whose body, or heading, any term that is not excluded matches.
    """

    matches: tuple[TermMatch, ...]
    documents: frozenset[int]
    as_written: frozenset[int]
    body: frozenset[int]
    heading: frozenset[int]


def query_set(matches: Sequence[TermMatch]) -> QuerySet:
    """Intersect and subtract the sets of one query's terms; all empty for no terms."""
    wanted = [match for match in matches if not match.term.excluded]
    documents = intersection(wanted)
    for match in matches:
        if match.term.excluded:
            documents -= match.documents
    written = set(documents)
    for match in wanted:
        written &= match.as_written
    return QuerySet(
        tuple(matches),
        frozenset(documents),
        frozenset(written),
        _within(documents, [match.body for match in wanted]),
        _within(documents, [match.heading for match in wanted]),
    )


def _within(documents: set[int], chunks: Sequence[frozenset[int]]) -> frozenset[int]:
    if not documents:
        return frozenset()
    every: frozenset[int] = frozenset().union(*chunks)
    return frozenset(chunk for chunk in every if chunk >> ORDINAL_BITS in documents)


def match_queries(
    postings: Postings, lexicon: Lexicon, queries: Sequence[ParsedQuery]
) -> Iterator[QuerySet]:
    """Give the set of each query, in their order; a query without terms has empty sets.

    Parameters
    ----------
    postings : Postings
        Of the snapshot and folder.
    lexicon : Lexicon
        Of the same state.
    queries : sequence of ParsedQuery
    """
    for start in range(0, len(queries), QUERIES_AT_ONCE):
        part = queries[start : start + QUERIES_AT_ONCE]
        terms = [term for query in part for term in query.terms]
        matches = iter(TermMatcher(postings, lexicon).match(terms))
        for query in part:
            yield query_set([next(matches) for _ in query.terms])
