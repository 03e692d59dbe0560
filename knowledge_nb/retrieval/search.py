"""One search, read in one transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import apsw

from knowledge_nb.citation import citation
from knowledge_nb.errors import ConfigurationError, QueryError
from knowledge_nb.records import Completeness, Hit, Mode, SearchResult, Status
from knowledge_nb.retrieval import lexical
from knowledge_nb.retrieval.lexical import CANDIDATES, CommonTerms
from knowledge_nb.retrieval.tier import tier_line
from knowledge_nb.retrieval.under import Under, resolve
from knowledge_nb.store.connection import Reader
from knowledge_nb.store.status import read_completeness

MAX_K = 10_000

# A row that vanished is left out by the inner join; json_each gives the order of the ranking.
_HYDRATE = (
    "SELECT chunks.id, documents.path, chunks.ordinal, chunks.heading, chunks.body,"
    " chunks.first_line, chunks.last_line"
    " FROM json_each(?) AS ranked"
    " JOIN chunks ON chunks.id = ranked.value"
    " JOIN documents ON documents.id = chunks.document_id"
    " ORDER BY ranked.key"
)


def search(
    reader: Reader,
    query: str,
    *,
    k: int = 5,
    mode: Mode = "lexical",
    under: str = "",
    timeout: float | None = None,
    common_terms: CommonTerms = "drop",
) -> SearchResult:
    """Rank chunks for a free text.

    Parameters
    ----------
    reader : Reader
        Of the store; it need not be built.
    query : str
        Free text, of any length; there is no query syntax.
    k : int
        Hits wanted, 1 to 10,000.
    under : str
        A folder relative to the corpus base; see `under.resolve`.
    timeout : float, optional
        Seconds for the whole call.
    common_terms : {"drop", "keep"}
        See `lexical.rank`.

    Returns
    -------
    SearchResult

    Raises
    ------
    QueryError
        `k` is out of range.
    SearchTimeoutError
        The timeout passed.
    """
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise QueryError(f"k is a whole number from 1 to {MAX_K:,}, not {k!r}")
    if mode != "lexical":
        raise ConfigurationError("this store has no vectors")
    deadline = None if timeout is None else time.monotonic() + timeout
    query = _storable(query)
    under = _storable(under)
    parsed = lexical.parse(query)
    blank = SearchResult(
        query, Status.OK, mode, k, tier_line(mode), dropped_terms=parsed.dropped, under=under
    )
    if not reader.is_built():
        return _without_hits(blank, Status.INDEX_NOT_BUILT, Completeness())
    with reader.snapshot(deadline=deadline) as connection:
        completeness = read_completeness(connection)
        if not completeness.built:
            return _without_hits(blank, Status.INDEX_NOT_BUILT, completeness)
        if not completeness.documents:
            return _without_hits(blank, Status.CORPUS_EMPTY, completeness)
        if not parsed.terms:
            return _without_hits(blank, Status.QUERY_EMPTY, completeness)
        scope = resolve(connection, under)
        ranking = lexical.rank(
            connection,
            parsed.terms,
            limit=max(CANDIDATES, k),
            needed=k,
            under=scope,
            common_terms=common_terms,
        )
        rows = _hydrate(connection, ranking.chunk_ids[:k])
    ranks = {chunk: rank for rank, chunk in enumerate(ranking.chunk_ids, start=1)}
    hits = []
    for position, row in enumerate(rows, start=1):
        chunk, path, ordinal, heading, body, first, last = row
        score = ranking.scores[ranks[chunk] - 1]
        hits.append(
            Hit(
                position,
                chunk,
                citation(path, ordinal),
                path,
                ordinal,
                heading,
                body,
                first,
                last,
                score,
                lexical_rank=ranks[chunk],
                lexical_score=score,
            )
        )
    return SearchResult(
        query,
        Status.OK,
        mode,
        k,
        blank.tier,
        tuple(hits),
        _notes(scope, len(hits)),
        parsed.dropped,
        ranking.common_terms,
        ranking.compiled,
        under=under,
        completeness=completeness,
    )


def _hydrate(
    connection: apsw.Connection, chunk_ids: Sequence[int]
) -> list[tuple[int, str, int, str, str, int, int]]:
    rows: list[Any] = connection.execute(_HYDRATE, (json.dumps(chunk_ids),)).fetchall()
    return rows


def _notes(scope: Under, hits: int) -> tuple[str, ...]:
    if scope.unknown:
        return (scope.note(),)
    if not hits:
        return (
            "No chunk ranks for this query. A ranking proves no absence: ask enumerate "
            "(`knowledge match`) which documents hold the words.",
        )
    return ()


def _without_hits(blank: SearchResult, status: Status, completeness: Completeness) -> SearchResult:
    import dataclasses

    reasons = {
        Status.INDEX_NOT_BUILT: "No indexing pass has completed: run `knowledge index PATH`.",
        Status.CORPUS_EMPTY: "The last pass left no document in the index.",
        Status.QUERY_EMPTY: "Nothing of this query can be searched.",
    }
    return dataclasses.replace(
        blank, status=status, notes=(reasons[status],), completeness=completeness
    )


def _storable(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 file, driver or JSON can hold, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
