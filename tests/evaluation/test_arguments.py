"""What is handed over wrongly: one readable error of our tree, never a traceback or a number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation.evaluating import evaluate
from knowledge_nb.evaluation.measures import parse_measures
from knowledge_nb.evaluation.qrels import read_qrels
from knowledge_nb.evaluation.runs import as_run, named_runs
from knowledge_nb.evaluation.topics import read_topics
from tests.evaluation.conftest import QRELS, TOPICS

NA = pd.NA


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nDCG@0", "1 to 1,000,000, not 0"),
        ("P@0", "1 to 1,000,000, not 0"),
        ("Judged@0", "1 to 1,000,000, not 0"),
        ("P@99999999999", "not 99999999999"),
        ("nDCG@1.5", "not 1.5"),
        ("R@10.0", "not 10.0"),
        ("AP(rel=0)", "rel of measure"),
        ("AP(rel=99999999999)", "rel of measure"),
        ("IPrec@1.5", "a number from 0 to 1"),
        ("P", "write P@10"),
        ("R", "write R@10"),
        ("Success", "write Success@10"),
        ("IPrec", "write IPrec@0.5"),
        ("INST", "needs max_rel"),
        ("P(foo=1)@5", "no parameter 'foo'"),
        ('nDCG(dcg="foo")@5', "dcg of measure"),
        ("nDCG(gains=5)@5", "gains of measure"),
        ("", "knows no measure ''"),
        ("nDCG@10,AP", "knows no measure"),
        (5, "measures are names, not 5"),
        (None, "measures are names, not None"),
        ([5], "knows no measure 5"),
        ([None], "knows no measure None"),
    ],
)
def test_a_measure_is_checked_before_a_package_sees_it(name: Any, said: str) -> None:
    """Some of these end the process in trec_eval, others raise whatever comes."""
    with pytest.raises(knb.EvaluationError, match=said):
        parse_measures(name)


def test_a_cut_at_zero_does_not_end_the_process() -> None:
    """It did: trec_eval calls exit."""
    script = (
        "import knowledge_nb as knb\n"
        "from knowledge_nb.evaluation.evaluating import evaluate\n"
        "try:\n"
        "    evaluate({'q': {'a': 1.0}}, {'q': {'a': 1}}, ['P@0'])\n"
        "except knb.EvaluationError:\n"
        "    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n")


def test_a_value_that_a_package_does_not_give_is_no_zero() -> None:
    """Accuracy is silent on a topic whose relevant document was not found."""
    run = {"q": {"a": 2.0, "b": 1.0}, "r": {"b": 1.0, "c": 0.5}}
    qrels = {"q": {"a": 0, "b": 1}, "r": {"a": 1}}
    with pytest.raises(knb.EvaluationError, match="no value of Accuracy for topic r"):
        evaluate(run, qrels, ["Accuracy"])
    with pytest.raises(knb.EvaluationError, match="cannot compute Accuracy"):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, ["Accuracy"])


def frame(label: Any) -> pd.DataFrame:
    """One judgement."""
    return pd.DataFrame({"qid": ["q"], "docno": ["a"], "label": pd.Series([label], dtype=object)})


@pytest.mark.parametrize(
    "source",
    [
        {"q": {"a": float("nan")}},
        {"q": {"a": None}},
        {"q": {"a": float("inf")}},
        {"q": {"a": NA}},
        {"q": {"a": "1"}},
        {"q": {"a": 0.5}},
        {"q": {"a": [1]}},
        {"q": ["a"]},
        {"q": "a"},
        {None: {"a": 1}},
        {"q": {None: 1}},
        {"q": {"": 1}},
        frame(np.nan),
        frame(NA),
        frame("1"),
        [("q", "a")],
        [("q", "a", 1, 0, 5)],
        ["q 0 a 1"],
        [5],
        5,
        None,
        object(),
    ],
    ids=lambda source: type(source).__name__,
)
def test_what_is_no_judgement_is_refused(source: Any) -> None:
    """It names the value; nothing is read as a grade."""
    with pytest.raises(knb.EvaluationError, match="qrels"):
        read_qrels(source)


def test_grades_come_as_any_whole_number() -> None:
    """numpy's, pandas', 1.0 and True; ir-measures' four fields."""
    for grade in (1, np.int64(1), np.float32(1), 1.0, True):
        assert read_qrels({"q": {"a": grade}}).grades == {"q": {"a": 1}}
    assert read_qrels([("q", "a", 1, "0")]).grades == {"q": {"a": 1}}
    assert read_qrels({1: {2: 3}}).grades == {"1": {"2": 3}}
    with pytest.raises(knb.EvaluationError, match="has the grades -1 and 1"):
        read_qrels([("q", "a", -1), ("q", "a", 1)])


