"""Tests and corrections, against cases worked by hand and scipy's own paired test."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

import knowledge_nb as knb
from knowledge_nb.evaluation.evaluating import evaluate
from knowledge_nb.evaluation.significance import holm, interval, paired


def test_a_randomisation_test_worked_by_hand() -> None:
    """Four topics, all won by 0.1, 0.2, 0.3, 0.4: of 16 signs one is as far up, one as far down."""
    found = paired([0.5, 0.6, 0.7, 0.8], [0.4, 0.4, 0.4, 0.4])
    assert found.p_randomisation == pytest.approx(2 / 16)
    assert found.difference == pytest.approx(0.25)
    assert (found.wins, found.ties, found.losses) == (4, 0, 0)
    spread = math.sqrt((0.15**2 + 0.05**2 + 0.05**2 + 0.15**2) / 3)
    assert found.effect == pytest.approx(0.25 / spread)
    assert found.superiority == 1.0
    theirs = stats.ttest_rel([0.5, 0.6, 0.7, 0.8], [0.4, 0.4, 0.4, 0.4])
    assert found.p_t == pytest.approx(theirs.pvalue)


def test_many_topics_are_drawn_with_a_seed_and_agree_with_the_t_test() -> None:
    """Smucker, Allan and Carterette's finding, on 200 seeded topics; the same again next time."""
    rng = random.Random(3)
    one = [rng.gauss(0.5, 0.2) for _ in range(200)]
    two = [each + rng.gauss(0.02, 0.15) for each in one]
    found = paired(two, one)
    assert found == paired(two, one)
    assert found.p_randomisation == pytest.approx(found.p_t, abs=0.02)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.difference < found.high  # type: ignore[operator]


def test_equal_runs_differ_by_nothing() -> None:
    """p is 1, no effect is made up, differences of a rounding are ties."""
    found = paired([0.5, 0.25, 0.1], [0.5, 0.25 + 1e-9, 0.1])
    assert (found.p_t, found.p_randomisation, found.effect) == (1.0, 1.0, None)
    assert (found.wins, found.ties, found.losses) == (0, 3, 0)
    assert (found.low, found.high, found.superiority) == (0.0, 0.0, 0.5)


def test_one_topic_and_none_make_no_test() -> None:
    """Nothing is claimed of them."""
    one = paired([0.5], [0.4])
    assert (one.p_t, one.p_randomisation, one.low, one.effect) == (None, None, None, None)
    none = paired([], [])
    assert (none.topics, none.difference, none.superiority) == (0, None, None)


def test_holm_worked_by_hand() -> None:
    """0.01, 0.02, 0.03 and 0.04 of four tests: 0.04, 0.06, then never less; order kept."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.01, None, 0.04]) == pytest.approx([0.02, None, 0.04])
    assert holm([]) == []


def test_an_interval_holds_the_mean_and_is_narrower_with_more() -> None:
    """Where all values are equal it is that value; one value has none."""
    rng = random.Random(1)
    few = [rng.random() for _ in range(20)]
    many = [rng.random() for _ in range(400)]
    low, high = interval(few)
    assert low < sum(few) / 20 < high  # type: ignore[operator]
    narrow = interval(many)
    assert narrow[1] - narrow[0] < high - low  # type: ignore[operator]
    assert interval([0.3, 0.3, 0.3]) == (0.3, 0.3)
    assert interval([0.3]) == (None, None)


def test_the_correction_is_over_all_runs_and_measures() -> None:
    """Two runs against a baseline on two measures are four tests; Judged@k is none."""
    qrels = {str(n): {"a": 1} for n in range(8)}
    runs = {
        "base": {str(n): {"b": 2.0, "a": 1.0} for n in range(8)},
        "good": {str(n): {"a": 2.0, "b": 1.0} for n in range(8)},
        "same": {str(n): {"b": 2.0, "a": 1.0} for n in range(8)},
    }
    found = evaluate(runs, qrels, ["RR", "P@1"], baseline="base")
    assert [(each.run, each.measure) for each in found.differences] == [
        ("good", "RR"), ("same", "RR"), ("good", "P@1"), ("same", "P@1"),
    ]  # fmt: skip
    good = found.differences[0]
    assert good.test.p_randomisation == pytest.approx(2 / 256)
    assert good.p_randomisation_holm == pytest.approx(4 * 2 / 256)
    assert good.test.p_t is None  # all differences are equal: no spread to test against
    assert found.differences[1].p_randomisation_holm == 1.0


def test_a_seed_says_what_was_drawn(small: knb.KnowledgeBase) -> None:
    """Equal seeds, equal frames."""
    runs = {
        "a": {str(n): {"x": 1.0} for n in range(20)},
        "b": {str(n): {"y": 1.0} for n in range(20)},
    }
    qrels = {str(n): {"x": n % 2, "y": (n // 3) % 2} for n in range(20)}
    one = small.evaluate(runs, qrels, ["P@1"], seed=5)
    two = small.evaluate(runs, qrels, ["P@1"], seed=5)
    assert one.equals(two)


@pytest.mark.parametrize("topics", [14, 40, 300])
def test_few_differences_among_many_topics_are_tested_exactly(topics: int) -> None:
    """One topic that differs: either sign is as far off, so p is 1, not 0.994."""
    base = [0.5] * topics
    one = [*base[1:], 0.9]
    assert paired(one, base).p_randomisation == 1.0
    three = [0.6, 0.7, 0.8, *base[3:]]  # all won: 2 of 8 sign patterns
    assert paired(three, base).p_randomisation == 2 / 8
    mixed = [0.6, 0.7, 0.2, *base[3:]]  # 0.1 + 0.2 - 0.3 = 0: every pattern is as far
    assert paired(mixed, base).p_randomisation == 1.0
    assert paired(three, base).ties == topics - 3


def test_exact_signs_are_scipys() -> None:
    """Where it enumerates too."""
    import numpy as np

    rng = random.Random(7)
    for size in (2, 5, 9, 12):
        differences = [rng.choice([-2, -1, 1, 3]) / 10 for _ in range(size)]
        theirs = stats.permutation_test(
            (np.array(differences),), np.mean, permutation_type="samples", n_resamples=9999
        )
        found = paired([0.5 + each for each in differences], [0.5] * size)
        assert found.p_randomisation == pytest.approx(theirs.pvalue)


def test_sums_are_not_tested() -> None:
    """NumRet of two runs is no mean of topics."""
    runs = {"a": {"q": {"x": 1.0}, "r": {"x": 1.0}}, "b": {"q": {"y": 1.0}, "r": {"x": 1.0}}}
    found = evaluate(runs, {"q": {"x": 1}, "r": {"x": 1}}, ["NumRet", "RR"])
    assert {each.measure for each in found.differences} == {"RR"}
    assert found.differences[0].p_randomisation_holm == found.differences[0].test.p_randomisation
