"""What a pass pins around its documents: its start and end, skips, losses, renames."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from knowledge_nb.indexing.replace import delete_documents
from knowledge_nb.indexing.walk import ABSENT, THERE, UNKNOWN, Root, Skip, Walk, presence
from knowledge_nb.records import FileEvent, counted
from knowledge_nb.store.format import read_meta, write_meta
from knowledge_nb.store.sql import rows
from knowledge_nb.store.status import utc_now
from knowledge_nb.text import TEXT_RULES, UNICODE_VERSION

GONE = "no longer on disk"
NOT_TAKEN = "no longer taken by the settings"
BELOW_UNREAD = "its folder cannot be read"
CAME_BACK = "was away while the pass looked, and is there again"
FORMER_BASE = "of the former corpus base"

_KNOWN = "SELECT path, id, sha256, chunks, modified_ns, coalesce(stale_reason, '') FROM documents"
_RENAME = "UPDATE documents SET path = ? WHERE id = ?"
_TOUCH = "UPDATE documents SET modified_ns = ?, stale_reason = NULL WHERE id = ?"
_STALE = "UPDATE documents SET stale_reason = ? WHERE path = ?"
_SKIPPED_PATHS = "SELECT path FROM skipped_files"
_UNSKIP = "DELETE FROM skipped_files WHERE path IN (SELECT value FROM json_each(?))"
_SKIP = (
    "INSERT OR REPLACE INTO skipped_files (path, kind, reason, bytes, detail)"
    " VALUES (?, ?, ?, ?, ?)"
)
_OTHER_ROOTS = "SELECT DISTINCT root FROM other_types"
_FORGET_OTHER = "DELETE FROM other_types WHERE root = ?"
_OTHER = "INSERT INTO other_types (root, suffix, files, bytes) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows of a document."""

    id: int
    sha256: str
    chunks: int
    modified_ns: int
    stale_reason: str


@dataclass(slots=True)
class PassState:
    """What a pass has learnt so far.

    Attributes
    ----------
    known : dict
        Documents of the store by path, as they were when the pass began.
    drop : dict of str to str
        Documents that lose their text in this pass, with the reason.
    stale : dict of str to str
        Documents that keep their text although it may be old, with the reason.
    left : tuple of str
        Documents of a corpus base that this pass leaves: all of that base go.
    """

    roots: tuple[Root, ...]
    base: Path
    known: dict[str, Known]
    drop: dict[str, str] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def known_documents(connection: apsw.Connection) -> dict[str, Known]:
    """Every document of the store, by path."""
    return {path: Known(*values) for path, *values in rows(connection, _KNOWN)}


def pin_start(connection: apsw.Connection, roots: Sequence[Root], base: Path) -> None:
    """Pin the start of a pass; the roots of an unfinished one before it stay unfinished."""
    meta = read_meta(connection)
    unfinished = json.loads(meta.get("pass_roots", "[]")) if "pass_started" in meta else []
    paths = [root.path for root in roots]
    write_meta(
        connection,
        base=str(base),
        pass_started=meta.get("pass_started", utc_now()),
        pass_roots=json.dumps(list(dict.fromkeys([*unfinished, *paths]))),
        roots=json.dumps(list(dict.fromkeys([*json.loads(meta.get("roots", "[]")), *paths]))),
    )


def pin_end(connection: apsw.Connection, roots: Sequence[Root]) -> None:
    """Pin the end of a pass; an unfinished one stays said where its roots were not walked again."""
    meta = read_meta(connection)

    def walked(path: str) -> bool:
        return any(root.holds(path) for root in roots)

    left = [path for path in json.loads(meta.get("pass_roots", "[]")) if not walked(path)]
    # What this pass did not look at keeps the time of the pass that did.
    before = dict.fromkeys(json.loads(meta.get("last_roots", "[]")), meta.get("pass_completed", ""))
    older = {**json.loads(meta.get("older_passes", "{}")), **before}
    older = {path: time for path, time in older.items() if not walked(path)}
    write_meta(
        connection,
        pass_started=meta.get("pass_started") if left else None,
        pass_roots=json.dumps(left) if left else None,
        pass_completed=utc_now(),
        last_roots=json.dumps([root.path for root in roots]),
        older_passes=json.dumps(older) if older else None,
        removed_by_hand=meta.get("removed_by_hand") if older else None,
    )


def note_removed(connection: apsw.Connection, documents: int) -> None:
    """Count documents taken out by hand, until a pass over everything takes stock again."""
    before = int(read_meta(connection).get("removed_by_hand", "0"))
    write_meta(connection, removed_by_hand=str(before + documents))


