"""TREC files: ours read by the real packages, theirs read by us."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import knowledge_nb as knb
from knowledge_nb.evaluation.qrels import read_qrels
from knowledge_nb.evaluation.runs import Ranking, RunRecord
from knowledge_nb.evaluation.trec import (
    decode_docno,
    encode_docno,
    falling_scores,
    read_run,
    single_precision,
    write_judgements,
    write_run,
)
from tests.evaluation.conftest import QRELS

ODD = 'a b\tc\u00a0d\u2028e\x1cf\ufeff/"q" 100% %41.md'
RANKING: Ranking = (("a.md", 2.5), (ODD, 2.5), ("z.md", 2.5), ("b.md", 2.5 - 1e-12), ("c.md", 0.0))
RUN = RunRecord("my run", {"q 1": RANKING, "2": (("a.md", -1.0), ("b.md", -1.0))})


@given(st.text(min_size=1))
def test_encoding_gives_every_name_back(name: str) -> None:
    """No two names collide, and what comes out is one column of one line."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    encoded = encode_docno(name)
    assert decode_docno(encoded) == name
    assert encoded.split() == [encoded]
    assert len(encoded.splitlines()) == 1


def test_plain_names_stay_as_they_are() -> None:
    """A per cent sign alone, an umlaut, a number sign: nothing to encode."""
    for name in ("policies/backup.md", "50%.md", "für#3", "%zz", "氷.md"):
        assert encode_docno(name) == name
    assert encode_docno("a b.md") == "a%20b.md"
    assert encode_docno("%20") == "%2520"
    assert decode_docno("%ff.md") == "%ff.md"  # no UTF-8: a foreign name, left as it is


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_scores_of_a_file_fall_strictly_in_single_precision(scores: list[float]) -> None:
    """So that trec_eval, which knows no ranks, keeps the order; untied scores stay as they are."""
    ranking = tuple((str(n), score) for n, score in enumerate(sorted(scores, reverse=True)))
    found = list(falling_scores(ranking))
    single = [single_precision(score) for score in found]
    assert all(one > two for one, two in itertools.pairwise(single))
    apart = {single_precision(score) for score in scores}
    if len(apart) == len(scores):
        assert found == [score for _, score in ranking]


def test_a_run_comes_back(tmp_path: Path) -> None:
    """Same topics, names and order; scores to single precision."""
    file = write_run(RUN, tmp_path / "x.run")
    back = read_run(file)
    assert back.name == "my run"
    for qid, ranking in RUN.rankings.items():
        assert [docno for docno, _ in back.rankings[qid]] == [docno for docno, _ in ranking]
        for (_, one), (_, two) in zip(back.rankings[qid], ranking, strict=True):
            assert one == pytest.approx(two, rel=1e-6, abs=1e-6)
    assert back.tied == 0


