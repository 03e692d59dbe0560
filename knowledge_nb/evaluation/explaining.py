"""Why a document stands where it stands: its place in every tier, exact, and what would move it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_nb.citation import ORDINAL_BITS, citation, parse_citation
from knowledge_nb.errors import NotFoundError, QueryError
from knowledge_nb.evaluation.entering import Entry, Situation, entries
from knowledge_nb.evaluation.explaining_words import (
    Place,
    beyond_window,
    sentences,
    why_no_words,
    why_not_fused,
)
from knowledge_nb.evaluation.making import Ranker, check_arguments
from knowledge_nb.evaluation.questions import Question, embed_all
from knowledge_nb.evaluation.term_weights import TermWeight, term_weights
from knowledge_nb.records import Mode
from knowledge_nb.refusals import require_documents
from knowledge_nb.retrieval.fusion import RRF_K, check_fusion, fuse
from knowledge_nb.retrieval.lexical import CommonTerms, LexicalRanking
from knowledge_nb.retrieval.search import MAX_K, check_texts, look, usable_embedder
from knowledge_nb.retrieval.tier import tier_line
from knowledge_nb.retrieval.vector import VectorRanking
from knowledge_nb.store.sql import rows

if TYPE_CHECKING:
    from knowledge_nb.core import Core

_CHUNK_IDS = "SELECT id FROM chunks WHERE document_id = ? ORDER BY id"
_STATE = "SELECT vector_state, coalesce(vector_note, '') FROM chunks WHERE id = ?"


@dataclass(frozen=True, slots=True)
class ExplanationRecord:
    """Why a document or chunk stands where it stands for a query.

    Attributes
    ----------
    target : str
        The path or citation as the index has it.
    mode : Mode
        Of the ranking that is explained.
    k, window : int
    places : tuple of Place
        Lexical, vector, fused.
    term_weights : tuple of TermWeight
        Of the chunk in the lexical place; their weights sum to its score.
    entries : tuple of Entry
        Single changes that bring it into the top k; empty where it is there, or none does.
    in_top : bool
    sentences : tuple of str
        The same in words.
    degraded : str
        Why the vector tier could not be asked; "" where it was, or is not there.
    """

    query: str
    target: str
    mode: Mode
    k: int
    window: int
    weights: tuple[float, float]
    rrf_k: float
    tier: str
    places: tuple[Place, ...]
    term_weights: tuple[TermWeight, ...]
    entries: tuple[Entry, ...]
    in_top: bool
    sentences: tuple[str, ...]
    degraded: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences, for the banner."""
        return self.sentences

    @property
    def text(self) -> str:
        """The sentences, a line each; the tier line first where the vectors were not asked."""
        return "\n".join([self.tier, *self.sentences] if self.degraded else self.sentences)


def explain(
    core: Core,
    query: str,
    target: str,
    *,
    k: int = 10,
    mode: Mode | None = None,
    weights: tuple[float, float] = (1.0, 1.0),
    rrf_k: float = RRF_K,
    window: int | None = None,
    common_terms: CommonTerms = "drop",
    under: str = "",
) -> ExplanationRecord:
    """Explain the place of one document, or of one chunk, in the ranking of a query.

    Parameters
    ----------
    core : Core
    query : str
        Free text, as for a search.
    target : str
        A path, for its best chunks, or a citation, for that chunk.
    k : int
        The top that it is or is not in; as for a search, of chunks, 1 to 10,000.
    mode, weights, rrf_k, window, common_terms, under
        As for a search.

    Returns
    -------
    ExplanationRecord
        Ranks are of the tiers' whole rankings, beyond any window.

    Raises
    ------
    NotFoundError
        The index has no such document or chunk.
    IndexNotBuiltError, CorpusEmptyError, QueryError, ConfigurationError, VectorsMismatchError
    EmbeddingError
        In mode "vector"; in "fused" the explanation is of the lexical answer that a search gives.
    """
    check_fusion(2, k=rrf_k, weights=weights, window=window)
    check_texts(query, under)
    check_arguments(mode, k, "chunk", common_terms)
    if k > MAX_K:
        raise QueryError(f"k is a whole number from 1 to {MAX_K:,}, not {k!r}")
    if not isinstance(target, str):
        raise QueryError(f"the document to explain is a path or citation, not {target!r}")
    facts = look(core.reader, None)
    require_documents(facts.completeness)
    embedder = core.matching_embedder() if mode != "lexical" else None
    if mode is None:
        mode = "fused" if facts.dimension is not None and embedder is not None else "lexical"
    embedder = usable_embedder(embedder, facts, mode) if mode != "lexical" else None
    question = embed_all(embedder, {"": query}, mode)[""]
    fusion = (weights, rrf_k, window)
    with core.reader.snapshot() as connection:
        ranker = Ranker(core, connection, under)
        question = ranker.answerable(question, mode)
        reason = question.reason
        if mode == "fused" and reason:
            mode = "lexical"
        tier = tier_line(
            mode,
            model=embedder.model if embedder is not None else "",
            dimension=facts.dimension,
            without_vector=facts.completeness.without_vector,
            reason=reason,
        )
        shown, chunk_ids = _target(core, ranker, target)
        words = ranker.by_words(question.parsed, ranker.chunks, ranker.chunks, common_terms)
        near = ranker.by_vector(question, ranker.chunks)
        found = _Found(ranker, shown, chunk_ids, words, near)
        return _explained(found, question, mode, k, fusion, tier, reason)


