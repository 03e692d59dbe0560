"""One search: the query is embedded first, then everything is read in one transaction."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import apsw

from knowledge_nb.embedding.errors import BlankTextError, DimensionMismatch, EmbedderTimeout
from knowledge_nb.embedding.manifest import read_manifest
from knowledge_nb.embedding.protocol import Embedder, EmbedderIdentity, EmbeddingTally, Vector
from knowledge_nb.errors import (
    MissingDependencyError,
    QueryError,
    SearchTimeoutError,
    StoreError,
    VectorsMismatchError,
)
from knowledge_nb.records import Completeness, Mode, SearchResult, Status
from knowledge_nb.retrieval import lexical, vector
from knowledge_nb.retrieval.fusion import RRF_K, Fused, check_fusion, fuse
from knowledge_nb.retrieval.hits import fused_hits, lexical_hits, vector_hits
from knowledge_nb.retrieval.lexical import CANDIDATES, CommonTerms, LexicalQuery, LexicalRanking
from knowledge_nb.retrieval.notes import answer_notes, status_notes
from knowledge_nb.retrieval.tier import tier_line
from knowledge_nb.retrieval.under import Under, resolve
from knowledge_nb.retrieval.vector import VectorMemory, VectorRanking, memory_of
from knowledge_nb.store import vectors as stored
from knowledge_nb.store.connection import Reader
from knowledge_nb.store.status import read_completeness
from knowledge_nb.telemetry import step

MAX_K: Final = 10_000
MODES: Final = ("lexical", "vector", "fused")

# A row that vanished is left out by the inner join; json_each gives the order of the ranking.
_HYDRATE = (
    "SELECT chunks.id, documents.path, chunks.ordinal, chunks.heading, chunks.body,"
    " chunks.first_line, chunks.last_line"
    " FROM json_each(?) AS ranked"
    " JOIN chunks ON chunks.id = ranked.value"
    " JOIN documents ON documents.id = chunks.document_id"
    " ORDER BY ranked.key"
)

_TOO_LATE = "the time limit given for this search has passed"
_CONFIGURE = (
    'configure embeddings in knowledge.toml ([knowledge.embeddings], provider = "local" needs no '
    "server), then run `knowledge index --reindex`"
)


@dataclass(frozen=True, slots=True)
class Embedding:
    """What became of the query's embedding: a vector, or why there is none."""

    vector: Vector | None = None
    reason: str = ""
    blank: bool = False
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What a search must know of the store before it embeds the query."""

    completeness: Completeness = field(default_factory=Completeness)
    dimension: int | None = None
    pinned: EmbedderIdentity | None = None


def search(
    reader: Reader,
    query: str,
    *,
    k: int = 5,
    mode: Mode | None = None,
    embedder: Embedder | None = None,
    under: str = "",
    timeout: float | None = None,
    common_terms: CommonTerms = "drop",
    weights: tuple[float, float] = (1.0, 1.0),
    rrf_k: float = RRF_K,
    window: int | None = None,
    memory: VectorMemory | None = None,
) -> SearchResult:
    """Rank chunks for a free text.

    Parameters
    ----------
    reader : Reader
        Of the store; it need not be built.
    query : str
        Free text, of any length; there is no query syntax.
    k : int
        Hits wanted, 1 to 10,000.
    mode : {"lexical", "vector", "fused"}, optional
        None: fused where the store has vectors and an embedder is given, else lexical.
    embedder : Embedder, optional
        The one that made the store's vectors.
    under : str
        A folder relative to the corpus base; see `under.resolve`.
    timeout : float, optional
        Seconds for the whole call; the embedder gets what is left of it.
    common_terms : {"drop", "keep"}
        See `lexical.rank`.
    weights : (float, float)
        Of the lexical and of the vector ranking in the fusion; 0 turns one off, see `fusion.fuse`.
    rrf_k : float
        The constant of reciprocal rank fusion.
    window : int, optional
        Ranks of each tier that are fused; the larger of 50 and k by default.
    memory : VectorMemory, optional
        Where vectors are held between searches; by default the one that goes with the reader.

    Returns
    -------
    SearchResult
        `score` of a hit is BM25, cosine similarity or the fused score. `mode` is the one that
        answered: "lexical", with `degraded` and `reason`, where the vectors of a fused search could
        not be had.

    Raises
    ------
    QueryError
        An argument is out of range, or vectors were asked for and the store has none, or no
        embedder is configured.
    VectorsMismatchError, DimensionMismatch
        The embedder is not the one that made the store's vectors.
    SearchTimeoutError
        The timeout passed, in whatever step; there is no partial answer.
    EmbeddingError
        In mode "vector", which never falls back.
    """
    check_texts(query, under)
    _check(k, mode, timeout, common_terms)
    check_fusion(2, k=rrf_k, weights=weights, window=window)
    deadline = None if timeout is None else time.monotonic() + timeout
    query, under = _storable(query), _storable(under)
    # Who asks for words alone need not pass the embedder: the store knows the model's name.
    model = "" if mode != "lexical" else None
    facts = Facts() if mode == "lexical" else look(reader, deadline)
    if mode is None:
        mode = "fused" if facts.dimension is not None and embedder is not None else "lexical"
    model = model if embedder is None else embedder.model
    parsed = lexical.parse(query)
    dropped = () if mode == "vector" else parsed.dropped
    asked = SearchResult(query, Status.OK, mode, k, "", dropped_terms=dropped, under=under)
    embedding = Embedding()
    if mode != "lexical":
        if facts.completeness.status is not Status.OK:
            tier = tier_line(mode, model=model or "", dimension=facts.dimension)
            return _without_hits(asked, facts.completeness.status, facts.completeness, tier)
        with step("embed"):
            usable = usable_embedder(embedder, facts, mode)
            embedding = embed_question(usable, query, mode, deadline)
    result = _in_store(
        reader,
        asked,
        parsed,
        embedding,
        memory_of(reader) if memory is None else memory,
        common_terms=common_terms,
        deadline=deadline,
        fusion=(weights, rrf_k, window),
        model=model,
    )
    _in_time(deadline)
    return result


def _in_store(
    reader: Reader,
    asked: SearchResult,
    parsed: LexicalQuery,
    embedding: Embedding,
    memory: VectorMemory,
    *,
    common_terms: CommonTerms,
    deadline: float | None,
    fusion: tuple[tuple[float, float], float, int | None],
    model: str | None,
) -> SearchResult:
    """Answer in one read transaction."""
    mode, k = asked.mode, asked.k
    if not reader.is_built():
        return _without_hits(
            asked, Status.INDEX_NOT_BUILT, Completeness(), tier_line(mode, model=model or "")
        )
    weights, rrf_k, window = fusion
    depth = (window or max(CANDIDATES, k)) if mode == "fused" else max(CANDIDATES, k)
    words, near = LexicalRanking(), VectorRanking()
    fused: list[Fused] = []
    reason = embedding.reason
    with reader.snapshot(deadline=deadline) as connection:
        completeness = read_completeness(connection)
        scope = resolve(connection, asked.under)
        if embedding.vector is not None and completeness.documents:
            with step("vector"):
                near, reason = _near(connection, embedding.vector, mode, depth, scope, memory)
        if embedding.blank and parsed.terms:
            reason = "the query holds nothing that can be embedded"
        if model is None:
            pinned = read_manifest(connection)
            model = pinned.model if pinned is not None else ""
        tier = tier_line(
            mode,
            model=model,
            dimension=stored.dimension(connection),
            without_vector=completeness.without_vector,
            reason=reason if mode == "fused" else "",
        )
        degraded = mode == "fused" and bool(reason)
        if degraded:
            mode = "lexical"
            asked = dataclasses.replace(asked, mode=mode, degraded=True, reason=reason)
        status = _status(mode, completeness, parsed, embedding)
        if status is not Status.OK:
            return _without_hits(asked, status, completeness, tier)
        if mode != "vector":
            with step("lexical"):
                words = lexical.rank(
                    connection,
                    parsed.terms,
                    limit=depth,
                    needed=depth if mode == "fused" else k,
                    under=scope,
                    common_terms=common_terms,
                )
        if mode == "fused":
            with step("fuse"):
                fused = fuse(
                    [words.chunk_ids, near.chunk_ids], k=rrf_k, weights=weights, window=depth
                )
        best = {
            "lexical": words.chunk_ids,
            "vector": near.chunk_ids,
            "fused": [each.chunk_id for each in fused],
        }[mode]
        with step("hydrate"):
            found = _hydrate(connection, best[:k])
    if mode == "lexical":
        hits = lexical_hits(found, words)
    elif mode == "vector":
        hits = vector_hits(found, near)
    else:
        hits = fused_hits(found, fused, words, near)
    return dataclasses.replace(
        asked,
        tier=tier,
        hits=hits,
        notes=answer_notes(asked, scope, hits, words, embedding.cut, parsed.terms),
        common_terms=words.common_terms,
        compiled=words.compiled,
        completeness=completeness,
    )


def check_texts(query: Any, under: Any) -> None:
    """Refuse a query or folder that is no text.

    Raises
    ------
    QueryError
    """
    if not isinstance(query, str):
        raise QueryError(f"a query is text, not {type(query).__name__} {query!r}; put it in quotes")
    if not isinstance(under, str):
        raise QueryError(
            f'under is a folder as text ("" for the whole corpus), not {type(under).__name__} '
            f"{under!r}"
        )


def _check(k: int, mode: str | None, timeout: float | None, common_terms: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise QueryError(f"k is a whole number from 1 to {MAX_K:,}, not {k!r}")
    if mode is not None and mode not in MODES:
        raise QueryError(f"mode is one of {', '.join(MODES)}, not {mode!r}")
    if timeout is not None and (
        isinstance(timeout, bool)
        or not isinstance(timeout, int | float)
        or not 0 <= timeout < math.inf
    ):
        raise QueryError(f"timeout is a number of seconds from 0 up, or None, not {timeout!r}")
    if common_terms not in ("drop", "keep"):
        raise QueryError(f"common_terms is 'drop' or 'keep', not {common_terms!r}")


def look(reader: Reader, deadline: float | None) -> Facts:
    if not reader.is_built():
        return Facts()
    with reader.snapshot(deadline=deadline) as connection:
        completeness = read_completeness(connection)
        return Facts(completeness, stored.dimension(connection), read_manifest(connection))


def usable_embedder(embedder: Embedder | None, facts: Facts, mode: Mode) -> Embedder:
    """The embedder, once it is sure that it belongs to the store's vectors."""
    if embedder is None:
        raise QueryError(f'mode "{mode}" needs an embedder and none is set: {_CONFIGURE}.')
    if facts.dimension is None:
        raise QueryError(f'mode "{mode}" needs vectors and this store has none: {_CONFIGURE}.')
    differing = [
        f"{name}: pinned {getattr(facts.pinned, name)!r}, now {getattr(embedder, name)!r}"
        for name in ("provider", "model", "query_prefix", "document_prefix")
        if facts.pinned is not None and getattr(facts.pinned, name) != getattr(embedder, name)
    ]
    if differing:
        raise VectorsMismatchError(
            "the configured embedder is not the one that made this store's vectors: "
            + "; ".join(differing)
            + ". Configure the old one, or run `knowledge index --reindex`."
        )
    return embedder


