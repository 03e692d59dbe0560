"""How alike two rankings are, without judgements.

References
----------
Webber, Moffat, Zobel: A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4), 2010
(rank-biased overlap; `rbo` is its extrapolated form, equation 32). Kendall: The Treatment of Ties
in Ranking Problems, Biometrika 33(3), 1945 (tau-b).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from knowledge_nb.errors import EvaluationError, MissingDependencyError
from knowledge_nb.evaluation.runs import Ranking

PERSISTENCE: Final = 0.9


def overlap(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Share of the longer list that stands in both; None where both are empty."""
    longer = max(len(a), len(b))
    return len(set(a) & set(b)) / longer if longer else None


def jaccard(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Documents in both over documents in either; None where both are empty."""
    either = set(a) | set(b)
    return len(set(a) & set(b)) / len(either) if either else None


def rbo(a: Sequence[str], b: Sequence[str], p: float = PERSISTENCE) -> float | None:
    """Rank-biased overlap, extrapolated.

    Parameters
    ----------
    a, b : sequence of str
        Rankings, best first, nothing twice; of any lengths.
    p : float
        Chance, between 0 and 1, that the reader goes on to the next rank: with 0.9 the first ten
        ranks have 86 % of the weight.

    Returns
    -------
    float or None
        0 (nothing shared) to 1 (equal); 0 where one is empty, None where both are.
    """
    if not 0 < p < 1:
        raise EvaluationError(f"p of rank-biased overlap lies between 0 and 1, not {p!r}")
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)
    if not n:
        return None
    if not s:
        return 0.0
    common = 0  # X_d: documents in both prefixes of length d
    in_short: set[str] = set()
    in_long: set[str] = set()
    at_s = 0
    total = tail = 0.0
    for d in range(1, n + 1):
        new = long[d - 1]
        in_long.add(new)
        common += new in in_short
        if d <= s:
            other = short[d - 1]
            in_short.add(other)
            common += other in in_long
        if d == s:
            at_s = common
        total += common / d * p**d
        if d > s:
            tail += at_s * (d - s) / (s * d) * p**d
    end = (common - at_s) / n + at_s / s
    # Bounded: sums of rounded terms may pass 1 by a last digit.
    return min(1.0, (1 - p) / p * (total + tail) + end * p**n)


def tau(a: Ranking, b: Ranking) -> tuple[float | None, int]:
    """Kendall's tau-b over the documents in both rankings, by score, so that ties are ties.

    Returns
    -------
    tau : float or None
        -1 to 1; None under two common documents, or where one ranking ties them all.
    common : int
        Documents in both.

    Raises
    ------
    MissingDependencyError
    """
    try:
        from scipy.stats import kendalltau
    except ImportError as error:
        raise MissingDependencyError(
            f"Kendall's tau needs {error.name}, which is not installed: "
            "pip install 'knowledge-nb[evaluation]'"
        ) from error
    others = dict(b)
    pairs = [(score, others[docno]) for docno, score in a if docno in others]
    if len(pairs) < 2:
        return None, len(pairs)
    if any(len({pair[side] for pair in pairs}) == 1 for side in (0, 1)):
        return None, len(pairs)
    return float(kendalltau(*zip(*pairs, strict=True), variant="b").statistic), len(pairs)
