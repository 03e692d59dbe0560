"""Disk against index: what lies below the roots now, and what the index holds of it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw

from knowledge_nb.audit.table import Table, Type
from knowledge_nb.errors import NotFoundError
from knowledge_nb.indexing.bookkeeping import NOT_TAKEN
from knowledge_nb.indexing.classify import LeftOut, prepare_document, read_file
from knowledge_nb.indexing.walk import UNREADABLE, FoundFile, Root, Walk, resolve_roots, walk_roots
from knowledge_nb.records import Completeness, Status
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.sql import rows
from knowledge_nb.store.status import iso_time, utc_now

INDEXED, CHANGED, NEW, GONE, SKIPPED = "indexed", "changed", "new", "gone", "skipped"
STATES = (INDEXED, CHANGED, NEW, GONE, UNREADABLE, SKIPPED)
OTHER_TYPE = "other type"
_NO_SUFFIX = "(no suffix)"

_KNOWN = "SELECT path, sha256, bytes, indexed_at FROM documents ORDER BY path"

Held = tuple[str, int, str]  # hash, bytes, time of indexing
Known = dict[str, Held]

COLUMNS: dict[str, Type] = {
    "path": "text",
    "state": "text",
    "reason": "text",
    "kind": "text",
    "bytes": "integer",
    "indexed_bytes": "integer",
    "modified": "time",
    "indexed": "time",
}


@dataclass(frozen=True, slots=True)
class FileState:
    """One file (or directory that was left out).

    Attributes
    ----------
    state : {"indexed", "changed", "new", "gone", "unreadable", "skipped"}
        As indexed; with other bytes since; not in the index although a pass would take it; in the
        index but not on disk; there but not to be read; left out by rule.
    bytes, indexed_bytes : int or None
        On disk now, and when it was indexed.
    """

    path: str
    state: str
    reason: str = ""
    kind: str = "file"
    bytes: int | None = None
    indexed_bytes: int | None = None
    modified: str = ""
    indexed: str = ""

    @property
    def in_index(self) -> bool:
        """Whether the index holds a document of this path."""
        return bool(self.indexed)

    @property
    def differs(self) -> bool:
        """Whether the index cannot be said to hold what the disk holds."""
        return self.state in (CHANGED, NEW, GONE) or (self.state == UNREADABLE and self.in_index)


@dataclass(frozen=True, slots=True)
class FilesResult:
    """The comparison, in path order."""

    status: Status
    tier: str
    files: tuple[FileState, ...] = ()
    roots: tuple[str, ...] = ()
    under: str = ""
    looked: str = ""
    notes: tuple[str, ...] = ()
    completeness: Completeness = field(default_factory=Completeness)

    @property
    def totals(self) -> dict[str, tuple[int, int]]:
        """Number and bytes of every state, zeros included; bytes are those on disk.

        For "gone" they are those that were indexed.
        """
        counted = {state: [0, 0] for state in STATES}
        for file in self.files:
            held = counted[file.state]
            held[0] += 1
            held[1] += (file.indexed_bytes if file.state == GONE else file.bytes) or 0
        return {state: (number, size) for state, (number, size) in counted.items()}

    @property
    def differs(self) -> bool:
        """Whether index and disk differ."""
        return any(file.differs for file in self.files)

    def headline(self) -> str:
        """The totals in words."""
        shown = ", ".join(f"{number:,} {state}" for state, (number, _) in self.totals.items())
        verdict = "differ" if self.differs else "agree"
        return f"Disk and index {verdict}: {shown}"

    def table(self) -> Table:
        """`path state reason kind bytes indexed_bytes modified indexed`, in path order."""
        lines = tuple(tuple(getattr(file, name) for name in COLUMNS) for file in self.files)
        return Table("audit", dict(COLUMNS), lines)


def known_documents(connection: apsw.Connection) -> Known:
    """Hash, bytes and time of indexing of every document, by path."""
    return {
        path: (sha256, size, indexed) for path, sha256, size, indexed in rows(connection, _KNOWN)
    }


def audit_files(
    indexed: Known,
    store: StoreFiles,
    *,
    paths: Sequence[str | os.PathLike[str]],
    include: Sequence[str],
    tier: str,
    completeness: Completeness,
    under: str = "",
    indexed_roots: Sequence[str | os.PathLike[str]] = (),
) -> FilesResult:
    """Walk the roots, hash every file, and compare with the index.

    Parameters
    ----------
    indexed : dict
        As from `known_documents`; no transaction is held while the disk is read.
    store : StoreFiles
        Left out of the walk.
    paths : sequence of path
        The roots.
    include : sequence of str
        Suffixes that a pass takes.
    under : str
        A folder, relative to the corpus base; only what lies below it is listed and read.
    indexed_roots : sequence of path
        Folders that a pass looks at by itself; a root beside them has a note.

    Returns
    -------
    FilesResult
        Every file below the roots, and every document of the index below them.

    Raises
    ------
    RootError
        A root is missing or cannot be read; nothing can be said of it.
    NotFoundError
        Nothing lies under the folder, neither on disk nor in the index.
    """
    folder = posixpath.normpath(under) if under else "."
    roots = resolve_roots(paths, Path(completeness.base))
    # "." is the whole corpus, also what lies beside its base, and not only what lies below that.
    scope: Root | _Everything = _Everything() if folder == "." else Root("", folder)
    known = {
        path: values
        for path, values in indexed.items()
        if scope.holds(path) and any(root.holds(path) for root in roots)
    }
    walk = walk_roots(roots, include, store)
    found: list[FileState] = []
    for file in walk.files:
        if scope.holds(file.path):
            found.append(_on_disk(file, known.pop(file.path, None)))
    for skip in walk.skipped:
        if scope.holds(skip.path):
            held = known.pop(skip.path, None)
            state = UNREADABLE if skip.reason == UNREADABLE else SKIPPED
            reason = f"{skip.reason} ({skip.detail})" if skip.detail else skip.reason
            found.append(
                FileState(skip.path, state, reason, skip.kind, skip.bytes)
                if held is None
                else _lost(skip.path, state if state == UNREADABLE else CHANGED, reason, held)
            )
    found += _other_types(walk, roots, store, scope, known)
    found += _gone(walk, known)
    if not found and folder != ".":
        if not os.path.lexists(Path(completeness.base, folder)):
            raise NotFoundError(
                f"nothing lies under {folder!r}, neither on disk nor in the index; paths are "
                f"relative to the corpus base, {completeness.base}"
            )
        if not any(root.holds(folder) or Root("", folder).holds(root.path) for root in roots):
            looked = ", ".join(root.path for root in roots)
            raise NotFoundError(
                f"{folder!r} lies below none of the folders that were looked at ({looked}); "
                "name it in place of them"
            )
    found.sort(key=lambda file: file.path)
    result = FilesResult(
        Status.OK,
        tier,
        tuple(found),
        tuple(root.path for root in roots),
        "" if folder == "." else folder,
        utc_now(),
        completeness=completeness,
    )
    base = Path(completeness.base)
    own = [Root("", _relative(path, base)) for path in indexed_roots]
    beside = [root for root in roots if own and not any(each.holds(root.path) for each in own)]
    return _with_notes(result, beside)


class _Everything:
    """A scope that leaves nothing out."""

    def holds(self, path: str) -> bool:
        return True


def _on_disk(file: FoundFile, held: Held | None) -> FileState:
    modified = iso_time(file.modified_ns)
    contents = read_file(file)
    if contents == "gone":
        if held is None:
            return FileState(file.path, SKIPPED, "vanished while the audit ran")
        return _lost(file.path, GONE, "vanished while the audit ran", held)
    if isinstance(contents, LeftOut):
        reason = f"{contents.reason} ({contents.detail})" if contents.detail else contents.reason
        if contents.keeps:
            return _state(file.path, UNREADABLE, reason, file.bytes, modified, held)
        return _state(
            file.path, SKIPPED if held is None else CHANGED, reason, file.bytes, modified, held
        )
    size = len(contents.data)
    if held is not None and held[0] == contents.sha256:
        return _state(file.path, INDEXED, "", size, modified, held)
    prepared = prepare_document(file, contents)
    if isinstance(prepared, LeftOut):
        reason = f"{prepared.reason} ({prepared.detail})" if prepared.detail else prepared.reason
        state = SKIPPED if held is None else CHANGED
        return _state(file.path, state, reason, size, modified, held)
    return _state(file.path, NEW if held is None else CHANGED, "", size, modified, held)


def _state(
    path: str, state: str, reason: str, size: int, modified: str, held: Held | None
) -> FileState:
    if held is None:
        return FileState(path, state, reason, "file", size, None, modified)
    return FileState(path, state, reason, "file", size, held[1], modified, held[2])


def _lost(path: str, state: str, reason: str, held: Held) -> FileState:
    return FileState(path, state, reason, indexed_bytes=held[1], indexed=held[2])


def _other_types(
    walk: Walk,
    roots: Sequence[Root],
    store: StoreFiles,
    scope: Root | _Everything,
    known: Known,
) -> list[FileState]:
    """The files of types that a pass does not take: the walk counts them, so walk for them."""
    suffixes = {suffix for _, suffix in walk.other_types}
    if not suffixes:
        return []
    taken = tuple("" if suffix == _NO_SUFFIX else suffix for suffix in suffixes)
    other = walk_roots(roots, taken, store)
    listed = {skip.path for skip in walk.skipped}
    found = []
    for file in other.files:
        if not scope.holds(file.path):
            continue
        held = known.pop(file.path, None)
        suffix = os.path.splitext(file.path)[1].lower() or "no suffix"
        modified = iso_time(file.modified_ns)
        if held is None:
            reason = f"{OTHER_TYPE} ({suffix})"
            found.append(_state(file.path, SKIPPED, reason, file.bytes, modified, None))
        else:
            found.append(_state(file.path, CHANGED, NOT_TAKEN, file.bytes, modified, held))
    for skip in other.skipped:
        if skip.path not in listed and scope.holds(skip.path):
            reason = f"{OTHER_TYPE}, {skip.reason}"
            found.append(FileState(skip.path, SKIPPED, reason, skip.kind, skip.bytes))
    return found


def _gone(walk: Walk, known: Known) -> list[FileState]:
    below = [Root("", path) for path in walk.unread]
    lost = []
    for path, held in known.items():
        if any(folder.holds(path) for folder in below):
            lost.append(_lost(path, UNREADABLE, "its folder cannot be read", held))
        else:
            lost.append(_lost(path, GONE, "no longer on disk", held))
    return lost


def _relative(path: str | os.PathLike[str], base: Path) -> str:
    return os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")


def _with_notes(result: FilesResult, beside: Sequence[Root]) -> FilesResult:
    notes = []
    totals = result.totals
    if any(
        file.state in (CHANGED, NEW) and not any(root.holds(file.path) for root in beside)
        for file in result.files
    ):
        lost = any(file.state == CHANGED and file.reason for file in result.files)
        notes.append(
            "`knowledge index` takes in what is changed and new"
            + (", and takes out what has a reason above." if lost else ".")
        )
    if totals[GONE][0]:
        notes.append("`knowledge index --reconcile` removes what is gone.")
    if totals[UNREADABLE][0]:
        notes.append("Nothing is known of what cannot be read.")
    if beside:
        named = ", ".join(root.path for root in beside)
        notes.append(
            f"No folder of this index: {named}. A pass does not look there by itself; to "
            "take it in, name it behind the others in one call of `knowledge index`."
        )
    if result.under:
        notes.append(f"Only {result.under!r} was looked at.")
    return replace(result, notes=tuple(notes))