def embed_question(embedder: Embedder, query: str, mode: Mode, deadline: float | None) -> Embedding:
    """Embed the query; what failed is told by this step, never by the text of an error."""
    _in_time(deadline)
    tally = EmbeddingTally()
    left = None if deadline is None else deadline - time.monotonic()
    try:
        made = embedder.embed_query(query, timeout=left, tally=tally)
    except BlankTextError:
        return Embedding(blank=True)
    except (DimensionMismatch, concurrent.futures.CancelledError):
        raise
    except Exception as error:
        # A hung server is both a failed step and a passed deadline: the deadline goes first.
        if isinstance(error, EmbedderTimeout) and error.deadline:
            raise SearchTimeoutError(_TOO_LATE) from error
        _in_time(deadline)
        if mode == "vector":
            raise
        return Embedding(reason=str(error) or type(error).__name__)
    return Embedding(made, cut=tally.query_characters_cut)


def _near(
    connection: apsw.Connection,
    query: Vector,
    mode: Mode,
    depth: int,
    scope: Under,
    memory: VectorMemory,
) -> tuple[VectorRanking, str]:
    try:
        stored.load(connection)
    except (MissingDependencyError, StoreError) as error:
        if mode == "vector":
            raise
        return VectorRanking(), str(error)
    return vector.rank(connection, query, limit=depth, under=scope, memory=memory), ""


def _status(
    mode: Mode, completeness: Completeness, parsed: LexicalQuery, embedding: Embedding
) -> Status:
    status = completeness.status
    if status is not Status.OK:
        return status
    by_words = mode != "vector" and bool(parsed.terms)
    by_vector = mode != "lexical" and embedding.vector is not None
    return Status.OK if by_words or by_vector else Status.QUERY_EMPTY


def _in_time(deadline: float | None) -> None:
    if deadline is not None and time.monotonic() >= deadline:
        raise SearchTimeoutError(_TOO_LATE)


def _hydrate(connection: apsw.Connection, chunk_ids: Sequence[int]) -> list[tuple[Any, ...]]:
    return connection.execute(_HYDRATE, (json.dumps(chunk_ids),)).fetchall()


def _without_hits(
    asked: SearchResult, status: Status, completeness: Completeness, tier: str
) -> SearchResult:
    return dataclasses.replace(
        asked,
        status=status,
        tier=tier,
        notes=status_notes(status, completeness),
        completeness=completeness,
    )


def _storable(text: str) -> str:
    """Replace lone surrogates, which no file, driver or JSON can hold, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
