"""A small corpus on disk, cut into chunks as a test says, and its two verbs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from knowledge_nb.indexing.chunk import chunk_text
from knowledge_nb.indexing.replace import (
    PreparedChunk,
    PreparedDocument,
    delete_documents,
    prepare_chunks,
    replace_documents,
)
from knowledge_nb.matching.enumerate import enumerate_documents
from knowledge_nb.matching.lexicon import LexiconCache
from knowledge_nb.matching.vocabulary import vocabulary
from knowledge_nb.records import EnumerateResult, VocabularyResult, Word
from knowledge_nb.store.connection import Connection, Reader, Writer
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.format import write_meta
from knowledge_nb.store.status import read_completeness
from knowledge_nb.text import index_headings, index_text

Section = tuple[Sequence[str], Sequence[str]]  # headings from the outermost, bodies of its chunks


def prepare(sections: Sequence[Section]) -> tuple[PreparedChunk, ...]:
    """Chunks of sections, each body one chunk."""
    chunks: list[PreparedChunk] = []
    before: Sequence[str] = ()
    for levels, bodies in sections:
        same = 0
        while same < min(len(before), len(levels) - 1) and before[same] == levels[same]:
            same += 1
        for number, body in enumerate(bodies):
            shown, terms = " > ".join(levels), index_headings(levels)
            body_terms = index_text(body)
            chunks.append(
                PreparedChunk(
                    shown,
                    body,
                    None if terms == shown else terms,
                    None if body_terms == body else body_terms,
                    0 if number else len(levels) - same,
                    int(number > 0),
                    1,
                    1,
                )
            )
        before = levels
    return tuple(chunks)


class Corpus:
    """A store in `directory`; every method opens what it needs and closes it."""

    def __init__(self, directory: Path) -> None:
        self.files = StoreFiles.at(directory)
        self.reader = Reader(self.files)
        self.lexicon = LexiconCache()

    def put(self, path: str, *sections: Section) -> None:
        """Index one document, cut as given."""
        self.put_all({path: sections})

    def put_all(self, documents: dict[str, Sequence[Section]]) -> None:
        """Index documents, cut as given."""
        self._write({path: prepare(sections) for path, sections in documents.items()})

    def text(self, path: str, text: str) -> None:
        """Index one Markdown document as the pipeline would."""
        self._write({path: prepare_chunks(chunk_text(text, markdown=True))})

    def _write(self, documents: dict[str, tuple[PreparedChunk, ...]]) -> None:
        prepared = [
            PreparedDocument(path, "", "0", 1, 1, chunks) for path, chunks in documents.items()
        ]
        with Writer.open(self.files) as writer, writer.transaction() as connection:
            replace_documents(connection, prepared, indexed_at="2026-01-01T00:00:00Z")
            write_meta(connection, pass_completed="2026-01-01T00:00:00Z")

    def remove(self, *paths: str) -> None:
        """Take documents out."""
        with Writer.open(self.files) as writer, writer.transaction() as connection:
            delete_documents(connection, paths)
            write_meta(connection, pass_completed="2026-01-01T00:00:00Z")

    def create(self) -> None:
        """Make the store; no pass completes."""
        Writer.open(self.files).close()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A read transaction."""
        with self.reader.snapshot() as connection:
            yield connection

    def enumerate(self, query: str, **options: Any) -> EnumerateResult:
        """The answer of `enumerate_documents`."""
        with self.snapshot() as connection:
            return enumerate_documents(
                connection,
                query,
                tier="lexical",
                completeness=read_completeness(connection),
                lexicon=self.lexicon,
                **options,
            )

    def paths(self, query: str, **options: Any) -> list[str]:
        """Paths of the answer, in its order."""
        return [match.path for match in self.enumerate(query, **options).matches]

    def vocabulary(self, **options: Any) -> VocabularyResult:
        """The answer of `vocabulary`."""
        with self.snapshot() as connection:
            return vocabulary(
                connection,
                tier="lexical",
                completeness=read_completeness(connection),
                lexicon=self.lexicon,
                **options,
            )

    def word(self, word: str) -> Word:
        """One word of the vocabulary."""
        (found,) = [entry for entry in self.vocabulary().words if entry.word == word]
        return found

    def close(self) -> None:
        """Close the idle connections."""
        self.reader.close()