def _target(core: Core, ranker: Ranker, target: str) -> tuple[str, tuple[int, ...]]:
    """The target as the index names it, and its chunks' ids."""
    connection = ranker.connection
    try:
        path, ordinal = parse_citation(target)
        number, stored = core.find(connection, path)  # type: ignore[arg-type]
    except NotFoundError:
        number, stored = core.find(connection, target)  # type: ignore[arg-type]
        shown = stored
        chunk_ids = tuple(chunk_id for (chunk_id,) in rows(connection, _CHUNK_IDS, (number,)))
    else:
        shown = citation(stored, ordinal)
        chunk_ids = ((number << ORDINAL_BITS) + ordinal,)
        if not rows(connection, _STATE, chunk_ids):
            raise NotFoundError(
                f"{stored} has no chunk {ordinal}; `knowledge show {stored}` lists its chunks"
            )
    if ranker.scope.unknown:
        raise NotFoundError(ranker.scope.note())
    if ranker.scope.documents is not None and number not in ranker.scope.documents:
        raise NotFoundError(f"{stored} does not lie under {ranker.scope.folder!r}")
    return shown, chunk_ids


@dataclass(frozen=True, slots=True)
class _Found:
    ranker: Ranker
    target: str
    chunk_ids: tuple[int, ...]
    words: LexicalRanking
    near: VectorRanking

    def cite(self, chunk_id: int) -> str:
        return self.ranker.name_chunk(chunk_id, self.ranker.paths)

    def places(self, ranking: Sequence[int]) -> tuple[int | None, int | None, int]:
        """Place (from 0) of the best chunk, rank of the document, documents ranked."""
        wanted = set(self.chunk_ids)
        document = self.chunk_ids[0] >> ORDINAL_BITS if self.chunk_ids else -1
        place: int | None = None
        seen: dict[int, int] = {}
        for number, chunk_id in enumerate(ranking):
            seen.setdefault(chunk_id >> ORDINAL_BITS, len(seen) + 1)
            if place is None and chunk_id in wanted:
                place = number
        return place, seen.get(document), len(seen)


