"""The vectors of chunks, in a real vec0 table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from knowledge_nb.errors import MissingDependencyError, StoreError
from knowledge_nb.store import vectors
from knowledge_nb.store.connection import Reader, Writer
from knowledge_nb.store.files import StoreFiles

WIDTH = 8
DOCUMENT = (
    "INSERT INTO documents (id, path, title, sha256, bytes, modified_ns, indexed_at, chunks)"
    " VALUES (?, ?, '', '', 0, 0, '', 1)"
)
CHUNK = (
    "INSERT INTO chunks (id, document_id, ordinal, heading, body, opens, continues, first_line,"
    " last_line, vector_state) VALUES (?, ?, 0, '', 'text', 0, 0, 1, 1, 'stored')"
)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """A writer on a new store without vectors."""
    with Writer.open(StoreFiles.at(tmp_path), prepare=vectors.load_where_used) as opened:
        yield opened


def random_vectors(number: int, width: int = WIDTH, seed: int = 0) -> dict[int, bytes]:
    made = np.random.default_rng(seed).standard_normal((number, width))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return {place + 1: vectors.pack(row) for place, row in enumerate(made)}


def put(writer: Writer, stored: dict[int, bytes], width: int = WIDTH) -> None:
    with writer.transaction() as connection:
        vectors.create(connection, width)
        vectors.insert(connection, stored.items())


def test_a_lexical_store_has_none(writer: Writer) -> None:
    """Without a vector table every reading function answers, and says none."""
    connection = writer.connection
    assert vectors.dimension(connection) is None
    assert vectors.count(connection) == 0
    assert vectors.read(connection, [1]) == {}
    assert [len(each) for each in vectors.read_all(connection)] == [0, 0]
    vectors.delete(connection, [1])
    vectors.drop(connection)


@pytest.mark.parametrize("number", [1, 255, 256, 257, 2500])
def test_what_goes_in_comes_out(writer: Writer, number: int) -> None:
    """Vectors come back byte for byte, one by one and in bulk, whatever the batch they fell in."""
    stored = random_vectors(number)
    put(writer, stored)
    connection = writer.connection
    assert vectors.dimension(connection) == WIDTH
    assert vectors.count(connection) == number
    assert vectors.read(connection, [*stored, 10**9]) == stored
    ids, matrix = vectors.read_all(connection)
    assert {int(n): row.tobytes() for n, row in zip(ids, matrix, strict=True)} == stored


def test_bulk_reading_after_deletions(writer: Writer) -> None:
    """Freed and refilled places of vec0's blobs hold no ghost and lose nothing."""
    stored = random_vectors(3000)
    put(writer, stored)
    gone = [n for n in stored if n % 3 == 0 or 1000 < n < 2100]
    with writer.transaction() as connection:
        vectors.delete(connection, [*gone, 10**9])
    for n in gone:
        del stored[n]
    late = {n + 50_000: v for n, v in random_vectors(700, seed=1).items()}
    with writer.transaction() as connection:
        vectors.insert(connection, late.items())
    ids, matrix = vectors.read_all(writer.connection)
    found = {int(n): row.tobytes() for n, row in zip(ids, matrix, strict=True)}
    assert found == stored | late
    assert vectors.count(writer.connection) == len(found)


