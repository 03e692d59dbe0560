"""What the forms show beside an answer: failures, warnings, figures, long texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import knowledge_nb as knb
from knowledge_nb.audit.doctor import DoctorReport
from knowledge_nb.errors import ConfigurationError, KnowledgeError, NotFoundError
from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.notebook.banner import banner
from knowledge_nb.notebook.forms.enumerate import KwicForm
from knowledge_nb.notebook.forms.parts import BUTTON_WIDTH, short
from knowledge_nb.notebook.forms.vocabulary import VocabularyForm
from knowledge_nb.notebook.frames import doctor_frame
from knowledge_nb.notebook.html import TONES
from knowledge_nb.records import Check
from tests.notebook.reading import Page


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Three documents; the first in the order of matches has another form of a word."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# One\n\ncalibrations calibrations of doors\n\n# Two\n\nmore\n")
    (folder / "b.md").write_text("# One\n\nsomething\n\n# Two\n\nto calibrate a door\n")
    (folder / "c.md").write_text("one more door " + "x" * 4000 + "\n")
    return folder


@pytest.fixture
def kb(docs: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    """They, indexed."""
    with knb.open(tmp_path / "knowledge") as base:
        base.index(docs)
        yield base


def test_a_failed_export_is_said_beside_its_button(kb: KnowledgeBase, tmp_path: Path) -> None:
    """What an earlier one wrote is said no longer; an impossible name is a plain sentence."""
    form = knb.EnumerateForm(kb)
    form.ask("door")
    form._file.value = str(tmp_path / "out.csv")
    form._export.click()
    assert "3 rows written" in form._exported.value
    for name in ("nul\0.csv", "n" * 4000, "~nobody-at-all/x", "\ud800", str(tmp_path), " "):
        form._file.value = name
        form._export.click()
        assert isinstance(form.error, KnowledgeError)
        assert "written to" not in form._exported.value
        assert 'role="alert"' in form._exported.value
        assert "Traceback" not in form._exported.value
    form.ask("calibrate -calibrations")
    form.ask("something")
    form._file.value = str(tmp_path / "one.csv")
    form._export.click()
    assert "1 row written" in form._exported.value


def test_a_row_that_cannot_be_opened_takes_the_last_text_away(kb: KnowledgeBase) -> None:
    """No text stands beside an error that is about another one; the error stands in its place."""
    form = knb.EnumerateForm(kb)
    form.ask(
        "door",
    )
    form._rows._buttons[0].click()
    gone = form.result.path[1]
    kb.remove(gone)
    form._rows._buttons[1].click()
    assert isinstance(form.error, NotFoundError)
    assert form._view._text.value == ""
    assert gone in Page(form._view._title.value).text
    form._view._later.click()
    assert form._view._text.value == ""


@pytest.mark.parametrize("query", ["door", "nowhere"])
def test_an_unfinished_pass_is_a_warning_in_the_first_line(kb: KnowledgeBase, query: str) -> None:
    """No hits while files are missing is no absence."""
    record = kb.core.enumerate(query)
    known = replace(record.completeness, unfinished_since="2026-01-01T00:00:00Z")
    warned = banner(replace(record, completeness=known))
    assert TONES["warn"] in warned
    assert TONES["warn"] not in banner(record)
    assert Page(warned).text.startswith("A pass is running or did not finish")


def test_what_is_asked_and_found_is_said(kb: KnowledgeBase) -> None:
    """In words and numbers that agree, and to a screen reader too."""
    form = knb.EnumerateForm(kb)
    form.ask("something")
    read = Page(form._banner.value)
    assert "1 document for something" in read.text
    assert ("div", {"role": "status"}) in read.elements
    names = [given.get("aria-label") for _, given in Page(form._rows._cells[0].value).elements]
    assert {"body matches 1", "heading matches 0", "chunks 2"} <= set(names)
    form.ask("   ")
    assert "No answer for a blank query" in Page(form._message.value).text


def test_an_unbuilt_index_is_told_in_python_too(empty: KnowledgeBase) -> None:
    """A notebook's reader has no shell at hand."""
    form = knb.SearchForm(empty)
    form.ask("door")
    assert "kb.index('FOLDER')" in Page(form._message.value).text


