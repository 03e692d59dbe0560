"""JudgeForm: a grade is for the document shown, pressed once, saved or said not to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation.trec import read_judgements, write_judgements
from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.notebook.forms.judge import JudgeForm
from tests.notebook.reading import Page
from tests.notebook.test_presses import Browser

TOPICS = {"q1": "door", "q2": "lamp"}


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """Four documents."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in "abcd":
        (docs / f"{name}.md").write_text(f"# {name}\n\ndoor and lamp of {name}\n")
    with knb.open(tmp_path / "knowledge") as base:
        base.index(docs)
        yield base


@pytest.fixture
def form(kb: KnowledgeBase, tmp_path: Path) -> JudgeForm:
    """A form over eight pairs."""
    return JudgeForm(kb, kb.pool(kb.run(TOPICS, k=5), 5), tmp_path / "qrels.txt")


def saved(form: JudgeForm) -> dict[tuple[str, str], int]:
    """What is in the file."""
    return {(q, d): g for q, d, g in read_judgements(form.path)[0]} if form.path.exists() else {}


def shown(form: JudgeForm) -> str:
    """What a person sees."""
    parts = (form._progress, form._query, form._document, form._message)
    return " ".join(Page(part.value).text for part in parts)


class Unreadable:
    """A core whose texts cannot be read."""

    def show(self, target: str) -> None:
        raise knb.KnowledgeError(f"cannot read {target}")


def test_what_cannot_be_read_is_neither_shown_nor_judged(form: JudgeForm) -> None:
    """On a failure the item that is shown stays whole, and the grade that was given is told."""
    first = form.item
    assert first is not None
    before = shown(form)
    base = form.kb
    form.kb = type("Base", (), {"core": Unreadable()})()  # type: ignore[assignment]
    form.skip.click()
    assert form.error is not None
    assert form.item == first
    assert shown(form).startswith(before)
    form.buttons[2].click()
    assert saved(form) == {}
    form.kb = base
    form.buttons[2].click()
    assert saved(form) == {first: 2}


def test_a_form_that_could_show_nothing_judges_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    """Not even the first item; Skip tries again."""
    pool = kb.pool(kb.run(TOPICS, k=5), 5)
    broken = type("Base", (), {"core": Unreadable()})()
    form = JudgeForm(broken, pool, tmp_path / "qrels.txt")
    assert form.error is not None
    assert form.item is None
    form.buttons[1].click()
    assert isinstance(form.error, knb.EvaluationError)
    assert saved(form) == {}
    form.kb = kb
    form.skip.click()
    assert form.item == form.items[0]
    form.buttons[1].click()
    assert saved(form) == {form.items[0]: 1}


def test_a_document_indexed_anew_is_shown_anew(form: JudgeForm, tmp_path: Path) -> None:
    """A grade for a text that is no longer there is not taken."""
    assert form.item is not None
    (tmp_path / "docs" / form.item[1]).write_text("# Other\n\nquite another door\n")
    form.kb.index(tmp_path / "docs")
    form.buttons[3].click()
    assert isinstance(form.error, knb.EvaluationError)
    assert saved(form) == {}
    assert "quite another door" in shown(form)
    form.buttons[3].click()
    assert list(saved(form).values()) == [3]


@pytest.mark.parametrize("ahead", [0.0, 3600.0, -3600.0])
def test_one_gesture_is_one_judgement(form: JudgeForm, ahead: float) -> None:
    """A double click, a key held down, and "23" typed fast; whatever the browser's clock."""
    browser = Browser(form, ahead)

    def types(text: str) -> Callable[[], None]:
        return lambda: form.field.set_trait("value", text)

    browser.sends(form.buttons[1].click, after=5)
    browser.sends(form.buttons[1].click, after=0.15)  # a double click
    assert len(saved(form)) == 1
    assert "too soon" in shown(form)
    browser.sends(form.buttons[2].click, after=5)
    browser.sends(form.buttons[2].click, after=0.5)  # held down
    for _ in range(40):
        browser.sends(form.buttons[2].click, after=0.03)
    assert len(saved(form)) == 2
    browser.sends(types("3"), after=5)
    browser.sends(types("0"), after=0.1)
    browser.sends(types("30"))  # typed on before the field was emptied
    assert sorted(saved(form).values()) == [1, 2, 3]
    assert form.field.value == ""
    browser.sends(types("0"), after=5)
    assert sorted(saved(form).values()) == [0, 1, 2, 3]
    browser.sends(form.skip.click, after=5)
    browser.sends(form.buttons[3].click, after=0.3)  # nobody has read that one
    assert sorted(saved(form).values()) == [0, 1, 2, 3]


def test_two_forms_on_one_file_do_not_overwrite_each_other(form: JudgeForm) -> None:
    """What the other gave is shown when an item is drawn, and replaced only by a second press."""
    other = JudgeForm(form.kb, form.kb.pool(form.kb.run(TOPICS, k=5), 5), form.path)
    first = form.items[0]
    assert form.item == other.item == first
    other.buttons[3].click()
    form.buttons[0].click()
    assert isinstance(form.error, knb.EvaluationError)
    assert saved(form)[first] == 3
    assert form.item == first
    assert "judged 3; another grade replaces it" in shown(form)
    assert form.buttons[3].button_style == "success"
    form.buttons[0].click()
    assert saved(form)[first] == 0
    assert form.error is None
    second = form.items[2]
    write_judgements([*((q, d, g) for (q, d), g in saved(form).items()), (*second, 2)], form.path)
    form.skip.click()
    assert form.item not in (None, second)
    form.back.click()
    while form.item != second:
        form.back.click() if form.items.index(form.item) > 2 else form.skip.click()  # type: ignore[arg-type]
    assert "judged 2" in shown(form)


def test_nothing_is_said_to_be_saved_that_is_not(kb: KnowledgeBase, tmp_path: Path) -> None:
    """Neither before the first judgement nor where the file cannot be written."""
    (tmp_path / "file").write_text("")
    pool = kb.pool(kb.run(TOPICS, k=5), 5)
    for name in ("file/qrels.txt", "nul\0.txt"):
        form = JudgeForm(kb, pool, tmp_path / name)
        assert "saved in" not in shown(form)
        form.buttons[2].click()
        assert isinstance(form.error, knb.EvaluationError)
        assert "cannot be written" in shown(form)
        assert ".tmp" not in shown(form)
        assert "saved in" not in shown(form)
        assert form.item == form.items[0]
    form = JudgeForm(kb, pool, tmp_path / "qrels.txt")
    form.buttons[2].click()
    assert "1 of 8 judged, saved in" in shown(form)


def test_the_text_is_a_named_region_that_keeps_words_whole(form: JudgeForm) -> None:
    """A person who reaches it by Tab hears what it is."""
    [pre] = [given for tag, given in Page(form._document.value).elements if tag == "pre"]
    assert form.item is not None
    assert pre["role"] == "region"
    assert pre["aria-label"] == f"Document {form.item[1]}"
    assert "word-break: normal" in pre["style"]
    assert "box-sizing: border-box" in pre["style"]
