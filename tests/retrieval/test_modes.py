"""Lexical, vector and fused search over one store with the local model's vectors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from knowledge_nb.embedding.errors import DimensionMismatch
from knowledge_nb.embedding.local import LocalEmbedder
from knowledge_nb.errors import (
    MissingDependencyError,
    QueryError,
    StoreError,
    VectorsMismatchError,
)
from knowledge_nb.records import SearchResult, Status
from knowledge_nb.retrieval import search
from knowledge_nb.retrieval.fusion import fuse
from knowledge_nb.store import vectors as stored
from knowledge_nb.store.connection import Reader, Writer
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import write_meta
from tests.retrieval.conftest import WHEN, fill

pytest.importorskip("wordllama")

CORPUS = {
    "ops/backup.md": [("Backups", "Nightly copies of the database are kept for ninety days.")],
    "ops/restore.md": [("Restoring", "How to recover a database from a copy after a crash.")],
    "sea/tides.md": [("Tide tables", "High water at the harbour, low water at the bar.")],
    "sea/boats.md": [("", "The ferry leaves the pier at noon."), ("", "Rowing boats for hire.")],
    "food/bread.md": [("Bread", "Knead flour, water, salt and yeast; bake for forty minutes.")],
    "food/soup.md": [("", "Boil onions in water with salt.")],
}
QUERY = "save the database copies"


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def filled(files: StoreFiles, reader: Reader, embedder: LocalEmbedder) -> Iterator[Reader]:
    fill(files, CORPUS, embedder)
    return reader


def found(result: SearchResult) -> list[str]:
    return [hit.citation for hit in result.hits]


def test_vector(filled: Reader, embedder: LocalEmbedder) -> None:
    """Every chunk with a vector is ranked by distance; the score is the cosine and falls."""
    result = search(filled, QUERY, mode="vector", embedder=embedder, k=10)
    assert result.status is Status.OK
    assert result.mode == "vector"
    assert len(result.hits) == 7
    assert set(found(result)[:2]) == {"ops/backup.md#0", "ops/restore.md#0"}
    distances = [hit.vector_distance for hit in result.hits]
    assert distances == sorted(distances, key=lambda d: d or 0)
    assert [hit.vector_rank for hit in result.hits] == list(range(1, 8))
    for hit in result.hits:
        assert hit.vector_distance is not None
        assert hit.score == pytest.approx(1 - hit.vector_distance**2 / 2)
        assert hit.lexical_rank is hit.lexical_score is None
    assert result.compiled == ""
    assert result.dropped_terms == ()


def test_fused_is_the_fusion_of_both(filled: Reader, embedder: LocalEmbedder) -> None:
    """Ranks, scores and contributions are those of the two modes; the contributions sum to it."""
    words = {hit.chunk_id: hit for hit in search(filled, QUERY, mode="lexical", k=50).hits}
    near = {
        h.chunk_id: h for h in search(filled, QUERY, mode="vector", embedder=embedder, k=50).hits
    }
    result = search(filled, QUERY, mode="fused", embedder=embedder, k=50)
    expected = fuse([list(words), list(near)])
    assert [(hit.chunk_id, hit.score) for hit in result.hits] == [
        (each.chunk_id, each.score) for each in expected
    ]
    assert result.mode == "fused"
    assert not result.degraded
    for hit in result.hits:
        assert hit.lexical_contribution + hit.vector_contribution == hit.score
        lexical, vector = words.get(hit.chunk_id), near.get(hit.chunk_id)
        assert hit.lexical_rank == (lexical.lexical_rank if lexical else None)
        assert hit.lexical_score == (lexical.lexical_score if lexical else None)
        assert hit.vector_rank == (vector.vector_rank if vector else None)
        assert hit.vector_distance == (vector.vector_distance if vector else None)
        if lexical is None:
            assert hit.lexical_contribution == 0.0
        else:
            assert hit.lexical_contribution == 1 / (60 + lexical.rank)


def test_fusion_arguments(filled: Reader, embedder: LocalEmbedder) -> None:
    """Weights, constant and window are the researcher's."""
    plain = search(filled, QUERY, mode="lexical", k=50)
    near = search(filled, QUERY, mode="vector", embedder=embedder, k=50)
    fused = {"mode": "fused", "embedder": embedder, "k": 50}
    only_near = search(filled, QUERY, weights=(0.0, 1.0), **fused)  # type: ignore[arg-type]
    assert found(only_near) == found(near)
    only_words = search(filled, QUERY, weights=(1.0, 0.0), **fused)  # type: ignore[arg-type]
    assert found(only_words)[: len(plain.hits)] == found(plain)
    first = search(filled, QUERY, rrf_k=0, window=1, **fused)  # type: ignore[arg-type]
    assert {hit.chunk_id for hit in first.hits} == {
        plain.hits[0].chunk_id,
        near.hits[0].chunk_id,
    }
    assert first.hits[0].score in (1.0, 2.0)


