"""Comparison without judgements."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import knowledge_nb as knb
from knowledge_nb.evaluation.comparing import compare_runs
from knowledge_nb.evaluation.overlap import jaccard, overlap, rbo, tau
from knowledge_nb.evaluation.runs import Outcome, RunRecord
from tests.evaluation.conftest import TOPICS


def by_definition(a: list[str], b: list[str], p: float, deep: int = 4000) -> float:
    """Rank-biased overlap of two finite lists whose agreement stays as it was at their end.

    Webber et al., equation 32, is that sum: beyond the shorter list its unseen documents are taken
    to agree with the longer one as before, beyond the longer one both.
    """
    s, n = sorted((len(a), len(b)))
    shorter, longer = sorted((a, b), key=len)
    at_s = len(set(shorter) & set(longer[:s]))
    total, agreement = 0.0, 0.0
    for d in range(1, deep + 1):
        if d <= s:
            agreement = len(set(shorter[:d]) & set(longer[:d])) / d
        elif d <= n:
            agreement = len(set(shorter) & set(longer[:d])) / d + at_s * (d - s) / (s * d)
        else:
            agreement = (len(set(shorter) & set(longer)) - at_s) / n + at_s / s
        total += agreement * p ** (d - 1)
    return (1 - p) * total


lists = st.permutations([str(n) for n in range(9)]).flatmap(
    lambda order: st.integers(1, 9).map(lambda size: list(order[:size]))
)


@given(lists, lists, st.sampled_from([0.5, 0.9, 0.98]))
def test_rbo_is_its_definition_summed(a: list[str], b: list[str], p: float) -> None:
    """Of even and uneven lists; symmetric; between 0 and 1."""
    found = rbo(a, b, p)
    assert found == pytest.approx(by_definition(a, b, p), abs=1e-9)
    assert found == rbo(b, a, p)
    assert 0 <= found <= 1  # type: ignore[operator]


def test_rbo_worked_by_hand() -> None:
    """a b against b a, p = 0.9: agreements 0, 1, 1 ...: 1 - (1 - p) = 0.9; equal 1, disjoint 0."""
    assert rbo(["a", "b"], ["b", "a"]) == pytest.approx(0.9)
    assert rbo(["a", "b"], ["a", "b"]) == pytest.approx(1.0)
    assert rbo(["a"], ["b"]) == 0.0
    assert rbo([], ["b"]) == 0.0
    assert rbo([], []) is None
    with pytest.raises(knb.EvaluationError):
        rbo(["a"], ["a"], 1.0)


def test_overlap_jaccard_and_tau_worked_by_hand() -> None:
    """a b c d against b a x: two of the longer list's four, two of five; one pair turned round."""
    a, b = ["a", "b", "c", "d"], ["b", "a", "x"]
    assert overlap(a, b) == 2 / 4
    assert jaccard(a, b) == 2 / 5
    assert (overlap([], []), jaccard([], [])) == (None, None)
    one = (("a", 4.0), ("b", 3.0), ("c", 2.0), ("d", 1.0))
    two = (("b", 4.0), ("a", 3.0), ("c", 2.0), ("x", 1.0))
    assert tau(one, two) == (pytest.approx(1 / 3), 3)  # of three pairs two agree, one does not
    tied = (("a", 3.0), ("b", 3.0), ("c", 2.0))
    # 2 pairs agree, none disagree, one is tied in one ranking: 2 / sqrt(3 * 2)
    assert tau(one, tied) == (pytest.approx(2 / math.sqrt(6)), 3)
    assert tau(one[:1], two) == (None, 1)
    assert tau(one, (("a", 1.0), ("b", 1.0))) == (None, 2)


def run(name: str, **rankings: str) -> RunRecord:
    """A run of one-letter documents; `_` of a name is a topic without hits."""
    made = {
        qid: tuple((docno, float(-rank)) for rank, docno in enumerate(order.strip("_")))
        for qid, order in rankings.items()
    }
    outcomes = tuple(Outcome(qid, f"query {qid}", "ok") for qid in rankings)
    return RunRecord(name, made, outcomes)


