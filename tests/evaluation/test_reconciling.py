"""Rankings against the complete set."""

from __future__ import annotations

import ir_measures
import pandas as pd
import pytest

import knowledge_nb as knb


def test_every_document_of_the_set_is_there_with_its_ranks(vectors_kb: knb.KnowledgeBase) -> None:
    """The set of `enumerate`; ranks those of runs; recall that of ir-measures at any k."""
    query = "temperature readings"
    found = vectors_kb.reconcile(query, k=10)
    in_set = found[found["in_set"]]
    assert set(in_set["path"]) == set(vectors_kb.enumerate(query)["path"])
    for tier in ("lexical", "vector"):
        run = vectors_kb.run({"q": query}, mode=tier)
        rank = dict(zip(run["docno"], run["rank"], strict=True))
        for path, given in zip(found["path"], found[f"{tier}_rank"], strict=True):
            assert rank.get(path) == (None if pd.isna(given) else given)
        for k in (1, 5, 10, 30, 100):
            theirs = ir_measures.calc_aggregate(
                [ir_measures.R @ k],
                {"q": dict.fromkeys(in_set["path"], 1)},
                {"q": {docno: -float(n) for docno, n in rank.items()}},
            )
            assert found.recall(k, tier) == pytest.approx(theirs[ir_measures.R @ k])
    curve = found.curve
    last = curve[curve["tier"] == "fused"].iloc[-1]
    assert (last["found"], last["recall"]) == (len(in_set), 1.0)


def test_ranked_documents_outside_the_set_say_why(vectors_kb: knb.KnowledgeBase) -> None:
    """Those of any tier's first k: none of the words, not all of them, or excluded."""
    found = vectors_kb.reconcile("temperature readings -calibration", k=10)
    outside = found[~found["in_set"]]
    assert len(outside) > 0
    for why, held in zip(outside["why"], outside["words_held"], strict=True):
        expected = {0: "holds none of the words", 1: "lacks ", 2: "excluded by a minus"}[held]
        assert why.startswith(expected)
    assert {0, 2} <= set(outside["words_held"])
    for _, row in outside.iterrows():
        ranks = [row[f"{tier}_rank"] for tier in ("lexical", "vector", "fused")]
        assert min(rank for rank in ranks if not pd.isna(rank)) <= 10


def test_a_document_without_a_rank_has_a_reason(vectors_kb: knb.KnowledgeBase) -> None:
    """A window keeps documents of the set out of the fused ranking, and that is said."""
    found = vectors_kb.reconcile("temperature", k=5, window=5)
    out = found[found["in_set"] & found["fused_rank"].isna()]
    assert len(out) > 0
    assert set(out["why"]) == {"no fused rank: outside the window of every tier that is fused"}


def test_an_empty_set_has_no_recall(small: knb.KnowledgeBase) -> None:
    """Nothing over nothing is no number; what ranks is still shown."""
    found = small.reconcile("lantern bread")
    assert found.result.matched == 0
    assert found.recall() is None
    assert list(found["why"].str.startswith("lacks")) == [True] * len(found)
    assert found.curve.empty
    with pytest.raises(knb.EvaluationError, match="no vector ranking"):
        found.recall(5, "vector")


def test_no_answer_is_no_frame(small: knb.KnowledgeBase, tmp_path: object) -> None:
    """As for `enumerate`."""
    with pytest.raises(knb.QueryEmptyError):
        small.reconcile("a")
    with pytest.raises(knb.QuerySyntaxError):
        small.reconcile("a OR b")
    with knb.open(f"{tmp_path}/none") as kb, pytest.raises(knb.IndexNotBuiltError):
        kb.reconcile("bread")
    with pytest.raises(knb.EvaluationError):
        small.reconcile("bread", k=0)


@pytest.mark.parametrize("k", [1, 5, 10, 60])
def test_what_is_said_of_the_first_k_is_what_a_run_gives(
    vectors_kb: knb.KnowledgeBase, k: int
) -> None:
    """Fused with the window of a search, not with the whole rankings."""
    differs = False
    for query in ("temperature readings", "vault", "frost", "store -loan"):
        found = vectors_kb.reconcile(query, k=k)
        in_set = set(found[found["in_set"]]["path"])
        for tier in ("lexical", "vector", "fused"):
            run = vectors_kb.run({"q": found.result.asked}, mode=tier, k=k)
            assert found.result.found(k, tier) == len(in_set & set(run["docno"]))
        shown = found[found["fused_rank"] <= k].sort_values("fused_rank")["path"]
        assert list(shown) == list(run["docno"])
        whole = vectors_kb.reconcile(query, k=k, window=10_000)
        differs |= list(whole["fused_rank"]) != list(found["fused_rank"])
        assert any(f"those of a run with k={k} (window" in note for note in found.result.notes)
    assert differs == (k < 60)
