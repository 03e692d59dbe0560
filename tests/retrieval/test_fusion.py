"""Reciprocal rank fusion, as a pure function."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_nb.errors import QueryError
from knowledge_nb.retrieval.fusion import fuse

RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=20), min_size=1, max_size=3)
WEIGHT = st.floats(0, 100, allow_nan=False)


def test_agreement_is_rewarded() -> None:
    """Second in both beats first in one; its score is 1/(k+2) twice."""
    x, y, z = 7, 1, 2
    first = fuse([[y, x], [z, x]])[0]
    assert first.chunk_id == x
    assert abs(first.score - (1 / 62 + 1 / 62)) < 1e-12
    assert first.ranks == (2, 2)


def test_absent_adds_nothing_and_ranks_begin_at_one() -> None:
    """[X, a, Y] and [b, c, Y]: Y first, X and b tie at 1/(k+1), the lower id first."""
    x, a, y, b, c = 10, 11, 12, 5, 13
    fused = fuse([[x, a, y], [b, c, y]])
    assert [each.chunk_id for each in fused] == [y, b, x, a, c]
    assert fused[1].score == fused[2].score == 1 / 61
    assert fused[1].contributions == (0.0, 1 / 61)
    assert fused[1].ranks == (None, 1)


def test_weights_and_constant() -> None:
    """Each ranking's weight and k enter as written."""
    fused = fuse([[1, 2], [2, 3]], weights=(2.0, 1.0), k=0)
    assert [(each.chunk_id, each.score) for each in fused] == [(1, 2.0), (2, 2.0), (3, 0.5)]


def test_weight_zero_turns_a_ranking_off() -> None:
    """It proposes nothing and adds nothing: what is left is the other ranking, as it is."""
    one, two = [5, 2, 9], [1, 9, 7, 3]
    assert [each.chunk_id for each in fuse([one, two], weights=(1, 0))] == one
    assert [each.chunk_id for each in fuse([one, two], weights=(0, 2))] == two
    assert fuse([one, two], weights=(1, 0))[2].ranks == (3, 2)
    assert fuse([[], two], weights=(1, 0)) == []


def test_window() -> None:
    """Ranks beyond the window are not looked at."""
    assert [each.chunk_id for each in fuse([[1, 2, 3], [3]], window=1)] == [1, 3]


def test_empty() -> None:
    """Nothing ranked, nothing fused."""
    assert fuse([]) == fuse([[], []]) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"k": -1},
        {"k": math.inf},
        {"k": math.nan},
        {"weights": (1.0,)},
        {"weights": (1.0, math.nan)},
        {"weights": (-1.0, 1.0)},
        {"weights": (0, 0)},
        {"weights": 5},
        {"weights": "11"},
        {"weights": ("1", "1")},
        {"weights": {1, 2}},
        {"weights": (True, 1)},
        {"k": "60"},
        {"k": True},
        {"window": 0},
        {"window": 1.5},
        {"window": True},
        {"window": "5"},
    ],
    ids=str,
)
def test_refusals(arguments: dict[str, object]) -> None:
    """Arguments without a meaning are refused."""
    with pytest.raises(QueryError):
        fuse([[1], [2]], **arguments)  # type: ignore[arg-type]


def test_an_id_twice_in_one_ranking_is_refused() -> None:
    """Two ranks of one chunk in one ranking is a fault of the caller."""
    with pytest.raises(QueryError, match="twice"):
        fuse([[1, 1]])


@given(RANKINGS, st.floats(0, 1000), st.data())
def test_properties(rankings: list[list[int]], k: float, data: st.DataObject) -> None:
    """Every chunk of a ranking that is on, once; its score the exact sum; by score, then id."""
    some = st.lists(WEIGHT, min_size=len(rankings), max_size=len(rankings)).filter(any)
    weights = data.draw(some)
    window = data.draw(st.none() | st.integers(1, 25))
    fused = fuse(rankings, k=k, weights=weights, window=window)
    assert sorted(each.chunk_id for each in fused) == sorted(
        {
            chunk
            for ranking, weight in zip(rankings, weights, strict=True)
            for chunk in ranking[:window]
            if weight
        }
    )
    keys = [(-each.score, each.chunk_id) for each in fused]
    assert keys == sorted(keys)
    for each in fused:
        total = 0.0
        for ranking, weight, rank, part in zip(
            rankings, weights, each.ranks, each.contributions, strict=True
        ):
            assert part == (0.0 if rank is None else weight / (k + rank))
            assert rank is None or ranking[rank - 1] == each.chunk_id
            total += part
        assert total == each.score


@given(RANKINGS)
def test_order_of_the_rankings_does_not_matter(rankings: list[list[int]]) -> None:
    """With equal weights the fused order is the same whichever ranking comes first."""
    two = (rankings * 2)[:2]
    assert [each.chunk_id for each in fuse(two)] == [each.chunk_id for each in fuse(two[::-1])]


@given(st.lists(st.integers(0, 50), unique=True, max_size=30))
def test_one_ranking_is_itself(ranking: list[int]) -> None:
    """Fusing a ranking alone, or with itself, keeps its order."""
    assert [each.chunk_id for each in fuse([ranking])] == ranking
    assert [each.chunk_id for each in fuse([ranking, ranking])] == ranking


@given(RANKINGS, st.integers(0, 30))
def test_a_better_rank_never_hurts(rankings: list[list[int]], chunk: int) -> None:
    """Moving a chunk to the front of one ranking never lowers its fused score."""
    moved = [[chunk, *(other for other in rankings[0] if other != chunk)], *rankings[1:]]
    before = {each.chunk_id: each.score for each in fuse(rankings)}.get(chunk, 0.0)
    assert {each.chunk_id: each.score for each in fuse(moved)}[chunk] >= before
