"""The vector tier against brute force."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from knowledge_nb.embedding.errors import DimensionMismatch
from knowledge_nb.embedding.local import LocalEmbedder
from knowledge_nb.retrieval import vector
from knowledge_nb.retrieval.under import WHOLE, Under, resolve
from knowledge_nb.retrieval.vector import VectorMemory, VectorRanking
from knowledge_nb.store import vectors as stored
from knowledge_nb.store.connection import Reader, Writer
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import create_schema, drop_everything
from tests.retrieval.conftest import fill, put_vectors

Vectors = dict[int, Any]


def unit(number: int, width: int, seed: int = 0) -> Any:
    made = np.random.default_rng(seed).standard_normal((number, width)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def writing(files: StoreFiles) -> Writer:
    return Writer.open(files, prepare=stored.load_where_used)


def put(files: StoreFiles, vectors: Vectors) -> None:
    with writing(files) as writer:
        put_vectors(writer, vectors)


def both_ways(reader: Reader, query: Any, limit: int, under: Under = WHOLE) -> VectorRanking:
    """Rank by sqlite-vec and from memory; they must agree to the last bit."""
    memory = VectorMemory()
    with reader.snapshot() as connection:
        scanned = vector.rank(connection, query, limit=limit, under=under)
        assert memory.vectors(connection, at_once=True) is not None
        held = vector.rank(connection, query, limit=limit, under=under, memory=memory)
    assert scanned == held
    return held


def check(ranking: VectorRanking, vectors: Vectors, query: Any, limit: int) -> None:
    """Compare with brute force wherever distances differ by more than 1e-6."""
    wide = np.stack(list(vectors.values())).astype(float)
    distances = np.linalg.norm(wide - np.asarray(query, dtype=float), axis=1)
    by_id = dict(zip(vectors, distances, strict=True))
    truth = sorted(by_id.items(), key=lambda pair: (pair[1], pair[0]))[:limit]
    assert len(ranking.chunk_ids) == len(set(ranking.chunk_ids)) == len(truth)
    for chunk_id, distance, (expected, right) in zip(
        ranking.chunk_ids, ranking.distances, truth, strict=True
    ):
        assert distance == pytest.approx(by_id[chunk_id], abs=1e-9)
        assert distance == pytest.approx(right, abs=1e-6)
        near = np.abs(distances - right) <= 1e-6
        assert chunk_id == expected or near.sum() > 1
    keys = list(zip(ranking.distances, ranking.chunk_ids, strict=True))
    assert keys == sorted(keys)


@pytest.mark.parametrize("width", [1, 3, 64, 256, 400])
def test_random_vectors(files: StoreFiles, reader: Reader, width: int) -> None:
    """The answer is brute force's, at k of 1, 50 and everything."""
    made = unit(1500, width)
    numbers = np.random.default_rng(1).permutation(9999)[:1500].tolist()
    vectors = dict(zip(numbers, made, strict=True))
    put(files, vectors)
    for seed in range(3):
        query = unit(1, width, seed + 10)[0]
        for limit in (1, 50, 1500, 5000):
            check(both_ways(reader, query, limit), vectors, query, limit)


def test_no_cap_at_4096(files: StoreFiles, reader: Reader) -> None:
    """More neighbours than sqlite-vec's own limit are all given, in order."""
    vectors = dict(enumerate(unit(6000, 16), start=1))
    put(files, vectors)
    query = unit(1, 16, 5)[0]
    for limit in (4080, 4096, 5000, 10_000):
        check(both_ways(reader, query, limit), vectors, query, limit)


