"""One rule for base_url."""

from __future__ import annotations

import pytest

from knowledge_nb.embedding.endpoint import endpoint
from knowledge_nb.errors import ConfigurationError


@pytest.mark.parametrize(
    ("base_url", "called"),
    [
        ("http://h:1", "http://h:1/v1/embeddings"),
        ("http://h:1/", "http://h:1/v1/embeddings"),
        ("http://h:1//", "http://h:1/v1/embeddings"),
        ("http://h:1/v1", "http://h:1/v1/embeddings"),
        ("http://h:1/v1/", "http://h:1/v1/embeddings"),
        ("http://h:1//v1//", "http://h:1/v1/embeddings"),
        ("http://h:1/api/v3", "http://h:1/api/v3/embeddings"),
        ("http://h:1/v1/embeddings", "http://h:1/v1/embeddings"),
        ("http://h:1/v1/embeddings/", "http://h:1/v1/embeddings"),
        ("http://h:1/embeddings", "http://h:1/embeddings"),
        ("https://h/v1?api-version=2", "https://h/v1/embeddings?api-version=2"),
        ("http://h:1?a=b", "http://h:1/v1/embeddings?a=b"),
        ("  http://h:1/v1\n", "http://h:1/v1/embeddings"),
        ("http://[::1]:9/v1", "http://[::1]:9/v1/embeddings"),
    ],
)
def test_base_url_rule(base_url: str, called: str) -> None:
    """Slashes, a missing /v1 and a query string all lead to one right address (E19)."""
    where = endpoint(base_url)
    assert where.url == called
    assert where.targets == (called,)


def test_localhost_is_both_addresses() -> None:
    """`localhost` is tried on IPv6 and on IPv4, whatever the resolver says (E20)."""
    where = endpoint("http://localhost:9/v1")
    assert where.targets == ("http://[::1]:9/v1/embeddings", "http://127.0.0.1:9/v1/embeddings")
    assert where.alias == "localhost:9"
    assert where.url == "http://localhost:9/v1/embeddings"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("0.0.0.0", True),
        ("10.0.0.1", False),
        ("example.org", False),
        ("localhost.example.org", False),
    ],
)
def test_loopback_is_recognised(host: str, loopback: bool) -> None:
    """Only names and addresses of this machine bypass a proxy."""
    assert endpoint(f"http://{host}:80/v1").loopback is loopback


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "localhost:8080",
        "ftp://h/v1",
        "http://",
        "http:///v1",
        "http://h:notaport/v1",
        "http://h:99999/v1",
        "http://[::1/v1",
        "http://h/v1#part",
        "http://h/v 1",
        "http://user:hunter22@h/v1",
    ],
)
def test_unusable_base_url_is_refused(base_url: str) -> None:
    """What is no http URL with a host is refused before anything is sent."""
    with pytest.raises(ConfigurationError, match="base_url"):
        endpoint(base_url)


def test_secrets_in_a_url_are_not_shown() -> None:
    """A password or a key in the query string never reaches a message."""
    with pytest.raises(ConfigurationError) as caught:
        endpoint("http://user:hunter22@h/v1")
    assert "hunter22" not in str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        endpoint("ftp://user:hunter22@h/v1?api_key=hunter33")
    assert "hunter" not in str(caught.value)
    where = endpoint("https://h/v1?api-version=2&api-key=hunter22&x=1")
    assert where.url == "https://h/v1/embeddings?api-version=2&api-key=***&x=1"
    assert where.targets == ("https://h/v1/embeddings?api-version=2&api-key=hunter22&x=1",)
