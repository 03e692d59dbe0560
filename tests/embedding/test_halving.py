"""Batches that fail are halved: order kept, exactly the bad texts refused, the rest embedded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_nb.embedding import (
    BLANK,
    EmbedderDropped,
    EmbedderProtocolError,
    EmbedderRefused,
    EmbeddingTally,
    Refused,
)
from tests.embedding.conftest import Client, documents
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding

KINDS = ("text", "bad", "blank")


@settings(
    max_examples=40,
    deadline=None,
    # The server and the client keep no state that one example could leave to the next.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    kinds=st.lists(st.sampled_from(KINDS), max_size=70),
    batch_size=st.integers(1, 64),
    status=st.sampled_from([400, 413, 422, 500, 502, 0]),
    limit=st.sampled_from([None, 5]),
)
def test_exactly_the_failing_texts_are_refused(
    server: EmbeddingServer,
    client: Client,
    kinds: list[str],
    batch_size: int,
    status: int,
    limit: int | None,
) -> None:
    """For any failing subset, order and length are kept and nothing else is lost."""
    server.faults = Faults(marker="poison", marker_status=status, limit=limit)
    texts = {"text": "note {}", "bad": "poison {}", "blank": " "}
    bodies = [texts[kind].format(i) for i, kind in enumerate(kinds)]
    seen: list[int] = []
    found = client(batch_size=batch_size).embed_documents(
        documents(*bodies), on_progress=seen.append
    )
    assert sum(seen) == len(found) == len(kinds)
    for kind, body, each in zip(kinds, bodies, found, strict=True):
        if kind == "blank":
            assert each is BLANK
        elif kind == "bad":
            assert isinstance(each, Refused)
        else:
            vector = np.array(hash_embedding([body])[0])
            np.testing.assert_allclose(each, vector / np.linalg.norm(vector), atol=1e-6)


@pytest.mark.parametrize("status", [413, 422, 400])
def test_the_working_size_is_remembered(
    server: EmbeddingServer, client: Client, status: int
) -> None:
    """A server's limit is found once, not in every batch (E11)."""
    server.faults = Faults(limit=32, limit_status=status)
    embedder = client()
    tally = EmbeddingTally()
    found = embedder.embed_documents(documents(*(f"note {i}" for i in range(200))), tally=tally)
    assert not any(isinstance(each, Refused) for each in found)
    assert server.sizes == [64, 32, 32, 32, 32, 32, 32, 8]
    assert (embedder.working_batch_size, tally.halvings) == (32, 1)
    embedder.embed_documents(documents(*(f"note {i}" for i in range(64))))
    assert server.sizes[8:] == [32, 32]


def test_a_server_that_drops_large_batches(server: EmbeddingServer, client: Client) -> None:
    """A reset connection leads to smaller batches, not to an end (E12)."""
    server.faults = Faults(drop_above=10)
    found = client().embed_documents(documents(*(f"note {i}" for i in range(100))))
    assert len(found) == 100
    assert not any(isinstance(each, Refused) for each in found)
    assert server.sizes.count(64) == 1


def test_a_bad_text_does_not_shrink_the_batches(server: EmbeddingServer, client: Client) -> None:
    """Only where all texts of a failed batch go through in halves was its size to blame."""
    server.faults = Faults(marker="poison")
    embedder = client()
    found = embedder.embed_documents(
        documents(*("poison" if i == 3 else f"note {i}" for i in range(128)))
    )
    assert [i for i, each in enumerate(found) if isinstance(each, Refused)] == [3]
    assert embedder.working_batch_size == 64
    assert server.sizes[-1] == 64


def test_the_refusal_carries_the_servers_words(server: EmbeddingServer, client: Client) -> None:
    """What the server said of the text is kept for the report (E13)."""
    server.faults = Faults(marker="poison", marker_status=422)
    _, bad = client().embed_documents(documents("fine", "poison"))
    assert isinstance(bad, Refused)
    assert bad.message == f"{server.url}/embeddings answered 422: an input holds poison"


def test_all_bad_is_not_a_broken_server(server: EmbeddingServer, client: Client) -> None:
    """Where every text is refused but the probe text is not, the texts are to blame."""
    server.faults = Faults(marker="poison")
    found = client().embed_documents(documents(*["poison"] * 5))
    assert all(isinstance(each, Refused) for each in found)


@pytest.mark.parametrize(
    ("faults", "error"),
    [
        (Faults(status=500), EmbedderRefused),
        (Faults(status=400, message="no model loaded"), EmbedderRefused),
        (Faults(answer="null-number"), EmbedderProtocolError),
        (Faults(drop_above=0), EmbedderDropped),
    ],
)
def test_a_broken_server_stops_the_run(
    server: EmbeddingServer, client: Client, faults: Faults, error: type[Exception]
) -> None:
    """A server that fails for every text is not blamed on the texts; few requests show it."""
    server.faults = faults
    with pytest.raises(error):
        client().embed_documents(documents(*(f"note {i}" for i in range(640))))
    assert len(server.requests) < 12


def test_a_server_that_breaks_midway_stops_the_run(server: EmbeddingServer, client: Client) -> None:
    """Vectors of before do not hide that nothing works any more."""
    server.faults = Faults(status=500, skip=2)
    with pytest.raises(EmbedderRefused):
        client(batch_size=8).embed_documents(documents(*(f"note {i}" for i in range(640))))
    assert len(server.requests) < 16


def test_lists_that_give_empty_vectors(server: EmbeddingServer, client: Client) -> None:
    """A server whose list form is broken is recognised, and the way out works (E16)."""
    server.faults = Faults(answer="empty-vectors", lists_only=True)
    with pytest.raises(EmbedderProtocolError, match="set single_input = true"):
        client().embed_documents(documents("zinc", "owls"))
    embedder = client(single_input=True)
    found = embedder.embed_documents(documents("zinc", "owls"))
    assert not any(isinstance(each, Refused) for each in found)
    assert [request.body["input"] for request in server.requests[-2:]] == ["zinc", "owls"]
    embedder.embed_query("zinc")
    embedder.identity()
    assert not server.requests[-1].as_list