def test_best_mode_by_default(filled: Reader, embedder: LocalEmbedder) -> None:
    """Without a mode: fused where there are vectors and an embedder, else lexical."""
    assert search(filled, QUERY, embedder=embedder).mode == "fused"
    assert search(filled, QUERY).mode == "lexical"
    assert search(filled, QUERY).tier == "tier: lexical (FTS5) - no embeddings configured"


def test_a_store_without_vectors(
    files: StoreFiles, reader: Reader, embedder: LocalEmbedder
) -> None:
    """Vectors asked of a store that has none are an error that says how to configure them."""
    fill(files, CORPUS)
    for mode in ("vector", "fused"):
        with pytest.raises(QueryError, match=r"knowledge.embeddings"):
            search(reader, QUERY, mode=mode, embedder=embedder)  # type: ignore[arg-type]
    result = search(reader, QUERY, embedder=embedder)
    assert (result.mode, bool(result.hits)) == ("lexical", True)
    assert result.tier.startswith("tier: lexical (FTS5) - no vectors stored")


def test_no_embedder(filled: Reader) -> None:
    """Vectors asked for without an embedder are an error, never a quiet lexical answer."""
    for mode in ("vector", "fused"):
        with pytest.raises(QueryError, match=r"knowledge.embeddings"):
            search(filled, QUERY, mode=mode)  # type: ignore[arg-type]


def test_another_embedder(filled: Reader) -> None:
    """An embedder that is not the pinned one is refused by name before it is asked anything."""
    other = LocalEmbedder(query_prefix="query: ")
    for mode in ("vector", "fused"):
        with pytest.raises(VectorsMismatchError, match="query_prefix"):
            search(filled, QUERY, mode=mode, embedder=other)  # type: ignore[arg-type]


def test_another_width(files: StoreFiles, filled: Reader, embedder: LocalEmbedder) -> None:
    """A query of another width than the stored vectors is an error in fused mode too."""
    with (
        Writer.open(files, prepare=stored.load_where_used) as writer,
        writer.transaction() as connection,
    ):
        stored.drop(connection)
        stored.create(connection, 8)
    for mode in ("vector", "fused"):
        with pytest.raises(DimensionMismatch):
            search(filled, QUERY, mode=mode, embedder=embedder)  # type: ignore[arg-type]


def test_tiers_and_missing_vectors(
    files: StoreFiles, filled: Reader, embedder: LocalEmbedder
) -> None:
    """The tier line names model and width, and counts chunks without a vector."""
    line = "tier: hybrid (FTS5 + vectors, RRF) - model=wordllama-l2_supercat_256 dim=256"
    assert search(filled, QUERY, embedder=embedder).tier == line
    fill(files, {"new.md": [("", "one"), ("", "two")]})
    assert search(filled, QUERY, embedder=embedder).tier == f"{line} - 2 chunks without a vector"
    for given in (embedder, None):
        lexical = search(filled, QUERY, mode="lexical", embedder=given)
        assert lexical.tier == (
            "tier: lexical (FTS5) - vectors not asked for, model=wordllama-l2_supercat_256"
        )


