"""DuckDB over a copy of the corpus, never over knowledge.db.

A second SQLite library that opens and closes knowledge.db in this process drops our locks on it
(https://www.sqlite.org/howtocorrupt.html section 2.2.1), and committed rows are lost. So: SQLite
writes plain tables to a new file; a first DuckDB connection, the only one with the SQLite
extension, turns that into a native DuckDB file and closes; users get another connection without
the extension, on which reading and writing files is switched off before they can type.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_nb.audit.private import PrivateDirectory, parents
from knowledge_nb.errors import (
    IndexNotBuiltError,
    MissingDependencyError,
    StoreAccessError,
    StoreError,
)
from knowledge_nb.matching.word_table import word_table
from knowledge_nb.records import Completeness
from knowledge_nb.refusals import require_documents
from knowledge_nb.store.plain import write_plain_copy, write_terms
from knowledge_nb.store.status import read_completeness, utc_now

if TYPE_CHECKING:
    import duckdb

    from knowledge_nb.store.connection import Connection, Reader

EXTENSION_PACKAGE = "duckdb_extension_sqlite_scanner"
CATALOG = "knowledge"
# One thread: with more, a connection whose statement was interrupted cannot be closed in about one
# of three cases (DuckDB 1.5.5, joins), and the kernel hangs.
_SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "threads": 1,
}

_TIMES = "%Y-%m-%dT%H:%M:%SZ"
# Times become TIMESTAMP (UTC); everything else as it is.
_TABLES = {
    "documents": (
        f"SELECT * REPLACE (try_strptime(modified, '{_TIMES}') AS modified,"
        f" try_strptime(indexed, '{_TIMES}') AS indexed) FROM plain.documents ORDER BY id"
    ),
    "chunks": "SELECT * FROM plain.chunks ORDER BY id",
    "skipped_files": "SELECT * FROM plain.skipped_files ORDER BY path",
    "other_types": "SELECT * FROM plain.other_types ORDER BY root, suffix",
    "folders": "SELECT * FROM plain.folders ORDER BY depth, folder",
}
_TERMS = {"terms": "SELECT * FROM plain.terms ORDER BY word"}
_INFO = (
    "CREATE TABLE native.snapshot AS SELECT ?::BIGINT AS generation, ?::VARCHAR AS taken,"
    " ?::VARCHAR AS base, ?::VARCHAR AS completeness"
)


# DuckDB 1.5 accepts a log file where files are refused, fails at every statement after that and
# aborts the process when the connection is destroyed. This hides the function behind a refusal;
# `_close` sees to the call by its full name.
_NO_LOGGING = (
    "CREATE MACRO native.enable_logging(level := NULL, storage := NULL, storage_path := NULL,"
    " storage_config := NULL) AS TABLE SELECT error('logging is switched off on a snapshot')"
)


class FileAccessWarning(UserWarning):
    """A DuckDB connection was given leave to open files; the message says what that risks."""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """What a snapshot is of: its generation, when it was taken (UTC), what it covers."""

    generation: int
    taken: str
    completeness: Completeness


class Snapshots:
    """The snapshot of one store, kept until the index changes; threads may share it.

    Parameters
    ----------
    reader : Reader
        Of the store.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._guard = threading.RLock()
        self._place: PrivateDirectory | None = None
        self._state: tuple[object, ...] = ()
        self._info: SnapshotInfo | None = None
        self._files: dict[bool, tuple[Path, tuple[int, int]]] = {}

    @contextlib.contextmanager
    def connect(
        self, *, terms: bool = True, files: bool = False
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, SnapshotInfo]]:
        """A DuckDB connection with the snapshot attached READ_ONLY as `knowledge`, in use.

        Parameters
        ----------
        terms : bool
            With the table `terms`, which is built when first asked for.
        files : bool
            Leave file access on, for joining files of one's own. A statement that opens
            knowledge.db then drops this process's locks on it: a `FileAccessWarning` says so.

        Raises
        ------
        IndexNotBuiltError, CorpusEmptyError
        MissingDependencyError
            duckdb, or the package with its SQLite extension, is not installed.
        KeyboardInterrupt
            In place of DuckDB's own errors for an interrupted statement.
        """
        duckdb = load_duckdb()
        with interruptible():
            path, info = self._current(terms=terms)
            connection = duckdb.connect(":memory:", config=dict(_SETTINGS))
            try:
                connection.execute(f"ATTACH {_quoted(path)} AS {CATALOG} (READ_ONLY)")
                connection.execute(f"USE {CATALOG}")
                connection.execute(f"SET temp_directory = {_quoted(path.parent / 'spill')}")
                if files:
                    warnings.warn(
                        "this DuckDB connection may open files. Never name the store's "
                        "knowledge.db (nor -wal, -shm) in a statement: closing it drops this "
                        "process's locks on it, and committed rows can be lost.",
                        FileAccessWarning,
                        stacklevel=4,
                    )
                else:
                    connection.execute("SET enable_external_access = false")
                yield connection, info
            finally:
                _close(connection)

    def close(self) -> None:
        """Remove the snapshot; a later call makes another."""
        with self._guard:
            self._forget()

    def _forget(self) -> None:
        place, self._place = self._place, None
        self._files, self._info, self._state = {}, None, ()
        if place is not None and place.owner == os.getpid():
            place.close()

    def _current(self, *, terms: bool) -> tuple[Path, SnapshotInfo]:
        if not self._reader.is_built():
            raise IndexNotBuiltError(
                f"there is no index in {self._reader.files.directory}: run `knowledge index PATH`"
            )
        with self._guard, self._reader.snapshot() as connection:
            completeness = read_completeness(connection)
            require_documents(completeness)
            state = (completeness.state, os.getpid())
            if state != self._state or self._place is None or not self._place.path.is_dir():
                self._forget()
                self._place = PrivateDirectory(*parents(self._reader.files.directory))
                self._info = SnapshotInfo(completeness.generation, utc_now(), completeness)
                self._state = state
            assert self._info is not None  # set with the place
            # The larger one serves both; a statement may have damaged either (COPY TO its path).
            for held in (True, terms):
                known = self._files.get(held)
                if known is not None and known[1] == _stamp(known[0]):
                    return known[0], self._info
            path = self._build(connection, terms=terms)
            self._files[terms] = path, _stamp(path)
            return path, self._info

    def _build(self, connection: Connection, *, terms: bool) -> Path:
        import duckdb

        assert self._place is not None
        assert self._info is not None
        folder = self._place.path
        number = len(os.listdir(folder))
        native = folder / f"corpus-{number}.duckdb"
        plain = [folder / f"plain-{number}.sqlite"]
        try:
            write_plain_copy(connection, plain[0])
            tables = [_TABLES]
            if terms:
                plain.append(folder / f"words-{number}.sqlite")
                write_terms(plain[1], word_table(connection))
                tables.append(_TERMS)
            _convert(plain, native, tables, self._info)
        except StoreError:
            raise
        except (OSError, duckdb.IOException) as error:
            for path in (native, native.with_name(f"{native.name}.wal")):
                path.unlink(missing_ok=True)
            raise StoreAccessError(f"cannot write a snapshot to {folder}: {error}") from error
        finally:
            for path in plain:
                path.unlink(missing_ok=True)
        return native