def test_provenance_comes_back_and_only_with_its_own_run(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """A degraded run stays one; a file that was edited is a run made elsewhere."""
    run = small.run({"q": "bread", "n": "zebra"}, mode="lexical", k=5)
    file = run.to_trec(tmp_path / "x.run")
    back = knb.Run.from_trec(file)
    assert back.result.provenance == run.result.provenance
    assert back.result.outcomes == run.result.outcomes
    assert back.result.rankings["n"] == ()
    file.write_text(file.read_text("utf-8") + "q Q0 a.md 2 0.1 lexical\n", "utf-8")
    edited = knb.Run.from_trec(file)
    assert edited.result.provenance is None
    assert "another state" in edited.result.notes[-1]
    Path(f"{file}.json").write_text("[1]", "utf-8")
    assert "no record of a run" in knb.Run.from_trec(file).result.notes[-1]


def test_ir_measures_reads_ours(tmp_path: Path) -> None:
    """Every row, with its qid, name and score."""
    import ir_measures

    rows = list(ir_measures.read_trec_run(str(write_run(RUN, tmp_path / "x.run"))))
    assert [(row.query_id, decode_docno(row.doc_id)) for row in rows] == [
        ("q%201" if qid == "q 1" else qid, docno)
        for qid, ranking in RUN.rankings.items()
        for docno, _ in ranking
    ]
    judged = {("q 1", ODD): 2, ("2", "a.md"): 0}
    file = write_judgements(((q, d, g) for (q, d), g in judged.items()), tmp_path / "qrels.txt")
    found = list(ir_measures.read_trec_qrels(str(file)))
    back = {(decode_docno(f.query_id), decode_docno(f.doc_id)): f.relevance for f in found}
    assert back == judged
    assert read_qrels(file).grades == {"q 1": {ODD: 2}, "2": {"a.md": 0}}


def test_pytrec_eval_reads_ours_in_our_order(tmp_path: Path) -> None:
    """Its parser, and trec_eval's own sorting: reciprocal rank tells where each document stands."""
    import pytrec_eval

    with write_run(RUN, tmp_path / "x.run").open(encoding="utf-8") as file:
        parsed = pytrec_eval.parse_run(file)
    names = {encode_docno(qid): ranking for qid, ranking in RUN.rankings.items()}
    for qid, ranking in names.items():
        for rank, (docno, _) in enumerate(ranking, start=1):
            judged = {qid: {encode_docno(docno): 1}}
            found = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(parsed)
            assert found[qid]["recip_rank"] == pytest.approx(1 / rank)


# ranx compiles with numba, whose import warns of numpy's newer layout under some versions.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_ranx_reads_ours_and_we_read_its(tmp_path: Path) -> None:
    """Both ways, the order kept."""
    ranx = pytest.importorskip("ranx")
    theirs = ranx.Run.from_file(str(write_run(RUN, tmp_path / "x.run")), kind="trec")
    in_order = {
        decode_docno(qid): [decode_docno(d) for d in sorted(found, key=found.__getitem__)[::-1]]
        for qid, found in theirs.to_dict().items()
    }
    assert in_order == {qid: [d for d, _ in ranking] for qid, ranking in RUN.rankings.items()}
    theirs.save(str(tmp_path / "theirs.trec"), kind="trec")
    back = read_run(tmp_path / "theirs.trec")
    assert {q: [d for d, _ in r] for q, r in back.rankings.items()} == in_order


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of packages that it imports
def test_pyterrier_reads_ours_and_we_read_its(tmp_path: Path) -> None:
    """`pt.io` alone, no JVM."""
    pt = pytest.importorskip("pyterrier")
    frame = pt.io.read_results(str(write_run(RUN, tmp_path / "x.run")))
    assert not pt.java.started()
    assert [decode_docno(docno) for docno in frame["docno"]] == [
        docno for ranking in RUN.rankings.values() for docno, _ in ranking
    ]
    assert list(frame["rank"]) == [1, 2, 3, 4, 5, 1, 2]
    pt.io.write_results(frame, str(tmp_path / "theirs.run"))
    back = read_run(tmp_path / "theirs.run")
    assert {q: [d for d, _ in r] for q, r in back.rankings.items()} == {
        qid: [docno for docno, _ in ranking] for qid, ranking in RUN.rankings.items()
    }
    qrels = pt.io.read_qrels(str(QRELS))
    assert read_qrels(qrels).grades == read_qrels(QRELS).grades


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q Q0 a 1 2.0\n", "line 1: 5 columns"),
        ("q Q0 a 1 2.0 t\nq Q0 a 2 1.0 t\n", "'a' stands twice for qid q"),
        ("q Q0 a x 2.0 t\n", "line 1: the rank 'x' is to be a whole number"),
        ("q Q0 a 1 nan t\n", "has the score nan"),
        ("q Q0 a 1 inf t\n", "has the score inf"),
    ],
)
def test_a_broken_run_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """By line, before any number is made of it."""
    file = tmp_path / "x.run"
    file.write_text(text, "utf-8")
    with pytest.raises(knb.EvaluationError, match=said):
        read_run(file)


def test_the_score_decides_over_the_rank_column(tmp_path: Path) -> None:
    """As in trec_eval; ties stand in the order of the rank column, and both are said."""
    file = tmp_path / "x.run"
    file.write_text("q Q0 a 1 1.0 t\nq Q0 b 2 2.0 t\nq Q0 d 4 0.5 t\nq Q0 c 3 0.5 t\n", "utf-8")
    run = read_run(file)
    assert [docno for docno, _ in run.rankings["q"]] == ["b", "a", "c", "d"]
    assert run.notes[0].startswith("The rank column contradicts the scores in 1 topic;")
    assert run.tied == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q 0 a\n", "line 1: 3 columns"),
        ("q 0 a x\n", "a whole number, not 'x'"),
        ("q 0 a 1\nq 0 a 2\n", "has the grades 1 and 2"),
        ("q 0 a -1\n", "no judgement"),
        ("", "no judgement"),
    ],
)
def test_broken_qrels_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """One grade a document and topic."""
    file = tmp_path / "qrels.txt"
    file.write_text(text, "utf-8")
    with pytest.raises(knb.EvaluationError, match=said):
        read_qrels(file)


def test_negative_and_repeated_grades_are_said() -> None:
    """A negative grade is "not judged", as in trec_eval."""
    found = read_qrels([("q", "a", 1), ("q", "a", 1), ("q", "b", -1), ("r", "c", 0)])
    assert found.grades == {"q": {"a": 1}, "r": {"c": 0}}
    assert found.notes == (
        "With a negative grade, so not judged: 1 judgement.",
        "Said more than once in the qrels: 1 judgement.",
    )


def test_the_sidecar_is_json(small: knb.KnowledgeBase, tmp_path: Path) -> None:
    """Readable without us."""
    small.run({"q": "bread"}, mode="lexical").to_trec(tmp_path / "x.run")
    record = json.loads((tmp_path / "x.run.json").read_text("utf-8"))
    assert record["provenance"]["mode"] == "lexical"
    assert record["outcomes"][0]["query"] == "bread"
