"""The facade that an analyst holds: one method per verb, answers as pandas frames.

A frame that you hold is a complete answer. Where no complete answer can be given (not built,
empty corpus, nothing searchable) a method raises, with the fix in the message and the record as
`.result`; the forms, the CLI and the agents' tools show the same states as soft statuses.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from knowledge_nb.core import Core
from knowledge_nb.records import IndexReport, Mode, Stats
from knowledge_nb.refusals import require_answer
from knowledge_nb.verbs_audit import AuditVerbs
from knowledge_nb.verbs_evaluation import EvaluationVerbs, require_known

if TYPE_CHECKING:
    from knowledge_nb.embedding.protocol import Embedder
    from knowledge_nb.indexing.pipeline import Progress
    from knowledge_nb.indexing.watch import Watcher
    from knowledge_nb.notebook.frames import ResultFrame
    from knowledge_nb.store.backup import BackupReport


def open(  # the door is knb.open
    store: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    embedder: Embedder | None = None,
) -> KnowledgeBase:
    """Open a knowledge base; it never fails because nothing is built yet.

    Parameters
    ----------
    store : path, optional
        The store directory; else `directory` of the settings, else `knowledge`.
    config : path, optional
        A settings file; else `knowledge.toml` beside the named store, else in the working
        directory, else the defaults.
    embedder : Embedder, optional
        Any object of `knowledge_nb.embedding.protocol.Embedder`, in place of the configured one.

    Raises
    ------
    ConfigurationError
        The settings cannot be used.
    """
    return KnowledgeBase(Core(store, config=config, embedder=embedder))


class KnowledgeBase(AuditVerbs, EvaluationVerbs):
    """One corpus and its index.

    Attributes
    ----------
    core : Core
        The same verbs, with records in place of frames.
    """

    def __init__(self, core: Core) -> None:
        self.core = core

    def __repr__(self) -> str:
        return f"KnowledgeBase({str(self.core.files.directory)!r})"

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close connections and remove the snapshot; a later call makes them again."""
        self._close_audits()
        self.core.close()

    def index(
        self,
        *paths: str | os.PathLike[str],
        reindex: bool = False,
        dry_run: bool = False,
        reconcile: bool = False,
        wait: float = 0.0,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Bring the index up to date with folders of Markdown and text.

        Parameters
        ----------
        *paths : path
            Folders or files; none: those of the settings, else those of earlier passes.
        reindex : bool
            Read every file again, whatever its hash; also takes a new base or embedder.
        dry_run : bool
            Say what would be done; write nothing.
        reconcile : bool
            Also remove documents whose file is gone, below folders that were read whole.
        wait : float
            Seconds to wait for another writer.
        progress : callable, optional
            Called with files done, bytes done, files in all, bytes in all. None: a bar in a
            notebook, nothing elsewhere.

        Returns
        -------
        IndexReport

        Raises
        ------
        RootError
            A folder is missing or unreadable; nothing was deleted.
        StoreLockedError
            Another writer is at work.
        BaseMismatchError, VectorsMismatchError, EmbeddingError
            Refused before anything was written.
        """

        def index(progress: Progress | None) -> IndexReport:
            return self.core.index(
                *paths,
                reindex=reindex,
                dry_run=dry_run,
                reconcile=reconcile,
                wait=wait,
                progress=progress,
            )

        from knowledge_nb.notebook.progress import in_notebook, run_with_bar

        if progress is None and in_notebook():
            return run_with_bar(index)
        return index(progress)

    def search(
        self,
        query: str,
        k: int = 5,
        mode: Mode | None = None,
        under: str = "",
        timeout: float | None = None,
        **options: Any,
    ) -> ResultFrame:
        """Rank chunks for a free text; a ranking never proves an absence.

        Parameters
        ----------
        query : str
            Free text; there is no query syntax.
        k : int
            Hits wanted, 1 to 10,000.
        mode : {"lexical", "vector", "fused"}, optional
            None: the best that the store has.
        under : str
            A folder, relative to the corpus base.
        timeout : float, optional
            Seconds for the whole call.

        Returns
        -------
        ResultFrame
            `rank citation path ordinal heading score lexical_rank lexical_score vector_rank
            vector_distance text`, best first. Empty: nothing ranks; `.result.notes` says why.

        Raises
        ------
        IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
            No complete answer can be given.
        QueryError
            An argument is out of range, or vectors are asked of a store that has none.
        SearchTimeoutError
            The time limit passed.
        """
        from knowledge_nb.notebook.frames import search_frame
        from knowledge_nb.retrieval.search import search

        require_known("search", options, search)
        result = self.core.search(query, k=k, mode=mode, under=under, timeout=timeout, **options)
        require_answer(result)
        if result.degraded:
            from knowledge_nb.retrieval.tier import DegradedSearchWarning

            warnings.warn(result.tier, DegradedSearchWarning, stacklevel=2)
        return self._owned(search_frame(result))

    def enumerate(
        self,
        query: str,
        sort: str = "matches",
        limit: int | None = None,
        min_body_matches: int = 0,
        under: str = "",
        timeout: float | None = None,
    ) -> ResultFrame:
        """The complete set of documents that hold some words.

        Parameters
        ----------
        query : str
            Words and "quoted phrases", each of which must occur somewhere in the document; a
            leading minus excludes; `heading:` and `body:` restrict one term.
        sort : {"matches", "path"}
            Body matches, then heading matches, then path; or path.
        limit : int, optional
            Rows at most; `.result.matched` is counted before it.
        min_body_matches : int
            Leave out documents with fewer matching chunk bodies.
        under : str
            A folder, relative to the corpus base.

        Returns
        -------
        ResultFrame
            `path citation body_matches heading_matches chunks`. Empty: no indexed document
            matches; `.result.completeness` says what that covers.

        Raises
        ------
        QuerySyntaxError
            The closed language refuses the query; the message holds the fix.
        IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
        """
        from knowledge_nb.notebook.frames import enumerate_frame

        result = self.core.enumerate(
            query,
            sort=sort,
            limit=limit,
            min_body_matches=min_body_matches,
            under=under,
            timeout=timeout,
        )
        require_answer(result)
        return self._owned(enumerate_frame(result))

    def vocabulary(
        self,
        pattern: str | None = None,
        prefix: str | None = None,
        limit: int | None = None,
    ) -> ResultFrame:
        """Every real word of the corpus.

        Parameters
        ----------
        pattern : str, optional
            A regular expression that the word must hold.
        prefix : str, optional
            The word's beginning; a longer prefix gives a subset.
        limit : int, optional
            Rows at most; `.result.matched` is counted before it.

        Returns
        -------
        ResultFrame
            `word stem documents documents_any_form occurrences`, most documents first. Empty: no
            word fits.

        Raises
        ------
        IndexNotBuiltError, CorpusEmptyError
        QueryError
            The pattern is no regular expression.
        """
        from knowledge_nb.notebook.frames import vocabulary_frame

        result = self.core.vocabulary(pattern, prefix=prefix, limit=limit)
        require_answer(result)
        return self._owned(vocabulary_frame(result))

    def kwic(
        self,
        query: str,
        width: int = 60,
        limit: int | None = None,
        under: str = "",
        timeout: float | None = None,
    ) -> ResultFrame:
        """Keyword in context: every place of a query's words, in the documents it matches.

        Parameters
        ----------
        query : str
            In the language of `enumerate`; terms with a minus only leave documents out.
        width : int
            Characters of context on each side, at most.
        limit : int, optional
            Rows at most; `.result.matched` is counted before it.
        under : str
            A folder, relative to the corpus base.
        timeout : float, optional
            Seconds for the whole call.

        Returns
        -------
        ResultFrame
            `path citation line left match right`, by path, then in the order of the file; a
            heading counts once, where it stands. Line `line` of the file holds the beginning of
            `match`; white space of any length is one space. Empty: no indexed document matches.

        Raises
        ------
        QuerySyntaxError
            The closed language refuses the query; the message holds the fix.
        IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
        SearchTimeoutError
            The time limit passed.
        """
        from knowledge_nb.notebook.frames import kwic_frame

        result = self.core.kwic(query, width=width, limit=limit, under=under, timeout=timeout)
        require_answer(result)
        return kwic_frame(result)

    def show(self, target: str, around: int = 0) -> ResultFrame:
        """The chunk that a citation names, or every chunk of a document.

        Returns
        -------
        ResultFrame
            `citation path ordinal heading first_line last_line text`, in file order.

        Raises
        ------
        NotFoundError
        """
        from knowledge_nb.notebook.frames import chunks_frame

        return chunks_frame(self.core.show(target, around=around))

    def sources(self) -> ResultFrame:
        """Every indexed document: `path chunks bytes modified indexed stale_reason`."""
        from knowledge_nb.notebook.frames import sources_frame

        return self._owned(sources_frame(self.core.sources()))

    def stats(self) -> Stats:
        """The store at a glance; its `status` says whether the numbers are of a corpus at all."""
        return self.core.stats()

    def remove(self, *paths: str) -> tuple[str, ...]:
        """Take documents, or whole folders of them, out of the index; the paths removed.

        Raises
        ------
        NotFoundError
            A path names nothing in the index; nothing was removed.
        """
        removed = self.core.remove(*paths)
        self._close_audits()  # the snapshot still holds the text
        return removed

    def watch(
        self,
        *paths: str | os.PathLike[str],
        debounce: float = 2.0,
        poll: bool | None = None,
        full_every: float = 300.0,
        reconcile: bool = False,
        on_pass: Callable[[IndexReport], None] | None = None,
    ) -> Watcher:
        """Keep the index fresh in the background, until `stop` or the end of a `with` block.

        Parameters
        ----------
        *paths : path
            As for `index`.
        debounce : float
            Seconds for which the folders must rest before a pass; at least 0.1.
        poll : bool, optional
            Look at every file in turn in place of events; None: on network file systems.
        full_every : float
            Seconds between passes that need no event; they repair events that were lost.
        reconcile : bool
            Also remove documents whose file was already gone when watching began, or whose
            deletion nobody saw.
        on_pass : callable, optional
            Called with the report of each pass, on another thread.

        Returns
        -------
        Watcher
            Started. `status` says what it is doing, `stop` ends it after the pass that runs.

        Raises
        ------
        RootError
            A folder is missing.
        ConfigurationError
            A number is out of range, or no folder is known.
        """
        return self.core.watch(
            *paths,
            debounce=debounce,
            poll=poll,
            full_every=full_every,
            reconcile=reconcile,
            on_pass=on_pass,
        ).start()

    def doctor(self, integrity: bool = False) -> ResultFrame:
        """Examine store, files and embedder; nothing is changed.

        Parameters
        ----------
        integrity : bool
            Also run `check`.

        Returns
        -------
        ResultFrame
            `check state message fix`, in the order of the report. `state` is "pass", "fail" or
            "not run": what was not run is not vouched for. A fix beside a pass is a warning's.
        """
        from knowledge_nb.notebook.frames import doctor_frame

        return doctor_frame(self.core.doctor(integrity=integrity))

    def check(self) -> ResultFrame:
        """Compare both text indexes, all rows and the stored text; nothing is changed.

        Returns
        -------
        ResultFrame
            `check state message fix`. All "not run", and why, while another writer holds the
            lock, which FTS5's check needs, or where there is no store.
        """
        from knowledge_nb.audit.doctor import DoctorReport
        from knowledge_nb.notebook.frames import doctor_frame

        return doctor_frame(DoctorReport(self.core.check(), self.core.tier()))

    def rebuild(self) -> ResultFrame:
        """Make both text indexes anew from the stored chunks; nothing is embedded again.

        Returns
        -------
        ResultFrame
            `check state message fix`: the indexes as they are afterwards.

        Raises
        ------
        StoreDamagedError
            The chunks themselves are damaged: an index made from them would only look sound.
        """
        from knowledge_nb.audit.doctor import DoctorReport
        from knowledge_nb.notebook.frames import doctor_frame

        return doctor_frame(DoctorReport(self.core.rebuild(), self.core.tier()))

    def backup(self, path: str | os.PathLike[str], overwrite: bool = False) -> BackupReport:
        """Write one committed state to a file of its own, mode 0600, and check what is in it.

        Where that is not sound but its pages are, as where the index has drifted from the text,
        the file is kept, `report.failed` holds the faults, and an `UnsoundBackupWarning` says it.

        A copy made with `cp` or shutil is no backup: it misses the write-ahead log, and made in
        this process it drops the locks of the database.

        Raises
        ------
        StoreAccessError
            The file exists and `overwrite` is not given, or it cannot be written.
        StoreDamagedError
            The pages of the copy are damaged; no file was made.
        """
        report = self.core.backup(path, overwrite=overwrite)
        if report.failed:
            from knowledge_nb.store.backup import UnsoundBackupWarning

            warnings.warn(report.faults(), UnsoundBackupWarning, stacklevel=2)
        return report

    def reset(self, force: bool = False) -> str:
        """Empty the store; without `force` it refuses and names what it would delete."""
        deleted = self.core.reset(force=force)
        self._close_audits()
        return deleted
