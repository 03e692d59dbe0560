"""Measures: ir-measures' numbers, held against cases worked by hand and against trec_eval."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation.evaluating import evaluate
from knowledge_nb.evaluation.measures import parse_measures
from knowledge_nb.evaluation.qrels import read_qrels
from knowledge_nb.evaluation.runs import Outcome, RunRecord
from tests.evaluation.conftest import FILES, QRELS, TOPICS, fill

QRELS_BY_HAND = {"1": {"a": 3, "b": 0, "c": 1}, "2": {"a": 1}, "4": {"x": 0}}
RUN_BY_HAND = {"1": {"b": 9.0, "a": 8.0, "z": 7.0, "c": 6.0}, "3": {"a": 1.0}}


def test_a_case_worked_by_hand() -> None:
    """Ranking b a z c with grades a 3, b 0, c 1: relevant at ranks 2 and 4.

    AP = (1/2 + 2/4) / 2; RR = 1/2; P@2 = 1/2; R@2 = 1/2; nDCG@4 with trec_eval's linear gains =
    (3/log2(3) + 1/log2(5)) / (3 + 1/log2(3)); Judged@2 = 1 and Judged@4 = 3/4.
    """
    found = evaluate(
        {"r": RUN_BY_HAND}, QRELS_BY_HAND, ["AP", "RR", "P@2", "R@2", "nDCG@4"]
    ).values["r"]
    ideal = 3 + 1 / math.log2(3)
    assert found["AP"]["1"] == pytest.approx(0.5)
    assert found["RR"]["1"] == pytest.approx(0.5)
    assert found["P@2"]["1"] == pytest.approx(0.5)
    assert found["R@2"]["1"] == pytest.approx(0.5)
    dcg = 3 / math.log2(3) + 1 / math.log2(5)
    assert found["nDCG@4"]["1"] == pytest.approx(dcg / ideal, abs=1e-6)
    assert found["Judged@2"]["1"] == 1.0
    assert found["Judged@4"]["1"] == 0.75


def test_topics_without_judgement_or_hits_stay_as_rows(small: knb.KnowledgeBase) -> None:
    """Judged and without hits: 0, and no Judged@k. Hits and no judgement: NA, and in no mean."""
    frame = small.evaluate({"r": RUN_BY_HAND}, QRELS_BY_HAND, ["AP", "P@5"])
    rows = frame.per_query.set_index("qid")
    assert list(rows.index) == ["1", "3", "2", "4"]
    assert rows.loc["2", "AP"] == 0.0
    assert math.isnan(rows.loc["2", "Judged@5"])
    assert math.isnan(rows.loc["3", "AP"])
    assert rows.loc["4", "AP"] == 0.0
    mean = frame.set_index("measure").loc["AP"]
    assert mean["topics"] == 3
    assert mean["mean"] == pytest.approx(0.5 / 3)
    notes = " ".join(frame.result.notes)
    assert "Without a judgement, so NA and in no mean: 1 topic (3)." in notes
    assert "Without a relevant document, so 0 for every run: 1 topic (4)." in notes
    said = "Run r has no row for 2 judged topics (2, 4), which count 0: not asked, or nothing found"
    assert said in notes


def test_a_run_of_ours_is_asked_only_for_its_own_topics(small: knb.KnowledgeBase) -> None:
    """Judged topics that were not asked are counted, and are no zeros."""
    run = small.run({"q": "bread", "n": "zebra"}, mode="lexical")
    found = small.evaluate(run, {"q": {"d.md": 1}, "n": {"a.md": 1}, "x": {"a.md": 1}}, "AP")
    assert found.result.qids == ("q", "n")
    assert found["mean"][0] == 0.5
    assert "Judged but not asked, and left out: 1 topic." in found.result.notes


def test_judged_documents_that_the_index_has_not_are_said(small: knb.KnowledgeBase) -> None:
    """They count as missed, by trec_eval's rules, and the note names them."""
    run = small.run({"q": "bread"}, mode="lexical")
    found = small.evaluate(run, {"q": {"d.md": 1, "gone.md": 1, "old.md": 0}}, ["R@10"])
    assert found["mean"][0] == 0.5
    assert (
        "Judged but not in the index, so missed by every run: 2 documents (gone.md, old.md)."
        in found.result.notes
    )
    by_stem = small.run({"q": "bread"}, mode="lexical", docno="stem")
    found = small.evaluate(by_stem, {"q": {"d": 1}}, ["R@10"])
    assert not any("not in the index" in note for note in found.result.notes)


