"""A store on disk, filled by hand: one document to each list of (heading, body)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from knowledge_nb.indexing.replace import PreparedChunk, PreparedDocument, replace_documents
from knowledge_nb.store.connection import Reader, Writer
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import write_meta
from knowledge_nb.text import index_text

Corpus = Mapping[str, Sequence[tuple[str, str]]]


def chunk(heading: str, body: str) -> PreparedChunk:
    """One chunk as the indexing room prepares it."""
    seen = [None if index_text(text) == text else index_text(text) for text in (heading, body)]
    return PreparedChunk(heading, body, seen[0], seen[1], 0, 0, 1, 1)


def fill(files: StoreFiles, corpus: Corpus) -> None:
    """Write the documents and close a pass."""
    documents = [
        PreparedDocument(path, "", "0", 0, 0, tuple(chunk(*each) for each in chunks))
        for path, chunks in corpus.items()
    ]
    with Writer.open(files) as writer, writer.transaction() as connection:
        replace_documents(connection, documents, indexed_at="2026-01-01T00:00:00Z")
        write_meta(connection, pass_completed="2026-01-01T00:00:00Z")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Callable[[Corpus], Reader]]:
    """Make a store of a corpus and open a reader on it; called once a test."""
    readers = []

    def make(corpus: Corpus) -> Reader:
        files = StoreFiles.at(tmp_path / "knowledge")
        fill(files, corpus)
        readers.append(Reader(files))
        return readers[-1]

    yield make
    for reader in readers:
        reader.close()