def test_moves_new_and_lost_worked_by_hand() -> None:
    """Top 3 of abcde against ebadc: e comes in, c goes out, b gains one, a loses two."""
    found = compare_runs(run("x", q="abcde"), run("y", q="ebadc"), k=3)
    row = found.queries[0]
    assert (row.new, row.lost, row.overlap, row.common) == (1, 1, 2 / 3, 5)
    assert (row.up, row.up_by, row.down, row.down_by) == ("e", 4, "a", 2)
    assert [(m.docno, m.rank_a, m.rank_b, m.change, m.move) for m in found.moves()] == [
        ("a", 1, 3, -2, "down"),
        ("e", 5, 1, 4, "new"),
        ("b", 2, 2, 0, "same"),
        ("c", 3, 5, -2, "lost"),
        ("d", 4, 4, 0, "below"),
    ]


def test_queries_are_sorted_by_difference_and_totalled() -> None:
    """Most different first; topics without any hit last, with no value; counts beside the means."""
    a = run("x", same="abc", none="_", other="abc", half="abcd", one="abc")
    b = run("y", same="abc", none="_", other="xyz", half="abxy", one="_")
    found = compare_runs(a, b, k=3)
    assert [row.qid for row in found.queries] == ["other", "one", "half", "same", "none"]
    assert found.totals["queries"] == 5
    assert found.totals["without_hits"] == 1
    assert found.totals["same_set"] == 1
    assert found.totals["other_first"] == 2
    assert found.totals["jaccard"] == pytest.approx((0 + 0 + 2 / 4 + 1) / 4)
    none = found.queries[-1]
    assert (none.overlap, none.jaccard, none.rbo, none.tau) == (None, None, None, None)


def test_topics_of_one_run_alone_are_left_out_and_said() -> None:
    """And equal qids of different queries are warned of."""
    a, b = run("x", p="ab", q="ab"), run("y", q="ab", r="ab")
    found = compare_runs(a, b)
    assert [row.qid for row in found.queries] == ["q"]
    assert "left out: 2" in found.notes[0]
    other = RunRecord("z", b.rankings, (Outcome("q", "another query", "ok"),))
    assert "different queries under the same qid: q" in compare_runs(a, other).notes[-1]
    with pytest.raises(knb.EvaluationError, match="no topic in common"):
        compare_runs(a, run("w", s="ab"))


def test_modes_are_run_as_a_search_for_k_ranks(vectors_kb: knb.KnowledgeBase) -> None:
    """The first k documents are those that a search's window gives."""
    topics = {"t": "how long are temperature readings kept"}
    found = vectors_kb.compare(topics, a="lexical", b="fused", k=10)
    for side, mode in ((found.result.a, "lexical"), (found.result.b, "fused")):
        direct = vectors_kb.run(topics, mode=mode, k=10).result
        assert side.rankings["t"][:10] == direct.rankings["t"]
    assert list(found.columns[:6]) == ["qid", "query", "overlap", "jaccard", "rbo", "tau"]
    assert set(found.moves["move"]) <= {"new", "lost", "up", "down", "same", "below"}


def test_a_run_of_another_tool_needs_no_topics(vectors_kb: knb.KnowledgeBase) -> None:
    """A mode takes the topics of the run beside it; two files have theirs."""
    ours = vectors_kb.run(TOPICS, mode="lexical")
    theirs = {"t01": {"policies/retention.md": 1.0}}
    found = vectors_kb.compare(a=ours, b="vector")
    assert len(found) == 40
    beside = vectors_kb.compare(a=theirs, b=ours)
    assert len(beside) == 40
    assert any("no row for 39 topics" in note for note in beside.result.notes)
    with pytest.raises(knb.EvaluationError, match="topics are needed"):
        vectors_kb.compare(a=theirs, b="vector")
    with pytest.raises(knb.EvaluationError, match="depth at least k"):
        vectors_kb.compare(TOPICS, k=10, depth=5)
