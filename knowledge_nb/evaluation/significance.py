"""Whether a difference between two runs is more than chance: tests, corrections, intervals.

References
----------
Smucker, Allan, Carterette: A Comparison of Statistical Significance Tests for Information
Retrieval Evaluation, CIKM 2007 (the randomisation test and the t test agree; both are given).
Holm: A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics
6(2), 1979. Efron: Better Bootstrap Confidence Intervals, JASA 82, 1987 (BCa). Sakai: Statistical
Reform in Information Retrieval?, SIGIR Forum 48(1), 2014 (effect sizes beside p values).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from knowledge_nb.errors import MissingDependencyError

RESAMPLES: Final = 9_999
EXACT: Final = 13  # differing topics, of which all signs (8,192) are fewer than the draws
SEED: Final = 0
# Measures come in single precision from some packages; a smaller difference is none.
EQUAL: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Paired:
    """One run against a baseline, on the topics that both have a value for.

    Attributes
    ----------
    topics : int
    difference : float or None
        Mean of run minus baseline; None without topics.
    low, high : float or None
        Its 95 % bootstrap interval (BCa, topics resampled); None under two topics.
    wins, ties, losses : int
        Topics on which the run is better, equal (within 1e-6), worse.
    effect : float or None
        Cohen's d of paired samples: mean difference over its standard deviation; None where that is
        0 or there are under two topics.
    superiority : float or None
        Share of topics won, ties counted half.
    p_randomisation, p_t : float or None
        Two-sided, of the paired randomisation (sign-flipping) test and of the paired t test; 1
        where no topic differs, None under two topics; p_t is None also where all differences are
        equal. A topic without a difference takes no part in sign-flipping: its sign is nothing.
    """

    topics: int
    difference: float | None
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    effect: float | None
    superiority: float | None
    p_randomisation: float | None
    p_t: float | None


def _scipy() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise MissingDependencyError(
            f"significance needs {error.name}, which is not installed: "
            "pip install 'knowledge-nb[evaluation]'"
        ) from error
    return stats


def paired(run: Sequence[float], baseline: Sequence[float], *, seed: int = SEED) -> Paired:
    """Compare two runs topic by topic.

    Parameters
    ----------
    run, baseline : sequence of float
        Values of the same topics in the same order.
    seed : int
        Of the resampling; the same seed gives the same answer. Where up to 13 topics differ the
        randomisation test is exact, beyond that it draws 9,999 times.

    Returns
    -------
    Paired
    """
    stats = _scipy()
    import numpy as np

    differences = [
        0.0 if abs(one - two) <= EQUAL else one - two
        for one, two in zip(run, baseline, strict=True)
    ]
    number = len(differences)
    wins = sum(each > 0 for each in differences)
    losses = sum(each < 0 for each in differences)
    low, high = interval(differences, seed=seed)
    effect = p_t = p_randomisation = None
    if number > 1:
        spread = float(np.std(differences, ddof=1))
        same = max(differences) == min(differences)
        if not same and spread > 0:
            effect = float(np.mean(differences)) / spread
            p_t = float(stats.ttest_1samp(differences, 0.0).pvalue)
        if wins + losses == 0:
            p_t = p_randomisation = 1.0
        elif wins + losses <= EXACT:
            p_randomisation = _every_sign([each for each in differences if each])
        else:
            test = stats.permutation_test(
                (np.array(differences),),
                _mean,
                permutation_type="samples",
                vectorized=True,
                n_resamples=RESAMPLES,
                rng=np.random.default_rng(seed),
            )
            p_randomisation = float(test.pvalue)
    return Paired(
        topics=number,
        difference=float(np.mean(differences)) if number else None,
        low=low,
        high=high,
        wins=wins,
        ties=number - wins - losses,
        losses=losses,
        effect=effect,
        superiority=(wins + (number - wins - losses) / 2) / number if number else None,
        p_randomisation=p_randomisation,
        p_t=p_t,
    )


def _every_sign(differences: Sequence[float]) -> float:
    """Share of all sign patterns whose sum is as far from 0 as the one seen."""
    import numpy as np

    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(differences))))
    sums = np.abs(signs @ np.array(differences))
    seen = sums[0]  # as it is; the tolerance keeps equal sums equal in another order
    return float(np.mean(sums >= seen - 1e-9 * max(1.0, float(seen))))


def _mean(sample: Any, axis: int = -1) -> Any:
    import numpy as np

    return np.mean(sample, axis=axis)


def interval(
    sample: Sequence[float], *, level: float = 0.95, seed: int = SEED
) -> tuple[float | None, float | None]:
    """Bootstrap confidence interval of a mean (BCa).

    Returns
    -------
    low, high : float or None
        None under two values; both the value itself where all are equal.
    """
    stats = _scipy()
    import numpy as np

    if len(sample) < 2:
        return None, None
    if max(sample) == min(sample):
        return float(sample[0]), float(sample[0])
    found = stats.bootstrap(
        (np.array(sample, dtype=float),),
        _mean,
        confidence_level=level,
        n_resamples=RESAMPLES,
        method="BCa",
        vectorized=True,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    low, high = float(found.low), float(found.high)
    return (low, high) if math.isfinite(low + high) else (None, None)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for the number of tests made (Holm's step-down procedure).

    Parameters
    ----------
    p_values : sequence of float or None
        None takes no part.

    Returns
    -------
    list of float or None
        In the same order, at most 1, never smaller than what came in.
    """
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * p))
        adjusted[place] = largest
    return adjusted
