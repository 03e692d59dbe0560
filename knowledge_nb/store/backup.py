"""A backup that can be trusted: SQLite's own, private, and verified before it gets its name.

Copying the file is none. It misses what is still in the write-ahead log, and opening and closing
knowledge.db inside a process that uses it drops the locks that SQLite holds there.

References
----------
https://www.sqlite.org/backup.html, https://www.sqlite.org/howtocorrupt.html
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import apsw

from knowledge_nb.errors import StoreAccessError, StoreDamagedError
from knowledge_nb.records import Check
from knowledge_nb.store import vectors
from knowledge_nb.store.connection import Connection, Reader
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import check_format
from knowledge_nb.store.integrity import check_copy
from knowledge_nb.store.sql import rows, value
from knowledge_nb.store.translate import translated

PAGES_A_STEP = 2_000  # between steps Ctrl-C is heard

_COUNTS = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup holds: one file, which a store directory takes as its knowledge.db.

    Attributes
    ----------
    checks : tuple of Check
        What was looked at in the copy itself; see `store.integrity.EVERY_CHECK`.
    """

    path: str
    bytes: int
    documents: int
    chunks: int
    checks: tuple[Check, ...] = ()

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that found a fault."""
        return tuple(each for each in self.checks if each.state == "fail")

    def faults(self) -> str:
        """What is wrong in the backup, and so in the store, and what to do; "" for nothing."""
        if not self.failed:
            return ""
        found = "; ".join(f"{each.check}: {each.message}" for each in self.failed)
        return (
            f"WARNING: {self.path} was written, and what is in it is NOT SOUND, as in the store: "
            f"{found}. {self.failed[0].fix} Then make another backup."
        )


class UnsoundBackupWarning(UserWarning):
    """A backup was written of a store that is not sound: its pages are, what they hold is not."""


def back_up(reader: Reader, target: str | os.PathLike[str], *, overwrite: bool) -> BackupReport:
    """Write one committed state of the store to a file of its own.

    Parameters
    ----------
    reader : Reader
        Of the store; a writer may be at work.
    target : path
        The file to make, mode 0600, in an existing folder.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    StoreAccessError
        The target exists, is no regular file, is the store itself, or cannot be written.
    StoreDamagedError
        The pages of the copy are damaged, or rows are missing; nothing was put in the target's
        place. Any other fault is in the report, and the copy is kept: an index that has drifted
        from the text can be made anew from it, and nobody has a better copy.
    """
    final = Path(os.path.abspath(target))
    _refuse(final, reader.files, overwrite=overwrite)
    partial = final.parent / f".{final.name}.{secrets.token_hex(4)}.partial"
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    try:
        os.close(os.open(partial, flags, 0o600))
    except OSError as error:
        raise StoreAccessError(f"cannot write in {final.parent}: {error.strerror}") from error
    try:
        with translated(str(final), "nothing was put in its place"):
            documents, chunks, checks = _copy(reader, partial)
        _put(partial, final, overwrite=overwrite)
    finally:
        for left in (partial, *_sidecars(partial)):
            left.unlink(missing_ok=True)
    return BackupReport(str(final), os.lstat(final).st_size, documents, chunks, checks)


def _sidecars(file: Path) -> tuple[Path, ...]:
    return tuple(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))


def _refuse(final: Path, store: StoreFiles, *, overwrite: bool) -> None:
    if final.parent.resolve() == store.directory.resolve():
        raise StoreAccessError(
            f"{final} lies in the store directory itself; name a file somewhere else"
        )
    for sidecar in _sidecars(final):
        if os.path.lexists(sidecar):
            # SQLite would play an older log into the new file.
            raise StoreAccessError(
                f"{sidecar} belongs to an open database there; name another file"
            )
    if not os.path.lexists(final):
        return
    if os.path.islink(final) or not final.is_file():
        raise StoreAccessError(f"{final} is no regular file; name another one")
    if not overwrite:
        raise StoreAccessError(f"{final} exists; give --overwrite (overwrite=True) to replace it")


def _copy(reader: Reader, partial: Path) -> tuple[int, int, tuple[Check, ...]]:
    copy = Connection(str(partial), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with reader.snapshot() as source:
            wanted = rows(source, _COUNTS)[0]
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(PAGES_A_STEP)
        # One file without a log; a writer that opens it turns the log on again.
        value(copy, "PRAGMA journal_mode = DELETE")
        vectors.load_where_used(copy)
        check_format(copy, str(partial))
        checks = check_copy(copy)
        if rows(copy, _COUNTS)[0] != wanted or checks[0].state != "pass":
            raise StoreDamagedError(
                "the backup did not stand its checks and was not kept",
                fix="Run `knowledge doctor --integrity`.",
            )
    finally:
        copy.close()
    return wanted[0], wanted[1], checks


def _put(partial: Path, final: Path, *, overwrite: bool) -> None:
    try:
        _flush(partial)
        if overwrite or not _link(partial, final):
            os.replace(partial, final)
        _flush(final.parent)
    except FileExistsError as error:
        raise StoreAccessError(
            f"{final} was made by another meanwhile; it was left alone"
        ) from error
    except OSError as error:
        raise StoreAccessError(f"cannot write {final}: {error.strerror}") from error


def _link(partial: Path, final: Path) -> bool:
    """Unlike a rename a link never replaces a file that came meanwhile; False: not known here."""
    try:
        os.link(partial, final)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
