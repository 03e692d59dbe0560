"""Names: percent-encoded on one side, changed in a frame, or of another kind altogether."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation.comparing import compare_runs
from knowledge_nb.evaluation.evaluating import evaluate
from knowledge_nb.evaluation.pooling import pool
from knowledge_nb.evaluation.runs import as_run
from knowledge_nb.evaluation.trec import decode_docno
from tests.evaluation.conftest import QRELS, TOPICS

URL = "http://x/a%20b"
QID = "q%201"
RUN = {QID: {URL: 2.0, "http://x/c": 1.0}}
JUDGED = {QID: {URL: 1}}


def run_as(form: str, place: Path, scores: dict[str, dict[str, float]] = RUN) -> Any:
    """A foreign run as a file, dict or frame."""
    rows = [(q, d, s) for q, each in scores.items() for d, s in each.items()]
    if form == "dict":
        return scores
    if form == "frame":
        return pd.DataFrame(rows, columns=["qid", "docno", "score"])
    file = place / "their.run"
    lines = (f"{q} Q0 {d} {n} {s} t\n" for n, (q, d, s) in enumerate(rows, 1))
    file.write_text("".join(lines), "utf-8")
    return str(file)


def qrels_as(form: str, place: Path, judged: dict[str, dict[str, int]] = JUDGED) -> Any:
    """Foreign judgements as a file, dict or frame."""
    rows = [(q, d, g) for q, each in judged.items() for d, g in each.items()]
    if form == "dict":
        return judged
    if form == "frame":
        return pd.DataFrame(rows, columns=["qid", "docno", "label"])
    file = place / "their.qrels"
    file.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows), "utf-8")
    return str(file)


FORMS = ("file", "dict", "frame")
PAIRINGS = list(itertools.product(FORMS, FORMS))


@pytest.mark.parametrize(("run", "qrels"), PAIRINGS)
def test_a_foreign_encoded_name_meets_its_judgement(run: str, qrels: str, tmp_path: Path) -> None:
    """Whichever side was a file, and was decoded."""
    found = evaluate({"r": run_as(run, tmp_path)}, qrels_as(qrels, tmp_path), ["RR"])
    assert found.means[0].mean == 1.0
    assert [mean.topics for mean in found.means] == [1]


@pytest.mark.parametrize(("one", "two"), PAIRINGS)
def test_two_foreign_runs_name_the_same(one: str, two: str, tmp_path: Path) -> None:
    """In a comparison and in a pool: one document is not two."""
    (tmp_path / "b").mkdir()
    a, b = as_run(run_as(one, tmp_path)), as_run(run_as(two, tmp_path / "b"))
    found = compare_runs(a, b)
    assert found.totals["overlap"] == 1.0
    assert found.totals["queries"] == 1
    assert len(pool([a, b])) == 2


def test_names_that_both_exist_are_never_mixed(tmp_path: Path) -> None:
    """A corpus may hold `a b` and `a%20b`: names that match as they are stay as they are."""
    scores = {"q": {"a b": 2.0, "a%20b": 1.0}}
    judged = {"q": {"a%20b": 1}}
    assert evaluate({"r": scores}, judged, ["RR"]).means[0].mean == 0.5
    file = tmp_path / "their.qrels"
    file.write_text("q 0 a%2520b 1\n", "utf-8")  # as ours would write it
    assert evaluate({"r": scores}, str(file), ["RR"]).means[0].mean == 0.5
    # Two names in memory, and neither was decoded: they differ.
    assert evaluate({"r": {"q": {"a b": 1.0}}}, judged, ["RR"]).means[0].mean == 0.0


def test_only_what_ours_would_have_written_is_decoded() -> None:
    """Other escapes are part of a foreign name."""
    for name in ("a%2Fb", "caf%C3%A9", "a%2fb%20c", "%7Euser", "a%0a"):
        assert decode_docno(name) == name
    for name, plain in (("a%20b", "a b"), ("%2520", "%20"), ("a%0Ab", "a\nb"), ("%22", '"')):
        assert decode_docno(name) == plain


def test_an_exchange_of_names_is_said(tmp_path: Path) -> None:
    """It is a reading of the names, so the reader is told."""
    found = evaluate({"r": run_as("file", tmp_path)}, JUDGED, ["RR"])
    assert any("taken as the same: 2 names" in note for note in found.notes)
    assert not any("taken as" in note for note in evaluate({"r": RUN}, JUDGED, ["RR"]).notes)


def _reversed(run: pd.DataFrame) -> None:
    run["score"] = -run["score"]


def _renamed(run: pd.DataFrame) -> None:
    run.loc[0, "docno"] = "other.md"


def _longer(run: pd.DataFrame) -> None:
    run.loc[len(run)] = ["r", "a.md", 2, 0.5]


def _without_scores(run: pd.DataFrame) -> None:
    del run["score"]


@pytest.mark.parametrize("change", [_reversed, _renamed, _longer, _without_scores])
def test_a_changed_frame_is_not_the_run_it_was(
    small: knb.KnowledgeBase, tmp_path: Path, change: Any
) -> None:
    """Every verb refuses it, and says how its rows can be used."""
    topics = {"q": "lantern harbour", "r": "bread"}
    run, whole = small.run(topics, mode="lexical"), small.run(topics, mode="lexical")
    change(run)
    for use in (
        lambda: small.evaluate(run, {"q": {"a.md": 1}}, ["RR"]),
        lambda: small.compare(a=whole, b=run),
        lambda: small.pool([whole, run]),
        lambda: run.to_trec(tmp_path / "x.run"),
        lambda: knb.Run.of(run),
    ):
        with pytest.raises(knb.EvaluationError, match=r"was changed since .*pd\.DataFrame\(run\)"):
            use()
    assert not (tmp_path / "x.run").exists()


def test_the_rows_of_a_changed_frame_are_a_run_of_their_own(small: knb.KnowledgeBase) -> None:
    """As they are now; and a frame with one more column is still the run."""
    run = small.run({"q": "lantern harbour"}, mode="lexical")
    run["note"] = "x"
    judged = {"q": {run["docno"][0]: 1}}
    assert small.evaluate(run, judged, ["RR"])["mean"][0] == 1.0
    run["score"] = -run["score"]
    plain = pd.DataFrame(run).drop(columns="rank")
    assert small.evaluate(plain, judged, ["RR"])["mean"][0] == pytest.approx(1 / 3)
    assert as_run(plain).provenance is None


def test_chunks_and_documents_are_not_compared(vectors_kb: knb.KnowledgeBase) -> None:
    """An overlap of 0 would read as a finding."""
    documents = vectors_kb.run(TOPICS, mode="lexical")
    chunks = vectors_kb.run(TOPICS, mode="lexical", unit="chunk")
    with pytest.raises(knb.EvaluationError, match="no name in common"):
        vectors_kb.compare(a=documents, b=chunks)
    with pytest.raises(
        knb.EvaluationError, match=r"not one docno of run lexical occurs in the judgements.*chunks"
    ):
        vectors_kb.evaluate(chunks, QRELS, ["RR"])
    other = vectors_kb.run(TOPICS, mode="lexical", docno=str.upper)
    said = "WARNING: not one docno of"
    assert vectors_kb.evaluate(other, QRELS, ["RR"]).result.notes[0].startswith(said)
    assert vectors_kb.compare(a=documents, b=other).result.notes[0].startswith(said)
    with pytest.raises(knb.EvaluationError, match="not one docno of the judgements is a path"):
        vectors_kb.fusion_grid(TOPICS, {f"t0{n}": {"x": 1} for n in range(1, 6)})
