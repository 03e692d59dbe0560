"""The verbs that read: each answer is of one committed state."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_nb import telemetry
from knowledge_nb.citation import citation, parse_citation
from knowledge_nb.core.handles import Handles
from knowledge_nb.errors import IndexNotBuiltError, NotFoundError
from knowledge_nb.records import (
    Chunk,
    Completeness,
    Document,
    EnumerateResult,
    Mode,
    SearchResult,
    Stats,
    VocabularyResult,
)
from knowledge_nb.store.sql import rows, value
from knowledge_nb.store.status import iso_time

if TYPE_CHECKING:
    from knowledge_nb.matching.kwic import KwicResult

# Counts and modes; never the text of a query or of a document.
_log = logging.getLogger(__name__)

_DOCUMENTS = (
    "SELECT path, chunks, bytes, modified_ns, indexed_at, coalesce(stale_reason, '')"
    " FROM documents ORDER BY path"
)
_CHUNKS = (
    "SELECT ordinal, heading, body, first_line, last_line FROM chunks WHERE document_id = ?"
    " AND ordinal BETWEEN ? AND ? ORDER BY ordinal"
)


class Reading(Handles):
    """Search, enumerate, words in context, vocabulary, show, sources, stats."""

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        mode: Mode | None = None,
        under: str = "",
        timeout: float | None = None,
        **options: Any,
    ) -> SearchResult:
        """Rank chunks; see `KnowledgeBase.search`."""
        from knowledge_nb.retrieval.search import search

        with telemetry.span("knowledge.search") as span:
            span.content(query=query)
            result = search(
                self.reader,
                query,
                k=self.settings.top_k if k is None else k,
                mode=mode,
                embedder=None if mode == "lexical" else self.matching_embedder(),
                under=under,
                timeout=timeout,
                **options,
            )
            span.answered(
                result.status,
                result.completeness,
                tier=result.mode,
                degraded=result.degraded,
                k=result.k,
                returned=len(result.hits),
                dropped_terms=len(result.dropped_terms),
            )
            span.content(reason=result.reason)
        _log.info("search (%s): %s, %d hits", result.mode, result.status, len(result.hits))
        return result

    def enumerate(
        self,
        query: str,
        *,
        sort: str = "matches",
        limit: int | None = None,
        min_body_matches: int = 0,
        under: str = "",
        timeout: float | None = None,
    ) -> EnumerateResult:
        """The complete set of matching documents; see `KnowledgeBase.enumerate`."""
        from knowledge_nb.matching.enumerate import enumerate_documents, not_built

        with telemetry.span("knowledge.enumerate") as span:
            span.content(query=query)
            if not self.reader.is_built():
                result = not_built(query, tier=self.tier())
            else:
                with self.snapshot(timeout) as (connection, completeness, tier):
                    result = enumerate_documents(
                        connection,
                        query,
                        tier=tier,
                        completeness=completeness,
                        lexicon=self.lexicon(),
                        sort=sort,
                        limit=limit,
                        min_body_matches=min_body_matches,
                        under=under,
                    )
            span.answered(
                result.status,
                result.completeness,
                tier="lexical",  # membership is a matter of words, whatever the store holds
                degraded=False,
                terms=len(result.terms),
                matched=result.matched,
                returned=len(result.matches),
                truncated=result.truncated,
                dropped_terms=len(result.dropped_terms),
            )
        _log.info("enumerate: %s, %d documents", result.status, result.matched)
        return result

    def kwic(
        self,
        query: str,
        *,
        width: int = 60,
        limit: int | None = None,
        under: str = "",
        timeout: float | None = None,
    ) -> KwicResult:
        """Every place of a query's words; see `KnowledgeBase.kwic`."""
        from knowledge_nb.matching.kwic import kwic, not_built

        if not self.reader.is_built():
            return not_built(query, tier=self.tier(), width=width)
        with self.snapshot(timeout) as (connection, completeness, tier):
            return kwic(
                connection,
                query,
                tier=tier,
                completeness=completeness,
                lexicon=self.lexicon(),
                width=width,
                limit=limit,
                under=under,
            )

    def vocabulary(
        self,
        pattern: str | None = None,
        *,
        prefix: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> VocabularyResult:
        """Every real word; see `KnowledgeBase.vocabulary`."""
        from knowledge_nb.matching.vocabulary import not_built, vocabulary

        if not self.reader.is_built():
            return not_built(pattern, prefix, tier=self.tier())
        with self.snapshot(timeout) as (connection, completeness, tier):
            return vocabulary(
                connection,
                tier=tier,
                completeness=completeness,
                lexicon=self.lexicon(),
                pattern=pattern,
                prefix=prefix,
                limit=limit,
            )

    def show(self, target: str, *, around: int = 0) -> tuple[Chunk, ...]:
        """The chunk that a citation names, or every chunk of a document.

        Parameters
        ----------
        target : str
            `path#ordinal`, or a path.
        around : int
            Neighbouring chunks to give before and after a cited one.

        Raises
        ------
        NotFoundError
        """
        self._require_built()
        around = max(0, min(around, 2**20))
        with self.reader.snapshot() as connection:
            ordinal: int | None = None
            first, last = 0, 2**20
            try:
                path, cited = parse_citation(target)
                number, stored = self.find(connection, path)
            except NotFoundError:
                number, stored = self.find(connection, target)
            else:
                ordinal, first, last = cited, max(cited - around, 0), cited + around
            found = tuple(
                Chunk(citation(stored, n), stored, n, heading, body, first_line, last_line)
                for n, heading, body, first_line, last_line in rows(
                    connection, _CHUNKS, (number, first, last)
                )
            )
        if ordinal is not None and not any(chunk.ordinal == ordinal for chunk in found):
            raise NotFoundError(
                f"{stored} has no chunk {ordinal}; `knowledge show {stored}` lists its chunks"
            )
        return found

    def sources(self) -> tuple[Document, ...]:
        """Every indexed document, in path order; empty for an empty corpus.

        Raises
        ------
        IndexNotBuiltError
            No pass ever completed: what is there so far is no list of the corpus.
        """
        self._require_built()
        with self.snapshot() as (connection, completeness, _):
            if not completeness.built:
                raise IndexNotBuiltError(completeness.emptiness(), completeness)
            return tuple(
                Document(path, chunks, size, iso_time(modified), indexed, stale)
                for path, chunks, size, modified, indexed, stale in rows(connection, _DOCUMENTS)
            )

    def stats(self) -> Stats:
        """The store at a glance; all zero where nothing is built."""
        completeness, tier, size = Completeness(), self.tier(), 0
        if self.reader.is_built():
            with self.snapshot() as (connection, completeness, tier):
                size = value(connection, "SELECT coalesce(sum(bytes), 0) FROM documents")
        return Stats(
            store=str(self.files.directory),
            base=completeness.base,
            documents=completeness.documents,
            chunks=completeness.chunks,
            bytes=size,
            database_bytes=_size(self.files.database),
            log_bytes=_size(self.files.sidecars[0]),
            tier=tier,
            completeness=completeness,
        )

    def holds(self, under: str) -> bool:
        """Whether any indexed document lies under a folder (see `search`)."""
        from knowledge_nb.retrieval.under import resolve

        with self.reader.snapshot() as connection:
            return not resolve(connection, under).unknown


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0
