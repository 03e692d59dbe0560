"""A ranking held against the complete set: what it shows, what it misses, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knowledge_nb.errors import EvaluationError
from knowledge_nb.evaluation.coverage import coverage_notes
from knowledge_nb.evaluation.making import Ranker, Settings, best_chunks, chunk_ranking
from knowledge_nb.evaluation.questions import Question, embed_all
from knowledge_nb.matching.query import parse
from knowledge_nb.records import Completeness, EnumerateResult, Mode, Status
from knowledge_nb.retrieval.fusion import RRF_K, check_fusion
from knowledge_nb.retrieval.lexical import CANDIDATES
from knowledge_nb.retrieval.search import check_texts, look, usable_embedder

if TYPE_CHECKING:
    from knowledge_nb.core import Core

TIERS: Final[tuple[Mode, ...]] = ("lexical", "vector", "fused")


@dataclass(frozen=True, slots=True)
class Reconciled:
    """One document of the set, or of a ranking's first k.

    Attributes
    ----------
    in_set : bool
        Whether it is in the complete set of `enumerate`.
    body_matches : int
        Chunks whose body holds a word; 0 outside the set.
    words_held : int
        Positive terms of the query that it holds.
    lexical_rank, vector_rank, fused_rank : int or None
        Among documents, each by its best chunk, however deep; the fused rank see `reconcile`.
    why : str
        Why it has no rank in a tier, or is no member of the set; "" where nothing is amiss.
    """

    path: str
    in_set: bool
    body_matches: int
    words_held: int
    lexical_rank: int | None
    vector_rank: int | None
    fused_rank: int | None
    why: str


@dataclass(frozen=True, slots=True)
class ReconciliationRecord:
    """A query's complete set and its rankings, joined.

    Attributes
    ----------
    query : str
        In the language of `enumerate`.
    asked : str
        The words of its positive terms, as the rankings were asked.
    status : Status
        Of the enumeration; with any but OK there is no row.
    k : int
    matched : int
        Documents in the complete set.
    documents : tuple of Reconciled
        The set first, then the documents outside it that a tier ranks among its first k; each part
        by fused (else lexical, else vector) rank, then path.
    tiers : tuple of Mode
        That could be asked.
    notes : tuple of str
    """

    query: str
    asked: str
    status: Status
    k: int
    tier: str
    matched: int
    documents: tuple[Reconciled, ...]
    tiers: tuple[Mode, ...]
    notes: tuple[str, ...]
    completeness: Completeness = field(default_factory=Completeness)

    def found(self, k: int, tier: Mode) -> int:
        """Documents of the set among the first k of a tier.

        Raises
        ------
        EvaluationError
            The tier was not asked.
        """
        if tier not in self.tiers:
            raise EvaluationError(
                f"there is no {tier} ranking here; there is {', '.join(self.tiers) or 'none'}"
            )
        ranks = [getattr(each, f"{tier}_rank") for each in self.documents if each.in_set]
        return sum(rank is not None and rank <= k for rank in ranks)

    def recall(self, k: int | None = None, tier: Mode | None = None) -> float | None:
        """Share of the complete set among the first k of a tier; None for an empty set.

        `tier` None: fused where it was asked, else lexical.
        """
        chosen = tier or ("fused" if "fused" in self.tiers else "lexical")
        found = self.found(self.k if k is None else k, chosen)
        return found / self.matched if self.matched else None


def reconcile(
    core: Core,
    query: str,
    *,
    k: int = 10,
    weights: tuple[float, float] = (1.0, 1.0),
    rrf_k: float = RRF_K,
    window: int | None = None,
    under: str = "",
) -> ReconciliationRecord:
    """Join `enumerate` and the rankings of the same words.

    Parameters
    ----------
    core : Core
    query : str
        In the closed language of `enumerate`; the rankings are asked its positive words.
    k : int
        The top of each ranking in which documents outside the set are looked for.
    weights, rrf_k, window
        Of the fusion. With no window the fused ranks are those of a run with this k: the first
        50 or k ranks of each tier are fused, or the whole rankings where these hold fewer than k
        documents. Documents that this leaves out follow, in the order of the fused whole rankings.
        So the number found among the first k is that of the run; for another k, ask again.
    under : str
        A folder, for set and rankings.

    Returns
    -------
    ReconciliationRecord

    Raises
    ------
    QuerySyntaxError
    EvaluationError
    """
    check_texts(query, under)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise EvaluationError(f"k is a whole number of ranks from 1 up, not {k!r}")
    check_fusion(2, k=rrf_k, weights=weights, window=window)
    whole = core.enumerate(query, sort="path", under=under)
    positive = [term for term in parse(query).terms if not term.excluded]
    asked = " ".join(term.text for term in positive)
    empty = ReconciliationRecord(
        whole.query, asked, whole.status, k, whole.tier, whole.matched, (), (), whole.notes,
        whole.completeness,
    )  # fmt: skip
    if whole.status is not Status.OK:
        return empty
    holders = [
        {m.path for m in core.enumerate(term.compiled, under=under).matches} for term in positive
    ]
    facts = look(core.reader, None)
    embedder = core.matching_embedder() if facts.dimension is not None else None
    mode: Mode = "lexical" if embedder is None else "fused"
    if embedder is not None:
        embedder = usable_embedder(embedder, facts, "fused")
    question = embed_all(embedder, {"": asked}, mode)[""]
    settings = Settings(mode, weights=weights, rrf_k=rrf_k, window=window)
    with core.reader.snapshot() as connection:
        ranker = Ranker(core, connection, under)
        if ranker.generation != whole.completeness.generation:
            raise EvaluationError("the index changed between set and rankings: ask again")
        question = ranker.answerable(question, mode)
        tiers = TIERS if question.vector is not None else TIERS[:1]
        ranks: dict[Mode, dict[str, int]] = {}
        for tier in tiers:
            if tier == "fused":
                best = _fused(ranker, question, settings, k)
            else:
                best = _documents(ranker, question, tier, ranker.chunks, settings)
            ranks[tier] = {ranker.paths[n]: place for place, n in enumerate(best, start=1)}
    rows = _rows(whole, holders, [term.text for term in positive], ranks, k)
    notes = [*whole.notes, *coverage_notes(ranker.completeness, mode)]
    # `enumerate` may have said it already.
    notes = list(dict.fromkeys([*notes, ranker.scope.note()] if ranker.scope.unknown else notes))
    if "fused" in tiers and window is None:
        notes.append(
            f"Fused ranks are those of a run with k={k} (window {max(CANDIDATES, k)}); documents "
            "outside its window follow in the order of the whole rankings."
        )
    if question.reason:
        notes.append(f"The vectors could not be asked: {question.reason}")
    elif embedder is None:
        notes.append("This store has no vectors, or no embedder is configured: words alone rank.")
    record = ReconciliationRecord(
        whole.query, asked, whole.status, k, whole.tier, whole.matched, rows, tiers, (),
        whole.completeness,
    )  # fmt: skip
    shown = ", ".join(f"{record.found(k, tier):,} by {tier}" for tier in tiers)
    notes.insert(
        0, f"Of the {whole.matched:,} documents of the complete set, among the first {k}: {shown}."
    )
    return ReconciliationRecord(
        whole.query, asked, whole.status, k, whole.tier, whole.matched, rows, tiers, tuple(notes),
        whole.completeness,
    )  # fmt: skip


def _documents(
    ranker: Ranker, question: Question, tier: Mode, depth: int, settings: Settings
) -> list[int]:
    pairs = chunk_ranking(ranker, question, tier, depth, settings)
    return [document for document, _ in best_chunks(pairs, len(ranker.paths))]


def _fused(ranker: Ranker, question: Question, settings: Settings, k: int) -> list[int]:
    """Documents in fused order; see `reconcile`."""
    depth = settings.window or max(CANDIDATES, k)
    found = _documents(ranker, question, "fused", depth, settings)
    if settings.window:
        return found
    whole = _documents(ranker, question, "fused", ranker.chunks, settings)
    if len(found) < k:
        return whole
    return list(dict.fromkeys([*found, *whole]))


def _rows(
    whole: EnumerateResult,
    holders: list[set[str]],
    terms: list[str],
    ranks: dict[Mode, dict[str, int]],
    k: int,
) -> tuple[Reconciled, ...]:
    in_set = {match.path: match for match in whole.matches}
    shown = dict.fromkeys(in_set)
    for of_tier in ranks.values():
        shown.update(dict.fromkeys(path for path, rank in of_tier.items() if rank <= k))
    found = []
    for path in shown:
        held = [path in holder for holder in holders]
        places: dict[str, Any] = {
            f"{tier}_rank": ranks[tier].get(path) if tier in ranks else None for tier in TIERS
        }
        match = in_set.get(path)
        if match is None:
            why = _why_outside(held, terms)
        else:
            why = "; ".join(
                f"no {tier} rank: {_why_unranked(tier)}"
                for tier, of_tier in ranks.items()
                if path not in of_tier
            )
        found.append(
            Reconciled(
                path=path,
                in_set=match is not None,
                body_matches=match.body_matches if match else 0,
                words_held=sum(held),
                why=why,
                **places,
            )
        )
    last = len(ranks.get("vector", ())) + len(ranks["lexical"]) + 1

    def order(each: Reconciled) -> tuple[Any, ...]:
        rank = each.fused_rank or each.lexical_rank or each.vector_rank or last
        return (not each.in_set, rank, each.path)

    return tuple(sorted(found, key=order))


def _why_outside(held: list[bool], terms: list[str]) -> str:
    lacking = ", ".join(term for term, has in zip(terms, held, strict=True) if not has)
    if not any(held):
        return "holds none of the words"
    if lacking:
        return f"lacks {lacking}"
    return "excluded by a minus"


def _why_unranked(tier: Mode) -> str:
    if tier == "vector":
        return "none of its chunks has a vector"
    if tier == "lexical":
        return "no single chunk holds a word that is searched (a phrase may cross chunks)"
    return "outside the window of every tier that is fused"
