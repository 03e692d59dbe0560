"""What would bring a chunk into the top k of a fused ranking: exact answers, each one verified.

Pure functions over the two tiers' whole rankings, through the same `fuse` that a search uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knowledge_nb.retrieval.fusion import fuse
from knowledge_nb.retrieval.lexical import CANDIDATES
from knowledge_nb.retrieval.search import MAX_K


@dataclass(frozen=True, slots=True)
class Entry:
    """One change, alone, with which a chunk stands in the top k.

    Attributes
    ----------
    change : {"k", "window", "lexical_weight", "vector_weight"}
    value : float
        At which it enters, verified: the smallest k that does; of a weight the shortest number
        found that does, so that what is printed is what was verified.
    rank : int
        Its rank then.
    """

    change: str
    value: float
    rank: int


@dataclass(frozen=True, slots=True)
class Situation:
    """Both tiers' whole rankings of a query, and how they are fused.

    Attributes
    ----------
    words, near : sequence of int
        Chunk ids, best first.
    window : int or None
        None: the larger of 50 and k, as in a search.
    """

    words: Sequence[int]
    near: Sequence[int]
    k: int
    weights: tuple[float, float]
    rrf_k: float
    window: int | None

    @property
    def effective_window(self) -> int:
        """Ranks of each tier that are fused at this k."""
        return self.window or max(CANDIDATES, self.k)

    def rank(
        self,
        chunk_ids: Sequence[int],
        *,
        weights: tuple[float, float] | None = None,
        window: int | None = None,
    ) -> int | None:
        """The best fused rank of these chunks; None where none is a candidate."""
        wanted = set(chunk_ids)
        fused = fuse(
            [self.words, self.near],
            k=self.rrf_k,
            weights=weights or self.weights,
            window=window or self.effective_window,
        )
        ranks = (n for n, each in enumerate(fused, start=1) if each.chunk_id in wanted)
        return next(ranks, None)


def entries(situation: Situation, chunk_ids: Sequence[int]) -> tuple[Entry, ...]:
    """Every single change that brings one of some chunks into the top k.

    Parameters
    ----------
    situation : Situation
    chunk_ids : sequence of int
        Of one document, or one chunk.

    Returns
    -------
    tuple of Entry
        In the order k, window, lexical weight, vector weight; one that no value of helps is left
        out. Empty where a chunk is in the top k already.
    """
    at = situation.rank(chunk_ids)
    if at is not None and at <= situation.k:
        return ()
    found = [_by_k(situation, chunk_ids), _by_window(situation, chunk_ids)]
    for side in (0, 1):
        best: Entry | None = None
        for chunk_id in chunk_ids:
            entry = _by_weight(situation, chunk_id, side)
            now = situation.weights[side]
            if entry and (best is None or abs(entry.value - now) < abs(best.value - now)):
                best = entry
        found.append(best)
    return tuple(entry for entry in found if entry is not None)


def _by_k(situation: Situation, chunk_ids: Sequence[int]) -> Entry | None:
    """The smallest k at which one of the chunks enters.

    The window of a search grows with its k, and may change the order. Until the window comes to
    another rank of the chunks themselves, only other chunks gain: no k below the present rank, or
    that next rank of their own, can do, and these alone are tried.
    """
    wanted = set(chunk_ids)
    own = [
        place
        for ranking, weight in zip(
            (situation.words, situation.near), situation.weights, strict=True
        )
        for place, chunk_id in enumerate(ranking, start=1)
        if weight and chunk_id in wanted
    ]
    k = situation.k
    while k <= MAX_K:  # what a search takes
        window = situation.window or max(CANDIDATES, k)
        rank = situation.rank(chunk_ids, window=window)
        if rank is not None and rank <= k:
            return Entry("k", k, rank)
        to_try = [] if situation.window else [place for place in own if place > window]
        if rank is not None:
            to_try.append(rank)
        if not to_try:
            return None
        k = min(to_try)
    return None


def _by_window(situation: Situation, chunk_ids: Sequence[int]) -> Entry | None:
    wanted = set(chunk_ids)
    now = situation.effective_window
    reached = {
        rank
        for ranking in (situation.words, situation.near)
        for rank, chunk_id in enumerate(ranking, start=1)
        if chunk_id in wanted and rank > now
    }
    for window in sorted(reached):
        rank = situation.rank(chunk_ids, window=window)
        if rank is not None and rank <= situation.k:
            return Entry("window", window, rank)
    return None


def _by_weight(situation: Situation, chunk_id: int, side: int) -> Entry | None:
    """The weight of one tier, nearest to the present one, at which a chunk enters.

    With the other weight fixed, each score is a line in this weight, and another chunk passes the
    chunk where their lines cross. A sweep over the crossings counts how many stand before it.
    """
    window = situation.effective_window
    fixed = situation.weights[1 - side]
    lines: dict[int, list[float]] = {}
    for place, ranking in enumerate((situation.words, situation.near)):
        for rank, each in enumerate(ranking[:window], start=1):
            share = 1 / (situation.rrf_k + rank)
            line = lines.setdefault(each, [0.0, 0.0])
            line[0 if place == side else 1] = share if place == side else fixed * share
    mine = lines.pop(chunk_id, None)
    if mine is None:
        return None
    slope, start = mine
    before = 0  # chunks that stand before it at a weight just above 0
    crossings: list[tuple[float, int]] = []
    for other, (its_slope, its_start) in lines.items():
        ahead, gains = its_start - start, its_slope - slope
        if ahead > 0 or (ahead == 0 and (gains > 0 or (gains == 0 and other < chunk_id))):
            before += 1
        if ahead * gains < 0:
            crossings.append((-ahead / gains, 1 if gains > 0 else -1))
    crossings.sort()
    edges = [0.0, *(weight for weight, _ in crossings)]
    best: Entry | None = None
    now = situation.weights[side]
    for number, low in enumerate(edges):
        if number:
            before += crossings[number - 1][1]
        high = edges[number + 1] if number + 1 < len(edges) else low * 2 + 1
        if before >= situation.k or high <= low:
            continue
        # Just inside: at a crossing itself the chunk id decides.
        step = min((high - low) / 2, max(low, 1e-3) * 1e-3)
        value = low + step if low >= now else high - step if high <= now else now
        if best is not None and abs(value - now) >= abs(best.value - now):
            continue
        for shorter in _shorter(value, low, high):
            weights = (shorter, fixed) if side == 0 else (fixed, shorter)
            there = situation.rank([chunk_id], weights=weights)
            if there is not None and there <= situation.k:
                best = Entry("lexical_weight" if side == 0 else "vector_weight", shorter, there)
                break
    return best


def _shorter(value: float, low: float, high: float) -> Iterator[float]:
    """Numbers of few digits near a value and between two bounds, then the value itself."""
    for digits in range(2, 7):
        unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1) if value > 0 else 0.0
        if not unit:
            break
        for steps in (round(value / unit), math.floor(value / unit), math.ceil(value / unit)):
            rounded = float(f"{steps * unit:.{digits}g}")
            # Within half a per cent, since it is to be the weight nearest to the present one.
            if low < rounded < high and abs(rounded - value) <= value / 200:
                yield rounded
    yield value
