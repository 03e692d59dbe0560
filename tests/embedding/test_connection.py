"""The client and the wire: addresses, proxies, busy and silent servers, dropped connections."""

from __future__ import annotations

import socket
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from knowledge_nb.embedding import (
    EmbedderBusy,
    EmbedderDropped,
    EmbedderProtocolError,
    EmbedderRefused,
    EmbedderTimeout,
    EmbedderUnreachable,
    EmbeddingError,
    EmbeddingTally,
)
from knowledge_nb.embedding.openai import Patience
from tests.embedding.conftest import Client, documents
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding

BODIES = ("zinc corrodes", "owls hunt", "loans end", "keys are numbered")


def expected(texts: tuple[str, ...]) -> np.ndarray:
    """The vectors that the server computes, at unit length."""
    vectors = np.array(hash_embedding(texts))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_no_server_at_all(client: Client) -> None:
    """A refused connection stops the run and names what was called."""
    port = _free_port()
    for call in (
        lambda e: e.embed_documents(documents(*BODIES)),
        lambda e: e.embed_query("zinc"),
        lambda e: e.identity(),
    ):
        with pytest.raises(EmbedderUnreachable, match=rf"http://127.0.0.1:{port}/v1/embeddings"):
            call(client(f"http://127.0.0.1:{port}"))


def test_localhost_reaches_either_address(server: EmbeddingServer, client: Client) -> None:
    """`localhost` works where only 127.0.0.1 listens; the Host header stays localhost (E20)."""
    client(f"http://localhost:{server.port}").embed_query("zinc")
    assert server.requests[-1].headers["Host"] == f"localhost:{server.port}"


def _ipv6_server() -> EmbeddingServer:
    try:
        return EmbeddingServer(hash_embedding, host="::1").start()
    except OSError as error:
        pytest.skip(f"no IPv6 loopback here: {error}")


def test_localhost_and_literal_reach_ipv6(client: Client) -> None:
    """`localhost` works where only ::1 listens, and an IPv6 literal is a host (E20)."""
    server = _ipv6_server()
    try:
        client(f"http://localhost:{server.port}/v1").embed_query("zinc")
        client(server.url).embed_query("zinc")
        assert len(server.requests) == 2
    finally:
        server.stop()


def test_the_addresses_tried_are_named(client: Client) -> None:
    """Nothing on `localhost`: the message lists both addresses (E20)."""
    port = _free_port()
    with pytest.raises(EmbedderUnreachable) as caught:
        client(f"http://localhost:{port}").embed_query("zinc")
    assert f"tried [::1]:{port}, 127.0.0.1:{port}" in str(caught.value)