def test_ties_are_taken_as_ranked_or_as_trec_eval_takes_them() -> None:
    """trec_eval puts equal scores, in single precision, in the order of names from z to a."""
    import pytrec_eval

    run = {"q": {"b": 1.0, "a": 1.0, "c": 1.0 + 1e-12, "d": 0.5}}
    names = ["c", "b", "a", "d"]  # by score; b and a tie, as given
    for judged in ("a", "b", "c", "d"):
        qrels = {"q": {judged: 1}}
        ranked = evaluate({"r": run}, qrels, ["RR"])
        assert ranked.values["r"]["RR"]["q"] == pytest.approx(1 / (1 + names.index(judged)))
        theirs = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
        as_theirs = evaluate({"r": run}, qrels, ["RR"], ties="trec_eval")
        assert as_theirs.values["r"]["RR"]["q"] == pytest.approx(theirs["q"]["recip_rank"])
    assert "1 pair of equal scores, taken as the run ranks them." in ranked.notes[-1]


def test_numbers_are_those_of_trec_eval_on_our_own_file(
    vectors_kb: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """Through a TREC file and pytrec_eval, topic by topic; means are ir-measures' own."""
    import ir_measures
    import pytrec_eval

    run = vectors_kb.run(TOPICS, mode="fused")
    found = vectors_kb.evaluate(run, QRELS, ["nDCG@10", "AP", "R@100"]).result.values["fused"]
    file = run.to_trec(tmp_path / "x.run")
    with file.open(encoding="utf-8") as lines, QRELS.open(encoding="utf-8") as judged:
        theirs = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(judged), {"ndcg_cut_10", "map", "recall_100"}
        ).evaluate(pytrec_eval.parse_run(lines))
    for ours, name in (("nDCG@10", "ndcg_cut_10"), ("AP", "map"), ("R@100", "recall_100")):
        for qid, values in theirs.items():
            assert found[ours][qid] == pytest.approx(values[name], abs=1e-9)
    means = ir_measures.calc_aggregate(
        parse_measures("nDCG@10"),
        ir_measures.read_trec_qrels(str(QRELS)),
        ir_measures.read_trec_run(str(file)),
    )
    assert means[ir_measures.nDCG @ 10] == pytest.approx(
        sum(found["nDCG@10"].values()) / len(found["nDCG@10"])
    )


def test_measures_of_any_package_see_the_same_names() -> None:
    """gdeval takes only numbers for qids; ours may be any text."""
    found = evaluate({"r": {"q 1": {"a b": 1.0}}}, {"q 1": {"a b": 1}}, ["ERR@5", "Success@1"])
    assert found.values["r"]["Success@1"]["q 1"] == 1.0
    assert found.values["r"]["ERR@5"]["q 1"] > 0


@pytest.mark.parametrize(
    ("measures", "said"),
    [(["nonsense@10"], "knows no measure"), ([], "no measure"), (["RBP"], "cannot compute")],
)
def test_what_ir_measures_does_not_know_is_an_error(measures: list[str], said: str) -> None:
    """In its own words, with ours around."""
    with pytest.raises(knb.EvaluationError, match=said):
        evaluate({"r": RUN_BY_HAND}, QRELS_BY_HAND, measures)


def test_qrels_of_other_topics_are_an_error() -> None:
    """A mean of nothing is no result."""
    run = RunRecord("r", {"9": (("a", 1.0),)}, (Outcome("9", "x", "ok"),))
    with pytest.raises(knb.EvaluationError, match="qids differ"):
        evaluate(run, QRELS_BY_HAND, ["AP"])


def test_the_baseline_must_be_there() -> None:
    """Named runs only."""
    with pytest.raises(knb.EvaluationError, match="no run is called 'b'; there are r"):
        evaluate({"r": RUN_BY_HAND}, QRELS_BY_HAND, ["AP"], baseline="b")