ROWS = {"qid": ["q", "q"], "docno": ["a", "b"], "score": [1.0, 2.0]}


@pytest.mark.parametrize(
    "source",
    [
        None,
        5,
        object(),
        (row for row in ROWS),
        [("q", "a", 1.0)],
        ["q", "a"],
        {"q": {"a": "x"}},
        {"q": {"a": None}},
        {"q": {"a": NA}},
        {"q": ["a", "b"]},
        {None: {"a": 1.0}},
        pd.DataFrame({**ROWS, "score": ["abc", "1"]}),
        pd.DataFrame({**ROWS, "score": [1.0, np.nan]}),
        pd.DataFrame({**ROWS, "rank": [1, np.nan]}),
        pd.DataFrame({**ROWS, "rank": ["a", "b"]}),
        pd.DataFrame({**ROWS, "qid": ["q", None]}),
        pd.DataFrame({**ROWS, "docno": ["a", np.nan]}),
    ],
    ids=lambda source: type(source).__name__,
)
def test_what_is_no_run_is_refused(source: Any) -> None:
    """By name, whether alone or in a list."""
    with pytest.raises(knb.EvaluationError):
        named_runs(source)
    with pytest.raises(knb.EvaluationError):
        named_runs([source])


def test_scores_come_as_any_number() -> None:
    """Single precision is a number too, and a dict of them one run."""
    found = named_runs({"q": {"a": np.float32(1), "b": np.int64(2)}})
    assert found["run"].rankings == {"q": (("b", 2.0), ("a", 1.0))}


def test_a_score_beyond_single_precision_is_refused_where_it_matters(tmp_path: Path) -> None:
    """trec_eval would hold infinity; as ranked, nothing is lost."""
    run = {"q": {"a": 1e39, "b": 1e38}}
    assert evaluate(run, {"q": {"a": 1}}, ["RR"]).means[0].mean == 1.0
    with pytest.raises(knb.EvaluationError, match=r"1e\+39 is beyond single precision"):
        evaluate(run, {"q": {"a": 1}}, ["RR"], ties="trec_eval")
    with pytest.raises(knb.EvaluationError, match="single precision"):
        knb.Run.of(as_run(run)).to_trec(tmp_path / "x.run")


def test_topics_with_ir_measures_names_are_read(tmp_path: Path) -> None:
    """A header is no topic called "query_id"."""
    file = tmp_path / "t.tsv"
    for header in ("qid\tquery", "query_id\tquery", "query_id\ttext", "QID\tQuery"):
        file.write_text(f"{header}\nt1\tfrost\n", "utf-8")
        assert read_topics(file) == {"t1": "frost"}
    named = pd.DataFrame({"query_id": ["t1"], "text": ["frost"]})
    assert read_topics(named) == {"t1": "frost"}


@pytest.mark.parametrize("qid", [None, float("nan"), NA, "", "  ", ["t"]], ids=repr)
def test_a_topic_without_a_qid_is_refused(qid: Any) -> None:
    """It would be a topic called "nan"."""
    with pytest.raises(knb.EvaluationError, match="qid"):
        read_topics(pd.DataFrame({"qid": ["t1", qid], "query": ["frost", "ice"]}))
    with pytest.raises(knb.EvaluationError, match="qid"):
        read_topics([("t1", "frost"), (qid, "ice")])


def test_a_missing_query_is_an_empty_topic() -> None:
    """Whatever stands for nothing there."""
    for nothing in (None, float("nan"), NA):
        assert read_topics([("t", nothing)]) == {"t": ""}


