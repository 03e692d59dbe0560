"""The core: one method per verb, records in and out, soft statuses as data.

Front ends (CLI, MCP, forms) ask it and format; `knowledge_base` makes frames of it for notebooks.
It owns the lifetimes: the shared reader, the embedder, the words kept per index generation.
"""

from __future__ import annotations

import json
import logging
import os
import time
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_nb import telemetry
from knowledge_nb.citation import citation, parse_citation
from knowledge_nb.errors import (
    ConfigurationError,
    IndexNotBuiltError,
    KnowledgeError,
    NotFoundError,
)
from knowledge_nb.records import (
    Check,
    Chunk,
    Completeness,
    Document,
    EnumerateResult,
    IndexReport,
    Mode,
    SearchResult,
    Stats,
    VocabularyResult,
    counted,
)
from knowledge_nb.settings import DEFAULT_DIRECTORY, Settings, find_settings
from knowledge_nb.store.connection import Connection, Reader, Writer
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import read_meta
from knowledge_nb.store.sql import rows, value
from knowledge_nb.store.status import iso_time, read_completeness
from knowledge_nb.store.vectors import load_where_used

if TYPE_CHECKING:
    from knowledge_nb.audit.doctor import DoctorReport
    from knowledge_nb.embedding.protocol import Embedder, EmbedderIdentity
    from knowledge_nb.indexing.pipeline import Progress
    from knowledge_nb.indexing.watch import Vanished, Watcher
    from knowledge_nb.matching.kwic import KwicResult
    from knowledge_nb.store.backup import BackupReport

# Counts and paths of stores; never the text of a query or of a document.
_log = logging.getLogger(__name__)

_DOCUMENTS = (
    "SELECT path, chunks, bytes, modified_ns, indexed_at, coalesce(stale_reason, '')"
    " FROM documents ORDER BY path"
)
_FIND = "SELECT id, path FROM documents WHERE path = ?"
_PATHS = "SELECT id, path FROM documents"
_CURRENT = "SELECT path FROM documents WHERE stale_reason IS NULL"
_CHUNKS = (
    "SELECT ordinal, heading, body, first_line, last_line FROM chunks WHERE document_id = ?"
    " AND ordinal BETWEEN ? AND ? ORDER BY ordinal"
)