def leave_base(state: PassState, meta: Mapping[str, str]) -> bool:
    """Whether the pass goes to another corpus base; then nothing of the former one is known.

    Only a reindex gets so far: paths of another base name nothing any more.
    """
    former = meta.get("base", str(state.base))
    if former == str(state.base):
        return False
    state.left = tuple(state.known)
    state.known.clear()
    state.notes.append(
        f"The corpus base is now {state.base}, no longer {former}: "
        f"{counted(len(state.left), 'document')} of the former base removed."
    )
    return True


def find_renames(state: PassState, walk: Walk) -> list[tuple[int, str, str]]:
    """Documents whose file was renamed only in Unicode form or letter case.

    Returns
    -------
    list of (document id, old path, new path)
        Two files that both exist stay two documents.
    """
    found = {file.path for file in walk.files}
    lost: dict[str, str] = {}
    for path in state.known:
        if path not in found and presence(state.base / path) == ABSENT:
            lost.setdefault(_folded(path), path)
    renames = []
    if lost:
        for file in walk.files:
            if file.path not in state.known:
                old = lost.pop(_folded(file.path), None)
                if old is not None:
                    renames.append((state.known[old].id, old, file.path))
    return renames


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def forget_everything(connection: apsw.Connection) -> None:
    """Remove every document and record of another corpus base, on the caller's transaction."""
    connection.execute("DELETE FROM documents")
    connection.execute("DELETE FROM skipped_files")
    connection.execute("DELETE FROM other_types")
    for key in (
        "roots",
        "pass_started",
        "pass_roots",
        "pass_completed",
        "last_roots",
        "older_passes",
        "removed_by_hand",
    ):
        write_meta(connection, **{key: None})


def forget_roots(connection: apsw.Connection, paths: Iterable[str]) -> None:
    """Forget roots that were these very documents; else the next pass took them in again."""
    meta = read_meta(connection)
    gone = set(paths)
    for key in ("roots", "pass_roots", "last_roots"):
        old = json.loads(meta.get(key, "[]"))
        left = [path for path in old if path not in gone]
        if left != old:
            write_meta(connection, **{key: json.dumps(left)})
    passes = json.loads(meta.get("older_passes", "{}"))
    if gone & passes.keys():
        passes = {path: time for path, time in passes.items() if path not in gone}
        write_meta(connection, older_passes=json.dumps(passes) if passes else None)


def apply_renames(
    connection: apsw.Connection, state: PassState, renames: Iterable[tuple[int, str, str]]
) -> None:
    """Move each document to its new path."""
    for number, old, new in renames:
        connection.execute(_RENAME, (new, number))
        state.known[new] = state.known.pop(old)


def find_losses(
    state: PassState,
    walk: Walk,
    *,
    include: Sequence[str],
    reconcile: bool,
    vanished: Callable[[Path, Sequence[str]], Collection[str]] | None = None,
) -> None:
    """Decide on documents below the walked roots whose file was not found.

    They are dropped only when asked (`reconcile`), only below a root that was walked whole, and
    only when the walk saw at least one file; else they keep their text and are marked stale. So do
    those of which is not known whether they are there, and those that an editor put back while the
    pass ran. A file that is there but is no longer a text for us (too large, a link ...) is dropped
    at once. So is one that `vanished`, which a watcher gives, calls deleted.
    """
    found = {file.path for file in walk.files}
    unfit = {skip.path: skip.reason for skip in walk.skipped if skip.kind == "file"}
    below_unread = [Root("", path) for path in walk.unread]
    left_out = [Root("", skip.path) for skip in walk.skipped if skip.kind == "directory"]
    for root in state.roots:
        whole = not any(root.holds(path) for path in walk.unread)
        for path in state.known:
            if path in found or not root.holds(path):
                continue
            if any(directory.holds(path) for directory in below_unread):
                state.stale[path] = BELOW_UNREAD
            elif unfit.get(path) == "unreadable":
                state.stale[path] = "unreadable"
            elif path in unfit:
                state.drop[path] = unfit[path]
            elif (seen := presence(state.base / path)) == UNKNOWN:
                state.stale[path] = BELOW_UNREAD
            elif (
                seen == THERE
                and os.path.splitext(path)[1].lower() in include
                and not any(directory.holds(path) for directory in left_out)
            ):
                state.stale[path] = CAME_BACK
            else:
                reason = NOT_TAKEN if seen == THERE else GONE
                if reconcile and whole and walk.files:
                    state.drop[path] = reason
                else:
                    state.stale[path] = reason
    if vanished is not None:
        gone = [path for path, reason in state.stale.items() if reason == GONE]
        for path in vanished(state.base, gone):
            state.drop[path] = state.stale.pop(path)
    _note_losses(state, walk, reconcile=reconcile)


