"""One indexing pass: plan, walk, classify, chunk, embed, replace.

The flow of one document: `walk` finds it, `classify` hashes it against the stored hash, `chunk`
cuts it, `vectors` embeds it outside any transaction, `replace` puts it in whole, many documents
to one short transaction.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from knowledge_nb.errors import BaseMismatchError
from knowledge_nb.indexing import bookkeeping
from knowledge_nb.indexing.bookkeeping import Known, PassState
from knowledge_nb.indexing.classify import Contents, LeftOut, prepare_document, read_file
from knowledge_nb.indexing.replace import PreparedDocument, replace_documents
from knowledge_nb.indexing.vectors import VectorTier
from knowledge_nb.indexing.walk import FoundFile, Root, Skip, Walk, resolve_roots, walk_roots
from knowledge_nb.records import Completeness, FileEvent, IndexReport
from knowledge_nb.store import erase as erasing
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import read_meta
from knowledge_nb.store.mounts import network_mount
from knowledge_nb.store.status import read_completeness, utc_now

DOCUMENTS_A_TRANSACTION = 1_000
BYTES_A_TRANSACTION = 4 * 1024 * 1024

Progress = Callable[[int, int, int, int], None]
"""Called with files done, bytes done, files in all, bytes in all."""


@dataclass(frozen=True, slots=True)
class PassOptions:
    """How to run a pass; see `knowledge_nb.KnowledgeBase.index`.

    `vanished` is a watcher's: of documents that the walk did not find it gives those whose file
    was deleted, which then go without a reconcile.
    """

    include: tuple[str, ...]
    reindex: bool = False
    reconcile: bool = False
    erase_replaced: bool = False
    vanished: Callable[[Path, Sequence[str]], Collection[str]] | None = None


def choose_base(
    pinned: str,
    pinned_roots: Sequence[str],
    settings_base: Path | None,
    paths: Sequence[str | os.PathLike[str]],
    *,
    reindex: bool,
) -> Path:
    """The corpus base of a pass.

    The folder of the settings file; else the pinned base where every path given lies below it or
    was given before, also for a reindex; else the folder given first.

    Raises
    ------
    BaseMismatchError
        The store is pinned to another base and this is no reindex.
    """
    first = Path(os.path.abspath(paths[0]))
    wanted = settings_base or (first.parent if first.is_file() else first)
    if not pinned or str(wanted) == pinned:
        return wanted
    if settings_base is None:
        base = Path(pinned)
        known = [Root("", path) for path in (".", *pinned_roots)]
        given = [os.path.relpath(os.path.abspath(path), base) for path in paths]
        if all(any(root.holds(path.replace(os.sep, "/")) for root in known) for path in given):
            return base
    if reindex:
        return wanted
    raise BaseMismatchError(
        f"document paths in this store are relative to {pinned}, and {wanted} is another base. "
        f"Index it into a store of its own (--store), give all folders in one call with {pinned} "
        "first, or start over from the new base with --reindex."
    )


class _Pass:
    """One pass under way; with no writer it is a dry run that writes nothing."""

    def __init__(
        self, state: PassState, options: PassOptions, writer: Writer | None, tier: VectorTier
    ) -> None:
        self.state = state
        self.options = options
        self.writer = writer
        self.tier = tier
        self.events: list[FileEvent] = []
        self.skips: list[Skip] = []
        self.touched: list[tuple[int, int]] = []
        self.batch: list[tuple[FoundFile, PreparedDocument]] = []
        self.batch_bytes = 0
        self.unchanged = self.chunks = self.chunks_written = self.bytes = 0

    def take(self, file: FoundFile) -> None:
        """Classify one file; write the batch when it is full."""
        known = self.state.known.get(file.path)
        contents = read_file(file)
        if contents == "gone":
            # It vanished since the walk: what the index holds of it is no longer vouched for.
            if known is not None:
                self.state.stale[file.path] = bookkeeping.GONE
        elif isinstance(contents, LeftOut):
            self._leave_out(file, contents)
        else:
            self.bytes += len(contents.data)
            if known and known.sha256 == contents.sha256 and not self.options.reindex:
                self._carry_forward(file, known)
            else:
                self._prepare(file, contents, self.batch)
        if len(self.batch) >= DOCUMENTS_A_TRANSACTION or self.batch_bytes >= BYTES_A_TRANSACTION:
            self.flush()

    def _carry_forward(self, file: FoundFile, known: Known) -> None:
        self.unchanged += 1
        self.chunks += known.chunks
        if known.modified_ns != file.modified_ns or known.stale_reason:
            self.touched.append((file.modified_ns, known.id))

    def _prepare(
        self, file: FoundFile, contents: Contents, batch: list[tuple[FoundFile, PreparedDocument]]
    ) -> None:
        prepared = prepare_document(file, contents)
        if isinstance(prepared, LeftOut):
            self._leave_out(file, prepared)
            return
        batch.append((file, prepared))
        self.batch_bytes += prepared.bytes

    def _leave_out(self, file: FoundFile, why: LeftOut) -> None:
        self.skips.append(Skip(file.path, "file", why.reason, file.bytes, why.detail))
        known = self.state.known.get(file.path)
        if known is None:
            return
        if why.keeps:
            self.state.stale[file.path] = f"{why.reason}: {why.detail}"
            self.chunks += known.chunks
        else:
            self.state.drop[file.path] = why.reason

    def flush(self) -> None:
        """Embed the batch, then replace its documents in one short transaction."""
        batch, self.batch, self.batch_bytes = self.batch, [], 0
        while batch:
            again: list[tuple[FoundFile, PreparedDocument]] = []
            if self.writer is not None:
                embedded = self.tier.embed(self.writer, [document for _, document in batch])
                if self.tier.slow:
                    batch, again = self._still_the_same(batch)
                documents = [document for _, document in batch]
                with self.writer.transaction() as connection:
                    if self.options.erase_replaced and self._replaces(documents):
                        erasing.mark(connection)
                    ids = replace_documents(connection, documents, indexed_at=utc_now())
                    self.tier.store(connection, ids, documents, embedded)
            for _, document in batch:
                action = "replaced" if document.path in self.state.known else "added"
                count = len(document.chunks)
                self.events.append(FileEvent(document.path, action, "", document.bytes, count))
                self.chunks += count
                self.chunks_written += count
            batch = again

    def _replaces(self, documents: Sequence[PreparedDocument]) -> bool:
        return any(document.path in self.state.known for document in documents)

    def _still_the_same(
        self, batch: list[tuple[FoundFile, PreparedDocument]]
    ) -> tuple[list[tuple[FoundFile, PreparedDocument]], list[tuple[FoundFile, PreparedDocument]]]:
        """Part the batch into files that still hold what was embedded, and those to do again.

        A file edited or deleted while the server worked must not be overwritten by its old text.
        """
        same: list[tuple[FoundFile, PreparedDocument]] = []
        again: list[tuple[FoundFile, PreparedDocument]] = []
        for file, document in batch:
            now = read_file(file)
            if now == "gone":
                if file.path in self.state.known:
                    self.state.stale[file.path] = bookkeeping.GONE
            elif isinstance(now, LeftOut):
                self._leave_out(file, now)
            elif now.sha256 == document.sha256:
                same.append((file, document))
            else:
                self._prepare(file, now, again)
        self.batch_bytes = 0
        return same, again


def run_pass(
    writer: Writer,
    paths: Sequence[str | os.PathLike[str]],
    base: Path,
    options: PassOptions,
    tier: VectorTier,
    progress: Progress | None = None,
) -> IndexReport:
    """Run one pass and write it.

    Parameters
    ----------
    writer : Writer
        Open; its lock is held.
    paths : sequence of path
        Folders and files.
    base : Path
        As from `choose_base`.
    options : PassOptions
    tier : VectorTier
        Planned against the live embedder before anything was written.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    IndexReport
        `completed` is True: an interrupted pass raises, and stays pinned as unfinished.

    Raises
    ------
    RootError
        A root is missing or unreadable; nothing was written.
    """
    started = time.monotonic()
    roots = resolve_roots(paths, base)
    mount = network_mount(writer.files.directory)
    with writer.transaction() as connection:
        state = PassState(roots, base, bookkeeping.known_documents(connection))
        if bookkeeping.leave_base(state, read_meta(connection)):
            bookkeeping.forget_everything(connection)
            if options.erase_replaced:
                erasing.mark(connection)
        tier.begin(connection)
        bookkeeping.pin_start(connection, roots, base)
    if mount is not None:
        state.notes.append(
            f"WARNING: the store lies on {mount.kind}, mounted at {mount.point}, where SQLite's "
            "locks cannot be relied on; keep it on a local disk (--store)."
        )
    walk = walk_roots(roots, options.include, writer.files)
    renames = bookkeeping.find_renames(state, walk)
    if renames:
        with writer.transaction() as connection:
            bookkeeping.apply_renames(connection, state, renames)
    run = _Pass(state, options, writer, tier)
    _take_all(run, walk, progress)
    tier.complete_missing(writer)
    with writer.transaction() as connection:
        bookkeeping.touch_documents(connection, run.touched)
        bookkeeping.find_losses(
            state,
            walk,
            include=options.include,
            reconcile=options.reconcile,
            vanished=options.vanished,
        )
        bookkeeping.record_losses(connection, state)
        bookkeeping.note_rules(connection, state, reindex=options.reindex)
        if options.erase_replaced and state.drop:
            erasing.mark(connection)
        bookkeeping.record_skips(connection, roots, walk)
        bookkeeping.pin_end(connection, roots)
        completeness = read_completeness(connection)
    if left := erasing.finish(writer):
        state.notes.append(f"WARNING: {left}.")
    return _report(run, walk, completeness, time.monotonic() - started)


def plan_pass(
    connection: apsw.Connection | None,
    files: StoreFiles,
    paths: Sequence[str | os.PathLike[str]],
    base: Path,
    options: PassOptions,
    tier: VectorTier,
) -> IndexReport:
    """A dry run: what a pass would do, from the same walk and hashes, writing nothing.

    Parameters
    ----------
    connection : apsw.Connection or None
        In a read transaction; None where no store exists yet.
    """
    started = time.monotonic()
    roots = resolve_roots(paths, base)
    known = bookkeeping.known_documents(connection) if connection is not None else {}
    state = PassState(roots, base, known)
    state.notes.append("Dry run: nothing was written.")
    if connection is not None:
        bookkeeping.leave_base(state, read_meta(connection))
    walk = walk_roots(roots, options.include, files)
    for _, old, new in bookkeeping.find_renames(state, walk):
        state.known[new] = state.known.pop(old)
    run = _Pass(state, options, None, tier)
    _take_all(run, walk, None)
    bookkeeping.find_losses(state, walk, include=options.include, reconcile=options.reconcile)
    completeness = read_completeness(connection) if connection is not None else Completeness()
    return _report(run, walk, completeness, time.monotonic() - started)


def _take_all(run: _Pass, walk: Walk, progress: Progress | None) -> None:
    total = sum(file.bytes for file in walk.files)
    done = 0
    for number, file in enumerate(walk.files, start=1):
        run.take(file)
        done += file.bytes
        if progress is not None:
            progress(number, done, len(walk.files), total)
    run.flush()
    walk.skipped = sorted(
        {skip.path: skip for skip in (*walk.skipped, *run.skips)}.values(), key=lambda s: s.path
    )


def _report(run: _Pass, walk: Walk, completeness: Completeness, seconds: float) -> IndexReport:
    skipped: dict[str, int] = {}
    events = run.events + bookkeeping.loss_events(run.state)
    for skip in walk.skipped:
        skipped[skip.reason] = skipped.get(skip.reason, 0) + 1
        reason = f"{skip.reason} ({skip.detail})" if skip.detail else skip.reason
        events.append(FileEvent(skip.path, "skipped", reason, skip.bytes))
    events.sort(key=lambda event: (event.path, event.action))
    actions = [event.action for event in events]
    other: dict[str, int] = {}
    for (_, suffix), (files, _) in walk.other_types.items():
        other[suffix] = other.get(suffix, 0) + files
    return IndexReport(
        roots=tuple(root.path for root in run.state.roots),
        dry_run=run.writer is None,
        completed=run.writer is not None,
        tier="",
        seen=len(walk.files),
        added=actions.count("added"),
        replaced=actions.count("replaced"),
        unchanged=run.unchanged,
        removed=actions.count("removed"),
        stale=actions.count("stale"),
        chunks=run.chunks,
        chunks_written=run.chunks_written,
        bytes=run.bytes,
        seconds=seconds,
        vectors_written=run.tier.written,
        vectors_reused=run.tier.reused,
        vectors_refused=run.tier.refused,
        inputs_cut=run.tier.cut,
        events=tuple(events),
        skipped=dict(sorted(skipped.items(), key=lambda item: (-item[1], item[0]))),
        other_types=dict(sorted(other.items(), key=lambda item: (-item[1], item[0]))),
        notes=tuple(run.state.notes),
        completeness=completeness,
    )
