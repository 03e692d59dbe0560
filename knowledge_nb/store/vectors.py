"""The vectors of chunks: the only module that knows sqlite-vec.

A vector is a little-endian run of float32 numbers, scaled to unit length by whoever made it.
Every function loads the extension where its connection has not got it yet, so a `Reader` needs no
preparation; a `Writer` needs `load_where_used`, since deleting chunks fires a trigger on them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import apsw

from knowledge_nb.errors import MissingDependencyError, StoreError
from knowledge_nb.store.format import create_vectors
from knowledge_nb.store.sql import rows, value

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_KNN: Final = 4096  # sqlite-vec refuses a larger k
VECTORS_A_STATEMENT: Final = 256
IDS_A_STATEMENT: Final = 10_000

_VERSION = "SELECT vec_version()"
_TABLE = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'chunks_vec'"
_DROP_TRIGGER = "DROP TRIGGER IF EXISTS chunks_vec_deleted"
_DROP = "DROP TABLE chunks_vec"
_INSERT = "INSERT INTO chunks_vec (rowid, embedding) VALUES "
_DELETE = "DELETE FROM chunks_vec WHERE rowid IN (SELECT value FROM json_each(?))"
_READ = "SELECT rowid, embedding FROM chunks_vec WHERE rowid IN (SELECT value FROM json_each(?))"
_COUNT = "SELECT count(*) FROM chunks_vec_rowids"

# vec0 takes no second ORDER BY term, and SQLite would push one into it but for MATERIALIZED.
_NEAREST = (
    "WITH near AS MATERIALIZED"
    " (SELECT rowid, distance FROM chunks_vec WHERE embedding MATCH ? AND k = ?)"
    " SELECT rowid, distance FROM near ORDER BY distance, rowid"
)
_NEAREST_IN = (
    "WITH near AS MATERIALIZED"
    " (SELECT rowid, distance FROM chunks_vec WHERE embedding MATCH ? AND k = ? AND rowid IN"
    " (SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))))"
    " SELECT rowid, distance FROM near ORDER BY distance, rowid"
)
_SCAN = (
    "SELECT rowid, vec_distance_l2(embedding, ?) AS distance FROM chunks_vec"
    " ORDER BY distance, rowid LIMIT ?"
)
_SCAN_IN = (
    "SELECT rowid, vec_distance_l2(embedding, ?) AS distance FROM chunks_vec"
    " WHERE rowid >> 20 IN (SELECT value FROM json_each(?)) ORDER BY distance, rowid LIMIT ?"
)

# vec0 keeps 1,024 vectors to a blob; reading those takes a seventh of the time of its own rows.
_BLOBS = (
    "SELECT c.size, c.validity, c.rowids, v.vectors FROM chunks_vec_chunks AS c"
    " JOIN chunks_vec_vector_chunks00 AS v ON v.rowid = c.chunk_id ORDER BY c.chunk_id"
)
_ALL = "SELECT rowid, embedding FROM chunks_vec"


def load(connection: apsw.Connection) -> None:
    """Load sqlite-vec into a connection; a second time does nothing.

    Raises
    ------
    MissingDependencyError
        The package is not installed.
    StoreError
        This build of apsw loads no extensions, or the library does not fit this machine.
    """
    try:
        value(connection, _VERSION)
    except apsw.SQLError:
        pass
    else:
        return
    try:
        import sqlite_vec
    except ImportError as error:
        raise MissingDependencyError(
            "vectors need the package sqlite-vec, which is not installed: "
            "`pip install sqlite-vec`. Lexical search works without it."
        ) from error
    try:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(sqlite_vec.loadable_path())
        finally:
            connection.enable_load_extension(False)
    except (apsw.ExtensionLoadingError, AttributeError) as error:
        raise StoreError(
            f"the sqlite-vec extension cannot be loaded ({error})",
            fix="Install wheels of apsw and sqlite-vec for this platform: `pip install "
            "--force-reinstall apsw sqlite-vec`. Lexical search works without it.",
        ) from error


def load_where_used(connection: apsw.Connection) -> None:
    """The connection practice of a writer: load sqlite-vec where the store holds vectors."""
    if dimension(connection) is not None:
        load(connection)


def dimension(connection: apsw.Connection) -> int | None:
    """Width of the stored vectors; None for a store without vectors. Needs no extension."""
    sql = value(connection, _TABLE)
    if sql is None:
        return None
    found = re.search(r"float\[(\d+)\]", sql)
    if found is None:
        raise StoreError(
            "the vector table of this store is not one of ours",
            fix="Run `knowledge reset --force`, then `knowledge index`.",
        )
    return int(found[1])


def create(connection: apsw.Connection, width: int) -> None:
    """Make the vector table for vectors of `width` numbers, on the caller's transaction."""
    load(connection)
    create_vectors(connection, width)


def drop(connection: apsw.Connection) -> None:
    """Drop the vectors and their trigger, on the caller's transaction; harmless where none are."""
    if dimension(connection) is None:
        return
    load(connection)
    rows(connection, _DROP_TRIGGER)
    rows(connection, _DROP)


def pack(vector: npt.NDArray[np.floating]) -> bytes:
    """A vector as it is stored.

    Raises
    ------
    ValueError
        Not one row of finite numbers.
    """
    import numpy as np

    packed = np.ascontiguousarray(vector, dtype="<f4")
    if packed.ndim != 1 or not packed.size or not np.isfinite(packed).all():
        raise ValueError("a vector to store must be one row of finite numbers")
    return packed.tobytes()


