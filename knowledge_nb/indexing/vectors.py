"""The vector tier of a pass: planned before anything is written, filled outside transactions.

With no embedder every function does nothing, and the pass is lexical. Vectors of two models are
never stored side by side: the probe text is embedded before a pass and again after every 512
texts, and what was made since the last probe that agreed is not kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import apsw

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.embedding.manifest import read_manifest, write_manifest
from knowledge_nb.embedding.protocol import (
    Blank,
    DocumentText,
    Embedder,
    EmbedderIdentity,
    EmbeddingTally,
    Refused,
)
from knowledge_nb.errors import VectorsMismatchError
from knowledge_nb.indexing.replace import PreparedDocument
from knowledge_nb.store import vectors as vector_store
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.sql import rows, value

CHUNKS_A_REQUEST = 512

_ANOTHER_MODEL = (
    "another model seems to answer to the name {model!r}: the probe text gets another vector than "
    "the one pinned with this store's vectors, and vectors of two models cannot be compared. "
    "{kept} Bring back the model that made the stored vectors and run `knowledge index` "
    "again, or take the new one for all documents with `knowledge index --reindex`."
)

_SOURCES = (
    "SELECT c.id, c.heading, c.body FROM documents d JOIN chunks c ON c.document_id = d.id"
    " WHERE c.vector_state = 'stored' AND (d.path IN (SELECT value FROM json_each(?1))"
    " OR d.sha256 IN (SELECT value FROM json_each(?2)))"
)
_MARK = (
    "UPDATE chunks SET vector_state = ?, vector_note = NULL"
    " WHERE id IN (SELECT value FROM json_each(?))"
)
_REFUSE = (
    "UPDATE chunks SET vector_state = 'refused', vector_note = value ->> 1"
    " FROM json_each(?) WHERE chunks.id = value ->> 0"
)
_FORGET = "UPDATE chunks SET vector_state = 'none', vector_note = NULL WHERE vector_state <> 'none'"
_MISSING = (
    "SELECT id, heading, body FROM chunks WHERE vector_state IN ('none', 'refused') AND id > ?"
    " ORDER BY id LIMIT ?"
)

Outcome = bytes | Refused | Blank
Key = tuple[str, str]


@dataclass(slots=True)
class VectorTier:
    """What a pass does about vectors.

    Attributes
    ----------
    embedder : Embedder or None
    identity : EmbedderIdentity or None
        What every vector of the pass must belong to: the pinned one, or the live one that a fresh
        pass pins; None for a lexical pass.
    fresh : bool
        The store's vectors, if any, are to be dropped as the pass begins.
    """

    embedder: Embedder | None = None
    identity: EmbedderIdentity | None = None
    fresh: bool = False
    written: int = 0
    reused: int = 0
    refused: int = 0
    tally: EmbeddingTally = field(default_factory=EmbeddingTally)
    just_refused: set[int] = field(default_factory=set)  # chunks; not asked twice in a pass

    @property
    def slow(self) -> bool:
        """Whether time passes between reading a file and writing it."""
        return self.embedder is not None

    @property
    def cut(self) -> int:
        """Inputs that were longer than the limit and lost their end."""
        return self.tally.cut

    def begin(self, connection: apsw.Connection) -> None:
        """Pin the manifest and empty the vectors together, so that a kill never mixes models."""
        if not self.fresh:
            return
        vector_store.drop(connection)
        connection.execute(_FORGET)
        if self.identity is None:
            write_manifest(connection, None)
            return
        vector_store.create(connection, self.identity.dimension)
        write_manifest(connection, self.identity)

    def embed(self, writer: Writer, documents: Sequence[PreparedDocument]) -> dict[Key, Outcome]:
        """Vectors for the chunks of a batch, by heading and body; old ones are used again."""
        if self.embedder is None:
            return {}
        outcomes: dict[Key, Outcome] = dict(self._known(writer.connection, documents))
        wanted = dict.fromkeys(
            (chunk.heading, chunk.body) for document in documents for chunk in document.chunks
        )
        self.reused += sum(key in outcomes for key in wanted)
        missing = [key for key in wanted if key not in outcomes]
        outcomes.update(self._ask(missing))
        return outcomes

    def _known(
        self, connection: apsw.Connection, documents: Sequence[PreparedDocument]
    ) -> dict[Key, bytes]:
        paths = json.dumps([document.path for document in documents])
        hashes = json.dumps([document.sha256 for document in documents])
        ids = {
            int(number): (str(heading), str(body))
            for number, heading, body in rows(connection, _SOURCES, (paths, hashes))
        }
        vectors = vector_store.read(connection, list(ids))
        return {ids[number]: vector for number, vector in vectors.items()}

    def _ask(self, keys: Sequence[Key]) -> dict[Key, Outcome]:
        if self.embedder is None:
            return {}
        outcomes: dict[Key, Outcome] = {}
        for start in range(0, len(keys), CHUNKS_A_REQUEST):
            some = keys[start : start + CHUNKS_A_REQUEST]
            texts = [DocumentText(heading, body) for heading, body in some]
            answers = self.embedder.embed_documents(texts, tally=self.tally)
            self._probe(self.embedder)
            outcomes |= {
                key: answer if isinstance(answer, Refused | Blank) else vector_store.pack(answer)
                for key, answer in zip(some, answers, strict=True)
            }
        return outcomes

    def _probe(self, embedder: Embedder) -> None:
        """Stop the pass where the model was exchanged: nothing embedded since is written.

        Raises
        ------
        VectorsMismatchError
        """
        live = embedder.identity()
        if self.identity is None or _same(self.identity, live):
            return
        raise VectorsMismatchError(
            _ANOTHER_MODEL.format(
                model=live.model,
                kept="It came in the middle of this pass, which stops here: documents and vectors "
                "that were not yet written are left out.",
            )
        )

    def store(
        self,
        connection: apsw.Connection,
        ids: dict[str, int],
        documents: Sequence[PreparedDocument],
        outcomes: dict[Key, Outcome],
    ) -> None:
        """Write the vectors of documents that were just replaced, on the same transaction."""
        if self.embedder is None:
            return
        self._write(
            connection,
            [
                (
                    (ids[document.path] << ORDINAL_BITS) + ordinal,
                    outcomes[chunk.heading, chunk.body],
                )
                for document in documents
                for ordinal, chunk in enumerate(document.chunks)
            ],
        )

    def _write(self, connection: apsw.Connection, outcomes: Sequence[tuple[int, Outcome]]) -> None:
        stored = [(number, out) for number, out in outcomes if isinstance(out, bytes)]
        blank = [number for number, out in outcomes if isinstance(out, Blank)]
        refused = [(number, out.message) for number, out in outcomes if isinstance(out, Refused)]
        vector_store.insert(connection, stored)
        connection.execute(_MARK, ("stored", json.dumps([number for number, _ in stored])))
        connection.execute(_MARK, ("blank", json.dumps(blank)))
        connection.execute(_REFUSE, (json.dumps(refused),))
        self.just_refused.update(number for number, _ in refused)
        self.written += len(stored)
        self.refused += len(refused)

    def complete_missing(self, writer: Writer) -> None:
        """Try again the chunks of unchanged files that have no vector yet."""
        if self.embedder is None:
            return
        last = 0
        while True:
            found = rows(writer.connection, _MISSING, (last, CHUNKS_A_REQUEST))
            if not found:
                return
            last = int(found[-1][0])
            chunks = [
                (int(number), (str(h), str(b)))
                for number, h, b in found
                if number not in self.just_refused
            ]
            outcomes = self._ask(list(dict.fromkeys(key for _, key in chunks)))
            with writer.transaction() as connection:
                self._write(connection, [(number, outcomes[key]) for number, key in chunks])


def plan_vectors(
    connection: apsw.Connection | None, embedder: Embedder | None, *, reindex: bool
) -> VectorTier:
    """Reconcile the live embedder with the pinned manifest, before anything is written.

    Parameters
    ----------
    connection : apsw.Connection or None
        On the store; None where it does not exist yet.
    embedder : Embedder or None
        None: a lexical pass.
    reindex : bool
        Take the live identity as the new one.

    Raises
    ------
    EmbeddingError
        The embedder cannot be reached.
    VectorsMismatchError
        It is another one than the pinned, by its settings or by its vector of the probe text, or
        it has no such vector; names --reindex where that helps.
    """
    pinned = read_manifest(connection) if connection is not None else None
    documents = 0
    if connection is not None:
        documents = int(value(connection, "SELECT count(*) FROM documents"))
    if embedder is None:
        if pinned is not None and not reindex:
            raise VectorsMismatchError(
                f"this store holds vectors of {pinned.model!r} but no embeddings are configured. "
                "Configure them again under [knowledge.embeddings], or run "
                "`knowledge index --reindex` for a lexical index."
            )
        return VectorTier(fresh=pinned is not None)
    live = embedder.identity()
    if not live.answers_alike(live):
        raise VectorsMismatchError(
            f"the embedder {live.model!r} names no usable vector of the probe text (its identity's "
            "probe_vector), so that another model in its place could not be noticed."
        )
    if reindex or (pinned is None and not documents):
        return VectorTier(embedder, live, fresh=True)
    if pinned is None:
        raise VectorsMismatchError(
            "this store was built without vectors and embeddings are now configured. Run "
            "`knowledge index --reindex` to embed what it holds."
        )
    differences = pinned.differences(live)
    if differences:
        raise VectorsMismatchError(
            "the configured embedder is not the one that made this store's vectors: "
            + "; ".join(differences)
            + ". Configure the old one, or run `knowledge index --reindex`."
        )
    if not pinned.answers_alike(live):
        raise VectorsMismatchError(
            _ANOTHER_MODEL.format(model=live.model, kept="Nothing was embedded or written.")
        )
    return VectorTier(embedder, pinned)


def _same(pinned: EmbedderIdentity, live: EmbedderIdentity) -> bool:
    return not pinned.differences(live) and pinned.answers_alike(live)
