"""What the doctor asks of embeddings; that there are none is never a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_nb.embedding.checks import (
    EmbeddingCheck,
    check_batch_equals_single,
    check_normalised,
    check_truncation,
)
from knowledge_nb.errors import EmbeddingError, KnowledgeError
from knowledge_nb.records import Check
from knowledge_nb.store import vectors
from knowledge_nb.store.diagnosis import is_there, told
from knowledge_nb.store.sql import rows, value

if TYPE_CHECKING:
    from knowledge_nb.core import Core
    from knowledge_nb.embedding.protocol import Embedder, EmbedderIdentity

LIVE = (
    "embeddings reachable",
    "dimension",
    "manifest matches",
    "unit length",
    "batch equals single",
    "whole text embedded",
)
MISSING = "chunks without a vector"
REINDEX = "`knowledge index --reindex` embeds everything again."
MOST_CHARACTERS = 128 * 1024  # of one embedding input

_LONGEST = "SELECT coalesce(max(length(heading) + length(body)), 0) FROM chunks"
_WITHOUT = (
    "SELECT vector_state, count(*), coalesce(max(vector_note), '') FROM chunks"
    " WHERE vector_state IN ('none', 'refused') GROUP BY vector_state ORDER BY vector_state"
)


def embedding_checks(core: Core) -> list[Check]:
    """Every check of embeddings, "not run" where none are configured or used."""
    try:
        embedder = core.matching_embedder()
        pinned = core.manifest()
    except KnowledgeError as error:
        return _not_run(told(error)[0])
    if embedder is None:
        if pinned is None:
            return _not_run("no embeddings are configured; lexical search needs none")
        said = f"the store holds vectors of {pinned.model!r}, and no embeddings are configured"
        fix = "Configure [knowledge.embeddings] again, or `knowledge index --reindex` without."
        live = [
            Check(name, "fail", said, fix) if name == "manifest matches" else _unasked(name, said)
            for name in LIVE
        ]
    else:
        live = _live(core, embedder, pinned)
    return [*live, _missing(core, pinned)]


def _not_run(why: str) -> list[Check]:
    return [_unasked(name, why) for name in (*LIVE, MISSING)]


def _unasked(name: str, why: str) -> Check:
    return Check(name, "not run", why)


def _live(core: Core, embedder: Embedder, pinned: EmbedderIdentity | None) -> list[Check]:
    try:
        identity = embedder.identity()
    except EmbeddingError as error:
        fix = "Start the server, or check base_url, model and the key; search stays lexical."
        unasked = [_unasked(name, "the embedder cannot be asked") for name in LIVE[1:]]
        return [Check(LIVE[0], "fail", str(error), fix), *unasked]
    longest = 0
    if is_there(core.files):
        with core.reader.snapshot() as connection:
            longest = int(value(connection, _LONGEST))
    characters = min(longest, MOST_CHARACTERS) or 4_000
    return [
        Check(LIVE[0], "pass", f"{identity.provider} answers as {identity.model!r}"),
        _dimension(core, identity),
        _manifest(core, pinned, identity),
        _said(check_normalised(embedder), LIVE[3]),
        _said(check_batch_equals_single(embedder), LIVE[4]),
        _said(check_truncation(embedder, characters=characters), LIVE[5]),
    ]


def _said(found: EmbeddingCheck, name: str) -> Check:
    if found.outcome == "failed":
        return Check(name, "fail", found.message, REINDEX)
    return Check(name, "pass" if found.outcome == "passed" else "not run", found.message)


def _dimension(core: Core, identity: EmbedderIdentity) -> Check:
    stored = None
    if is_there(core.files):
        with core.reader.snapshot() as connection:
            stored = vectors.dimension(connection)
    if stored is None:
        return _unasked(
            "dimension", f"the store holds no vectors; the embedder gives {identity.dimension}"
        )
    if stored != identity.dimension:
        said = f"the store's vectors have {stored} numbers, the embedder gives {identity.dimension}"
        return Check("dimension", "fail", said, REINDEX)
    return Check("dimension", "pass", f"{stored}, stored and live")


def _manifest(core: Core, pinned: EmbedderIdentity | None, live: EmbedderIdentity) -> Check:
    name = "manifest matches"
    if pinned is None:
        if not core.completeness().documents:
            return _unasked(name, "nothing is indexed yet")
        said = "embeddings are configured, and the store was built without vectors"
        return Check(name, "fail", said, REINDEX)
    differences = pinned.differences(live)
    if differences:
        return Check(name, "fail", "; ".join(differences), REINDEX)
    if not pinned.answers_alike(live):
        said = (
            f"another model answers to the name {live.model!r}: the probe text gets another vector "
            "than the pinned one, so new vectors cannot be compared with the stored ones"
        )
        return Check(name, "fail", said, REINDEX)
    return Check(name, "pass", "the embedder is the one that made the stored vectors")


def _missing(core: Core, pinned: EmbedderIdentity | None) -> Check:
    if pinned is None:
        return _unasked(MISSING, "the store holds no vectors")
    with core.reader.snapshot() as connection:
        found = rows(connection, _WITHOUT)
    if not found:
        return Check(MISSING, "pass", "none")
    kinds = {"none": "not embedded yet", "refused": "refused by the server"}
    said = ", ".join(
        f"{number:,} {kinds[state]}" + (f" ({note})" if note else "")
        for state, number, note in found
    )
    return Check(MISSING, "fail", said, "`knowledge index` tries them again.")