def _note_losses(state: PassState, walk: Walk, *, reconcile: bool) -> None:
    orphans = sum(reason in (GONE, NOT_TAKEN) for reason in state.stale.values())
    if not orphans:
        return
    one = orphans == 1
    subject = "1 document is" if one else f"{orphans:,} documents are"
    start = f"{subject} in the index whose file is gone or no longer taken"
    if not reconcile:
        state.notes.append(f"{start}; `knowledge index --reconcile` removes them.")
    elif not walk.files:
        state.notes.append(f"{start}; nothing was removed because the walk saw no file at all.")
    else:
        state.notes.append(f"{start}; nothing was removed below a root that was not read whole.")


def record_losses(connection: apsw.Connection, state: PassState) -> list[FileEvent]:
    """Write the decisions of `find_losses` and of the classification."""
    delete_documents(connection, list(state.drop))
    for path, reason in state.stale.items():
        connection.execute(_STALE, (reason, path))
    return loss_events(state)


def loss_events(state: PassState) -> list[FileEvent]:
    """What a report says of dropped and stale documents."""
    return [
        *(FileEvent(path, "removed", FORMER_BASE) for path in state.left),
        *(FileEvent(path, "removed", reason) for path, reason in state.drop.items()),
        *(FileEvent(path, "stale", reason) for path, reason in state.stale.items()),
    ]


def record_skips(connection: apsw.Connection, roots: Sequence[Root], walk: Walk) -> None:
    """Replace what is recorded of skips and other types below the walked roots."""
    old = [path for (path,) in rows(connection, _SKIPPED_PATHS)]
    below = [path for path in old if any(root.holds(path) for root in roots)]
    connection.execute(_UNSKIP, (json.dumps(below),))
    for skip in walk.skipped:
        _insert_skip(connection, skip)
    recorded = [path for (path,) in rows(connection, _OTHER_ROOTS)]
    for path in recorded:
        if any(root.holds(path) for root in roots):
            connection.execute(_FORGET_OTHER, (path,))
    covering = [Root("", path) for path in recorded if not any(r.holds(path) for r in roots)]
    for (path, suffix), (files, size) in sorted(walk.other_types.items()):
        # Below a root that is counted already, these files are in that root's count.
        if not any(root.holds(path) for root in covering):
            connection.execute(_OTHER, (path, suffix, files, size))


def _insert_skip(connection: apsw.Connection, skip: Skip) -> None:
    connection.execute(_SKIP, (skip.path, skip.kind, skip.reason, skip.bytes, skip.detail))


def touch_documents(connection: apsw.Connection, touched: Iterable[tuple[int, int]]) -> None:
    """Note the new mtime of files whose bytes did not change, and that they could be read."""
    connection.executemany(_TOUCH, touched)


def note_rules(connection: apsw.Connection, state: PassState, *, reindex: bool) -> None:
    """Say that the index follows another Unicode version, or other rules of text, than we do.

    Or pin these, at the end of a reindex in which every document was read again.
    """
    meta = read_meta(connection)
    unicode = meta.get("unicode_version", UNICODE_VERSION)
    said = []
    if unicode != UNICODE_VERSION:
        said.append(
            f"The index follows Unicode {unicode}, this Python Unicode {UNICODE_VERSION}; words "
            "with newer characters may be missed."
        )
    # A store without the pin was made before there was one.
    other_rules = meta.get("text_rules", "1") != TEXT_RULES
    if other_rules and not state.known:
        write_meta(connection, text_rules=TEXT_RULES)
    elif other_rules:
        said.append(
            "Documents that did not change since were indexed by an earlier release, which read "
            "markup otherwise; words and phrases beside it may be missed."
        )
    if not said:
        return
    kept = state.known.keys() - state.drop.keys()
    if (
        reindex
        and not state.stale
        and all(any(root.holds(path) for root in state.roots) for path in kept)
    ):
        write_meta(connection, unicode_version=UNICODE_VERSION, text_rules=TEXT_RULES)
    else:
        fix = "Run `knowledge index --reindex`" + (" over every folder." if reindex else ".")
        state.notes.append(" ".join([*said, fix]))
