"""The facade's verbs for auditing a corpus; `KnowledgeBase` inherits them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from knowledge_nb.errors import ConfigurationError
from knowledge_nb.refusals import require_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

    from knowledge_nb.audit.snapshot import Snapshots
    from knowledge_nb.core import Core
    from knowledge_nb.notebook.frames import ResultFrame
    from knowledge_nb.notebook.frames_audit import CoverageFrame, DocumentSet

Frame = TypeVar("Frame", bound="ResultFrame")


class AuditVerbs:
    """`duckdb sql statistics coverage audit_files match_set save saved verify_export`."""

    core: Core
    _snapshots: Snapshots | None = None

    def duckdb(
        self, *, terms: bool = True, files: bool = False
    ) -> AbstractContextManager[DuckDBPyConnection]:
        """A DuckDB connection with a snapshot of the corpus: `with kb.duckdb() as con: ...`.

        The snapshot is attached READ_ONLY as `knowledge` and in use: tables `documents` (without
        title), `chunks`, `skipped_files`, `other_types`, `folders`, `terms` and `snapshot` (its
        generation and time). It is a copy, never the live file: a second SQLite library in this
        process would drop our locks on it. Reading and writing files, loading extensions and
        attaching databases are refused; tables of one's own go into the catalog `memory`, and
        `con.register(name, frame)` brings in a DataFrame. It runs on one thread, so that it can be
        stopped; `SET threads = 4` is faster, and may hang when it is interrupted.

        Parameters
        ----------
        terms : bool
            With the word table, which takes some seconds for a large corpus the first time.
        files : bool
            Leave file access on, to join files of one's own; warns of what that risks.

        Raises
        ------
        IndexNotBuiltError, CorpusEmptyError
        MissingDependencyError
            The package with DuckDB's SQLite extension is absent; the message has the install line.
        """
        return self._connection(terms=terms, files=files)

    @contextmanager
    def _connection(self, *, terms: bool, files: bool) -> Iterator[DuckDBPyConnection]:
        with self._snapshot_room().connect(terms=terms, files=files) as (connection, _):
            yield connection

    def _snapshot_room(self) -> Snapshots:
        if self._snapshots is None:
            from knowledge_nb.audit.snapshot import Snapshots

            self._snapshots = Snapshots(self.core.reader)
        return self._snapshots

    def _close_audits(self) -> None:
        if self._snapshots is not None:
            self._snapshots.close()

    def _owned(self, frame: Frame) -> Frame:
        """Let a frame's export note the documents as they are."""
        frame._core = self.core
        return frame

    def sql(
        self, query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> ResultFrame:
        """Ask the snapshot in SQL; see `duckdb` for its tables.

        Parameters
        ----------
        query : str
            In DuckDB's SQL.
        parameters : sequence or mapping, optional
            Bound to `?` or `$name`.

        Returns
        -------
        ResultFrame
            Missing numbers are `<NA>`, missing text is "". `.result` has the snapshot's
            generation and time. Empty: no row answers the query.

        Raises
        ------
        QueryError
            DuckDB refuses it, in its own words.
        """
        from knowledge_nb.audit.sql import run_sql
        from knowledge_nb.notebook.frames_audit import result_frame

        return result_frame(run_sql(self._snapshot_room(), query, parameters), self.core)

    @property
    def statistics(self) -> Statistics:
        """Statistics of the corpus, each a frame with a chart."""
        return Statistics(self)

    def coverage(
        self, terms: Any, by: str | None = None, under: str = "", timeout: float | None = None
    ) -> CoverageFrame:
        """What a list of terms covers of the corpus.

        Parameters
        ----------
        terms
            A list of queries in the language of `enumerate`, of (query, label, group), a frame
            or a CSV file with columns `term label group`, or a text file with a term a line.
        by : {None, "group"}
            A row per term, or a row per group of the list.
        under : str
            A folder, relative to the corpus base; restricts everything.
        timeout : float, optional
            Seconds.

        Returns
        -------
        CoverageFrame
            In list order, every listed term once, also those that were not answered (`error`).
            `.matrix .uncovered .overlap .smallest_cover .by_folder .groups .stem_gain` and the
            charts are of the same answer. A document count of 0 means that no covered document
            holds the term; `.result.completeness` says what that covers.

        Raises
        ------
        ConfigurationError
            The list cannot be read, or is empty.
        IndexNotBuiltError, CorpusEmptyError
        """
        from knowledge_nb.audit.verbs import coverage_of
        from knowledge_nb.notebook.frames_audit import coverage_frame

        if by not in (None, "term", "group"):
            raise ConfigurationError(f'by is None or "group", not {by!r}')
        result = coverage_of(self.core, terms, under=under, timeout=timeout)
        require_answer(result)
        return coverage_frame(result, None if by == "term" else by, self.core)

    def audit_files(self, *paths: str | os.PathLike[str], under: str = "") -> ResultFrame:
        """Compare the disk with the index, file by file; every file is read and hashed.

        Parameters
        ----------
        *paths : path
            Folders; none: those of earlier passes.
        under : str
            A folder, relative to the corpus base; only it is read.

        Returns
        -------
        ResultFrame
            `path state reason kind bytes indexed_bytes modified indexed`, in path order; state is
            indexed, changed, new, gone, unreadable or skipped. `.result.totals` counts them,
            `.result.differs` says whether index and disk differ. Empty: nothing lies there.

        Raises
        ------
        RootError
            A folder is missing: nothing can be said of it.
        IndexNotBuiltError
        """
        from knowledge_nb.audit.verbs import files_of
        from knowledge_nb.notebook.frames_audit import files_frame

        result = files_of(self.core, paths, under=under)
        require_answer(result)
        return files_frame(result, self.core)

    def match_set(self, query: str, under: str = "") -> DocumentSet:
        """The documents that a query matches, as a set with `|`, `&`, `-` and `~`.

        Parameters
        ----------
        query : str
            In the language of `enumerate`.
        under : str
            A folder; `~` is then relative to it.

        Returns
        -------
        DocumentSet
            `str()` shows its expression with the count at every node, `.frame()` its documents.

        Raises
        ------
        QuerySyntaxError
        IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
        """
        from knowledge_nb.audit.verbs import match_set_of
        from knowledge_nb.notebook.frames_audit import DocumentSet

        found = match_set_of(self.core, DocumentSet, query, under=under)
        require_answer(found)
        return found

    def save(self, name: str, frame: Any, overwrite: bool = False) -> str:
        """Keep the documents of an answer beside the store, to compare with later.

        Parameters
        ----------
        name : str
            Letters, digits, spaces and . _ + -, at most 80.
        frame : ResultFrame, DataFrame or DocumentSet
            With a column `path`.
        overwrite : bool
            Replace a set of that name.

        Returns
        -------
        str
            What was saved.

        Raises
        ------
        ConfigurationError
            The name cannot be a file's or is taken, or `frame` is neither a frame nor a set.
        ExportError
            It has no column `path`, is a page of a longer list, or was changed in place.
        """
        from knowledge_nb.audit.match_set import MatchSet
        from knowledge_nb.export.question import SourcesAnswer
        from knowledge_nb.export.saved import save
        from knowledge_nb.notebook.frames import ResultFrame
        from knowledge_nb.notebook.frames_audit import frame_table, whole_table

        if isinstance(frame, MatchSet):
            result: Any = frame
            table = frame.table()
        elif not hasattr(frame, "columns"):
            raise ConfigurationError(
                f"{frame!r:.60} is no answer to save: give the frame of a verb, such as "
                f"kb.enumerate(...), or kb.match_set(...)"
            )
        elif isinstance(frame, ResultFrame):
            result, table = frame.result, whole_table(frame)
            if frame.kind == "sources" and result is None:
                result = SourcesAnswer(self.core.completeness(), self.core.tier())
        else:
            result, table = None, frame_table(frame)
        held = save(self.core, name, result, table, overwrite=overwrite)
        number = "1 document" if len(held.paths) == 1 else f"{len(held.paths):,} documents"
        return f"{held.name}: {number} saved {held.saved}"

    def saved(self, name: str | None = None) -> ResultFrame:
        """The saved sets, or one of them against now.

        Parameters
        ----------
        name : str, optional
            None lists the sets.

        Returns
        -------
        ResultFrame
            `name documents query under saved generation error`; or `path change cause`, where
            change is added, removed or kept, and the cause says what became of the document.

        Raises
        ------
        NotFoundError
            No set of that name.
        """
        from knowledge_nb.export.saved import saved_diff, saved_sets
        from knowledge_nb.notebook.frames_audit import diff_frame, saved_frame

        if name is None:
            return saved_frame(saved_sets(self.core))
        return diff_frame(saved_diff(self.core, name))

    def delete_saved(self, name: str) -> None:
        """Remove a saved set.

        Raises
        ------
        NotFoundError
        """
        from knowledge_nb.export.saved import delete_saved

        delete_saved(self.core, name)

    def verify_export(self, path: str | os.PathLike[str]) -> ResultFrame:
        """Read an exported file back and ask its question again.

        Returns
        -------
        ResultFrame
            `row change cause` of the rows that differ. Empty, with `.result.same`: the answer is
            the same, and the file holds what was written.

        Raises
        ------
        ExportError
            The file cannot be verified; the message says why.
        """
        from knowledge_nb.export.verify import verify_export
        from knowledge_nb.notebook.frames_audit import verification_frame

        return verification_frame(verify_export(self.core, path))


class Statistics:
    """`kb.statistics`: each method gives a frame, computed on a snapshot of the index.

    `.chart()` of the frame draws it; `.result` carries the snapshot's generation and time.
    """

    def __init__(self, verbs: AuditVerbs) -> None:
        self._verbs = verbs

    def __repr__(self) -> str:
        names = [name for name in dir(type(self)) if not name.startswith("_")]
        return f"statistics: {', '.join(names)}"

    def _frame(self, name: str, **arguments: Any) -> ResultFrame:
        from knowledge_nb.audit.statistics import NEED_TERMS, STATISTICS
        from knowledge_nb.notebook.frames_audit import result_frame

        room = self._verbs._snapshot_room()
        with room.connect(terms=name in NEED_TERMS) as (connection, info):
            result = STATISTICS[name](connection, info, **arguments)
        return result_frame(result, self._verbs.core)

    def overview(self) -> ResultFrame:
        """`figure value unit`: the corpus in thirteen figures."""
        return self._frame("overview")

    def by_folder(self, depth: int = 1) -> ResultFrame:
        """`folder documents chunks bytes words share`: every document in one row."""
        return self._frame("by_folder", depth=depth)

    def documents(self) -> ResultFrame:
        """Sizes of every document, largest first."""
        return self._frame("documents")

    def chunk_sizes(self) -> ResultFrame:
        """Chunks by characters of their body, in classes that double."""
        return self._frame("chunk_sizes")

    def headings(self) -> ResultFrame:
        """`heading documents chunks share_of_chunks`, most documents first."""
        return self._frame("headings")

    def vocabulary_growth(self) -> ResultFrame:
        """`documents occurrences words`, cumulative, with a fit of Heaps' law."""
        return self._frame("vocabulary_growth")

    def zipf(self) -> ResultFrame:
        """`rank word occurrences documents share`, every word."""
        return self._frame("zipf")

    def duplicates(self) -> ResultFrame:
        """Documents with the same bytes, group by group; empty where there are none."""
        return self._frame("duplicates")

    def near_duplicates(self, threshold: float = 0.8, words: int = 5) -> ResultFrame:
        """Pairs of documents that share most runs of words, most alike first.

        Parameters
        ----------
        threshold : float
            Least Jaccard similarity of the two sets of runs.
        words : int
            Words in a run.
        """
        return self._frame("near_duplicates", threshold=threshold, words=words)

    def freshness(self) -> ResultFrame:
        """`path modified indexed age_days stale_reason`, oldest first."""
        return self._frame("freshness")
