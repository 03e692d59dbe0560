"""Exact search over 100,000 vectors: ours against numpy's matrix product and sqlite-vec's scan.

Every answer timed is also checked: the same chunks as brute force in double precision.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from knowledge_nb.retrieval import vector
from knowledge_nb.retrieval.under import WHOLE, Under
from knowledge_nb.retrieval.vector import VectorMemory
from knowledge_nb.store import vectors as stored
from knowledge_nb.store.connection import Reader, Writer
from knowledge_nb.store.files import StoreFiles

NUMBER = 100_000
WIDTH = 256
CHUNKS_A_DOCUMENT = 10
QUERIES = 10
K = 50


def _unit(number: int, seed: int) -> Any:
    made = np.random.default_rng(seed).standard_normal((number, WIDTH), dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def _each(action: Callable[[Any], object], queries: Any, rounds: int = 5) -> float:
    """Best mean seconds for one query."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        for query in queries:
            action(query)
        found.append((time.perf_counter() - started) / len(queries))
    return min(found)


def _fill(files: StoreFiles, ids: Any, matrix: Any) -> None:
    with Writer.open(files) as writer:
        with writer.transaction() as connection:
            stored.create(connection, WIDTH)
        for start in range(0, NUMBER, 5000):
            with writer.transaction() as connection:
                pairs = zip(ids[start : start + 5000], matrix[start : start + 5000], strict=True)
                stored.insert(connection, [(int(n), stored.pack(row)) for n, row in pairs])


def run(number: int = NUMBER) -> None:
    """Print the ratios."""
    matrix, queries = _unit(number, 1), _unit(QUERIES, 2)
    ids = np.array(
        [((n // CHUNKS_A_DOCUMENT + 1) << 20) + n % CHUNKS_A_DOCUMENT for n in range(number)]
    )
    with tempfile.TemporaryDirectory(prefix="knowledge-vectors-") as folder:
        files = StoreFiles.at(Path(folder))
        started = time.perf_counter()
        _fill(files, ids, matrix)
        print(f"stored {number:,} vectors of {WIDTH} in {time.perf_counter() - started:.1f} s")
        reader = Reader(files)
        with reader.snapshot() as connection:
            _compare(connection, ids, matrix, queries)
        reader.close()


def _compare(connection: Any, ids: Any, matrix: Any, queries: Any) -> None:
    memory = VectorMemory()
    started = time.perf_counter()
    memory.vectors(connection, at_once=True)
    print(f"read into memory, once for each committed state: {time.perf_counter() - started:.2f} s")

    def numpy_product(query: Any) -> Any:
        nearness = matrix @ query
        top = np.argpartition(-nearness, K)[:K]
        return ids[top[np.argsort(-nearness[top])]]

    def ours(query: Any, under: Under = WHOLE) -> Any:
        return vector.rank(connection, query, limit=K, under=under, memory=memory)

    def first_search(query: Any) -> Any:
        return vector.rank(connection, query, limit=K, under=WHOLE)

    def plain(query: Any) -> Any:
        return stored.nearest(connection, stored.pack(query), K)

    wide = matrix.astype(float)
    for query in queries:
        distances = np.linalg.norm(wide - query.astype(float), axis=1)
        right = tuple(ids[np.lexsort((ids, distances))[:K]].tolist())
        if not ours(query).chunk_ids == first_search(query).chunk_ids == right:
            raise SystemExit("the answers differ from brute force")
    del wide
    half = Under("half", tuple(range(1, len(ids) // CHUNKS_A_DOCUMENT // 2)))
    tenth = Under("tenth", tuple(range(1, len(ids) // CHUNKS_A_DOCUMENT // 10)))
    base = _each(numpy_product, queries)
    for name, action in (
        ("exact search, from memory", ours),
        ("the same within half of the documents", lambda query: ours(query, half)),
        ("the same within a tenth of the documents", lambda query: ours(query, tenth)),
        ("exact search, first of a state (sqlite-vec)", first_search),
        ("sqlite-vec's own KNN", plain),
    ):
        taken = _each(action, queries)
        bound = "  (bound 4.00)" if action is ours else ""
        print(
            f"{name} / numpy product: {taken / base:.2f}{bound}"
            f"   [{taken * 1e3:.1f} ms / {base * 1e3:.1f} ms]"
        )
