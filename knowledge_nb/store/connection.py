"""The only module that opens knowledge.db.

Two handles, without inheritance: `Reader` (read-only, shared by threads, a few short-lived idle
connections) and `Writer` (holds the write lock for its lifetime, one connection). A second SQLite
library, or a plain open(), in the same process would drop our POSIX locks and lose committed rows
(https://www.sqlite.org/howtocorrupt.html section 2.2), so nothing else touches the file.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType

import apsw

from knowledge_nb.errors import StoreAccessError, StoreLockedError
from knowledge_nb.store.causes import fix_of
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import check_format, create_schema, is_blank
from knowledge_nb.store.lock import WriteLock
from knowledge_nb.store.mounts import is_frozen
from knowledge_nb.store.sql import rows, value
from knowledge_nb.store.translate import translated

BUSY_MILLISECONDS = 5_000
CHECKPOINT_BYTES = 16 * 1024 * 1024  # unchecked, readers let the log grow to 285 MB (measured)
MAX_IDLE_CONNECTIONS = 4
MAX_IDLE_SECONDS = 30.0

# What became of what was being written, where there was no room for it.
_UNDONE = (
    "the last transaction was rolled back, and what earlier ones of the same pass wrote stays; a "
    "pass that stops here is not finished"
)
_ROLLED_BACK = "what was being written was rolled back"
_COMMITTED = (
    "what was written before is committed and stays; a pass that stops here is not finished"
)

# Connections inherited through fork() are neither used nor closed: closing one here could take
# the parent's log for nobody's and unlink it. They stay referenced, so no finaliser closes them.
_inherited: list[apsw.Connection] = []


_watched = threading.local()


@contextlib.contextmanager
def stopping(when: Callable[[], bool]) -> Iterator[None]:
    """Stop the statements that this thread runs inside as soon as `when` says so.

    They end as at a deadline, with `SearchTimeoutError`; for callers who no longer want the answer.
    """
    _watched.when = when
    try:
        yield
    finally:
        del _watched.when


class Connection(apsw.Connection):
    """An apsw connection that stops on Ctrl-C and at a deadline (`time.monotonic()` seconds)."""

    file: tuple[int, int] | None = None  # device and inode of the database, as it was opened
    frozen: tuple[int, int] | None = None  # size and mtime of one that nobody can write
    deadline: float | None = None
    deadline_passed: bool = False

    def poll(self) -> bool:
        """Progress handler: its return to Python is what lets a signal handler run at all."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.deadline_passed = True
            return True
        when: Callable[[], bool] | None = getattr(_watched, "when", None)
        return when is not None and when()


def _stoppable(connection: Connection) -> None:
    # apsw ignores Ctrl-C until a statement ends (9.6 s measured); so every 20,000 steps.
    connection.set_progress_handler(connection.poll, 20_000)


def _waits_for_locks(connection: Connection) -> None:
    connection.set_busy_timeout(BUSY_MILLISECONDS)


def _keeps_references(connection: Connection) -> None:
    connection.execute("PRAGMA foreign_keys = ON")


def _sorts_in_memory(connection: Connection) -> None:
    # Temporary b-trees of text must not land unencrypted in a shared /tmp.
    connection.execute("PRAGMA temp_store = MEMORY")


EVERY_CONNECTION: tuple[Callable[[Connection], None], ...] = (
    _stoppable,
    _waits_for_locks,
    _keeps_references,
    _sorts_in_memory,
)