def test_bulk_reading_without_the_known_layout(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where vec0 lays its blobs out in another way, its own rows are read."""
    stored = random_vectors(40)
    put(writer, stored)
    for statement in ("SELECT 1, 2 FROM no_such_table", "SELECT 8, x'ff', x'00', x'00'"):
        monkeypatch.setattr(vectors, "_BLOBS", statement)
        ids, matrix = vectors.read_all(writer.connection)
        assert {int(n): row.tobytes() for n, row in zip(ids, matrix, strict=True)} == stored


def test_a_second_vector_for_a_chunk_is_refused(writer: Writer) -> None:
    """vec0 knows no OR REPLACE; the refusal surfaces, and delete then insert works."""
    put(writer, random_vectors(3))
    other = random_vectors(1, seed=5)
    with pytest.raises(StoreError), writer.transaction() as connection:
        vectors.insert(connection, other.items())
    with writer.transaction() as connection:
        vectors.delete(connection, [1])
        vectors.insert(connection, other.items())
    assert vectors.read(writer.connection, [1]) == other
    assert vectors.count(writer.connection) == 3


def test_another_width_is_refused(writer: Writer) -> None:
    """A vector of another width is not stored, nor is one compared with the stored ones."""
    put(writer, random_vectors(3))
    narrow = random_vectors(1, width=4)[1]
    with pytest.raises(StoreError, match="imension"), writer.transaction() as connection:
        vectors.insert(connection, [(9, narrow)])
    with pytest.raises(apsw.SQLError, match="imension"):
        vectors.nearest(writer.connection, narrow, 3)


@pytest.mark.parametrize("bad", [[np.nan] * WIDTH, [np.inf] * WIDTH, [], [[1.0] * WIDTH]])
def test_only_finite_rows_are_packed(bad: Any) -> None:
    """NaN, infinity, nothing and a matrix are no vector to store."""
    with pytest.raises(ValueError, match="finite"):
        vectors.pack(np.array(bad))


def test_deleting_chunks_deletes_their_vectors(writer: Writer) -> None:
    """A chunk that goes takes its vector along, also through a deleted document."""
    with writer.transaction() as connection:
        for document in (1, 2):
            connection.execute(DOCUMENT, (document, f"{document}.md"))
            connection.execute(CHUNK, (document << 20, document))
    made = random_vectors(2)
    put(writer, {1 << 20: made[1], 2 << 20: made[2]})
    with writer.transaction() as connection:
        connection.execute("DELETE FROM documents WHERE id = 1")
    assert set(vectors.read(writer.connection, [1 << 20, 2 << 20])) == {2 << 20}


def test_drop_and_create_again(writer: Writer) -> None:
    """A new model's vectors replace the table and its trigger; another width is then right."""
    put(writer, random_vectors(5))
    with writer.transaction() as connection:
        vectors.drop(connection)
        assert vectors.dimension(connection) is None
    put(writer, random_vectors(2, width=4), width=4)
    assert vectors.dimension(writer.connection) == 4
    assert vectors.count(writer.connection) == 2


@pytest.mark.parametrize("k", [1, 10, 4096, 4097, 9000])
def test_nearest(writer: Writer, k: int) -> None:
    """Nearest first at any k, beyond sqlite-vec's own limit too."""
    stored = random_vectors(5000)
    put(writer, stored)
    query = random_vectors(1, seed=9)[1]
    found = vectors.nearest(writer.connection, query, k)
    wide = np.frombuffer(b"".join(stored.values()), "<f4").reshape(-1, WIDTH).astype(float)
    distances = np.linalg.norm(wide - np.frombuffer(query, "<f4"), axis=1)
    assert len(found) == min(k, 5000)
    assert np.allclose([d for _, d in found], np.sort(distances)[:k], atol=1e-6)
    assert np.allclose([distances[n - 1] for n, _ in found], [d for _, d in found], atol=1e-6)


@pytest.mark.parametrize("k", [7, 5000])
def test_nearest_within_documents(writer: Writer, k: int) -> None:
    """The restriction comes before the cut, and the order is by distance, not of the list."""
    made = random_vectors(60)
    with writer.transaction() as connection:
        for document in made:
            connection.execute(DOCUMENT, (document, f"{document}.md"))
            connection.execute(CHUNK, (document << 20, document))
    put(writer, {n << 20: v for n, v in made.items()})
    query = random_vectors(1, seed=3)[1]
    every = [n for n, _ in vectors.nearest(writer.connection, query, 60)]
    some = {n << 20 for n in (50, 3, 41, 8, 22, 17, 9, 33, 60)}
    found = vectors.nearest(writer.connection, query, k, "[50, 3, 41, 8, 22, 17, 9, 33, 60]")
    assert [n for n, _ in found] == [n for n in every if n in some][:k]


def test_readers_need_no_preparation(writer: Writer, tmp_path: Path) -> None:
    """A plain reader loads the extension where a function needs it, and can load no other."""
    put(writer, random_vectors(5))
    reader = Reader(StoreFiles.at(tmp_path))
    with reader.snapshot() as connection:
        assert len(vectors.read(connection, [1, 2])) == 2
        vectors.load(connection)
        with pytest.raises(apsw.SQLError, match="not authorized"):
            connection.execute("SELECT load_extension('x')")
    reader.close()


def test_loading_that_fails_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package and a library that does not load are two messages with a command each."""
    connection = apsw.Connection(":memory:")
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    with pytest.raises(MissingDependencyError, match="pip install sqlite-vec"):
        vectors.load(connection)
    monkeypatch.undo()
    (tmp_path / "vec0.so").write_bytes(b"no library")
    monkeypatch.setattr("sqlite_vec.loadable_path", lambda: str(tmp_path / "vec0"))
    with pytest.raises(StoreError, match="cannot be loaded"):
        vectors.load(connection)
    connection.close()
