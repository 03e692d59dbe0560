"""The doctor's questions to an embedder, and the probe text."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np
import pytest

from knowledge_nb.embedding import same_model
from knowledge_nb.embedding.checks import (
    check_batch_equals_single,
    check_normalised,
    check_truncation,
)
from knowledge_nb.embedding.local import LocalEmbedder
from tests.embedding.conftest import Client
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding

needs_model = pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None, reason="knowledge-nb[local] is not installed"
)
CHECKS = (check_batch_equals_single, check_truncation, check_normalised)


@pytest.mark.parametrize("check", CHECKS)
def test_a_sound_server_passes(client: Client, check) -> None:  # type: ignore[no-untyped-def]
    """Nothing to complain of."""
    answer = check(client())
    assert answer.outcome == "passed", answer.message


@needs_model
@pytest.mark.parametrize("check", CHECKS)
def test_the_local_model_passes(check) -> None:  # type: ignore[no-untyped-def]
    """The default model takes whole texts, in batches as alone."""
    answer = check(LocalEmbedder())
    assert answer.outcome == "passed", answer.message


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("faults", [Faults(status=401), Faults(marker="e", marker_status=400)])
def test_a_check_without_vectors_did_not_run(  # type: ignore[no-untyped-def]
    server: EmbeddingServer, client: Client, check, faults: Faults
) -> None:
    """A check that could not look is neither passed nor failed, and says why."""
    server.faults = faults
    answer = check(client())
    assert answer.outcome == "not run"
    assert answer.message


@needs_model
@pytest.mark.parametrize("characters", [10, 400, 100_000])
def test_a_long_text_that_is_not_cut_passes(characters: int) -> None:
    """Dilution by length is not mistaken for truncation."""
    answer = check_truncation(LocalEmbedder(), characters=characters)
    assert answer.outcome == "passed", answer.message


def test_truncation_is_seen(server: EmbeddingServer, client: Client) -> None:
    """A server that embeds only the first 2,000 characters fails at 4,000, not at 1,000 (E09)."""
    server.faults = Faults(truncate=2_000)
    assert check_truncation(client()).outcome == "failed"
    assert check_truncation(client(), characters=1_000).outcome == "passed"


def test_a_swap_without_indices_is_seen(client: Client) -> None:
    """Vectors in the wrong order, with indices that lie, show in the comparison."""

    def swapping(texts: Sequence[str]) -> list[list[float]]:
        return hash_embedding(texts)[::-1]

    with EmbeddingServer(swapping) as server:
        answer = check_batch_equals_single(client(server.url))
        assert answer.outcome == "failed"
        assert "got the vector of text" in answer.message
        assert check_batch_equals_single(client(server.url, single_input=True)).outcome == "passed"


def test_leaking_padding_is_seen(client: Client) -> None:
    """A vector that depends on its neighbours shows too."""

    def leaking(texts: Sequence[str]) -> list[list[float]]:
        return [[value + len(texts) for value in vector] for vector in hash_embedding(texts)]

    with EmbeddingServer(leaking) as server:
        answer = check_batch_equals_single(client(server.url))
    assert answer.outcome == "failed"


class Wrong(LocalEmbedder):
    """An embedder of somebody else, with vectors that are not as promised."""

    def __init__(self, change) -> None:  # type: ignore[no-untyped-def]
        super().__init__()
        self._change = change

    def embed_documents(self, texts, **options):  # type: ignore[no-untyped-def]
        return [self._change(np.array(v)) for v in hash_embedding([t.body for t in texts])]

    def embed_query(self, text, **options):  # type: ignore[no-untyped-def]
        return self._change(np.array(hash_embedding([text])[0]))


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda v: v.astype(np.float32), "lengths from"),
        (_unit, "float64"),
        (lambda v: _unit(v[: 8 + int(v[0] > 0)]).astype(np.float32), "different shapes"),
        (lambda v: (v * np.nan).astype(np.float32), "lengths from nan"),
    ],
)
def test_vectors_that_are_no_unit_vectors_fail(change, said: str) -> None:  # type: ignore[no-untyped-def]
    """Length, type, shape and NaN are looked at."""
    answer = check_normalised(Wrong(change))
    assert answer.outcome == "failed"
    assert said in answer.message


def test_same_model() -> None:
    """Rounding is the same model; another direction or width is not."""
    rng = np.random.default_rng(7)
    pinned = rng.normal(size=384).astype("<f4")
    half = pinned.astype(np.float16).astype("<f4")
    assert same_model(pinned.tobytes(), half.tobytes())
    assert same_model(pinned.tobytes(), (3 * pinned).tobytes())
    for other in (rng.normal(size=384), -pinned, np.roll(pinned, 1), np.zeros(384), pinned[:300]):
        assert not same_model(pinned.tobytes(), other.astype("<f4").tobytes())
    assert not same_model(b"", b"")