def _open(files: StoreFiles, flags: int) -> Connection:
    files.refuse_symlinks()
    file, name, frozen = files.inode(), str(files.database), None
    if flags == apsw.SQLITE_OPEN_READONLY and files.is_lone() and is_frozen(files.directory):
        # SQLite cannot make there the log and the shared memory that reading needs otherwise. It
        # then takes no locks and looks at no log (https://www.sqlite.org/uri.html#uriimmutable).
        from urllib.parse import quote

        name, frozen = f"file:{quote(os.fsencode(files.database))}?immutable=1", files.stamp()
        flags |= apsw.SQLITE_OPEN_URI
    connection = Connection(name, flags=flags)
    connection.file, connection.frozen = file, frozen
    try:
        for practice in EVERY_CONNECTION:
            practice(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _transaction(connection: Connection, begin: str, end: str = "COMMIT") -> Iterator[None]:
    # apsw's own `with connection:` turns an interrupt into "cannot rollback".
    connection.execute(begin)
    try:
        yield
        connection.execute(end)
    except BaseException:
        connection.deadline = None
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class Reader:
    """A read-only handle that any number of threads may share.

    Parameters
    ----------
    files : StoreFiles
        The store; its database need not exist yet.
    prepare : callable, optional
        Run once on every new connection (loads the vector extension).
    gate : bool
        False opens what the gate refuses, for the doctor only.
    """

    def __init__(
        self,
        files: StoreFiles,
        prepare: Callable[[Connection], None] | None = None,
        *,
        gate: bool = True,
    ) -> None:
        self._files = files
        self._prepare = prepare
        self._gate = gate
        self._guard = threading.Lock()
        self._idle: list[tuple[float, Connection]] = []
        self._owner = os.getpid()
        self._file: tuple[int, int] | None = None  # the file that the idle connections are on

    @property
    def files(self) -> StoreFiles:
        """Where the store lies."""
        return self._files

    def is_built(self) -> bool:
        """Whether a database with a schema lies there (says nothing of a completed pass)."""
        if not self._files.exists():
            return False
        with self._guard:
            # An idle connection passed the gate, and no verb takes the schema away for good.
            if self._idle and os.getpid() == self._owner and self._file == self._files.inode():
                return True
        with translated(str(self._files.database)):
            connection = _open(self._files, apsw.SQLITE_OPEN_READONLY)
            try:
                return not is_blank(connection)
            finally:
                connection.close()

    @contextlib.contextmanager
    def snapshot(self, *, deadline: float | None = None) -> Iterator[Connection]:
        """One read transaction: everything read inside is of one committed state.

        Parameters
        ----------
        deadline : float, optional
            `time.monotonic()` seconds after which statements stop.

        Raises
        ------
        StoreFormatError
            The gate refused the file.
        SearchTimeoutError
            The deadline passed.
        """
        with translated(str(self._files.database)):
            connection = self._take()
            keep = False
            try:
                connection.deadline = deadline
                with _transaction(connection, "BEGIN"):
                    # A deferred transaction has no snapshot before its first read.
                    rows(connection, "SELECT count(*) FROM sqlite_schema")
                    yield connection
                if connection.frozen is not None:
                    self._refuse_thawed(connection.frozen)
                keep = connection.frozen is None
            finally:
                connection.deadline = None
                self._give_back(connection, keep=keep)

    def _refuse_thawed(self, frozen: tuple[int, int]) -> None:
        if not self._files.is_lone() or self._files.stamp() != frozen:
            raise StoreLockedError(
                f"{self._files.database} was written while it was read", fix="Ask again."
            )

    def _take(self) -> Connection:
        stale: list[Connection] = []
        with self._guard:
            if os.getpid() != self._owner:
                _inherited.extend(connection for _, connection in self._idle)
                self._idle, self._owner = [], os.getpid()
            file = self._files.inode()
            if file != self._file:
                # The store was removed or replaced: these would answer from the old file.
                stale += [connection for _, connection in self._idle]
                self._idle, self._file = [], file
            oldest = time.monotonic() - MAX_IDLE_SECONDS
            while self._idle and self._idle[0][0] < oldest:
                stale.append(self._idle.pop(0)[1])
            found = self._idle.pop()[1] if self._idle else None
        for connection in stale:
            connection.close()
        if found is not None:
            return found
        connection = _open(self._files, apsw.SQLITE_OPEN_READONLY)
        try:
            if self._gate:
                check_format(connection, str(self._files.database))
            if self._prepare is not None:
                self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: Connection, *, keep: bool) -> None:
        with self._guard:
            same = connection.file == self._file
            if keep and same and len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()

    def close(self) -> None:
        """Close the idle connections; a later call opens new ones."""
        with self._guard:
            idle, self._idle = self._idle, []
            if os.getpid() != self._owner:
                _inherited.extend(connection for _, connection in idle)
                return
        for _, connection in idle:
            connection.close()


