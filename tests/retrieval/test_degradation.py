"""What happens to a fused search when its embeddings fail, with a real server that fails."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Iterator
from typing import Any

import pytest

from knowledge_nb.embedding.errors import (
    DimensionMismatch,
    EmbedderTimeout,
    EmbedderUnavailable,
    EmbedderUnreachable,
    EmbeddingError,
)
from knowledge_nb.embedding.openai import OpenAIEmbedder, Patience
from knowledge_nb.errors import SearchTimeoutError
from knowledge_nb.records import Status
from knowledge_nb.retrieval import DegradedSearchWarning, search
from knowledge_nb.store.connection import Reader
from knowledge_nb.store.files import StoreFiles
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding
from tests.retrieval.conftest import fill

CORPUS = {
    "a.md": [("", "the old pier was closed")],
    "b.md": [("", "a new pier is planned"), ("", "boats and nets")],
    "c.md": [("", "bread and soup")],
}


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(hash_embedding) as running:
        yield running


@pytest.fixture
def embedder(server: EmbeddingServer) -> Iterator[OpenAIEmbedder]:
    made = OpenAIEmbedder(
        server.url,
        "test-model",
        timeout=0.5,
        patience=Patience(retries=1, first_wait=0.01, longest_wait=0.02),
    )
    yield made
    made.close()


@pytest.fixture
def filled(files: StoreFiles, reader: Reader, embedder: OpenAIEmbedder) -> Reader:
    fill(files, CORPUS, embedder)
    return reader


FAULTS = [
    Faults(status=500),
    Faults(status=401, message="bad key"),
    Faults(status=503, retry_after="0"),
    Faults(raw=b"<html>", status=200),
    Faults(hang=True),
    Faults(delay=1.5),
]


@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_a_failing_server_degrades(
    server: EmbeddingServer, embedder: OpenAIEmbedder, filled: Reader, faults: Faults
) -> None:
    """Words alone answer, the tier line and the reason say so, and the next success is whole."""
    lexical = search(filled, "pier", mode="lexical")
    server.faults = faults
    result = search(filled, "pier", mode="fused", embedder=embedder)
    assert result.status is Status.OK
    assert result.degraded
    assert result.reason
    assert result.tier.startswith("tier: hybrid -> DEGRADED to lexical (")
    assert " ".join(result.reason.split()) in result.tier
    assert result.mode == "lexical"
    assert result.hits == lexical.hits
    assert any(result.reason in note for note in result.notes)
    server.faults = Faults()
    after = search(filled, "pier", mode="fused", embedder=embedder)
    assert not after.degraded
    assert after.tier == "tier: hybrid (FTS5 + vectors, RRF) - model=test-model dim=32"
    assert any(hit.vector_rank for hit in after.hits)


def test_a_stopped_server_degrades(
    server: EmbeddingServer, embedder: OpenAIEmbedder, filled: Reader
) -> None:
    """No server at all degrades; started again on its port, the next search is whole."""
    port = server.port
    server.stop()
    try:
        assert search(filled, "pier", embedder=embedder).degraded
        with pytest.raises(EmbedderUnreachable):
            search(filled, "pier", mode="vector", embedder=embedder)
    finally:
        server.start(port)
    assert not search(filled, "pier", embedder=embedder).degraded


@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_vector_mode_never_falls_back(
    server: EmbeddingServer, embedder: OpenAIEmbedder, filled: Reader, faults: Faults
) -> None:
    """Asked for vectors, the failure itself comes out."""
    server.faults = faults
    with pytest.raises(EmbedderUnavailable):
        search(filled, "pier", mode="vector", embedder=embedder)


@pytest.mark.parametrize(
    "faults", [Faults(hang=True), Faults(delay=1.5), Faults(drip=0.2)], ids=str
)
@pytest.mark.parametrize("mode", ["fused", "vector"])
def test_the_callers_deadline_goes_first(
    server: EmbeddingServer, embedder: OpenAIEmbedder, filled: Reader, faults: Faults, mode: Any
) -> None:
    """A hung server is both a failure and a passed deadline: with `timeout` it is the deadline."""
    server.faults = faults
    with pytest.raises(SearchTimeoutError):
        search(filled, "pier", mode=mode, embedder=embedder, timeout=0.2)


def test_the_clients_own_timeout_degrades(
    server: EmbeddingServer, embedder: OpenAIEmbedder, filled: Reader
) -> None:
    """A hang until the client's own timeout degrades, though the caller's deadline is far away."""
    server.faults = Faults(hang=True)
    result = search(filled, "pier", mode="fused", embedder=embedder, timeout=2)
    assert result.degraded
    assert result.hits


def test_no_time_at_all(server: EmbeddingServer, embedder: OpenAIEmbedder, filled: Reader) -> None:
    """A timeout of zero is over before it begins, in every mode; the server is not asked."""
    asked = len(server.requests)
    for mode in ("lexical", "vector", "fused"):
        with pytest.raises(SearchTimeoutError):
            search(filled, "pier", mode=mode, embedder=embedder, timeout=0)  # type: ignore[arg-type]
    assert len(server.requests) == asked


def test_another_width_never_degrades(
    server: EmbeddingServer, embedder: OpenAIEmbedder, filled: Reader
) -> None:
    """Vectors of another width would give a wrong answer, not a narrower one: an error."""
    server.faults = Faults(width=16)
    fresh = OpenAIEmbedder(server.url, "test-model", timeout=5)
    for client in (embedder, fresh):
        with pytest.raises(DimensionMismatch):
            search(filled, "pier", mode="fused", embedder=client)
    fresh.close()


def test_degraded_and_nothing_to_search(
    server: EmbeddingServer, embedder: OpenAIEmbedder, filled: Reader
) -> None:
    """Words that cannot be searched and no vector: an empty query that says it is degraded."""
    server.faults = Faults(status=500)
    result = search(filled, "a b", mode="fused", embedder=embedder)
    assert result.status is Status.QUERY_EMPTY
    assert result.degraded
    assert "DEGRADED" in result.tier


class Foreign:
    """A user's own embedder, which raises whatever its client library raises."""

    provider = "openai"
    model = "test-model"
    query_prefix = ""
    document_prefix = ""

    def __init__(self, error: BaseException, *, after: float = 0.0) -> None:
        self.error = error
        self.after = after
        self.timeouts: list[float | None] = []

    def embed_query(self, text: str, *, timeout: float | None = None, tally: Any = None) -> Any:
        self.timeouts.append(timeout)
        time.sleep(self.after)
        raise self.error

    def identity(self) -> Any: ...
    def embed_documents(self, texts: Any, *, tally: Any = None, on_progress: Any = None) -> Any: ...
    def close(self) -> None: ...