def test_real_text(files: StoreFiles, reader: Reader) -> None:
    """The local model's vectors of real sentences are ranked as brute force ranks them."""
    pytest.importorskip("wordllama")
    embedder = LocalEmbedder()
    topics = ["backup", "restore", "valve pressure", "tide tables", "bread recipe", "key rotation"]
    verbs = ["check", "replace", "document", "schedule", "forget"]
    corpus = {
        f"{t}-{v}-{n}.md": [("", f"Please {v} the {t} before noon, item {n % 7}.")]
        for t in topics
        for v in verbs
        for n in range(20)
    }
    fill(files, corpus, embedder)
    with reader.snapshot() as connection:
        ids, matrix = stored.read_all(connection)
    vectors = dict(zip(ids.tolist(), matrix, strict=True))
    assert len(vectors) == len(corpus)
    for text in ("when is high water", "restore the backup", "baking"):
        query = embedder.embed_query(text)
        for limit in (5, 50, 200):
            check(both_ways(reader, query, limit), vectors, query, limit)


def test_identical_vectors_tie_on_chunk_id(files: StoreFiles, reader: Reader) -> None:
    """Equal vectors come by chunk id, and the cut among them keeps the lowest ids."""
    one, other = unit(2, 32)
    order = np.random.default_rng(3).permutation(np.arange(1, 301)).tolist()
    vectors: Vectors = {n: one if n % 3 else other for n in order}
    put(files, vectors)
    with writing(files) as writer:
        with writer.transaction() as connection:
            stored.delete(connection, [4, 5, 6, 7])
        put_vectors(writer, {n: vectors[n] for n in (7, 5, 4, 6)})
    expected = sorted((n for n in order if n % 3), key=int)
    for limit in (1, 10, 100, 199, 200):
        ranking = both_ways(reader, one, limit)
        assert list(ranking.chunk_ids) == expected[:limit]
        assert set(ranking.distances) == {0.0}


def test_all_vectors_equal_beyond_the_limit(files: StoreFiles, reader: Reader) -> None:
    """Five thousand copies of one text are cut by chunk id, not by sqlite-vec's storage order."""
    (one,) = unit(1, 8)
    put(files, dict.fromkeys(range(5000, 0, -1), one))
    assert both_ways(reader, unit(1, 8, 1)[0], 20).chunk_ids == tuple(range(1, 21))


def test_near_ties_are_decided_in_double_precision(files: StoreFiles, reader: Reader) -> None:
    """Vectors one rounding apart are ordered by their true distances, the same way every time."""
    (one,) = unit(1, 64)
    vectors = {}
    for n in range(1, 200):
        moved = one.copy()
        moved[n % 64] = np.nextafter(moved[n % 64], np.float32(np.inf if n % 2 else -np.inf))
        vectors[n] = moved
    put(files, vectors)
    query = unit(1, 64, 4)[0]
    ranking = both_ways(reader, query, 10)
    wide = np.stack(list(vectors.values())).astype(float)
    distances = np.sqrt(((wide - query.astype(float)) ** 2).sum(axis=1))
    truth = sorted(zip(distances.tolist(), vectors, strict=True))[:10]
    assert ranking.chunk_ids == tuple(n for _, n in truth)
    assert ranking.distances == tuple(d for d, _ in truth)


@pytest.mark.parametrize("share", [1, 3, 30, 90])
def test_under_is_exact(files: StoreFiles, reader: Reader, share: int) -> None:
    """The folder restricts first, whatever part of the corpus it is: no neighbour is lost."""
    corpus = {
        f"{'in' if n % 100 < share else 'in-not'}/{n}.md": [("", "text"), ("", "more")]
        for n in range(400)
    }
    fill(files, corpus)
    with reader.snapshot() as connection:
        found = connection.execute("SELECT id, document_id FROM chunks").fetchall()
        scope = resolve(connection, "in")
    vectors = dict(zip((n for n, _ in found), unit(len(found), 24), strict=True))
    put(files, vectors)
    inside = {n: vectors[n] for n, document in found if document in (scope.documents or ())}
    assert len(inside) == 2 * 4 * share
    query = unit(1, 24, 8)[0]
    for limit in (1, 5, 60, 5000):
        check(both_ways(reader, query, limit, scope), inside, query, limit)


