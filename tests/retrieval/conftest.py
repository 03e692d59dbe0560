"""Stores on disk, filled by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.embedding.manifest import write_manifest
from knowledge_nb.embedding.protocol import DocumentText, Embedder
from knowledge_nb.indexing.replace import PreparedChunk, PreparedDocument, replace_documents
from knowledge_nb.store import vectors as stored
from knowledge_nb.store.connection import Reader, Writer
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import write_meta
from knowledge_nb.text import index_text

Corpus = Mapping[str, Sequence[tuple[str, str]]]
"""Path to (heading, body) of each chunk."""

WHEN = "2026-01-01T00:00:00Z"


def chunk(heading: str, body: str) -> PreparedChunk:
    """One chunk as the indexing room prepares it."""
    seen = [None if index_text(text) == text else index_text(text) for text in (heading, body)]
    return PreparedChunk(heading, body, seen[0], seen[1], 0, 0, 1, 1)


def fill(files: StoreFiles, corpus: Corpus, embedder: Embedder | None = None) -> None:
    """Write the documents, with their vectors where an embedder is given, and close a pass."""
    documents = [
        PreparedDocument(path, "", "0", 0, 0, tuple(chunk(*each) for each in chunks))
        for path, chunks in corpus.items()
    ]
    with Writer.open(files, prepare=stored.load_where_used) as writer:
        with writer.transaction() as connection:
            ids = replace_documents(connection, documents, indexed_at=WHEN)
            write_meta(connection, pass_completed=WHEN)
        if embedder is None:
            return
        texts = {
            (ids[path] << ORDINAL_BITS) + ordinal: DocumentText(heading, body)
            for path, chunks in corpus.items()
            for ordinal, (heading, body) in enumerate(chunks)
        }
        made = embedder.embed_documents(list(texts.values()))
        put_vectors(writer, {n: v for n, v in zip(texts, made, strict=True) if _made(v)})
        with writer.transaction() as connection:
            write_manifest(connection, embedder.identity())


def _made(outcome: Any) -> bool:
    return isinstance(outcome, np.ndarray)


def put_vectors(writer: Writer, vectors: Mapping[int, Any]) -> None:
    """Store vectors by chunk id, in a vector table made for them where there is none."""
    with writer.transaction() as connection:
        if stored.dimension(connection) is None:
            stored.create(connection, len(next(iter(vectors.values()))))
        stored.insert(connection, [(n, stored.pack(v)) for n, v in vectors.items()])
        connection.execute(
            "UPDATE chunks SET vector_state = 'stored' WHERE id IN (SELECT rowid FROM chunks_vec)"
        )


@pytest.fixture
def files(tmp_path: Path) -> StoreFiles:
    """Where this test's store lies."""
    return StoreFiles.at(tmp_path / "knowledge")


@pytest.fixture
def reader(files: StoreFiles) -> Iterator[Reader]:
    """A reader on it, whether or not it was filled."""
    opened = Reader(files)
    yield opened
    opened.close()


@pytest.fixture
def store(files: StoreFiles, reader: Reader) -> Callable[..., Reader]:
    """Fill this test's store with a corpus, and give the reader."""

    def make(corpus: Corpus, embedder: Embedder | None = None) -> Reader:
        fill(files, corpus, embedder)
        return reader

    return make
