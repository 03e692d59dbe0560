"""Reciprocal rank fusion: a pure function over rankings.

References
----------
Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods, SIGIR 2009. score(d) = sum over rankings of weight / (k + rank), ranks from 1; a
ranking in which d does not stand adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from knowledge_nb.errors import QueryError

RRF_K: Final = 60


@dataclass(frozen=True, slots=True)
class Fused:
    """One chunk of a fused ranking.

    Attributes
    ----------
    chunk_id : int
    score : float
        The exact sum of `contributions`, added from the first ranking to the last.
    ranks : tuple of (int or None)
        Its rank in each ranking, from 1; None where it does not stand in it.
    contributions : tuple of float
        What each ranking adds; 0.0 where it does not stand in it.
    """

    chunk_id: int
    score: float
    ranks: tuple[int | None, ...]
    contributions: tuple[float, ...]


def fuse(
    rankings: Sequence[Sequence[int]],
    *,
    k: float = RRF_K,
    weights: Sequence[float] | None = None,
    window: int | None = None,
) -> list[Fused]:
    """Fuse rankings of the same ids.

    Parameters
    ----------
    rankings : sequence of sequence of int
        Chunk ids, best first, none twice within one ranking.
    k : float
        The constant of the formula, at least 0; larger values flatten the ranks.
    weights : sequence of float, optional
        One a ranking, finite, at least 0; 1.0 each by default. With 0.0 a ranking still proposes
        its chunks but adds nothing.
    window : int, optional
        Ranks beyond it are not looked at; all are by default.

    Returns
    -------
    list of Fused
        Every chunk of any ranking, best first, ties by chunk id; empty for empty rankings.

    Raises
    ------
    QueryError
        A weight, k or window outside its range, or an id twice in one ranking.
    """
    given = [1.0] * len(rankings) if weights is None else [float(weight) for weight in weights]
    check_fusion(len(rankings), k=k, weights=given, window=window)
    ranks: dict[int, list[int | None]] = {}
    for place, ranking in enumerate(rankings):
        for rank, chunk_id in enumerate(ranking[:window], start=1):
            found = ranks.setdefault(chunk_id, [None] * len(rankings))
            if found[place] is not None:
                raise QueryError(f"chunk {chunk_id} stands twice in ranking {place + 1}")
            found[place] = rank
    fused = []
    for chunk_id, found in ranks.items():
        contributions = tuple(
            0.0 if rank is None else weight / (k + rank)
            for weight, rank in zip(given, found, strict=True)
        )
        fused.append(Fused(chunk_id, _total(contributions), tuple(found), contributions))
    return sorted(fused, key=lambda each: (-each.score, each.chunk_id))


def check_fusion(rankings: int, *, k: float, weights: Sequence[float], window: int | None) -> None:
    """Refuse arguments of `fuse` that have no meaning.

    Raises
    ------
    QueryError
    """
    if not 0 <= k < float("inf"):
        raise QueryError(f"the fusion constant k is a number from 0 up, not {k!r}")
    if len(weights) != rankings or not all(0 <= weight < float("inf") for weight in weights):
        raise QueryError(
            f"fusion weights are {rankings} numbers from 0 up, one a ranking, not {weights!r}"
        )
    if window is not None and window < 1:
        raise QueryError(f"the fusion window is a number of ranks from 1 up, not {window!r}")


def _total(contributions: Sequence[float]) -> float:
    # sum() of Python 3.12 compensates rounding; a plain left-to-right sum is the same everywhere.
    total = 0.0
    for each in contributions:
        total += each
    return total