def test_another_width_is_an_error(files: StoreFiles, reader: Reader) -> None:
    """A query of another width raises, with both widths, before anything is compared."""
    put(files, {1: unit(1, 8)[0]})
    with reader.snapshot() as connection, pytest.raises(DimensionMismatch) as caught:
        vector.rank(connection, unit(1, 4)[0], limit=5, under=WHOLE)
    assert (caught.value.expected, caught.value.got) == (8, 4)


def test_no_vectors_at_all(files: StoreFiles, reader: Reader) -> None:
    """An empty vector table, and a folder without vectors, give an empty ranking."""
    put(files, {1 << 20: unit(1, 8)[0]})
    assert both_ways(reader, unit(1, 8)[0], 5, Under("x", (77,))).chunk_ids == ()
    with writing(files) as writer, writer.transaction() as connection:
        stored.delete(connection, [1 << 20])
    assert both_ways(reader, unit(1, 8)[0], 5).chunk_ids == ()


def test_memory_follows_the_state(files: StoreFiles, reader: Reader) -> None:
    """Held from the second search of a state on; dropped as soon as a commit changes it."""
    put(files, {1: unit(1, 8)[0]})
    memory = VectorMemory()
    query = unit(1, 8, 1)[0]

    def held() -> bool:
        with reader.snapshot() as connection:
            return memory.vectors(connection) is not None

    assert [held(), held(), held()] == [False, True, True]
    put(files, {2: query})
    with reader.snapshot() as connection:
        assert vector.rank(connection, query, limit=1, under=WHOLE, memory=memory).chunk_ids == (2,)
    assert held()
    with reader.snapshot() as connection:
        assert vector.rank(connection, query, limit=1, under=WHOLE, memory=memory).chunk_ids == (2,)
    memory.clear()
    assert not held()


def test_memory_and_a_reset(files: StoreFiles, reader: Reader) -> None:
    """Vectors made anew in the same file are never taken for the old ones."""
    first, second = unit(2, 8)
    memory = VectorMemory()
    for made in (first, second):
        with writing(files) as writer:
            with writer.transaction() as connection:
                drop_everything(connection)
                create_schema(connection)
            put_vectors(writer, {1: made})
        for _ in range(3):
            with reader.snapshot() as connection:
                found = vector.rank(connection, made, limit=1, under=WHOLE, memory=memory)
            assert found.distances == (0.0,)


def test_memory_has_a_limit(files: StoreFiles, reader: Reader) -> None:
    """Above the limit nothing is held and the answers are the same."""
    vectors = dict(enumerate(unit(100, 8), start=1))
    put(files, vectors)
    memory = VectorMemory(limit=100 * 8 * 4 - 1)
    query = unit(1, 8, 1)[0]
    for limit in (5, 5, 5000, 5000):
        with reader.snapshot() as connection:
            assert memory.vectors(connection, at_once=True) is None
            found = vector.rank(connection, query, limit=limit, under=WHOLE, memory=memory)
        check(found, vectors, query, limit)


def test_memory_is_shared_by_threads(files: StoreFiles, reader: Reader) -> None:
    """Eight threads search while the vectors change; each answer is of the state it read."""
    base = dict(enumerate(unit(500, 16), start=1))
    put(files, base)
    memory = VectorMemory()
    query = unit(1, 16, 77)[0]
    failures: list[str] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with reader.snapshot() as connection:
                newest = connection.execute("SELECT max(rowid) FROM chunks_vec_rowids").get
                found = vector.rank(connection, query, limit=3, under=WHOLE, memory=memory)
            # Each added vector is the query itself: those present must come first, by id.
            added = list(range(1001, min(newest, 1003) + 1))
            if list(found.chunk_ids[: len(added)]) != added:
                failures.append(f"{found} at {newest}")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for n in range(1001, 1021):
            put(files, {n: query})
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