def test_two_indexes_are_compared_without_names_of_documents(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """Runs of two stores; what one index lacks cannot be told for both, so nothing is claimed."""
    with knb.open(tmp_path / "other") as other:
        other.index(fill(tmp_path / "elsewhere", FILES))
        runs = {"here": small.run({"q": "tin"}), "there": other.run({"q": "tin"})}
    found = small.evaluate(runs, {"q": {"b.md": 1, "gone.md": 1}}, ["R@5"])
    assert list(found.table["R@5"]) == [0.5, 0.5]
    assert not any("not in the index" in note for note in found.result.notes)


def test_measures_do_not_change_each_other(vectors_kb: knb.KnowledgeBase) -> None:
    """Alone, together, in any order: the same numbers, and those of bare ir-measures."""
    import ir_measures

    run = vectors_kb.run(TOPICS, mode="lexical").result
    names = [
        "nDCG@10", "nDCG(gains={0:0,1:1,2:3,3:7})@10", "nDCG(gains={0:0,1:0,2:1,3:1})@10", "AP",
        "AP(rel=2)", "P@5", "P(judged_only=True)@5", "IPrec@0.1", "IPrec@0.101", "SetF(beta=2.0)",
        "SetF", "Bpref", "infAP", "nDCG", "Judged@10",
    ]  # fmt: skip
    together = evaluate(run, QRELS, names)
    turned = evaluate(run, QRELS, names[::-1])
    qrels = read_qrels(QRELS).grades
    scored = {
        qid: {docno: float(-rank) for rank, (docno, _) in enumerate(ranking)}
        for qid, ranking in run.rankings.items()
        if ranking
    }
    for name in names:
        measure = ir_measures.parse_measure(name)
        label = str(measure)
        assert together.values["lexical"][label] == turned.values["lexical"][label]
        alone = evaluate(run, QRELS, [name])
        assert alone.values["lexical"][label] == together.values["lexical"][label]
        if label.startswith("Judged"):
            continue
        theirs = ir_measures.calc_aggregate([measure], qrels, scored)[measure]
        found = next(mean.mean for mean in together.means if mean.measure == label)
        assert found == pytest.approx(theirs, abs=1e-12)
    means = {mean.measure: mean.mean for mean in together.means}
    assert means["nDCG@10"] != means["nDCG(gains={2:3,3:7})@10"]


def test_negative_grades_reach_the_measure_that_uses_them() -> None:
    """infAP tells the pool from the rest; every other measure is as without them."""
    import ir_measures

    rng = random.Random(4)
    documents = [f"d{n}" for n in range(20)]
    names = ["infAP", "AP", "Bpref", "nDCG@5", "P(judged_only=True)@5", "NumRel"]
    without = []
    for _ in range(20):
        qrels = {"q": {d: rng.choice([-2, -1, 0, 1, 2]) for d in rng.sample(documents, 12)}}
        qrels["q"]["d0"] = 1
        run = {"q": {d: rng.random() for d in rng.sample(documents, 12)}}
        found = evaluate(run, qrels, names).values["run"]
        for name in names:
            (theirs,) = ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run)
            assert found[name]["q"] == pytest.approx(theirs.value, abs=1e-12)
        judged = {"q": {d: grade for d, grade in qrels["q"].items() if grade >= 0}}
        without.append(evaluate(run, judged, names).values["run"]["infAP"] == found["infAP"])
    assert not all(without)


def test_counts_are_summed_as_ir_measures_sums_them(vectors_kb: knb.KnowledgeBase) -> None:
    """Of NumRet, NumRel and NumQ the total is shown, without an interval, and said."""
    import ir_measures

    run = vectors_kb.run(TOPICS, mode="lexical")
    names = ["NumRet", "NumRel", "NumQ", "NumRet(rel=1)", "AP"]
    found = vectors_kb.evaluate(run, QRELS, names)
    scored = {q: dict(ranking) for q, ranking in run.result.rankings.items() if ranking}
    theirs = ir_measures.calc_aggregate(
        [ir_measures.parse_measure(name) for name in names], read_qrels(QRELS).grades, scored
    )
    for measure, value in theirs.items():
        row = found[found["measure"] == str(measure)].iloc[0]
        if str(measure) == "AP":
            assert not math.isnan(row["low"])
        else:
            assert (row["mean"], math.isnan(row["low"])) == (value, True)
    assert any(note.startswith("Summed over the topics") for note in found.result.notes)
