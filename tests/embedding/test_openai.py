"""The client against a real server: what it sends, what it takes, which error it gives."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import numpy as np
import pytest

from knowledge_nb.embedding import (
    BLANK,
    PROBE_TEXT,
    BlankTextError,
    DimensionMismatch,
    DocumentText,
    EmbedderKeyMissing,
    EmbedderProtocolError,
    EmbedderRefused,
    EmbeddingError,
    EmbeddingTally,
    Refused,
    open_embedder,
)
from knowledge_nb.embedding.openai import OpenAIEmbedder
from knowledge_nb.errors import ConfigurationError
from knowledge_nb.settings import EmbeddingSettings
from tests.embedding.answers import ANSWERS, TOLERATED
from tests.embedding.conftest import Client, documents
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding

BODIES = ("zinc corrodes", "owls hunt", "loans end", "keys are numbered")


def expected(texts: tuple[str, ...]) -> np.ndarray:
    """The vectors that the server computes, at unit length."""
    vectors = np.array(hash_embedding(texts))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_documents_and_queries(server: EmbeddingServer, client: Client) -> None:
    """Each text gets its own unit float32 vector; the request is the OpenAI one and no more."""
    embedder = client(query_prefix="query: ", document_prefix="title: {title} | text: ")
    found = embedder.embed_documents([DocumentText("Metals", "zinc"), DocumentText("", "owls")])
    query = embedder.embed_query("zinc?")
    sent = [request.body for request in server.requests]
    assert sent == [
        {
            "model": "test-model",
            "input": ["title: Metals | text: zinc", "title: none | text: owls"],
        },
        {"model": "test-model", "input": ["query: zinc?"]},
    ]
    assert {request.path for request in server.requests} == {"/v1/embeddings"}
    np.testing.assert_allclose(np.array(found), expected(tuple(sent[0]["input"])), atol=1e-6)
    np.testing.assert_allclose(query, expected(("query: zinc?",))[0], atol=1e-6)
    assert query.dtype == np.float32


def test_nothing_to_embed_sends_nothing(server: EmbeddingServer, client: Client) -> None:
    """No texts, no request; blank texts are marked and never sent (E13)."""
    assert client().embed_documents([]) == []
    seen: list[int] = []
    found = client().embed_documents(
        documents(" \n", "zinc", "![]()", "\u200b"), on_progress=seen.append
    )
    assert [each is BLANK for each in found] == [True, False, True, True]
    assert sum(seen) == 4
    assert [request.inputs for request in server.requests] == [("zinc",)]
    with pytest.raises(BlankTextError):
        client().embed_query("\u200b ")
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", sorted(TOLERATED))
def test_vectors_belong_to_their_texts(server: EmbeddingServer, client: Client, name: str) -> None:
    """Reordered items and unusual indices do not swap vectors (E01, E02)."""
    server.faults = Faults(answer=name)
    found = client().embed_documents(documents(*BODIES))
    np.testing.assert_allclose(np.array(found), expected(BODIES), atol=1e-6)
    assert server.sizes == [4]


@pytest.mark.parametrize("name", sorted(set(ANSWERS) - TOLERATED))
def test_a_server_that_only_answers_nonsense_stops_the_run(
    server: EmbeddingServer, client: Client, name: str
) -> None:
    """One clear error with the URL and the start of the body, after few requests (E02 to E15)."""
    server.faults = Faults(answer=name)
    with pytest.raises(EmbedderProtocolError) as caught:
        client().embed_documents(documents(*BODIES * 16))
    assert f"{server.url}/embeddings answered 200 with " in str(caught.value)
    assert len(server.requests) < 12
    with pytest.raises(EmbedderProtocolError):
        client().embed_query("zinc")


def test_the_error_quotes_the_body(server: EmbeddingServer, client: Client) -> None:
    """An HTML page or an error object inside a 200 is shown (E14)."""
    server.faults = Faults(answer="html")
    with pytest.raises(EmbedderProtocolError, match="Welcome to the proxy"):
        client().embed_query("zinc")
    server.faults = Faults(answer="error")
    with pytest.raises(EmbedderProtocolError, match="model not found, pull it first"):
        client().embed_query("zinc")
    server.faults = Faults(status=204)
    with pytest.raises(EmbedderProtocolError, match="answered 204"):
        client().embed_query("zinc")


@pytest.mark.parametrize("name", ["nan-token", "null-number", "nan-string", "zeros", "gap"])
def test_a_malformed_answer_for_one_text_refuses_that_text(
    server: EmbeddingServer, client: Client, name: str
) -> None:
    """Where one text makes the model give NaN, its neighbours keep their vectors (E08)."""
    server.faults = Faults(marker="owls", marker_answer=name)
    found = client().embed_documents(documents(*BODIES))
    assert isinstance(found[1], Refused)
    assert "answered 200 with" in found[1].message
    kept = [0, 2, 3]
    np.testing.assert_allclose(
        np.array([found[i] for i in kept]), expected(BODIES)[kept], atol=1e-6
    )


def test_another_width_is_an_error_with_both_numbers(
    server: EmbeddingServer, client: Client
) -> None:
    """The first width is pinned; another stops the run and is not a matter of degree (E06)."""
    embedder = client()
    embedder.embed_documents(documents("zinc"))
    server.faults = Faults(width=64)
    for call in (
        lambda: embedder.embed_documents(documents(*BODIES)),
        lambda: embedder.embed_query("zinc"),
        lambda: client(dimension=32).identity(),
    ):
        with pytest.raises(DimensionMismatch, match=r"64 numbers where 32") as caught:
            call()
        assert (caught.value.expected, caught.value.got) == (32, 64)
    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [401, 403, 404, 301, 405])
def test_a_refusal_stops_at_once(server: EmbeddingServer, client: Client, status: int) -> None:
    """No halving, no retry where every request would be refused; the server's words are shown."""
    server.faults = Faults(status=status, message="not you", location="http://elsewhere/")
    with pytest.raises(EmbedderRefused, match="not you") as caught:
        client().embed_documents(documents(*BODIES))
    assert caught.value.status == status
    assert f"{server.url}/embeddings" in str(caught.value)
    assert len(server.requests) == 1
    with pytest.raises(EmbedderRefused):
        client().embed_query("zinc")


