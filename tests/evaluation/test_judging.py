"""Pools, and the form that judges them, through its widgets' traits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation.qrels import read_qrels
from knowledge_nb.evaluation.runs import Outcome, RunRecord
from knowledge_nb.notebook.forms.judge import JudgeForm


def run(name: str, **rankings: list[str]) -> RunRecord:
    """A run of named documents."""
    made = {q: tuple((d, float(-n)) for n, d in enumerate(r)) for q, r in rankings.items()}
    return RunRecord(name, made, tuple(Outcome(q, f"about <{q}>", "ok") for q in rankings))


ONE = run("secret-one", p=["a.md", "b.md", "c.md"], q=["d.md"])
TWO = run("secret-two", p=["c.md", "b.md", "a.md"], q=["d.md", "gone.md"])


def everything(form: JudgeForm) -> str:
    """All text that the form shows."""
    parts = [form._progress.value, form._query.value, form._document.value, form._message.value]
    return " ".join([*parts, *(button.description for button in form.buttons.values())])


def test_a_pool_is_the_first_of_every_run(small: knb.KnowledgeBase) -> None:
    """The union to a depth; the order is that of names, whatever the runs and their order."""
    pool = small.pool([ONE, TWO], depth=2)
    assert {qid: set(docs) for qid, docs in pool.documents.items()} == {
        "p": {"a.md", "b.md", "c.md"},
        "q": {"d.md", "gone.md"},
    }
    assert small.pool([TWO, ONE], depth=2).documents == pool.documents
    assert len(pool) == 5
    assert len(small.pool(ONE, depth=1)) == 2
    for source, depth in ((ONE, 0), (run("empty", p=[]), 5)):
        with pytest.raises(knb.EvaluationError):
            small.pool(source, depth)


def test_judging_by_keyboard_alone_saves_as_it_goes(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """A digit typed is a judgement in the file, the next document follows, the field is empty."""
    file = tmp_path / "qrels.txt"
    form = JudgeForm(small, small.pool([ONE, TWO]), qrels=file)
    assert form.left == 5
    given = {}
    for grade in ("3", "0", "1"):
        item = form.item
        assert item is not None
        form.field.value = grade
        given[item] = int(grade)
        assert form.field.value == ""
        assert form.error is None
        read = read_qrels(file).grades
        assert {(q, d): g for q, each in read.items() for d, g in each.items()} == given
        assert form.item != item
    assert "3 of 5 judged" in everything(form)


def test_buttons_do_the_same_and_back_corrects(small: knb.KnowledgeBase, tmp_path: Path) -> None:
    """A grade once given is marked, and another one replaces it."""
    file = tmp_path / "qrels.txt"
    form = JudgeForm(small, small.pool([ONE]), qrels=file)
    first = form.item
    assert first is not None
    form.buttons[2].click()
    form.back.click()
    assert form.item == first
    assert form.buttons[2].button_style == "success"
    assert "judged 2; another grade replaces it" in everything(form)
    form.buttons[0].click()
    assert read_qrels(file).grades == {first[0]: {first[1]: 0}}
    left = form.item
    form.skip.click()
    assert form.item != left
    assert form.left == 3


def test_a_new_form_goes_on_where_judging_stopped(small: knb.KnowledgeBase, tmp_path: Path) -> None:
    """Judgements that were there, also of other topics, stay, and are not asked again."""
    file = tmp_path / "qrels.txt"
    file.write_text("other 0 x.md 1\n", "utf-8")
    pool = small.pool([ONE])
    form = JudgeForm(small, pool, qrels=file)
    form.field.value = "1"
    form.field.value = "2"
    again = JudgeForm(small, pool, qrels=file)
    assert again.item == form.item
    assert again.left == 2
    assert read_qrels(file).grades["other"] == {"x.md": 1}
    # Two forms on one file: neither takes the other's judgement away.
    form.field.value = "0"
    again.skip.click()
    again.field.value = "0"
    assert sum(len(each) for each in read_qrels(file).grades.values()) == 5
    done = JudgeForm(small, pool, qrels=file)
    assert "All 4 judged" in everything(done)


def test_nothing_is_told_of_the_runs(small: knb.KnowledgeBase, tmp_path: Path) -> None:
    """No name, rank, score or mode; the document is shown whole, its text as text."""
    form = JudgeForm(small, [ONE, TWO], qrels=tmp_path / "qrels.txt")
    for _ in form.items:
        shown = everything(form)
        for word in ("secret", "rank", "score", "lexical", "vector", "fused"):
            assert word not in shown
        assert "about &lt;" in shown
        form.skip.click()


def test_a_document_that_the_index_has_not_cannot_be_judged(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """Nobody read it here: it is said, a grade is refused in the form, and nothing is written."""
    file = tmp_path / "qrels.txt"
    form = JudgeForm(small, run("r", q=["gone.md"]), qrels=file)
    assert "not in the index" in everything(form)
    form.field.value = "1"
    assert isinstance(form.error, knb.EvaluationError)
    assert "skip it" in form._message.value
    assert not file.exists()


@pytest.mark.parametrize("typed", ["7", "x", "-1"])
def test_what_is_no_grade_is_refused_in_the_form(
    small: knb.KnowledgeBase, tmp_path: Path, typed: str
) -> None:
    """Nothing is written, the document stays."""
    form = JudgeForm(small, ONE, qrels=tmp_path / "qrels.txt")
    before = form.item
    form.field.value = typed
    assert isinstance(form.error, knb.EvaluationError)
    assert form.item == before
    assert form.field.value == ""
    assert not (tmp_path / "qrels.txt").exists()


def test_chunks_and_stems_can_be_judged(small: knb.KnowledgeBase, tmp_path: Path) -> None:
    """Whatever names the runs use."""
    by_chunk = small.run({"q": "bread"}, mode="lexical", unit="chunk")
    form = JudgeForm(small, by_chunk, qrels=tmp_path / "chunks.txt")
    assert "bread and cheese" in everything(form)
    by_stem = small.run({"q": "bread"}, mode="lexical", docno="stem")
    form = JudgeForm(small, by_stem, qrels=tmp_path / "stems.txt", docno="stem")
    assert "bread and cheese" in everything(form)
    form.field.value = "3"
    assert read_qrels(tmp_path / "stems.txt").grades == {"q": {"d": 3}}


def test_a_file_that_cannot_be_written_is_an_error_in_the_form(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """The judgement is not taken for saved."""
    place = tmp_path / "gone"
    place.mkdir()
    form = JudgeForm(small, ONE, qrels=place / "qrels.txt")
    shutil.rmtree(place)
    place.write_text("a file where the folder was", "utf-8")
    before = form.item
    form.field.value = "1"
    assert form.error is not None
    assert form.item == before
    with pytest.raises(knb.EvaluationError):
        JudgeForm(small, ONE, grades={12: "a dozen"})
