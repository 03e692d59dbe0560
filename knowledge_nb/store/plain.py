"""A plain copy of the corpus in a new SQLite file, for a program that must not open ours.

Ordinary STRICT tables only: a virtual table in an attached file breaks the catalog of another
program, and a full-text index is of no use to it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from knowledge_nb.errors import StoreDamagedError
from knowledge_nb.store.sql import rows, run_script
from knowledge_nb.store.status import iso_time
from knowledge_nb.store.translate import translated

_TABLES = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, folder TEXT NOT NULL, suffix TEXT NOT NULL,
    sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, modified TEXT NOT NULL, indexed TEXT NOT NULL,
    chunks INTEGER NOT NULL, words INTEGER NOT NULL, stale_reason TEXT NOT NULL
) STRICT;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, document_id INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    heading TEXT NOT NULL, body TEXT NOT NULL, opens INTEGER NOT NULL, continues INTEGER NOT NULL,
    first_line INTEGER NOT NULL, last_line INTEGER NOT NULL, words INTEGER NOT NULL
) STRICT;
CREATE TABLE skipped_files (
    path TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL, bytes INTEGER,
    detail TEXT NOT NULL
) STRICT;
CREATE TABLE other_types (
    root TEXT NOT NULL, suffix TEXT NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE folders (
    folder TEXT NOT NULL, depth INTEGER NOT NULL, documents INTEGER NOT NULL,
    documents_below INTEGER NOT NULL, chunks_below INTEGER NOT NULL, bytes_below INTEGER NOT NULL
) STRICT;
"""
_TERMS = """
CREATE TABLE terms (
    word TEXT NOT NULL, stem TEXT NOT NULL, documents INTEGER NOT NULL, chunks INTEGER NOT NULL,
    occurrences INTEGER NOT NULL, first_document INTEGER
) STRICT;
"""

_DOCUMENTS = (
    "SELECT id, path, sha256, bytes, modified_ns, indexed_at, chunks, coalesce(stale_reason, '')"
    " FROM documents ORDER BY id"
)
_CHUNKS = (
    "SELECT id, document_id, ordinal, heading, body, opens, continues, first_line, last_line"
    " FROM chunks ORDER BY id"
)
_SKIPPED = "SELECT path, kind, reason, bytes, detail FROM skipped_files ORDER BY path"
_OTHER = "SELECT root, suffix, files, bytes FROM other_types ORDER BY root, suffix"
# One row a chunk: the number of tokens of each column, as SQLite's variable-length integers
# (https://www.sqlite.org/fts5.html#fts5_data_structures).
_SIZES = "SELECT id, sz FROM chunks_fts_exact_docsize"
_TEXTS = {"documents": "path", "chunks": "body", "skipped_files": "path"}

ROWS_AT_ONCE = 2_000


def write_plain_copy(connection: apsw.Connection, target: str | os.PathLike[str]) -> None:
    """Write `documents` (without title), `chunks`, `skipped_files`, `other_types` and `folders`.

    Parameters
    ----------
    connection : apsw.Connection
        In a read transaction on a store.
    target : path
        Made here with mode 0600; it must not exist.

    Raises
    ------
    StoreDamagedError
        A stored text is not UTF-8; the message names its table and row.
    """
    sizes = {number: _last_number(blob) for number, blob in rows(connection, _SIZES)}
    words: defaultdict[int, int] = defaultdict(int)
    for number, count in sizes.items():
        words[number >> 20] += count
    documents = list(_read(connection, "documents", _DOCUMENTS))
    with translated(os.fspath(target)), _NewFile(target) as copy:
        run_script(copy, _TABLES)
        _fill(copy, "documents", (_document(row, words) for row in documents))
        _fill(
            copy,
            "chunks",
            ((*row, sizes.get(row[0], 0)) for row in _read(connection, "chunks", _CHUNKS)),
        )
        _fill(copy, "skipped_files", _read(connection, "skipped_files", _SKIPPED))
        _fill(copy, "other_types", _read(connection, "other_types", _OTHER))
        _fill(copy, "folders", _folders(documents))


