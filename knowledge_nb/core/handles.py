"""What the verbs of one store share: its settings, files, reader, embedder and words."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from knowledge_nb.errors import IndexNotBuiltError, NotFoundError
from knowledge_nb.records import Completeness
from knowledge_nb.settings import DEFAULT_DIRECTORY, Settings, find_settings
from knowledge_nb.store.connection import Connection, Reader
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.sql import rows
from knowledge_nb.store.status import read_completeness

if TYPE_CHECKING:
    from knowledge_nb.embedding.protocol import Embedder, EmbedderIdentity
    from knowledge_nb.indexing.watch import Watcher
    from knowledge_nb.matching.lexicon import LexiconCache

_FIND = "SELECT id, path FROM documents WHERE path = ?"
_PATHS = "SELECT id, path FROM documents"


class Handles:
    """The lifetimes of one store; safe to share between threads.

    Parameters
    ----------
    store : path, optional
        The store directory; else the settings' `directory`, else `knowledge`.
    config : path, optional
        See `settings.find_settings`.
    embedder : Embedder, optional
        Used in place of the configured one.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.settings: Settings = find_settings(config, store)
        directory = store if store is not None else self.settings.directory or DEFAULT_DIRECTORY
        self.files = StoreFiles.at(directory)
        self.reader = Reader(self.files)
        self._embedder = embedder
        self._embedder_opened = embedder is not None
        self._local: Embedder | None = None
        self._lexicon: LexiconCache | None = None
        self._watchers: list[Watcher] = []

    def close(self) -> None:
        """Stop watchers; close idle connections and the embedder (a later call opens them)."""
        while self._watchers:
            self._watchers.pop().stop()
        self.reader.close()
        if self._embedder is not None:
            self._embedder.close()

    def embedder(self) -> Embedder | None:
        """The embedder in force: the one given, the configured one, or none."""
        if not self._embedder_opened:
            if self.settings.embeddings is not None:
                from knowledge_nb.embedding.factory import open_embedder

                self._embedder = open_embedder(self.settings.embeddings)
            self._embedder_opened = True
        return self._embedder

    def matching_embedder(self) -> Embedder | None:
        """The embedder in force, else the local model where it made the store's vectors.

        A store whose vectors came from the embedded model needs no settings to be used.
        """
        found = self.embedder()
        if found is None and self._local is None:
            identity = self.manifest()
            if identity is not None and identity.provider == "local":
                from knowledge_nb.embedding.local import LocalEmbedder

                self._local = LocalEmbedder(
                    query_prefix=identity.query_prefix, document_prefix=identity.document_prefix
                )
        return found or self._local

    def lexicon(self) -> LexiconCache:
        """The words of the corpus, kept until the index changes."""
        if self._lexicon is None:
            from knowledge_nb.matching.lexicon import LexiconCache

            self._lexicon = LexiconCache()
        return self._lexicon

    @contextmanager
    def snapshot(
        self, timeout: float | None = None
    ) -> Iterator[tuple[Connection, Completeness, str]]:
        """One committed state: a connection in a read transaction, what it covers, its tier."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self.reader.snapshot(deadline=deadline) as connection:
            completeness = read_completeness(connection)
            yield connection, completeness, self._tier(connection, completeness)

    def completeness(self) -> Completeness:
        """What the store covers now; all zero where nothing is built."""
        if not self.reader.is_built():
            return Completeness()
        with self.snapshot() as (_, completeness, _):
            return completeness

    def generation(self) -> int:
        """Number of the committed state; 0 where nothing is built."""
        return self.completeness().generation

    def tier(self) -> str:
        """The tier line of the store as it is now."""
        if not self.reader.is_built():
            from knowledge_nb.retrieval.tier import tier_line

            return tier_line("lexical", model=self._configured_model())
        with self.snapshot() as (_, _, tier):
            return tier

    def _configured_model(self) -> str:
        """Name of the model in force, found without opening it; "" for none."""
        if self._embedder is not None:
            return self._embedder.model
        configured = self.settings.embeddings
        if configured is not None and configured.provider == "local":
            from knowledge_nb.embedding.local import MODEL

            return MODEL
        return configured.model if configured is not None else ""

    def manifest(self) -> EmbedderIdentity | None:
        """The pinned embedder of the store; None for a lexical or missing store."""
        if not self.reader.is_built():
            return None
        from knowledge_nb.embedding.manifest import read_manifest

        with self.reader.snapshot() as connection:
            return read_manifest(connection)

    def find(self, connection: Connection, path: str) -> tuple[int, str]:
        """Id and stored path of a document, whichever Unicode form the name is given in.

        Raises
        ------
        NotFoundError
        """
        exact = rows(connection, _FIND, (path,))
        if exact:
            return exact[0]
        wanted = unicodedata.normalize("NFC", path)
        for number, stored in rows(connection, _PATHS):
            if unicodedata.normalize("NFC", stored) == wanted:
                return number, stored
        raise NotFoundError(
            f"no document {path!r} in this index; `knowledge sources` lists what there is"
        )

    def _require_built(self) -> None:
        if not self.reader.is_built():
            raise IndexNotBuiltError(
                f"there is no index in {self.files.directory}: run `knowledge index PATH` first"
            )

    def _tier(self, connection: Connection, completeness: Completeness) -> str:
        from knowledge_nb.embedding.manifest import read_manifest
        from knowledge_nb.retrieval.tier import tier_line

        identity = read_manifest(connection)
        if identity is None:
            return tier_line("lexical", model=self._configured_model())
        return tier_line(
            "fused",
            model=identity.model,
            dimension=identity.dimension,
            without_vector=completeness.without_vector,
        )