ASK: dict[str, Any] = {
    "search": lambda kb, **o: kb.search(o.pop("query", "frost"), **o),
    "run": lambda kb, **o: kb.run(o.pop("topics", {"t": "frost"}), **o),
    "evaluate": lambda kb, **o: kb.evaluate({"t": {"a": 1.0}}, {"t": {"a": 1}}, ["RR"], **o),
    "compare": lambda kb, **o: kb.compare({"t": "frost"}, **o),
    "explain": lambda kb, **o: kb.explain(
        o.pop("query", "frost"), o.pop("target", "policies/retention.md"), **o
    ),
    "reconcile": lambda kb, **o: kb.reconcile(o.pop("query", "frost"), **o),
    "fusion_grid": lambda kb, **o: kb.fusion_grid(
        TOPICS, QRELS, **{"k": (60,), "window": (50,), "weights": (0.5,), **o}
    ),
    "pool": lambda kb, **o: kb.pool({"t": {"a": 1.0}}, **o),
}
FUSING = ("search", "run", "explain", "reconcile")
WRONG: list[tuple[str, dict[str, Any]]] = [
    *((verb, {"weights": value}) for verb in FUSING for value in (5, (0, 0), ("1", "1"), {1, 2})),
    *((verb, {"window": value}) for verb in FUSING for value in (1.5, "a", True)),
    *((verb, {"rrf_k": value}) for verb in FUSING for value in ("a", True, float("nan"))),
    *((verb, {"under": value}) for verb in FUSING for value in (5, None)),
    *((verb, {"query": value}) for verb in ("search", "explain") for value in (5, None, ["x"])),
    *((verb, {"k": value}) for verb in (*FUSING, "compare") for value in ("a", 1.5, True)),
    *((verb, {"bogus": 1}) for verb in ASK if verb != "pool"),
    ("search", {"timeout": "a"}),
    ("search", {"timeout": True}),
    ("run", {"topics": None}),
    ("run", {"topics": 5}),
    ("run", {"fusion": (1, 1)}),
    ("run", {"fusion": {"weight": (1, 1)}}),
    ("run", {"fusion": {"weights": (1, 1)}, "weights": (1, 2)}),
    ("run", {"save": 5}),
    ("run", {"name": 5}),
    ("run", {"docno": 5}),
    ("evaluate", {"seed": "a"}),
    ("evaluate", {"seed": -1}),
    ("compare", {"depth": "a"}),
    ("compare", {"b": None}),
    ("explain", {"mode": "x"}),
    ("explain", {"common_terms": "x"}),
    ("explain", {"k": 20_000}),
    ("explain", {"target": None}),
    ("fusion_grid", {"window": 50}),
    ("fusion_grid", {"k": 60}),
    ("fusion_grid", {"weights": 0.5}),
    ("fusion_grid", {"weights": "ab"}),
    ("fusion_grid", {"weights": (None,)}),
    ("fusion_grid", {"weights": ((1, 2, 3),)}),
    ("fusion_grid", {"weights": ((0, 0),)}),
    ("fusion_grid", {"window": (1.5,)}),
    ("fusion_grid", {"window": (None,)}),
    ("fusion_grid", {"k": ("a",)}),
    ("fusion_grid", {"seed": "x"}),
    ("fusion_grid", {"measure": "NumRet"}),
    ("fusion_grid", {"measure": ["AP", "RR"]}),
    ("pool", {"depth": "a"}),
    ("pool", {"depth": True}),
]


@pytest.mark.parametrize(("verb", "options"), WRONG, ids=lambda value: str(value)[:40])
def test_an_argument_without_a_meaning_is_refused(
    vectors_kb: knb.KnowledgeBase, verb: str, options: dict[str, Any]
) -> None:
    """In our words, with the value or its name."""
    with pytest.raises((knb.QueryError, knb.EvaluationError)) as refused:
        ASK[verb](vectors_kb, **options)
    option, value = next(iter(options.items()))
    if option not in ("topics", "fusion", "measure"):
        inner = value[0] if isinstance(value, tuple) and verb == "fusion_grid" else value
        assert option in str(refused.value) or repr(inner) in str(refused.value)
