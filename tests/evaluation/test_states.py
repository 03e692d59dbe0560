"""Runs of different states of an index, or of different indexes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation.evaluating import evaluate
from knowledge_nb.evaluation.runs import RunRecord
from knowledge_nb.evaluation.states import state_notes
from tests.evaluation.conftest import FILES, fill

TOPICS = {"q": "lantern", "r": "bread"}
QRELS = {"q": {"a.md": 1}, "r": {"d.md": 1}}


@pytest.fixture
def old(small: knb.KnowledgeBase, tmp_path: Path) -> Iterator[knb.Run]:
    """A run, after which the index got another document."""
    run = small.run(TOPICS, mode="lexical")
    fill(tmp_path / "docs", {"e.md": "A lantern and bread.\n"})
    small.index()
    return run


def said(notes: tuple[str, ...]) -> list[str]:
    """Those about states."""
    return [note for note in notes if "The runs are of different" in note]


def test_runs_of_different_generations_are_named(small: knb.KnowledgeBase, old: knb.Run) -> None:
    """With their generations, by `evaluate` and `compare`, also of a mode that is run here."""
    new = small.run(TOPICS, mode="lexical")
    before, now = (run.result.provenance.generation for run in (old, new))
    assert before < now
    measured = small.evaluate({"old": old, "new": new}, QRELS, "AP").result
    (note,) = said(measured.notes)
    assert f"different index generations (old: {before}, new: {now})" in note
    for b in (new, "lexical"):
        (note,) = said(small.compare(TOPICS, a=old, b=b).result.notes)
        assert f"(a (lexical): {before}, b (lexical): {now})" in note


def test_runs_of_one_state_and_of_other_tools_are_not_remarked_on(
    small: knb.KnowledgeBase, old: knb.Run
) -> None:
    """There is nothing to say, or nothing known."""
    new = small.run(TOPICS, mode="lexical")
    theirs = {"q": {"a.md": 1.0}, "r": {"d.md": 1.0}}
    for one, two in ((new, small.run(TOPICS, mode="lexical", k=3)), (old, theirs)):
        assert said(small.evaluate({"x": one, "y": two}, QRELS, "AP").result.notes) == []
        assert said(small.compare(a=one, b=two).result.notes) == []
    three = {"x": old, "theirs": theirs, "y": new}
    (note,) = said(small.evaluate(three, QRELS, "AP").result.notes)
    assert "theirs" not in note


def test_runs_of_different_stores_are_named(small: knb.KnowledgeBase, tmp_path: Path) -> None:
    """Also where both have the same generation of the same folder, and when read from files."""
    with knb.open(tmp_path / "other") as kb:
        kb.index(tmp_path / "docs")
        kb.run(TOPICS, mode="lexical", save=tmp_path / "there.run")
    small.run(TOPICS, mode="lexical", save=tmp_path / "here.run")
    files = {name: tmp_path / f"{name}.run" for name in ("here", "there")}
    records = {name: knb.Run.from_trec(file).result for name, file in files.items()}
    assert len({each.provenance.generation for each in records.values()}) == 1
    (note,) = said(evaluate(files, QRELS, "AP").notes)
    for name, record in records.items():
        made = record.provenance
        assert f"{name}: generation {made.generation} of store {made.store_id[:8]} over" in note
    assert len(said(small.compare(a=files["here"], b=files["there"]).result.notes)) == 1


def test_a_run_that_was_saved_without_its_store_goes_on(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """As earlier versions saved it: the same run on the same state; its base tells others apart."""
    file, beside = tmp_path / "x.run", tmp_path / "x.run.json"
    made: RunRecord = small.run(TOPICS, mode="lexical", save=file).result
    record = json.loads(beside.read_text("utf-8"))
    del record["provenance"]["store_id"]
    beside.write_text(json.dumps(record), "utf-8")
    saved: RunRecord = knb.Run.from_trec(file).result
    assert saved.provenance is not None
    assert saved.provenance.store_id == ""
    assert state_notes({"x": saved, "y": made}) == ()
    elsewhere = replace(saved, provenance=replace(saved.provenance, base="/elsewhere"))
    assert "different stores (x: generation" in state_notes({"x": elsewhere, "y": made})[0]
    assert small.run(TOPICS, mode="lexical", save=file).result == made


def test_a_saved_run_of_another_store_is_not_taken_up(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """Whatever else is alike."""
    file = tmp_path / "x.run"
    small.run(TOPICS, mode="lexical", save=file)
    with knb.open(tmp_path / "other") as kb:
        kb.index(tmp_path / "docs")
        assert kb.core.completeness().documents == len(FILES)
        with pytest.raises(knb.EvaluationError, match="store: another one there"):
            kb.run(TOPICS, mode="lexical", save=file)