def test_redirects_are_shown_not_followed(server: EmbeddingServer, client: Client) -> None:
    """A redirect could carry the key to another host."""
    server.faults = Faults(status=308, location="https://elsewhere.example/v1")
    with pytest.raises(EmbedderRefused, match=r"redirects to https://elsewhere\.example/v1"):
        client().embed_query("zinc")


def test_a_wrong_path_shows_the_full_url(server: EmbeddingServer, client: Client) -> None:
    """A 404 names the address that was called (E19)."""
    base_url = server.url.replace("/v1", "/api/v3") + "/?version=2"
    with pytest.raises(EmbedderRefused, match=r"/api/v3/embeddings\?version=2 answered 404"):
        client(base_url).embed_query("zinc")
    assert server.requests[-1].path == "/api/v3/embeddings?version=2"


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/embeddings", "//v1//"])
def test_every_spelling_of_the_base_url_arrives(
    server: EmbeddingServer, client: Client, end: str
) -> None:
    """With and without /v1 and slash, the same path is called (E19)."""
    client(server.url.removesuffix("/v1") + end).embed_query("zinc")
    assert server.requests[-1].path == "/v1/embeddings"


SECRET = "sk-very-secret-0123456789"


def test_the_key_is_sent_and_never_shown(
    server: EmbeddingServer,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The key is read from the environment; no message, repr or log holds it."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TEST_EMBEDDING_KEY", f" {SECRET}\n")
    embedder = client(api_key_env="TEST_EMBEDDING_KEY")
    embedder.embed_query("zinc")
    assert server.requests[-1].headers["Authorization"] == f"Bearer {SECRET}"
    shown = [repr(embedder), str(vars(embedder))]
    for faults in (
        Faults(status=401, message=f"Incorrect API key provided: {SECRET}"),
        Faults(status=401, message="x" * 290 + SECRET),
        Faults(status=200, raw=b'{"error": "key %s is over quota"}' % SECRET.encode()),
        Faults(status=308, location="http://elsewhere/"),
    ):
        server.faults = faults
        with pytest.raises(EmbeddingError) as caught:
            embedder.embed_query("zinc")
        shown += [str(caught.value), repr(caught.value)]
    assert "sk-very" not in "".join(shown)
    assert "***" in shown[2]
    assert "sk-very" not in caplog.text


