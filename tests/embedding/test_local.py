"""The local model: the wheel's files, read by us, without a network."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from knowledge_nb.embedding import (
    BLANK,
    BlankTextError,
    DocumentText,
    EmbedderPackageMissing,
    EmbedderUnavailable,
    EmbeddingTally,
    open_embedder,
)
from knowledge_nb.embedding import local as local_module
from knowledge_nb.embedding.local import DIMENSION, MODEL, LocalEmbedder
from knowledge_nb.errors import ConfigurationError
from knowledge_nb.settings import EmbeddingSettings
from tests.embedding.conftest import documents

needs_model = pytest.mark.skipif(
    any(importlib.util.find_spec(n) is None for n in ("wordllama", "tokenizers", "safetensors")),
    reason="the extra knowledge-nb[local] is not installed",
)


@pytest.fixture(scope="module")
def model() -> LocalEmbedder:
    """One model for all; it has no state but the file."""
    return LocalEmbedder()


@needs_model
def test_meaning_is_near(model: LocalEmbedder) -> None:
    """The right chunk is nearest, by vectors that share no content word with the query."""
    bodies = (
        "Copies of all databases are written to tape each night.",
        "Dogs and cats are not allowed in the reading room.",
        "The invoice is paid within thirty days.",
    )
    found = np.array(model.embed_documents(documents(*bodies)))
    for query, best in (("data backup", 0), ("bringing pets along", 1), ("payment deadline", 2)):
        assert int(np.argmax(found @ model.embed_query(query))) == best


@needs_model
def test_vectors_are_the_mean_of_the_token_vectors(model: LocalEmbedder) -> None:
    """Computed here from the wheel's files by the plainest means: the same to 1e-6."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    weights = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    bodies = ("zinc", "Zinc corrodes in damp air. " * 90, "日本語 ไม่ 🦉", "a\n\n  b")
    for body, vector in zip(bodies, model.embed_documents(documents(*bodies)), strict=True):
        ids = tokenizer.encode(body, add_special_tokens=False).ids
        mean = weights[ids].astype(np.float64).mean(axis=0)
        assert isinstance(vector, np.ndarray)
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)


@needs_model
def test_order_blanks_and_progress(model: LocalEmbedder) -> None:
    """Same length and order over several slices; blank texts are marked, never NaN."""
    bodies = ["" if i % 7 == 0 else f"note number {i}" for i in range(150)]
    seen: list[int] = []
    found = model.embed_documents(documents(*bodies), on_progress=seen.append)
    assert sum(seen) == len(found) == 150
    for body, each in zip(bodies, found, strict=True):
        if body:
            np.testing.assert_allclose(each, model.embed_query(body), atol=1e-6)
        else:
            assert each is BLANK
    assert model.embed_documents([]) == []
    with pytest.raises(BlankTextError):
        model.embed_query(" \u200b")


@needs_model
def test_prefixes_and_cuts() -> None:
    """Prefixes go before the text; cuts are counted as for a server."""
    prefixed = LocalEmbedder(query_prefix="query: ", document_prefix="{title}: ")
    plain = LocalEmbedder()
    tally = EmbeddingTally()
    (found,) = prefixed.embed_documents([DocumentText("Metals", "zinc")])
    np.testing.assert_allclose(found, plain.embed_query("Metals: zinc"))
    np.testing.assert_allclose(prefixed.embed_query("zinc"), plain.embed_query("query: zinc"))
    plain.embed_documents(documents("word " * 30_000), tally=tally)
    plain.embed_query("word " * 2_000, tally=tally)
    assert (tally.cut, tally.query_characters_cut) == (1, 10_000 - 8_192)
    assert plain.embed_query("caf\udce9").shape == (DIMENSION,)


@needs_model
def test_identity_is_the_files_hash(model: LocalEmbedder) -> None:
    """Name, width and the SHA-256 of the weights."""
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    weights = Path(spec.submodule_search_locations[0], "weights", "l2_supercat_256.safetensors")
    identity = model.identity()
    assert (identity.provider, identity.model, identity.dimension) == ("local", MODEL, DIMENSION)
    assert identity.model_hash == hashlib.sha256(weights.read_bytes()).hexdigest()
    assert identity.differences(LocalEmbedder().identity()) == ()


@needs_model
def test_loads_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that come together share one load and get the same vector."""
    loads: list[Path] = []
    original = local_module._load

    def counted(folder: Path) -> object:
        loads.append(folder)
        return original(folder)

    monkeypatch.setattr(local_module, "_load", counted)
    embedder = LocalEmbedder()
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(embedder.embed_query("zinc").tobytes()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_missing_package_names_the_install_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without wordllama, or with one that lacks the files, the error says what to install."""
    with pytest.raises(EmbedderPackageMissing, match=r"pip install 'knowledge-nb\[local\]'"):
        local_module._load(tmp_path)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    monkeypatch.delitem(sys.modules, "wordllama", raising=False)
    with pytest.raises(EmbedderPackageMissing, match=r"pip install 'knowledge-nb\[local\]'") as got:
        LocalEmbedder().embed_query("zinc")
    assert isinstance(got.value, EmbedderUnavailable)
    assert isinstance(got.value, ImportError)


def test_settings_choose_the_model() -> None:
    """provider = "local" needs nothing else; another name is refused."""
    embedder = open_embedder(EmbeddingSettings(provider="local", query_prefix="q: "))
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.query_prefix == "q: "
    with pytest.raises(ConfigurationError, match="provider"):
        open_embedder(EmbeddingSettings(provider="other"))


def _modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_the_room_is_cheap_to_enter() -> None:
    """Importing it loads no HTTP client, no tokenizer and no numpy."""
    heavy = {"httpx", "numpy", "tokenizers", "safetensors", "wordllama"}
    assert not heavy & _modules_after("import knowledge_nb.embedding")
    assert not heavy & _modules_after("import knowledge_nb.embedding.local")
    assert not heavy & _modules_after("import knowledge_nb.embedding.protocol")


@needs_model
def test_only_the_wheels_files_are_used() -> None:
    """The model is read without importing its package, and without an HTTP client."""
    loaded = _modules_after(
        "from knowledge_nb.embedding.local import LocalEmbedder\n"
        "LocalEmbedder().embed_query('zinc')"
    )
    assert "tokenizers" in loaded
    assert not {"wordllama", "httpx", "requests"} & loaded
