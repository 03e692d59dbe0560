"""Another model behind the same name: its vectors are never stored beside the old ones."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from knowledge_nb.core import Core
from knowledge_nb.embedding import PROBE_TEXT
from knowledge_nb.embedding.openai import OpenAIEmbedder
from knowledge_nb.embedding.protocol import EmbedderIdentity
from knowledge_nb.errors import VectorsMismatchError
from knowledge_nb.indexing import pipeline, vectors
from knowledge_nb.store import vectors as stored
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding
from tests.indexing.conftest import Notes


def another_model(texts: Sequence[str]) -> list[list[float]]:
    """Vectors of the same width that mean nothing to the first model."""
    return [vector[::-1] for vector in hash_embedding(texts)]


@dataclass
class Models:
    """Two models that answer to one name, by turns.

    Parameters
    ----------
    exchanged : bool
        Whether the second one answers.
    after, back
        Texts of documents after which the second one answers, and the first one again.
    noise
        Of each number, relative, in the first one's vectors, before it is rounded to bfloat16.
    """

    exchanged: bool = False
    after: int | None = None
    back: int | None = None
    noise: float = 0.0
    seen: int = 0
    drawn: random.Random = field(default_factory=lambda: random.Random(7))

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen += sum(text != PROBE_TEXT for text in texts)
        if self.after is not None:
            self.exchanged = self.seen > self.after and not (self.back and self.seen > self.back)
        if self.exchanged:
            return another_model(texts)
        found = hash_embedding(texts)
        if not self.noise:
            return found
        return [[_rough(x * (1 + self.drawn.gauss(0, self.noise))) for x in v] for v in found]


def _rough(number: float) -> float:
    """Rounded down to bfloat16."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0])


@pytest.fixture
def models() -> Models:
    """Nothing exchanged yet."""
    return Models()


@pytest.fixture
def server(models: Models) -> Iterator[EmbeddingServer]:
    """A server of both."""
    with EmbeddingServer(models) as running:
        yield running


@pytest.fixture
def embedded(notes: Notes, server: EmbeddingServer, tmp_path: Path) -> Notes:
    """Sixty documents; four texts to a request."""
    config = notes.folder / "knowledge.toml"
    config.write_text(
        '[knowledge]\n[knowledge.embeddings]\nprovider = "openai"\nmodel = "m"\n'
        f'base_url = "{server.url}"\nbatch_size = 4\n'
    )
    notes.core.close()
    notes.core = Core(tmp_path / "knowledge", config=config)
    for n in range(60):
        notes.write(f"{n:02}.md", f"shared word{n} other{n % 7}\n")
    return notes


def models_of_stored(notes: Notes) -> dict[str, int]:
    """How many stored vectors each model made, by embedding the stored text again."""
    counts = {"first": 0, "other": 0, "neither": 0}
    with notes.core.reader.snapshot() as connection:
        ids, matrix = stored.read_all(connection)
        bodies = dict(connection.execute("SELECT id, body FROM chunks").fetchall())
    for number, vector in zip(ids.tolist(), matrix, strict=True):
        makers = [
            name
            for name, embed in (("first", hash_embedding), ("other", another_model))
            if _cosine(vector, embed([bodies[number]])[0]) > 0.99
        ]
        counts[makers[0] if makers else "neither"] += 1
    return {name: count for name, count in counts.items() if count}


def _cosine(a: object, b: object) -> float:
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def test_an_exchanged_model_is_refused_before_anything_is_done(
    embedded: Notes, models: Models, server: EmbeddingServer
) -> None:
    """Only the probe is sent, the index stays whole, and the way out is named."""
    embedded.index()
    generation = embedded.core.generation()
    embedded.write("00.md", "zarquon\n")
    models.exchanged = True
    sent = len(server.requests)
    for options in ({}, {"dry_run": True}):
        with pytest.raises(VectorsMismatchError, match="knowledge index --reindex"):
            embedded.index(**options)
    assert {text for request in server.requests[sent:] for text in request.inputs} == {PROBE_TEXT}
    assert embedded.core.generation() == generation
    assert models_of_stored(embedded) == {"first": 60}
    models.exchanged = False
    assert embedded.index().ok
    assert embedded.holding("zarquon") == ["00.md"]
    assert models_of_stored(embedded) == {"first": 60}


def test_a_reindex_takes_the_new_model_for_all(embedded: Notes, models: Models) -> None:
    """And from then on it is the first one that is refused."""
    embedded.index()
    models.exchanged = True
    assert embedded.index(reindex=True).ok
    assert models_of_stored(embedded) == {"other": 60}
    models.exchanged = False
    with pytest.raises(VectorsMismatchError):
        embedded.index()