def test_loopback_never_goes_through_a_proxy(
    server: EmbeddingServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxies of the environment are not asked for a server on this machine."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{_free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    client().embed_query("zinc")
    client(f"http://localhost:{server.port}").embed_query("zinc")
    assert len(server.requests) == 2


def test_other_hosts_go_through_the_proxy(
    server: EmbeddingServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a remote host the environment's proxy is honoured: our server plays it."""
    server.paths = ("http://models.example/v1/embeddings",)
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    client("http://models.example/v1").embed_query("zinc")
    assert server.requests[-1].path == "http://models.example/v1/embeddings"


def test_an_unusable_proxy_is_our_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy setting that httpx refuses reads as a failed connection, not as a stray error."""
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:70")
    with pytest.raises(EmbedderUnreachable, match="proxy"):
        client("http://models.example/v1").embed_query("zinc")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("date", [False, True])
def test_busy_servers_are_waited_for(
    server: EmbeddingServer, client: Client, status: int, date: bool
) -> None:
    """Retry-After, in seconds or as a date, is honoured up to the cap, and counted."""
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server.faults = Faults(status=status, retry_after=later if date else "0.02", times=2)
    tally = EmbeddingTally()
    found = client().embed_documents(documents(*BODIES), tally=tally)
    np.testing.assert_allclose(np.array(found), expected(BODIES), atol=1e-6)
    assert (tally.requests, tally.retries, tally.halvings) == (3, 2, 0)
    assert tally.waited == pytest.approx(0.1 if date else 0.04)


@pytest.mark.parametrize("status", [429, 503])
def test_busy_for_ever_stops(server: EmbeddingServer, client: Client, status: int) -> None:
    """Retries are bounded; then the run stops with the server's words and no halving."""
    server.faults = Faults(status=status, message="quota of today is used up")
    with pytest.raises(EmbedderBusy, match="quota of today is used up") as caught:
        client().embed_documents(documents(*BODIES))
    assert caught.value.status == status
    assert server.sizes == [4, 4, 4, 4]


def test_a_deadline_is_not_slept_away(server: EmbeddingServer, client: Client) -> None:
    """A wait longer than the query's time is not begun."""
    server.faults = Faults(status=429, retry_after="50")
    embedder = client(patience=Patience(longest_wait=60))
    with pytest.raises(EmbedderBusy):
        embedder.embed_query("zinc", timeout=5)
    assert len(server.requests) == 1


def test_close_ends_a_wait(server: EmbeddingServer, client: Client) -> None:
    """Another thread's close() wakes a client that waits for a busy server."""
    server.faults = Faults(status=429, retry_after="50")
    embedder = client(patience=Patience(longest_wait=60))
    caught: list[BaseException] = []

    def run() -> None:
        try:
            embedder.embed_documents(documents("zinc"))
        except EmbeddingError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        embedder.close()
        thread.join(0.05)
    assert isinstance(caught[0], EmbedderUnreachable)
    server.faults = Faults()
    embedder.embed_query("zinc")


def test_a_silent_server_times_out(server: EmbeddingServer, client: Client) -> None:
    """The client's own timeout and the caller's deadline are told apart; nothing is halved."""
    server.faults = Faults(hang=True)
    with pytest.raises(EmbedderTimeout, match=r"within 0.2 s \(raise timeout") as caught:
        client(timeout=0.2).embed_documents(documents(*BODIES))
    assert not caught.value.deadline
    with pytest.raises(EmbedderTimeout, match=r"within 0.1 s \(the caller") as caught:
        client().embed_query("zinc", timeout=0.1)
    assert caught.value.deadline
    assert isinstance(caught.value, TimeoutError)
    assert len(server.requests) == 2


def test_a_dripping_server_times_out(server: EmbeddingServer, client: Client) -> None:
    """A byte now and then does not keep a deadline from passing."""
    server.faults = Faults(drip=0.02)
    with pytest.raises(EmbedderTimeout):
        client().embed_query("zinc", timeout=0.2)


def test_a_slow_server_is_waited_for(server: EmbeddingServer, client: Client) -> None:
    """Slow is not silent."""
    server.faults = Faults(delay=0.2)
    client().embed_query("zinc", timeout=5)


def test_a_huge_body_is_not_read(server: EmbeddingServer, client: Client) -> None:
    """More than 64 MiB is refused while it arrives."""
    server.faults = Faults(body_bytes=(64 << 20) + 1)
    with pytest.raises(EmbedderProtocolError, match="more than 64 MiB"):
        client().embed_query("zinc")


def test_a_huge_error_is_cut(server: EmbeddingServer, client: Client) -> None:
    """An error's body is read and shown only in part."""
    server.faults = Faults(status=401, raw=b"x" * (1 << 20))
    with pytest.raises(EmbedderRefused) as caught:
        client().embed_query("zinc")
    assert len(str(caught.value)) < 500


def test_one_dropped_connection_is_tried_again(server: EmbeddingServer, client: Client) -> None:
    """A single text is sent once more, since an idle connection may close as it is used."""
    server.faults = Faults(drop_above=0, times=1)
    tally = EmbeddingTally()
    client().embed_query("zinc", tally=tally)
    assert tally.retries == 1
    server.faults = Faults(drop_above=0)
    with pytest.raises(EmbedderDropped, match="dropped the connection"):
        client().embed_query("zinc")


def test_a_restarted_server_is_found_again(server: EmbeddingServer, client: Client) -> None:
    """Kept connections to a server that went away do no harm."""
    embedder = client()
    embedder.embed_query("zinc")
    port = server.port
    server.stop()
    with pytest.raises(EmbedderUnreachable):
        embedder.embed_query("zinc")
    server.start(port)
    embedder.embed_query("zinc")
