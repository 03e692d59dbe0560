"""An explanation in words, and the record of a place in one tier."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge_nb.evaluation.entering import Entry
from knowledge_nb.evaluation.questions import Question
from knowledge_nb.evaluation.term_weights import TermWeight
from knowledge_nb.records import Mode


@dataclass(frozen=True, slots=True)
class Place:
    """Where it stands in one tier.

    Attributes
    ----------
    tier : {"lexical", "vector", "fused"}
    rank : int or None
        Of the chunk among all chunks of the tier, however deep; None where the tier does not rank
        it. In the fused tier only the window's chunks are ranked.
    ranked : int
        Chunks that the tier ranks.
    document_rank, documents : int or None, int
        The same of documents, each by its best chunk.
    citation : str
        The chunk: the one asked for; of a document, its best one in the fused ranking, or, where
        that has none of it or nothing is fused, its best one of this tier.
    score : float or None
        BM25, cosine or fused score.
    distance : float or None
        L2, of the vector tier.
    in_window : bool
        Whether it is among the ranks of the tier that are fused; True in the fused tier if ranked.
    contribution : float or None
        Of this tier to the fused score of that chunk; None where nothing is fused.
    why : str
        Why it has no rank, or does not count; "" otherwise.
    """

    tier: str
    rank: int | None
    ranked: int
    document_rank: int | None
    documents: int
    citation: str
    score: float | None
    distance: float | None
    in_window: bool
    contribution: float | None
    why: str


def why_no_words(question: Question, terms: tuple[TermWeight, ...]) -> str:
    """Why the lexical tier does not rank a chunk."""
    if not question.parsed.terms:
        return "nothing of the query can be searched by words"
    named = ", ".join(term.term for term in terms if term.status == "absent")
    return f"it holds none of the words: {named}"


def beyond_window(place: int, depth: int, mode: Mode, weight: float) -> str:
    """Why a rank (its place from 0) does not count in the fusion; "" where it does."""
    if mode == "fused" and not weight:
        return f"rank {place + 1}, and its weight 0 turns this tier off"
    if mode != "fused" or place < depth:
        return ""
    return f"not in the window of {depth}: rank {place + 1}"


def why_not_fused(
    mode: Mode,
    reason: str,
    rank: int | None,
    depth: int,
    places: tuple[int | None, int | None],
    weights: tuple[float, float],
) -> str:
    """Why a chunk has no fused rank; "" where it has one."""
    if mode != "fused":
        return f"not fused: {reason}" if reason else f"not fused: mode {mode}"
    if rank is not None:
        return ""
    known = [
        f"{name} rank {place + 1}" + ("" if weight else " (off: weight 0)")
        for name, place, weight in zip(("lexical", "vector"), places, weights, strict=True)
        if place is not None
    ]
    return f"not in the window of {depth}: {', '.join(known) or 'no tier ranks it'}"


def sentences(
    target: str,
    mode: Mode,
    k: int,
    places: tuple[Place, ...],
    place: Place,
    in_top: bool,
    ways: tuple[Entry, ...],
    weights: tuple[float, float],
    terms: tuple[TermWeight, ...],
) -> tuple[str, ...]:
    """The explanation, most important first."""
    said = []
    if place.rank is None:
        said.append(f"{target} is not in the {mode} ranking: {place.why}.")
    else:
        at = "is in" if in_top else "is not in"
        said.append(
            f"{target} {at} the top {k}: {place.citation} has {mode} rank {place.rank:,} of "
            f"{place.ranked:,} chunks (document {place.document_rank:,} of {place.documents:,})."
        )
    if mode == "fused":
        for tier in places[:2]:
            if tier.rank is None or not tier.in_window:
                said.append(f"{tier.tier.capitalize()}: {tier.why}.")
            else:
                said.append(
                    f"{tier.tier.capitalize()}: {tier.citation} at rank {tier.rank:,} adds "
                    f"{tier.contribution:.6f}."
                )
    matched = sorted((t for t in terms if t.status == "matched"), key=lambda t: -t.weight)
    if matched:
        named = ", ".join(f"{term.term} {term.weight:.3f}" for term in matched)
        said.append(f"Words that match in {places[0].citation}: {named}.")
    if not in_top:
        said += [_way(entry, k, weights) for entry in ways]
        if not ways:
            said.append(f"No k, window or weight alone brings it into the top {k}.")
    return tuple(said)


def _way(entry: Entry, k: int, weights: tuple[float, float]) -> str:
    if entry.change == "k":
        return f"With k = {entry.value:,.0f} it is in, at rank {entry.rank:,}."
    if entry.change == "window":
        return f"With window = {entry.value:,.0f} it is in the top {k}, at rank {entry.rank:,}."
    side = 0 if entry.change == "lexical_weight" else 1
    pair = (entry.value, weights[1]) if side == 0 else (weights[0], entry.value)
    shown = ", ".join(_exactly(weight) for weight in pair)
    return f"With weights = ({shown}) it is in the top {k}, at rank {entry.rank:,}."


def _exactly(number: float) -> str:
    """A number as it can be typed back: rounded, it may no longer be the one verified."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(float(number))