def test_statuses_in_every_mode(files: StoreFiles, reader: Reader, embedder: LocalEmbedder) -> None:
    """Not built, empty and unsearchable are told apart before anything is embedded."""
    for mode in ("lexical", "vector", "fused"):
        given = {"mode": mode, "embedder": embedder}
        assert search(reader, "x y", **given).status is Status.INDEX_NOT_BUILT  # type: ignore[arg-type]
    Writer.open(files).close()
    with Writer.open(files) as writer, writer.transaction() as connection:
        write_meta(connection, pass_completed=WHEN)
    for mode in ("lexical", "vector", "fused"):
        given = {"mode": mode, "embedder": embedder}
        assert search(reader, "x y", **given).status is Status.CORPUS_EMPTY  # type: ignore[arg-type]
    fill(files, CORPUS, embedder)
    for mode in ("lexical", "vector", "fused"):
        for query in ("", " \n", "!!", "\x00"):
            given = {"mode": mode, "embedder": embedder}
            result = search(reader, query, **given)  # type: ignore[arg-type]
            assert result.status is Status.QUERY_EMPTY
            assert result.notes
            assert not result.degraded


def test_vectors_alone_answer_words_that_cannot_be_searched(
    filled: Reader, embedder: LocalEmbedder
) -> None:
    """A query of short words is still ranked by meaning in fused mode, and the result says so."""
    result = search(filled, "a b c", mode="fused", embedder=embedder)
    assert result.status is Status.OK
    assert result.hits
    assert all(hit.lexical_rank is None for hit in result.hits)
    assert [word for word, _ in result.dropped_terms] == ["a", "b", "c"]
    assert any("vectors alone" in note for note in result.notes)


def test_a_long_query_says_what_the_embedder_did_not_see(
    filled: Reader, embedder: LocalEmbedder
) -> None:
    """A query over the embedder's limit is cut, and by how much is said."""
    result = search(filled, "database " * 1000, mode="vector", embedder=embedder)
    assert any("808 characters" in note for note in result.notes)


def test_under_in_every_mode(filled: Reader, embedder: LocalEmbedder) -> None:
    """No hit of any mode lies outside the folder, and no chunk inside is lost."""
    for mode in ("vector", "fused"):
        result = search(filled, QUERY, mode=mode, embedder=embedder, under="sea", k=50)  # type: ignore[arg-type]
        assert sorted(found(result)) == ["sea/boats.md#0", "sea/boats.md#1", "sea/tides.md#0"]
        nowhere = search(filled, QUERY, mode=mode, embedder=embedder, under="se")  # type: ignore[arg-type]
        assert nowhere.hits == ()
        assert any("No indexed document" in note for note in nowhere.notes)


def test_without_the_extension(
    filled: Reader, embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where sqlite-vec is missing, fused degrades with that reason and vector mode raises."""
    filled.close()
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    result = search(filled, QUERY, mode="fused", embedder=embedder)
    assert result.degraded
    assert "sqlite-vec" in result.reason
    assert found(result) == found(search(filled, QUERY, mode="lexical"))
    with pytest.raises((MissingDependencyError, StoreError)):
        search(filled, QUERY, mode="vector", embedder=embedder)
    monkeypatch.undo()
    assert not search(filled, QUERY, mode="fused", embedder=embedder).degraded


def test_fused_answers_are_byte_identical(
    filled: Reader, files: StoreFiles, embedder: LocalEmbedder
) -> None:
    """First of a state or from memory, in this process or another: the same bytes."""
    answers = {repr(search(filled, QUERY, mode="fused", embedder=embedder, k=3)) for _ in range(50)}
    program = (
        "import sys; from knowledge_nb.retrieval import search;"
        "from knowledge_nb.store.connection import Reader;"
        "from knowledge_nb.embedding.local import LocalEmbedder;"
        "from knowledge_nb.store.files import StoreFiles;"
        f"print(repr(search(Reader(StoreFiles.at(sys.argv[1])), {QUERY!r}, k=3,"
        " embedder=LocalEmbedder())), end='')"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(files.directory)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.add(done.stdout)
    assert len(answers) == 1


def test_numpy_is_not_needed_for_words(filled: Reader, files: StoreFiles) -> None:
    """A lexical search of a store with vectors imports neither numpy nor sqlite-vec."""
    program = (
        "import sys; from knowledge_nb.retrieval import search;"
        "from knowledge_nb.store.connection import Reader;"
        "from knowledge_nb.store.files import StoreFiles;"
        "assert search(Reader(StoreFiles.at(sys.argv[1])), 'database').hits;"
        "print([n for n in ('numpy', 'sqlite_vec', 'httpx') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(files.directory)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