def _explained(
    found: _Found,
    question: Question,
    mode: Mode,
    k: int,
    fusion: tuple[tuple[float, float], float, int | None],
    tier: str,
    reason: str,
) -> ExplanationRecord:
    weights, rrf_k, window = fusion
    situation = Situation(found.words.chunk_ids, found.near.chunk_ids, k, weights, rrf_k, window)
    depth = situation.effective_window
    fused = fuse([situation.words, situation.near], k=rrf_k, weights=weights, window=depth)
    in_words, document_in_words, word_documents = found.places(situation.words)
    in_near, document_in_near, near_documents = found.places(situation.near)
    in_fused, document_in_fused, fused_documents = found.places([n.chunk_id for n in fused])
    first = found.chunk_ids[0] if found.chunk_ids else None
    shares: Any = fused[in_fused] if mode == "fused" and in_fused is not None else None
    if shares is not None:  # its contributions sum to its score; another chunk's would not
        in_words, in_near = (
            ranking.index(shares.chunk_id) if shares.chunk_id in ranking else None
            for ranking in (situation.words, situation.near)
        )
        first = shares.chunk_id
    best_word = situation.words[in_words] if in_words is not None else first
    best_near = situation.near[in_near] if in_near is not None else first
    terms: tuple[TermWeight, ...] = ()
    if best_word is not None:
        common = frozenset(found.words.common_terms)
        terms = term_weights(found.ranker.connection, question.parsed, common, best_word)

    def contribution(side: int, chunk_id: int | None) -> float | None:
        if mode != "fused":
            return None
        by_id = next((each for each in fused if each.chunk_id == chunk_id), None)
        return by_id.contributions[side] if by_id else 0.0

    def counts(place: int | None, weight: float) -> bool:
        return place is not None and place < depth and (mode != "fused" or weight > 0)

    lexical_place = Place(
        tier="lexical",
        rank=None if in_words is None else in_words + 1,
        ranked=len(situation.words),
        document_rank=document_in_words,
        documents=word_documents,
        citation="" if best_word is None else found.cite(best_word),
        score=None if in_words is None else found.words.scores[in_words],
        distance=None,
        in_window=counts(in_words, weights[0]),
        contribution=contribution(0, best_word),
        why=why_no_words(question, terms)
        if in_words is None
        else beyond_window(in_words, depth, mode, weights[0]),
    )
    distance = None if in_near is None else found.near.distances[in_near]
    vector_place = Place(
        tier="vector",
        rank=None if in_near is None else in_near + 1,
        ranked=len(situation.near),
        document_rank=document_in_near,
        documents=near_documents,
        citation="" if best_near is None else found.cite(best_near),
        score=None if distance is None else 1 - distance * distance / 2,
        distance=distance,
        in_window=counts(in_near, weights[1]),
        contribution=contribution(1, best_near),
        why=_why_no_vector(found, question, reason)
        if in_near is None
        else beyond_window(in_near, depth, mode, weights[1]),
    )
    fused_rank = None if in_fused is None or mode != "fused" else in_fused + 1
    fused_place = Place(
        tier="fused",
        rank=fused_rank,
        ranked=len(fused) if mode == "fused" else 0,
        document_rank=document_in_fused if mode == "fused" else None,
        documents=fused_documents if mode == "fused" else 0,
        citation=found.cite(shares.chunk_id) if shares else "",
        score=shares.score if shares else None,
        distance=None,
        in_window=fused_rank is not None,
        contribution=shares.score if shares else None,
        why=why_not_fused(mode, reason, fused_rank, depth, (in_words, in_near), weights),
    )
    places = (lexical_place, vector_place, fused_place)
    place = {"lexical": lexical_place, "vector": vector_place, "fused": fused_place}[mode]
    in_top = place.rank is not None and place.rank <= k
    if in_top:
        ways: tuple[Entry, ...] = ()
    elif mode == "fused":
        ways = entries(situation, found.chunk_ids)
    else:
        ways = (Entry("k", place.rank, place.rank),) if place.rank else ()
    return ExplanationRecord(
        query=question.query,
        target=found.target,
        mode=mode,
        k=k,
        window=depth,
        weights=weights,
        rrf_k=rrf_k,
        tier=tier,
        places=places,
        term_weights=terms,
        entries=ways,
        in_top=in_top,
        sentences=sentences(found.target, mode, k, places, place, in_top, ways, weights, terms),
        degraded=reason if mode == "lexical" else "",
    )


def _why_no_vector(found: _Found, question: Question, reason: str) -> str:
    if reason:
        return f"the vectors could not be asked: {reason}"
    if question.vector is None:
        return "no vectors were asked for, or nothing of the query can be embedded"
    states = [rows(found.ranker.connection, _STATE, (n,))[0] for n in found.chunk_ids]
    named = "; ".join(dict.fromkeys(f"{state} {note}".strip() for state, note in states))
    return f"it has no vector ({named or 'no chunk'})"