def test_a_word_opens_a_text_that_has_it(kb: KnowledgeBase) -> None:
    """As written, not only in another form of its stem."""
    form = VocabularyForm(kb)
    form.prefix.value = "calib"
    form.ask()
    for at, word in enumerate(form.result.word):
        form._rows._buttons[at].click()
        assert word in Page(form._view._text.value).marked
        chunk = kb.show(f"{form._view._path}#{form._view._ordinal}")
        assert word in chunk.text[0]
    assert "stands in 1 document, in any form in 2 documents" in Page(form._view._title.value).text


def test_the_index_tab_names_a_folder(empty: KnowledgeBase, docs: Path) -> None:
    """A new store is filled from the form alone."""
    pane = knb.Explorer(empty).index
    pane._index.click()
    assert pane.worker is not None
    pane.worker.join()
    assert isinstance(pane.error, ConfigurationError)
    pane.folder.value = f" {docs} "
    pane._index.click()
    pane.worker.join()
    assert pane.error is None
    assert "3 files read" in pane._report.value
    assert "Covers 3 indexed documents" in pane._state.value


def test_no_old_state_stands_under_an_error(kb: KnowledgeBase) -> None:
    """And what became of the pass is not hidden by the failure to read the state after it."""
    pane = knb.Explorer(kb).index

    class Gone:
        def stats(self) -> None:
            raise KnowledgeError("the state")

        def index(self, *paths: Any, **options: Any) -> None:
            raise KnowledgeError("the pass")

    pane.kb = type("Base", (), {"core": Gone()})()  # type: ignore[assignment]
    pane._refresh.click()
    assert "the state" in str(pane.error)
    assert "Covers" not in pane._state.value
    pane._index.click()
    assert pane.worker is not None
    pane.worker.join()
    assert "the pass" in str(pane.error)


@pytest.mark.parametrize(
    ("state", "message", "tone"),
    [("fail", "gone", "bad"), ("pass", "WARNING: old", "warn"), ("pass", "fine", "plain")],
)
def test_a_doctor_with_bad_news_looks_like_it(state: Any, message: str, tone: str) -> None:
    """The headline and the row."""
    report = DoctorReport((Check("one", "pass", "fine"), Check("two", state, message)), "tier")
    html = doctor_frame(report)._repr_html_()
    for name in ("bad", "warn"):
        assert html.count(TONES[name]) == (2 if name == tone else 0)
    assert ("pass, with a warning" in html) == (tone == "warn")


def test_long_tokens_take_no_screens(kb: KnowledgeBase) -> None:
    """Cut, or in a box that scrolls; the whole is in reach."""
    word = "x" * 4000
    form = knb.EnumerateForm(kb)
    form.ask(word)
    read = Page(form._banner.value.partition("<details")[0])
    assert len(read.text) < 500
    assert any(given.get("title") == word for _, given in read.elements)
    assert "max-height" in form._call.value
    words = VocabularyForm(kb)
    words.prefix.value = "xxx"
    words.ask()
    cell = Page(words._rows._cells[0].value)
    assert len(cell.text) < 100
    assert any(given.get("title") == word for _, given in cell.elements)
    form.ask("y" * 4000)
    assert "max-height" in form._banner.value


@pytest.mark.parametrize("letter", ["i", "m", "W", "漢", "a"])
def test_a_button_keeps_the_end_of_its_text(letter: str) -> None:
    """Cut here to what fits, since a browser would cut the number of the chunk."""
    for wide in (BUTTON_WIDTH, KwicForm.button_width):
        text = short(letter * 300 + ".md#17", wide)
        assert text.startswith("…")
        assert text.endswith(".md#17")
        # Pixels of a letter in a wide sans-serif at 13 pixels.
        pixels = {"i": 4, "m": 12.7, "W": 12.9, "漢": 13, "a": 7.5}[letter]
        tail = 60
        assert pixels * text.removesuffix(".md#17").count(letter) + tail < wide - 20
    assert short("a.md#1") == "a.md#1"


def test_context_is_cut_towards_the_word(kb: KnowledgeBase) -> None:
    """The left side ends at the word, whole; what does not fit is cut with an ellipsis."""
    form = KwicForm(kb)
    form.ask("door")
    left = Page(form._rows._cells[0].value).elements[4:]
    [style] = [
        given["style"] for _, given in left if given.get("title") == "calibrations calibrations of "
    ]
    assert "direction: rtl" in style
    assert "text-overflow: ellipsis" in style
