"""A server that embeds by hashing, and a client for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from knowledge_nb.embedding.openai import OpenAIEmbedder, Patience
from knowledge_nb.embedding.protocol import DocumentText
from tests.embedding.server import EmbeddingServer, hash_embedding

# Real waits, but short: what is tested is that they happen, not how long they are.
BRIEF = Patience(retries=3, first_wait=0.01, longest_wait=0.05)

Client = Callable[..., OpenAIEmbedder]


def documents(*bodies: str) -> list[DocumentText]:
    """Chunks without a breadcrumb."""
    return [DocumentText("", body) for body in bodies]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A server on 127.0.0.1."""
    with EmbeddingServer(hash_embedding) as running:
        yield running


@pytest.fixture
def client(server: EmbeddingServer) -> Iterator[Client]:
    """Makes clients, of the server above unless told otherwise, and closes them."""
    made: list[OpenAIEmbedder] = []

    def make(base_url: str | None = None, **options: Any) -> OpenAIEmbedder:
        options.setdefault("patience", BRIEF)
        options.setdefault("timeout", 10.0)
        made.append(OpenAIEmbedder(base_url or server.url, "test-model", **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
