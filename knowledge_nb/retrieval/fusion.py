"""Reciprocal rank fusion: a pure function over rankings.

References
----------
Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods, SIGIR 2009. score(d) = sum over rankings of weight / (k + rank), ranks from 1; a
ranking in which d does not stand adds nothing.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

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
        What each ranking adds; 0.0 where it does not stand in it, or is off.
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
        One a ranking, finite, at least 0, not all 0; 1.0 each by default. 0.0 turns a ranking off:
        it proposes nothing and adds nothing, so (1, 0) gives the first ranking as it is.
    window : int, optional
        Ranks beyond it are not looked at; all are by default.

    Returns
    -------
    list of Fused
        Every chunk of any ranking that is not off, best first, ties by chunk id; empty for empty
        rankings.

    Raises
    ------
    QueryError
        A weight, k or window outside its range, no weight above 0, or an id twice in one ranking.
    """
    asked = [1.0] * len(rankings) if weights is None else weights
    check_fusion(len(rankings), k=k, weights=asked, window=window)
    given = [float(weight) for weight in asked]
    ranks: dict[int, list[int | None]] = {}
    for place, ranking in enumerate(rankings):
        for rank, chunk_id in enumerate(ranking[:window], start=1):
            found = ranks.setdefault(chunk_id, [None] * len(rankings))
            if found[place] is not None:
                raise QueryError(f"chunk {chunk_id} stands twice in ranking {place + 1}")
            found[place] = rank
    fused = []
    for chunk_id, found in ranks.items():
        # What only a ranking that is off proposes would stand at the end, ordered by nothing.
        if all(rank is None or not weight for rank, weight in zip(found, given, strict=True)):
            continue
        contributions = tuple(
            0.0 if rank is None else weight / (k + rank)
            for weight, rank in zip(given, found, strict=True)
        )
        fused.append(Fused(chunk_id, _total(contributions), tuple(found), contributions))
    return sorted(fused, key=lambda each: (-each.score, each.chunk_id))


def check_fusion(rankings: int, *, k: Any, weights: Any, window: Any) -> None:
    """Refuse arguments of `fuse` that have no meaning, of whatever type.

    Parameters
    ----------
    rankings : int
        How many are fused.
    k : float
    weights : sequence of float
    window : int or None

    Raises
    ------
    QueryError
        It names the value, and what is taken.
    """
    if not _is_number(k):
        raise QueryError(f"the fusion constant k is a number from 0 up, not {k!r}")
    told = f"fusion weights are {rankings} numbers from 0 up, one a ranking, not {weights!r}"
    # A set has no order, and which weight is whose would be chance.
    if isinstance(weights, str | bytes | Set | Mapping) or not isinstance(weights, Iterable):
        raise QueryError(told)
    given = list(weights)
    if len(given) != rankings or not all(_is_number(weight) for weight in given):
        raise QueryError(told)
    if given and not any(given):
        raise QueryError(
            f"fusion weights {tuple(weights)!r} turn every ranking off; give one of them a weight "
            "above 0, such as (1, 1)"
        )
    if window is not None and not (_is_whole(window) and window >= 1):
        raise QueryError(
            f"the fusion window is a whole number of ranks from 1 up, or None, not {window!r}"
        )


def _is_number(value: Any) -> bool:
    """Whether it is finite and at least 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return 0 <= float(value) < float("inf")


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _total(contributions: Sequence[float]) -> float:
    # sum() of Python 3.12 compensates rounding; a plain left-to-right sum is the same everywhere.
    total = 0.0
    for each in contributions:
        total += each
    return total