def write_terms(
    target: str | os.PathLike[str], terms: Iterable[tuple[str, str, int, int, int, int | None]]
) -> None:
    """Write the one table `terms` (word, stem, documents, chunks, occurrences, first document)."""
    with translated(os.fspath(target)), _NewFile(target) as copy:
        run_script(copy, _TERMS)
        _fill(copy, "terms", terms)


class _NewFile:
    """A connection on a new private file, whole or not there."""

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self._path = os.fspath(target)

    def __enter__(self) -> apsw.Connection:
        os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._connection = apsw.Connection(self._path)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY"):
            run_script(self._connection, f"PRAGMA {pragma}")
        run_script(self._connection, "BEGIN")
        return self._connection

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                run_script(self._connection, "COMMIT")
        finally:
            self._connection.close(True)
            if kind is not None:
                os.unlink(self._path)


def _fill(copy: apsw.Connection, table: str, lines: Iterable[Sequence[Any]]) -> None:
    lines = iter(lines)
    first = next(lines, None)
    if first is None:
        return
    marks = ", ".join("?" * len(first))
    statement = f"INSERT INTO {table} VALUES ({marks})"
    copy.execute(statement, first)
    copy.executemany(statement, lines)


def _read(connection: apsw.Connection, table: str, sql: str) -> Iterator[tuple[Any, ...]]:
    try:
        with translated(connection.filename):
            yield from connection.execute(sql)
    except UnicodeDecodeError as error:
        raise StoreDamagedError(
            f"a text in {table} is not UTF-8: {_bad_row(connection, table)}. Such text was never "
            "written by this library; run `knowledge doctor --integrity`."
        ) from error


def _bad_row(connection: apsw.Connection, table: str) -> str:
    # Read as bytes, so that the row that cannot be decoded can be named.
    names = [
        name for (name,) in rows(connection, "SELECT name FROM pragma_table_info(?)", (table,))
    ]
    columns = ", ".join(f'CAST("{name}" AS BLOB)' for name in names)
    for row in connection.execute(f"SELECT {columns} FROM {table}"):
        for name, held in zip(names, row, strict=True):
            try:
                (held or b"").decode()
            except UnicodeDecodeError:
                key = (row[0] or b"").decode(errors="replace")
                return f"column {name} of the row with {names[0]} {key}"
    return "the row is gone again"


def _document(row: Sequence[Any], words: dict[int, int]) -> tuple[Any, ...]:
    number, path, sha256, size, modified_ns, indexed, chunks, stale = row
    folder, _, name = path.rpartition("/")
    suffix = os.path.splitext(name)[1].lower()
    modified = iso_time(modified_ns)
    count = words.get(number, 0)
    return (
        number,
        path,
        folder or ".",
        suffix,
        sha256,
        size,
        modified,
        indexed,
        chunks,
        count,
        stale,
    )


def _folders(documents: Sequence[Sequence[Any]]) -> list[tuple[str, int, int, int, int, int]]:
    direct: defaultdict[str, int] = defaultdict(int)
    below: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in documents:
        path, size, chunks = row[1], row[3], row[6]
        parts = path.split("/")[:-1]
        direct["/".join(parts) or "."] += 1
        for depth in range(len(parts) + 1):
            held = below["/".join(parts[:depth]) or "."]
            held[0] += 1
            held[1] += chunks
            held[2] += size
    return [
        (folder, _depth(folder), direct[folder], held[0], held[1], held[2])
        for folder, held in sorted(below.items(), key=lambda item: (item[0] != ".", item[0]))
    ]


def _depth(folder: str) -> int:
    return 0 if folder == "." else folder.count("/") + 1


def _last_number(blob: bytes) -> int:
    """The last of the numbers in an FTS5 docsize record: tokens of the body."""
    number = last = 0
    for byte in blob:
        number = (number << 7) | (byte & 0x7F)
        if not byte & 0x80:
            last, number = number, 0
    return last
