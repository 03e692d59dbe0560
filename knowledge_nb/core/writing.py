"""The verbs that write, and those that keep a store sound."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_nb.core.handles import Handles
from knowledge_nb.errors import ConfigurationError, KnowledgeError, NotFoundError
from knowledge_nb.records import Check, IndexReport, counted
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.format import read_meta
from knowledge_nb.store.sql import rows
from knowledge_nb.store.vectors import load_where_used

if TYPE_CHECKING:
    from knowledge_nb.indexing.pipeline import Progress
    from knowledge_nb.indexing.watch import Vanished, Watcher
    from knowledge_nb.store.backup import BackupReport

# Counts and paths of stores; never the text of a query or of a document.
_log = logging.getLogger(__name__)

_PATHS = "SELECT id, path FROM documents"
_CURRENT = "SELECT path FROM documents WHERE stale_reason IS NULL"


class Writing(Handles):
    """Index, remove, reset, check, rebuild, back up, watch."""

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
            if "" in paths:
                # os.path would take it for the working directory.
                raise ConfigurationError("a path to index is empty; name a folder")
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
        return replace(report, tier=self.tier())

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
        from knowledge_nb.indexing.bookkeeping import forget_roots, note_removed
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
                note_removed(connection, len(doomed))
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


def check_roots(paths: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse a missing root before the store directory is made.

    Raises
    ------
    RootError
    """
    from knowledge_nb.indexing.walk import resolve_roots

    resolve_roots(paths, Path.cwd())