class Core:
    """One store with its settings; safe to share between threads.

    Parameters
    ----------
    store : path, optional
        The store directory; else the settings' `directory`, else `knowledge`.
    config : path, optional
        See `settings.find_settings`.
    embedder : Embedder, optional
        Used in place of the configured one.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.settings: Settings = find_settings(config, store)
        directory = store if store is not None else self.settings.directory or DEFAULT_DIRECTORY
        self.files = StoreFiles.at(directory)
        self.reader = Reader(self.files)
        self._embedder = embedder
        self._embedder_opened = embedder is not None
        self._local: Embedder | None = None
        self._lexicon: Any = None
        self._watchers: list[Watcher] = []

    # -- lifetimes ---------------------------------------------------------------------------

    def close(self) -> None:
        """Stop watchers; close idle connections and the embedder (a later call opens them)."""
        while self._watchers:
            self._watchers.pop().stop()
        self.reader.close()
        if self._embedder is not None:
            self._embedder.close()

    def embedder(self) -> Embedder | None:
        """The embedder in force: the one given, the configured one, or none."""
        if not self._embedder_opened:
            if self.settings.embeddings is not None:
                from knowledge_nb.embedding.factory import open_embedder

                self._embedder = open_embedder(self.settings.embeddings)
            self._embedder_opened = True
        return self._embedder

    def matching_embedder(self) -> Embedder | None:
        """The embedder in force, else the local model where it made the store's vectors.

        A store whose vectors came from the embedded model needs no settings to be used.
        """
        found = self.embedder()
        if found is None and self._local is None:
            identity = self.manifest()
            if identity is not None and identity.provider == "local":
                from knowledge_nb.embedding.local import LocalEmbedder

                self._local = LocalEmbedder(
                    query_prefix=identity.query_prefix, document_prefix=identity.document_prefix
                )
        return found or self._local

    def lexicon(self) -> Any:
        """The words of the corpus, kept until the index changes."""
        if self._lexicon is None:
            from knowledge_nb.matching.lexicon import LexiconCache

            self._lexicon = LexiconCache()
        return self._lexicon

    @contextmanager
    def _snapshot(self, timeout: float | None = None) -> Iterator[tuple[Connection, Completeness]]:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self.reader.snapshot(deadline=deadline) as connection:
            yield connection, read_completeness(connection)

    def completeness(self) -> Completeness:
        """What the store covers now; all zero where nothing is built."""
        if not self.reader.is_built():
            return Completeness()
        with self._snapshot() as (_, completeness):
            return completeness

    def generation(self) -> int:
        """Number of the committed state; 0 where nothing is built."""
        return self.completeness().generation

    def tier(self, completeness: Completeness | None = None) -> str:
        """The tier line of the store as it is configured now."""
        from knowledge_nb.retrieval.tier import tier_line

        identity = self.manifest()
        if identity is None:
            return tier_line("lexical")
        known = completeness or self.completeness()
        return tier_line(
            "fused",
            model=identity.model,
            dimension=identity.dimension,
            without_vector=known.without_vector,
        )

    def manifest(self) -> EmbedderIdentity | None:
        """The pinned embedder of the store; None for a lexical or missing store."""
        if not self.reader.is_built():
            return None
        from knowledge_nb.embedding.manifest import read_manifest

        with self.reader.snapshot() as connection:
            return read_manifest(connection)

    # -- writing -----------------------------------------------------------------------------

    def index_paths(
        self, paths: Sequence[str | os.PathLike[str]]
    ) -> tuple[str | os.PathLike[str], ...]:
        """The folders of a pass: those given, else the settings', else those of earlier passes.

        Raises
        ------
        ConfigurationError
            There are none.
        """
        if paths:
            return tuple(paths)
        if self.settings.paths:
            return self.settings.paths
        if self.reader.is_built():
            with self.reader.snapshot() as connection:
                meta = read_meta(connection)
            base = Path(meta.get("base", "."))
            roots = json.loads(meta.get("roots", "[]"))
            if roots:
                return tuple(Path(os.path.normpath(base / root)) for root in roots)
        raise ConfigurationError(
            "no folder to index: name one, or set paths under [knowledge] in knowledge.toml"
        )

    def index(
        self,
        *paths: str | os.PathLike[str],
        reindex: bool = False,
        dry_run: bool = False,
        reconcile: bool = False,
        wait: float = 0.0,
        progress: Progress | None = None,
        vanished: Vanished | None = None,
    ) -> IndexReport:
        """Run one indexing pass; see `KnowledgeBase.index`. `vanished` is a watcher's."""
        from knowledge_nb.indexing.pipeline import PassOptions, choose_base, plan_pass, run_pass
        from knowledge_nb.indexing.vectors import plan_vectors

        chosen = self.index_paths(paths)
        options = PassOptions(
            self.settings.include,
            reindex=reindex,
            reconcile=reconcile,
            erase_replaced=self.settings.erase_replaced,
            vanished=vanished,
        )
        # A reindex takes the settings as they are; else the store's own model goes on.
        embedder = self.embedder() if reindex else self.matching_embedder()

        def base_of(meta: dict[str, str]) -> Path:
            roots = json.loads(meta.get("roots", "[]"))
            return choose_base(
                meta.get("base", ""), roots, self.settings.base, chosen, reindex=reindex
            )

        if dry_run:
            if not self.reader.is_built():
                tier = plan_vectors(None, embedder, reindex=reindex)
                return plan_pass(None, self.files, chosen, base_of({}), options, tier)
            with self.reader.snapshot() as connection:
                base = base_of(read_meta(connection))
                tier = plan_vectors(connection, embedder, reindex=reindex)
                return plan_pass(connection, self.files, chosen, base, options, tier)
        check_roots(chosen)
        with Writer.open(self.files, wait=wait, prepare=load_where_used) as writer:
            base = base_of(read_meta(writer.connection))
            tier = plan_vectors(writer.connection, embedder, reindex=reindex)
            report = run_pass(writer, chosen, base, options, tier, progress)
        _log.info(
            "pass over %s: added %d, replaced %d, removed %d, stale %d, in %.2f s",
            self.files.directory,
            report.added,
            report.replaced,
            report.removed,
            report.stale,
            report.seconds,
        )
        return replace(report, tier=self.tier(report.completeness))

    def remove(self, *paths: str, wait: float = 0.0) -> tuple[str, ...]:
        """Take documents, or whole folders of them, out of the index, and erase their text.

        Returns
        -------
        tuple of str
            Paths removed, in order. An `ErasePendingWarning` says that, and why, the old text is
            still in the store's files.

        Raises
        ------
        NotFoundError
            A path names neither a document nor a folder with documents; nothing was removed.
        """
        from knowledge_nb.indexing.bookkeeping import forget_roots
        from knowledge_nb.indexing.replace import delete_documents
        from knowledge_nb.indexing.walk import Root
        from knowledge_nb.store import erase

        self._require_built()
        with Writer.open(self.files, wait=wait, prepare=load_where_used) as writer:
            known = {path: number for number, path in rows(writer.connection, _PATHS)}
            doomed: list[str] = []
            for path in paths:
                folder = Root("", path.rstrip("/") or "/")
                found = (
                    [self.find(writer.connection, path)[1]]
                    if path in known
                    else [name for name in known if folder.holds(name)]
                )
                if not found:
                    found = [self.find(writer.connection, path)[1]]
                doomed += found
            doomed = sorted(set(doomed))
            with writer.transaction() as connection:
                delete_documents(connection, doomed)
                forget_roots(connection, doomed)
                erase.mark(connection)
            if left := erase.finish(writer):
                warnings.warn(left, erase.ErasePendingWarning, stacklevel=3)
        return tuple(doomed)

    def reset(self, *, force: bool = False, wait: float = 0.0) -> str:
        """Empty the store: every table is dropped and made anew.

        Returns
        -------
        str
            What was deleted.

        Raises
        ------
        KnowledgeError
            Without `force`; the message names what would be deleted.
        """
        if not self.files.exists():
            raise NotFoundError(f"there is no store at {self.files.directory}; nothing to reset")
        what = f"the whole index in {self.files.database}"
        if not force:
            raise KnowledgeError(
                f"reset would delete {what}{self._contents()}; the indexed files themselves are "
                "not touched. Say so with `knowledge reset --force` or kb.reset(force=True)."
            )
        from knowledge_nb.store.erase import ErasePendingWarning
        from knowledge_nb.store.reset import reset_store

        if left := reset_store(self.files, wait=wait):
            warnings.warn(left, ErasePendingWarning, stacklevel=3)
        return what

    def _contents(self) -> str:
        try:
            known = self.completeness()
        except KnowledgeError as error:
            return f" (it cannot be counted: {error})"
        documents, chunks = counted(known.documents, "document"), counted(known.chunks, "chunk")
        return f", {documents} in {chunks}"

    # -- upkeep ------------------------------------------------------------------------------

    def doctor(self, *, integrity: bool = False, wait: float = 0.0) -> DoctorReport:
        """Every check of the doctor; see `KnowledgeBase.doctor`."""
        from knowledge_nb.audit.doctor import examine

        return examine(self, integrity=integrity, wait=wait)

    def check(self, *, wait: float = 0.0) -> tuple[Check, ...]:
        """Compare index, rows and stored text; see `KnowledgeBase.check`."""
        from knowledge_nb.audit.doctor import examine_integrity

        return examine_integrity(self, wait=wait)

    def rebuild(self, *, wait: float = 0.0) -> tuple[Check, ...]:
        """Make both text indexes anew from the stored chunks; see `KnowledgeBase.rebuild`."""
        from knowledge_nb.store.integrity import rebuild

        self._require_built()
        with Writer.open(self.files, wait=wait, prepare=load_where_used) as writer:
            return rebuild(writer)

    def backup(self, target: str | os.PathLike[str], *, overwrite: bool = False) -> BackupReport:
        """Write a checked copy to one file; see `KnowledgeBase.backup`."""
        from knowledge_nb.store.backup import back_up

        self._require_built()
        return back_up(self.reader, target, overwrite=overwrite)

    def watch(
        self,
        *paths: str | os.PathLike[str],
        reconcile: bool = False,
        **options: Any,
    ) -> Watcher:
        """A watcher of folders, not yet started; see `KnowledgeBase.watch`."""
        from knowledge_nb.indexing.watch import Watcher

        # Made absolute once: a later chdir names other folders.
        roots = tuple(os.path.abspath(path) for path in self.index_paths(paths))
        check_roots(roots)

        def run(vanished: Vanished) -> IndexReport:
            return self.index(*roots, reconcile=reconcile, vanished=vanished)

        def documents() -> tuple[Path, list[str]]:
            with self.reader.snapshot() as connection:
                base = Path(read_meta(connection).get("base", "."))
                return base, [path for (path,) in rows(connection, _CURRENT)]

        watcher = Watcher(run, documents, roots, self.settings.include, self.files, **options)
        self._watchers.append(watcher)
        return watcher

    # -- reading -----------------------------------------------------------------------------

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
                result = not_built(query, tier=self.tier(Completeness()))
            else:
                with self._snapshot(timeout) as (connection, completeness):
                    result = enumerate_documents(
                        connection,
                        query,
                        tier=self.tier(completeness),
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
            return not_built(query, tier=self.tier(Completeness()), width=width)
        with self._snapshot(timeout) as (connection, completeness):
            return kwic(
                connection,
                query,
                tier=self.tier(completeness),
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
            return not_built(pattern, prefix, tier=self.tier(Completeness()))
        with self._snapshot(timeout) as (connection, completeness):
            return vocabulary(
                connection,
                tier=self.tier(completeness),
                completeness=completeness,
                lexicon=self.lexicon(),
                pattern=pattern,
                prefix=prefix,
                limit=limit,
            )

    def find(self, connection: Connection, path: str) -> tuple[int, str]:
        """Id and stored path of a document, whichever Unicode form the name is given in.

        Raises
        ------
        NotFoundError
        """
        exact = rows(connection, _FIND, (path,))
        if exact:
            return exact[0]
        wanted = unicodedata.normalize("NFC", path)
        for number, stored in rows(connection, _PATHS):
            if unicodedata.normalize("NFC", stored) == wanted:
                return number, stored
        raise NotFoundError(
            f"no document {path!r} in this index; `knowledge sources` lists what there is"
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
        """Every indexed document, in path order; empty for an empty corpus."""
        self._require_built()
        with self.reader.snapshot() as connection:
            return tuple(
                Document(path, chunks, size, iso_time(modified), indexed, stale)
                for path, chunks, size, modified, indexed, stale in rows(connection, _DOCUMENTS)
            )

    def stats(self) -> Stats:
        """The store at a glance; all zero where nothing is built."""
        completeness = self.completeness()
        size = 0
        if self.reader.is_built():
            with self.reader.snapshot() as connection:
                size = value(connection, "SELECT coalesce(sum(bytes), 0) FROM documents")
        return Stats(
            store=str(self.files.directory),
            base=completeness.base,
            documents=completeness.documents,
            chunks=completeness.chunks,
            bytes=size,
            database_bytes=_size(self.files.database),
            log_bytes=_size(self.files.sidecars[0]),
            tier=self.tier(completeness),
            completeness=completeness,
        )

    def holds(self, under: str) -> bool:
        """Whether any indexed document lies under a folder (see `search`)."""
        from knowledge_nb.retrieval.under import resolve

        with self.reader.snapshot() as connection:
            return not resolve(connection, under).unknown

    def _require_built(self) -> None:
        if not self.reader.is_built():
            raise IndexNotBuiltError(
                f"there is no index in {self.files.directory}: run `knowledge index PATH` first"
            )


def check_roots(paths: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse a missing root before the store directory is made.

    Raises
    ------
    RootError
    """
    from knowledge_nb.indexing.walk import resolve_roots

    resolve_roots(paths, Path.cwd())


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0