def _convert(
    plain: list[Path], native: Path, tables: list[dict[str, str]], info: SnapshotInfo
) -> None:
    import duckdb

    extension = extension_file()
    with duckdb.connect(":memory:", config=dict(_SETTINGS)) as connection:
        connection.execute(f"LOAD {_quoted(extension)}")
        connection.execute(f"ATTACH {_quoted(native)} AS native")
        for path, statements in zip(plain, tables, strict=True):
            connection.execute(f"ATTACH {_quoted(path)} AS plain (TYPE sqlite, READ_ONLY)")
            for name, statement in statements.items():
                connection.execute(f"CREATE TABLE native.{name} AS {statement}")
            connection.execute("DETACH plain")
        connection.execute(_NO_LOGGING)
        connection.execute(
            _INFO,
            [
                info.generation,
                info.taken,
                info.completeness.base,
                info.completeness.statement(),
            ],
        )
        # Closing would do it too, and would not say where that failed.
        connection.execute("CHECKPOINT native")
    os.chmod(native, 0o400)


def _close(connection: Any) -> None:
    import duckdb

    try:
        connection.execute("SELECT 1")
    except duckdb.PermissionException:
        # Its log cannot be written, and destroying it would abort the process: it is left open.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        return
    except duckdb.Error:
        pass
    connection.close()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = os.lstat(path)
    except OSError:
        return (-1, -1)
    return status.st_size, status.st_mtime_ns


def _quoted(path: Path | str) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def load_duckdb() -> Any:
    """The module duckdb, with its extension at hand.

    Raises
    ------
    MissingDependencyError
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependencyError(
            "statistics need duckdb: `python -m pip install 'duckdb>=1.5.5,<1.6'`"
        ) from error
    extension_file()
    return duckdb


def extension_file() -> Path:
    """DuckDB's SQLite extension in the installed package; nothing is downloaded.

    Raises
    ------
    MissingDependencyError
        The package is absent, or made for another duckdb.
    """
    import duckdb

    install = f"`python -m pip install 'duckdb-extension-sqlite-scanner=={duckdb.__version__}'`"
    found = importlib.util.find_spec(EXTENSION_PACKAGE)
    if found is None or found.origin is None:
        raise MissingDependencyError(
            f"statistics need the package duckdb-extension-sqlite-scanner: {install}. Everything "
            "else works without it."
        )
    extensions = Path(found.origin).parent / "extensions"
    file = extensions / f"v{duckdb.__version__}" / "sqlite_scanner.duckdb_extension"
    if not file.is_file():
        raise MissingDependencyError(
            f"the installed duckdb-extension-sqlite-scanner is not for duckdb "
            f"{duckdb.__version__}: {install}. Everything else works without it."
        )
    return file


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn DuckDB's word for an interrupted statement into `KeyboardInterrupt`."""
    try:
        yield
    except RuntimeError as error:  # duckdb.InterruptException is not one; see below
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise
    except Exception as error:
        if type(error).__name__ == "InterruptException":
            raise KeyboardInterrupt from error
        raise