@pytest.mark.parametrize(
    "error",
    [
        EmbeddingError("deadline exceeded, cancelled"),
        EmbedderTimeout("its own"),
        ConnectionResetError("reset"),
        TimeoutError(),
        RuntimeError("some client library's error"),
    ],
    ids=repr,
)
def test_classified_by_the_step_not_the_text(filled: Reader, error: Exception) -> None:
    """Whatever is raised while the query is embedded degrades, whatever words it holds."""
    result = search(filled, "pier", mode="fused", embedder=Foreign(error))
    assert result.degraded
    assert result.reason == (str(error) or type(error).__name__)
    with pytest.raises(type(error)):
        search(filled, "pier", mode="vector", embedder=Foreign(error))


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), asyncio.CancelledError(), concurrent.futures.CancelledError()],
    ids=repr,
)
def test_cancellation_goes_first(filled: Reader, error: BaseException) -> None:
    """A cancelled search is cancelled and never degrades; the reader works on."""
    with pytest.raises(type(error)):
        search(filled, "pier", mode="fused", embedder=Foreign(error))
    assert search(filled, "pier", mode="lexical").hits


def test_a_deadline_that_passed_during_the_failure(filled: Reader) -> None:
    """An unrelated error that comes after the deadline is the deadline."""
    late = Foreign(RuntimeError("unrelated"), after=0.1)
    with pytest.raises(SearchTimeoutError):
        search(filled, "pier", mode="fused", embedder=late, timeout=0.05)
    (left,) = late.timeouts
    assert left is not None
    assert 0 < left <= 0.05
    told = Foreign(EmbedderTimeout("the caller's", deadline=True))
    with pytest.raises(SearchTimeoutError):
        search(filled, "pier", mode="fused", embedder=told, timeout=50)


def test_a_deadline_inside_sqlite(files: StoreFiles, reader: Reader) -> None:
    """A statement that runs past the deadline stops, and the reader can be used again."""
    words = " ".join(f"w{n % 50}" for n in range(400))
    fill(files, {f"{n}.md": [("", words)] * 10 for n in range(400)})
    query = " ".join(f"w{n}" for n in range(40))
    with pytest.raises(SearchTimeoutError):
        search(reader, query, timeout=0.02)
    assert search(reader, query, k=1).hits


def test_the_warning_is_a_user_warning() -> None:
    """The facade emits it; Python shows it by default."""
    assert issubclass(DegradedSearchWarning, UserWarning)