def set_up(connection: Connection, files: StoreFiles) -> None:
    """Pass the gate, or give a blank file its schema; with the settings of a writer."""
    blank = is_blank(connection)
    if not blank:
        check_format(connection, str(files.database))
    # A restored backup is no WAL file until here.
    value(connection, "PRAGMA journal_mode = WAL")
    value(connection, "PRAGMA synchronous = NORMAL")
    # A batch of documents fits in memory, and is not checkpointed half way.
    value(connection, "PRAGMA cache_size = -32000")
    value(connection, "PRAGMA wal_autocheckpoint = 4000")
    value(connection, f"PRAGMA journal_size_limit = {CHECKPOINT_BYTES}")
    # Nearly all removed text is overwritten at once, for 5 % of a pass, where FAST leaves a
    # sixth of it legible in the file (measured). For the rest see store/erase.py.
    value(connection, "PRAGMA secure_delete = ON")
    if blank:
        with _transaction(connection, "BEGIN IMMEDIATE"):
            create_schema(connection)


class Writer:
    """The one handle that writes: it holds the write lock from `open` to `close`.

    Helpers take its connection and run on the caller's transaction; there is no nested begin.
    """

    def __init__(self, files: StoreFiles, lock: WriteLock, connection: Connection) -> None:
        self.files = files
        self.connection = connection
        self._lock = lock

    @classmethod
    def open(
        cls,
        files: StoreFiles,
        *,
        wait: float = 0.0,
        prepare: Callable[[Connection], None] | None = None,
        gate: bool = True,
    ) -> Writer:
        """Make the store where it is missing, take its lock, open it and pass the gate.

        Parameters
        ----------
        files : StoreFiles
            The store.
        wait : float
            Seconds to wait for another writer.
        prepare : callable, optional
            Run on the new connection (loads the vector extension).
        gate : bool
            False opens what the gate refuses and sets nothing up, for reset and the doctor only.

        Raises
        ------
        StoreLockedError, StoreAccessError, StoreFormatError
        """
        try:
            files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreAccessError(
                f"cannot make the store directory {files.directory}: {error.strerror}",
                fix=fix_of(error, files.directory),
            ) from error
        lock = WriteLock(files)
        try:
            # Inside: an interrupt that comes as the lock is taken gives it back, too.
            lock.acquire(wait=wait)
            files.prepare()
            with translated(str(files.database)):
                connection = _open(files, apsw.SQLITE_OPEN_READWRITE)
        except BaseException:
            lock.release()
            raise
        writer = cls(files, lock, connection)
        try:
            with translated(str(files.database)):
                if prepare is not None:
                    prepare(connection)
                if gate:
                    set_up(connection, files)
            files.assert_private()
        except BaseException:
            writer.close()
            raise
        return writer

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One short write transaction; a commit that changed rows raises meta.generation by one.

        On any exception, an interrupt included, it is rolled back whole.
        """
        connection = self.connection
        with translated(str(self.files.database), _UNDONE):
            before = connection.total_changes()
            with _transaction(connection, "BEGIN IMMEDIATE"):
                yield connection
                if connection.total_changes() != before:
                    connection.execute(
                        "INSERT INTO meta (key, value) VALUES ('generation', '1') ON CONFLICT (key)"
                        " DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)"
                    )
            self._bound_log()

    @contextlib.contextmanager
    def maintenance(self, *, keep: bool = True) -> Iterator[Connection]:
        """A write transaction that changes no answer, so that the generation stays.

        Parameters
        ----------
        keep : bool
            False rolls it back at the end: FTS5's integrity check is a write that writes nothing.
        """
        connection = self.connection
        with translated(str(self.files.database), _ROLLED_BACK if keep else ""):
            with _transaction(connection, "BEGIN IMMEDIATE", "COMMIT" if keep else "ROLLBACK"):
                yield connection
            self._bound_log()

    def _bound_log(self) -> None:
        log = self.files.sidecars[0]
        try:
            large = os.stat(log, follow_symlinks=False).st_size > CHECKPOINT_BYTES
        except FileNotFoundError:
            return
        if large:
            self.checkpoint(apsw.SQLITE_CHECKPOINT_RESTART, patience=250)

    def checkpoint(self, mode: int, *, patience: int | None = None) -> bool:
        """Move the log into the database; False when a reader was in the way for `patience` ms."""
        self.connection.set_busy_timeout(BUSY_MILLISECONDS if patience is None else patience)
        try:
            with translated(str(self.files.database), _COMMITTED):
                self.connection.wal_checkpoint(mode=mode)
        except StoreLockedError:
            return False
        finally:
            self.connection.set_busy_timeout(BUSY_MILLISECONDS)
        return True

    def close(self) -> None:
        """Close the connection, re-assert the modes and free the lock; twice is harmless."""
        try:
            self.connection.close()
            self.files.assert_private()
        finally:
            self._lock.release()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
