"""The pinned identity of the embedder whose vectors the store holds."""

from __future__ import annotations

import json

import apsw

from knowledge_nb.embedding.protocol import EmbedderIdentity
from knowledge_nb.store.format import read_meta, write_meta

_KEY = "embedding_manifest"


def read_manifest(connection: apsw.Connection) -> EmbedderIdentity | None:
    """The pinned identity; None for a lexical store."""
    text = read_meta(connection).get(_KEY)
    if text is None:
        return None
    values = json.loads(text)
    return EmbedderIdentity(**{**values, "probe_vector": bytes.fromhex(values["probe_vector"])})


def write_manifest(connection: apsw.Connection, identity: EmbedderIdentity | None) -> None:
    """Pin an identity, or with None remove the pin, on the caller's transaction."""
    if identity is None:
        write_meta(connection, **{_KEY: None})
        return
    values = {
        name: getattr(identity, name)
        for name in (
            "provider",
            "model",
            "dimension",
            "model_hash",
            "query_prefix",
            "document_prefix",
            "normalised",
        )
    }
    values["probe_vector"] = identity.probe_vector.hex()
    write_meta(connection, **{_KEY: json.dumps(values, sort_keys=True)})
