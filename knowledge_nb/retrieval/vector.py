"""The vector tier: exact nearest neighbours by L2 distance between unit vectors.

Two ways find the candidates, sqlite-vec's scan and a matrix product over vectors held in memory;
both take every vector that single precision cannot rule out, and the order is then decided by
distances computed here in double precision. So both give the same answer to the last bit.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import apsw

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.embedding.errors import DimensionMismatch
from knowledge_nb.retrieval.under import Under
from knowledge_nb.store import vectors as stored
from knowledge_nb.store.connection import Reader
from knowledge_nb.store.format import read_meta

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ids = npt.NDArray[np.int64]
    Matrix = npt.NDArray[np.float32]
    Wide = npt.NDArray[np.float64]

MEMORY_BYTES: Final = 512 * 1024 * 1024
_UNIT_ROUNDOFF: Final = 2.0**-24
_SLACK: Final = 16  # more neighbours asked for, to see whether the cut falls between near ties
_ROWS_AT_ONCE: Final = 4096


State = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class VectorRanking:
    """Chunks by distance, nearest first, ties by chunk id.

    Attributes
    ----------
    chunk_ids : tuple of int
        Empty when no chunk in question has a vector.
    distances : tuple of float
        L2 between the query's and the chunk's unit vectors, 0 to 2, rising.
    """

    chunk_ids: tuple[int, ...] = ()
    distances: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class _Held:
    ids: Ids
    vectors: Matrix
    half_squares: Matrix  # half of each vector's squared length
    longest: float


class VectorMemory:
    """The vectors of one committed state, held for repeated searches; threads may share it.

    The first search of a state is answered by sqlite-vec, which is faster than reading everything
    once; the second one reads the vectors in. Nothing is held beyond the limit, and the next state
    drops what is held. The file stays the only source.

    Parameters
    ----------
    limit : int
        Bytes of vectors that may be held; larger stores are scanned by sqlite-vec every time.
        512 MiB are 524,288 vectors of 256 numbers.
    """

    def __init__(self, limit: int = MEMORY_BYTES) -> None:
        self._limit = limit
        self._guard = threading.Lock()
        self._seen: State | None = None
        self._state: State | None = None
        self._held: _Held | None = None

    def vectors(self, connection: apsw.Connection, *, at_once: bool = False) -> _Held | None:
        """What is held of the state that the caller's transaction sees.

        Parameters
        ----------
        connection : apsw.Connection
            In a read transaction.
        at_once : bool
            Read them in at the first search already.

        Returns
        -------
        _Held or None
            None where sqlite-vec should answer.
        """
        state = _state(connection)
        with self._guard:
            if state == self._state:
                return self._held
            first, self._seen = state != self._seen, state
            if first and not at_once:
                return None
            width = stored.dimension(connection) or 0
            if stored.count(connection) * width * 4 > self._limit:
                return None
            # Dropped before the next ones are read: both together would be twice the limit.
            self._state = self._held = None
            self._held = _hold(connection)
            self._state = state
            return self._held

    def clear(self) -> None:
        """Let go of what is held."""
        with self._guard:
            self._seen = self._state = self._held = None


_memories: weakref.WeakKeyDictionary[Reader, VectorMemory] = weakref.WeakKeyDictionary()
_memories_guard = threading.Lock()


def memory_of(reader: Reader) -> VectorMemory:
    """The memory that goes with a reader, made at the first call and gone with the reader."""
    with _memories_guard:
        return _memories.setdefault(reader, VectorMemory())


def rank(
    connection: apsw.Connection,
    query: npt.NDArray[np.floating],
    *,
    limit: int,
    under: Under,
    memory: VectorMemory | None = None,
) -> VectorRanking:
    """Rank the chunks nearest to a query vector, exactly.

    Parameters
    ----------
    connection : apsw.Connection
        In a read transaction, on a store with vectors.
    query : numpy.ndarray
        Shape (dimension,), unit length.
    limit : int
        Chunks to return at most; any number.
    under : Under
        Restricts before ranking.
    memory : VectorMemory, optional
        Without it sqlite-vec answers.

    Returns
    -------
    VectorRanking

    Raises
    ------
    DimensionMismatch
        The query is not as wide as the stored vectors; an answer would be wrong, not narrower.
    MissingDependencyError, StoreError
        sqlite-vec cannot be loaded.
    """
    import numpy as np

    width = stored.dimension(connection) or 0
    if len(query) != width:
        raise DimensionMismatch(
            f"the query's vector has {len(query)} numbers and the stored ones have {width}; "
            "configure the model that made them, or run `knowledge index --reindex`",
            expected=width,
            got=len(query),
        )
    if under.unknown:
        return VectorRanking()
    query = np.ascontiguousarray(query, dtype=np.float32)
    held = None
    if memory is not None:
        held = memory.vectors(connection, at_once=limit + _SLACK > stored.MAX_KNN)
    if held is None:
        ids, vectors = _candidates_by_scan(connection, query, limit, under)
    else:
        ids, vectors = _candidates_in_memory(held, query, limit, under)
    distances = _distances(vectors, query)
    order = np.lexsort((ids, distances))[:limit]
    return VectorRanking(tuple(ids[order].tolist()), tuple(distances[order].tolist()))


def _candidates_in_memory(
    held: _Held, query: Matrix, limit: int, under: Under
) -> tuple[Ids, Matrix]:
    import numpy as np

    ids, vectors, half_squares = held.ids, held.vectors, held.half_squares
    outside = None
    if under.documents is not None:
        inside = np.isin(ids >> ORDINAL_BITS, np.array(under.documents, dtype=np.int64))
        number = int(np.count_nonzero(inside))
        if number <= limit or number < len(ids) // 4:
            ids, vectors, half_squares = ids[inside], vectors[inside], half_squares[inside]
        else:
            outside = ~inside  # copying most of the vectors would cost more than using them
    if len(ids) <= limit:
        return ids, vectors
    # Squared distance is |q|^2 - 2 (q.x - |x|^2 / 2), so a larger nearness is a smaller distance.
    nearness = vectors @ query
    nearness -= half_squares
    if outside is not None:
        nearness[outside] = -np.inf
    place = len(ids) - limit
    last = float(np.partition(nearness, place)[place])
    # A dot product of n terms is off by at most n roundings, whatever the order of its sum
    # (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); both sides may be.
    roundings = (len(query) + 8) * _UNIT_ROUNDOFF
    error = roundings * held.longest * (float(np.linalg.norm(query)) + held.longest)
    chosen = np.flatnonzero(nearness >= last - 2 * error)
    return ids[chosen], vectors[chosen]


def _candidates_by_scan(
    connection: apsw.Connection, query: Matrix, limit: int, under: Under
) -> tuple[Ids, Matrix]:
    import numpy as np

    packed = stored.pack(query)
    documents = None if under.documents is None else under.as_json()
    wanted = limit + _SLACK
    while True:
        found = stored.nearest(connection, packed, wanted, documents)
        if len(found) <= limit:
            break
        reach = found[limit - 1][1] * (1 + 2 * (len(query) + 8) * _UNIT_ROUNDOFF)
        if len(found) < wanted or found[-1][1] > reach:
            found = [pair for pair in found if pair[1] <= reach]
            break
        wanted = wanted * 8 if wanted * 8 <= stored.MAX_KNN else stored.count(connection) + 1
    by_id = stored.read(connection, [chunk_id for chunk_id, _ in found])
    ids = np.array(list(by_id), dtype=np.int64)
    vectors = np.frombuffer(b"".join(by_id.values()), dtype="<f4").reshape(-1, len(query))
    return ids, vectors


def _distances(vectors: Matrix, query: Matrix) -> Wide:
    """L2 distance of each row in double precision; equal rows give equal bits."""
    import numpy as np

    distances = np.empty(len(vectors), dtype=np.float64)
    wide = query.astype(np.float64)
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        difference = vectors[start : start + _ROWS_AT_ONCE] - wide
        difference *= difference
        distances[start : start + _ROWS_AT_ONCE] = np.sqrt(difference.sum(axis=1))
    return distances


def _hold(connection: apsw.Connection) -> _Held:
    import numpy as np

    ids, vectors = stored.read_all(connection)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    longest = float(np.sqrt(squares.max(initial=0.0)))
    return _Held(ids, vectors, squares / np.float32(2), longest)


def _state(connection: apsw.Connection) -> State:
    # As `Completeness.state`, without the counts that a search has read already.
    meta = read_meta(connection)
    return (
        meta.get("store_id", ""),
        meta.get("generation", ""),
        meta.get("pass_completed", ""),
    )