def test_a_model_exchanged_during_a_pass_stops_it(
    embedded: Notes, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written before stays and is the first model's; the rest is asked for again."""
    monkeypatch.setattr(pipeline, "DOCUMENTS_A_TRANSACTION", 20)
    models.after = 29
    with pytest.raises(VectorsMismatchError, match="in the middle of this pass"):
        embedded.index()
    assert models_of_stored(embedded) == {"first": 20}
    now = embedded.core.completeness()
    assert now.unfinished_since
    assert (now.chunks, now.without_vector) == (20, 0)
    with pytest.raises(VectorsMismatchError, match="Nothing was embedded or written"):
        embedded.index()
    models.after, models.exchanged = None, False
    assert embedded.index().vectors_written == 40
    assert models_of_stored(embedded) == {"first": 60}
    assert not embedded.core.completeness().unfinished_since


def test_a_model_exchanged_during_a_reindex_stops_it(embedded: Notes, models: Models) -> None:
    """The dropped vectors are not replaced by those of two models."""
    embedded.index()
    models.seen, models.after = 0, 30
    with pytest.raises(VectorsMismatchError):
        embedded.index(reindex=True)
    assert models_of_stored(embedded) == {}
    assert embedded.core.completeness().without_vector == 60
    assert embedded.holding("word3") == ["03.md"]
    models.after, models.exchanged = None, True
    assert embedded.index(reindex=True).ok
    assert models_of_stored(embedded) == {"other": 60}


def test_a_model_exchanged_while_missing_vectors_are_made(
    embedded: Notes, models: Models, server: EmbeddingServer
) -> None:
    """Chunks that were refused before keep saying so; they get no vector of another model."""
    server.faults = Faults(marker="other3", marker_status=400)
    assert embedded.index().vectors_refused == 9
    server.faults = Faults()
    models.seen, models.after = 0, 0
    with pytest.raises(VectorsMismatchError):
        embedded.index()
    assert models_of_stored(embedded) == {"first": 51}
    assert embedded.core.completeness().without_vector == 9
    models.after, models.exchanged = None, False
    assert embedded.index().vectors_written == 9
    assert models_of_stored(embedded) == {"first": 60}


def test_a_model_that_comes_and_goes_within_a_batch(
    embedded: Notes, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probe is asked from time to time within a batch, not at its end alone."""
    monkeypatch.setattr(vectors, "CHUNKS_A_REQUEST", 8)
    models.after, models.back = 15, 40
    with pytest.raises(VectorsMismatchError):
        embedded.index()
    assert models_of_stored(embedded) == {}


def test_the_probe_is_one_small_request_for_many_texts(
    embedded: Notes, server: EmbeddingServer
) -> None:
    """One before a pass, one for each 512 texts; none where nothing is embedded."""
    embedded.index()
    probes = [request for request in server.requests if request.inputs == (PROBE_TEXT,)]
    assert (len(probes), len(server.requests)) == (2, 17)
    sent = len(server.requests)
    embedded.index()
    assert server.sizes[sent:] == [1]


@pytest.mark.parametrize("noise", [1e-7, 1e-4, 1e-2])
def test_the_same_model_is_never_taken_for_another(
    embedded: Notes, models: Models, monkeypatch: pytest.MonkeyPatch, noise: float
) -> None:
    """Numbers that wander by a hundredth and are cut to bfloat16: no pass is refused."""
    monkeypatch.setattr(vectors, "CHUNKS_A_REQUEST", 2)
    models.noise = noise
    for n in range(10):
        embedded.write(f"{n:02}.md", f"shared again{n}\n")
        assert embedded.index().ok
    assert models_of_stored(embedded) == {"first": 60}


class _Unnamed(OpenAIEmbedder):
    """An embedder that does not say by what it could be told."""

    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("openai", "m", 32, None, "", "", True, probe_vector=b"")


def test_an_embedder_without_a_probe_vector_is_refused(
    notes: Notes, server: EmbeddingServer, tmp_path: Path
) -> None:
    """At the first pass, not at the second one."""
    notes.write("a.md")
    with_it = Core(tmp_path / "knowledge", embedder=_Unnamed(server.url, "m"))
    with pytest.raises(VectorsMismatchError, match="probe_vector"):
        with_it.index(notes.folder)
    assert not with_it.completeness().documents
    with_it.close()