def insert(connection: apsw.Connection, vectors: Iterable[tuple[int, bytes]]) -> None:
    """Store vectors of chunks that have none, many to a statement, on the caller's transaction.

    Parameters
    ----------
    connection : apsw.Connection
    vectors : iterable of (int, bytes)
        Chunk id, and the vector as from `pack`.

    Raises
    ------
    apsw.Error
        A chunk has a vector already (vec0 knows no OR REPLACE: delete first), or a width differs.
    """
    load(connection)
    waiting: list[Any] = []
    for chunk_id, vector in vectors:
        waiting += (chunk_id, vector)
        if len(waiting) == 2 * VECTORS_A_STATEMENT:
            _insert(connection, waiting)
            waiting = []
    if waiting:
        _insert(connection, waiting)


def _insert(connection: apsw.Connection, waiting: Sequence[Any]) -> None:
    rows(connection, _INSERT + ", ".join(["(?, ?)"] * (len(waiting) // 2)), waiting)


def delete(connection: apsw.Connection, chunk_ids: Sequence[int]) -> None:
    """Delete the vectors of chunks, on the caller's transaction; those without one are passed."""
    if not chunk_ids or dimension(connection) is None:
        return
    load(connection)
    for start in range(0, len(chunk_ids), IDS_A_STATEMENT):
        rows(connection, _DELETE, (json.dumps(chunk_ids[start : start + IDS_A_STATEMENT]),))


def read(connection: apsw.Connection, chunk_ids: Sequence[int]) -> dict[int, bytes]:
    """Vectors by chunk id, in no set order; a chunk without one is left out."""
    if not chunk_ids or dimension(connection) is None:
        return {}
    load(connection)
    found: dict[int, bytes] = {}
    for start in range(0, len(chunk_ids), IDS_A_STATEMENT):
        some = json.dumps(chunk_ids[start : start + IDS_A_STATEMENT])
        found.update((number, vector) for number, vector in rows(connection, _READ, (some,)))
    return found


def count(connection: apsw.Connection) -> int:
    """Number of stored vectors; 0 for a store without any. Needs no extension."""
    return 0 if dimension(connection) is None else int(value(connection, _COUNT))


def nearest(
    connection: apsw.Connection, query: bytes, k: int, documents: str | None = None
) -> list[tuple[int, float]]:
    """Chunks by sqlite-vec's L2 distance.

    Parameters
    ----------
    connection : apsw.Connection
        In a read transaction.
    query : bytes
        As from `pack`, as wide as the stored vectors.
    k : int
        At most this many; above 4,096, where sqlite-vec refuses a KNN query, every distance is
        computed by a plain query instead.
    documents : str, optional
        JSON list of document ids; only their chunks are ranked.

    Returns
    -------
    list of (int, float)
        Chunk id and distance in single precision, nearest first, then by chunk id. Which chunks
        of equal distance stand at the cut is sqlite-vec's choice.
    """
    load(connection)
    if k <= MAX_KNN:
        if documents is None:
            return _pairs(rows(connection, _NEAREST, (query, k)))
        return _pairs(rows(connection, _NEAREST_IN, (query, k, documents)))
    if documents is None:
        return _pairs(rows(connection, _SCAN, (query, k)))
    return _pairs(rows(connection, _SCAN_IN, (query, documents, k)))


def _pairs(found: list[tuple[Any, ...]]) -> list[tuple[int, float]]:
    return [(number, distance) for number, distance in found]


def read_all(
    connection: apsw.Connection,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Every vector, in bulk (0.15 s for 100,000 of 256 numbers).

    Returns
    -------
    chunk_ids : numpy.ndarray
        int64, shape (n,), in no set order.
    vectors : numpy.ndarray
        float32, shape (n, dimension), row for row; (0, 0) for a store without vectors.
    """
    import numpy as np

    width = dimension(connection) or 0
    number = count(connection)
    ids = np.empty(number, dtype=np.int64)
    vectors = np.empty((number, width), dtype=np.float32)
    if number and not _read_blobs(connection, ids, vectors):
        load(connection)
        for place, (chunk_id, vector) in enumerate(rows(connection, _ALL)):
            ids[place] = chunk_id
            vectors[place] = np.frombuffer(vector, dtype="<f4")
    return ids, vectors


def _read_blobs(
    connection: apsw.Connection, ids: npt.NDArray[np.int64], vectors: npt.NDArray[np.float32]
) -> bool:
    """Fill both arrays from vec0's own blobs; False where they do not look as 0.1.x lays them."""
    import numpy as np

    number, width = vectors.shape
    place = 0
    try:
        for size, validity, chunk_ids, blob in connection.execute(_BLOBS):
            if (len(validity) * 8, len(chunk_ids), len(blob)) != (size, size * 8, size * width * 4):
                return False
            valid = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little").view(bool)
            end = place + int(valid.sum())
            if end > number:
                return False
            ids[place:end] = np.frombuffer(chunk_ids, "<i8")[valid]
            vectors[place:end] = np.frombuffer(blob, "<f4").reshape(size, width)[valid]
            place = end
    except apsw.SQLError:
        return False
    return bool(place == number)