@pytest.mark.parametrize("value", [None, "", "  ", "schlüssel", "two\nlines"])
def test_an_unusable_key_is_named_not_shown(
    server: EmbeddingServer, client: Client, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """Unset or unfit for a header: the variable is named, its value is not, nothing is sent."""
    monkeypatch.delenv("TEST_EMBEDDING_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("TEST_EMBEDDING_KEY", value)
    with pytest.raises(EmbedderKeyMissing, match="TEST_EMBEDDING_KEY") as caught:
        client(api_key_env="TEST_EMBEDDING_KEY").embed_query("zinc")
    assert "schl" not in str(caught.value)
    assert "lines" not in str(caught.value)
    assert server.requests == []


def test_long_inputs_are_cut_and_counted(server: EmbeddingServer, client: Client) -> None:
    """128 KiB of a document and 8,192 characters of a query are sent; the tally says so."""
    tally = EmbeddingTally()
    client().embed_documents(documents("ü" * 70_000, "short"), tally=tally)
    client().embed_query("a" * 8_195, tally=tally)
    assert [len(text.encode()) for text in server.requests[0].inputs] == [131_072, 5]
    assert [len(text) for text in server.requests[1].inputs] == [8_192]
    assert (tally.cut, tally.query_characters_cut) == (1, 3)


def test_lone_surrogates_are_replaced(server: EmbeddingServer, client: Client) -> None:
    """A query from a terminal in another encoding is still valid JSON."""
    client().embed_query("caf\udce9")
    assert server.requests[-1].inputs == ("caf\ufffd",)


def test_works_in_a_running_event_loop(client: Client) -> None:
    """A notebook always runs a loop."""

    async def cell() -> int:
        return len(client().embed_query("zinc"))

    assert asyncio.run(cell()) == 32


def test_may_be_shared_between_threads(server: EmbeddingServer, client: Client) -> None:
    """Eight threads at once each get their own vectors."""
    embedder = client(batch_size=3)
    wrong: list[int] = []

    def run(number: int) -> None:
        bodies = tuple(f"text {number} {i}" for i in range(10))
        found = np.array(embedder.embed_documents(documents(*bodies)))
        if not np.allclose(found, expected(bodies), atol=1e-6):
            wrong.append(number)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_identity_asks_the_live_server(server: EmbeddingServer, client: Client) -> None:
    """The probe text is sent without a prefix; the identity tells another model by its vector."""
    embedder = client(query_prefix="q: ", document_prefix="d: ")
    pinned = embedder.identity()
    assert server.requests[-1].inputs == (PROBE_TEXT,)
    assert (pinned.provider, pinned.model, pinned.dimension) == ("openai", "test-model", 32)
    assert (pinned.query_prefix, pinned.document_prefix) == ("q: ", "d: ")
    assert not pinned.normalised
    assert pinned.differences(embedder.identity()) == ()
    assert any("query_prefix" in each for each in pinned.differences(client().identity()))

    def another(texts: object) -> list[list[float]]:
        return [[float(place) for place in range(32)]]

    with EmbeddingServer(another) as other:
        live = client(other.url, query_prefix="q: ", document_prefix="d: ").identity()
    assert pinned.differences(live) == ()
    assert pinned.answers_alike(embedder.identity())
    assert not pinned.answers_alike(live)


def test_settings_make_the_client(server: EmbeddingServer) -> None:
    """What knowledge.toml says reaches the client; unusable values are refused early."""
    settings = EmbeddingSettings(base_url=server.url, model="m", query_prefix="q ", batch_size=2)
    embedder = open_embedder(settings)
    assert isinstance(embedder, OpenAIEmbedder)
    embedder.embed_documents(documents("a", "b", "c"))
    embedder.close()
    assert server.sizes == [2, 1]
    for wrong in ({"base_url": "nowhere"}, {"base_url": server.url, "batch_size": 0}):
        with pytest.raises(ConfigurationError):
            open_embedder(EmbeddingSettings(**{"model": "m", **wrong}))


@pytest.mark.parametrize(
    "base_url",
    ["http://xn--a/", "http://a..b/", f"http://{'a' * 64}/", "http://h\ud800/", "http://-\u2603-/"],
)
def test_hosts_that_httpx_refuses(base_url: str, client: Client) -> None:
    """A host that httpx or the socket module cannot encode is refused early, by us."""
    with pytest.raises(ConfigurationError, match="base_url"):
        client(base_url)


def test_the_request_is_plain_json(server: EmbeddingServer, client: Client) -> None:
    """No base64 is asked for, and text in other scripts arrives as it is."""
    client().embed_query("漢字 🦉")
    assert server.requests[-1].inputs == ("漢字 🦉",)
    assert "encoding_format" not in server.requests[-1].body
    assert json.dumps(server.requests[-1].body)
