"""Forms without a browser: what they ask, hold, show and refuse; tests/browser does the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import knowledge_nb as knb
from knowledge_nb.errors import ConfigurationError, KnowledgeError, NotFoundError, QuerySyntaxError
from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.notebook.forms.base import Form
from knowledge_nb.notebook.forms.enumerate import KwicForm
from tests.notebook.reading import Page

FORMS: dict[str, tuple[Callable[[KnowledgeBase], Form], str]] = {
    "search": (knb.SearchForm, "backup of the 'catalogue'"),
    "enumerate": (knb.EnumerateForm, '"backup" -visitors'),
    "kwic": (KwicForm, "backup"),
    "vocabulary": (knb.VocabularyForm, "^backup"),
}


@pytest.fixture(params=sorted(FORMS))
def asked(request: pytest.FixtureRequest, handbook: KnowledgeBase) -> Form:
    """Each form with an answer."""
    make, query = FORMS[request.param]
    form = make(handbook)
    form.ask(query)
    assert form.error is None
    return form


def said(form: Form) -> str:
    """The message that the form shows."""
    return Page(form._message.value).text


def test_the_call_gives_the_same_frame(asked: Form, handbook: KnowledgeBase) -> None:
    """The Python call that a form shows, run as it stands, gives the form's frame."""
    frame = eval(asked.call, {"kb": handbook})
    pd.testing.assert_frame_equal(frame, asked.result)
    assert asked.call in Page(asked._call.value).text


def test_options_are_in_the_call(handbook: KnowledgeBase) -> None:
    """Every option that differs from the default is in the call, and the answer follows it."""
    form = knb.EnumerateForm(handbook)
    form.ask("freezer")
    form.sort.value = "path"
    form.min_body_matches.value = 1
    form.under.value = "sites"
    assert form.call == "kb.enumerate('freezer', sort='path', min_body_matches=1, under='sites')"
    assert list(form.result["path"]) == ["sites/ellerby-lab.md"]
    search = knb.SearchForm(handbook)
    search.ask("freezer")
    search.k.value = 3
    search.mode.value = "lexical"
    assert search.call == "kb.search('freezer', k=3, mode='lexical')"
    assert len(search.result) == 3


def test_result_is_observable_and_always_the_last_frame(handbook: KnowledgeBase) -> None:
    """One new frame is one event, equal rows included; an error leaves the last frame."""
    form = knb.SearchForm(handbook)
    seen: list[int] = []
    form.observe(lambda change: seen.append(len(change["new"])), "result")
    form.ask("backup")
    form.ask("backup")
    assert seen == [len(form.result)] * 2
    last = form.result
    form.ask("")
    assert form.result is last
    assert len(seen) == 2


def test_a_syntax_error_shows_the_fix_and_the_form_goes_on(handbook: KnowledgeBase) -> None:
    """The fix stands under the field; the old answer is gone from sight; the next query works."""
    form = knb.EnumerateForm(handbook)
    form.ask("freezer")
    form.ask("freezer OR door")
    assert isinstance(form.error, QuerySyntaxError)
    assert 'quote it: "OR"' in said(form)
    assert 'role="alert"' in form._message.value
    assert form._answer.layout.display == "none"
    assert form._button.disabled is False
    form.ask("door")
    assert form.error is None
    assert said(form) == ""
    assert form._answer.layout.display is None


def test_states_without_an_answer_are_said(empty: KnowledgeBase, tmp_path: Path) -> None:
    """Not built, empty corpus and empty query are told apart, and none looks like a result."""
    forms = [knb.SearchForm(empty), knb.EnumerateForm(empty), knb.VocabularyForm(empty)]
    for form in forms:
        form.ask("door")
        assert "No answer" in said(form)
        assert "index not built" in said(form)
        assert form.result is None
    (tmp_path / "docs").mkdir()
    empty.index(tmp_path / "docs")
    for form in forms:
        form.ask("lamp")
        assert "corpus empty" in said(form)
    (tmp_path / "docs" / "a.md").write_text("door")
    empty.index(tmp_path / "docs")
    forms[0].ask("!!")
    assert "query empty" in said(forms[0])
    forms[0].ask("door")
    assert len(forms[0].result) == 1


def test_pages(handbook: KnowledgeBase) -> None:
    """Ten rows a page; the frame holds them all; the pager stops at both ends."""
    form = knb.SearchForm(handbook)
    form.k.value = 25
    form.ask("door")
    rows = form._rows
    total = len(form.result)
    assert total > 20
    assert "Rows 1 to 10" in rows._place.value
    rows._before.click()
    assert "Rows 1 to 10" in rows._place.value
    assert "That is the first page." in rows._place.value
    rows._after.click()
    rows._after.click()
    assert f"Rows 21 to {total} of {total}" in rows._place.value
    rows._after.click()
    assert f"Rows 21 to {total} of {total}" in rows._place.value
    assert "That is the last page." in rows._place.value
    assert not rows._before.disabled
    assert not rows._after.disabled  # a button that is disabled loses the focus to nowhere
    shown = [line for line in rows._lines if line.layout.display is None]
    assert len(shown) == total - 20
    assert form.result.iloc[20].citation.endswith(rows._buttons[0].description.lstrip("…"))


def test_a_press_on_a_row_reads_the_chunk_with_its_neighbours(asked: Form) -> None:
    """The chunk, the one before and after, marked words, and its citation to copy."""
    asked._rows._buttons[0].click()
    assert asked.error is None
    text = Page(asked._view._text.value)
    assert any("backup" in word.lower() for word in text.marked)
    assert sum(tag == "div" and "role" in given for tag, given in text.elements) in (2, 3)
    assert "Copy citation" in asked._view._title.value
    before = asked._view._ordinal
    if not asked._view._last:
        asked._view._later.click()
        assert asked._view._ordinal == before + 1
        asked._view._earlier.click()
        assert asked._view._ordinal == before
    asked._view._close.click()
    assert asked._view.layout.display == "none"


def test_a_chunk_that_went_meanwhile_is_an_error_in_the_form(tmp_path: Path) -> None:
    """A press on a row whose document was removed says so and leaves the form usable."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("door")
    (docs / "b.md").write_text("door and more")
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(docs)
        form = knb.EnumerateForm(kb)
        form.ask("door")
        kb.remove("a.md")
        form._rows._buttons[0].click()
        assert isinstance(form.error, NotFoundError)
        assert "a.md" in said(form)
        form._rows._buttons[1].click()
        assert form.error is None


def test_an_unforeseen_error_is_shown_with_its_trace(handbook: KnowledgeBase) -> None:
    """A fault of ours, or of the machine, is in the form and not swallowed."""
    form = knb.SearchForm(handbook)
    form.kb = object()  # type: ignore[assignment]
    form.ask("backup")
    assert isinstance(form.error, AttributeError)
    assert "Where it happened" in said(form)


def test_export_writes_every_row(asked: Form, tmp_path: Path) -> None:
    """All rows, not the page; what was there is replaced."""
    target = tmp_path / "out.csv"
    target.write_text("old")
    asked._file.value = str(tmp_path / "out")
    asked._export.click()
    assert asked.error is None
    back = pd.read_csv(target, keep_default_na=False)
    assert len(back) == len(asked.result)
    assert list(back.columns) == list(asked.result.columns)
    assert "rows written" in asked._exported.value
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".tmp") == []


def test_export_refuses_a_bad_name(asked: Form, tmp_path: Path) -> None:
    """An empty name and a directory are refused with words."""
    for name in (" ", str(tmp_path)):
        asked._file.value = name
        asked._export.click()
        assert isinstance(asked.error, KnowledgeError)


def test_one_press_is_one_search(handbook: KnowledgeBase) -> None:
    """The press that also takes the focus from a changed field does not ask twice."""
    form = knb.SearchForm(handbook)
    seen: list[object] = []
    form.observe(seen.append, "result")
    form.query.value = "backup"  # the field's change, sent as it loses the focus
    form._button.click()  # the press itself, at once after it
    assert len(seen) == 1
    form.query.value = "!!"
    form._button.click()
    assert "query empty" in said(form)


def test_callbacks_on_two_threads_take_turns(handbook: KnowledgeBase) -> None:
    """A kernel may run two callbacks at once: one press is one search even then."""
    form = knb.SearchForm(handbook)
    seen: list[object] = []

    def slowly(change: object) -> None:
        seen.append(change)
        press.start()
        time.sleep(0.05)

    press = threading.Thread(target=form._button.click)
    form.observe(slowly, "result")
    form.query.value = "backup"
    press.join()
    assert len(seen) == 1
    assert form.error is None


def test_forms_do_not_share_handlers(handbook: KnowledgeBase) -> None:
    """A cell run five times makes five forms, each of which asks once for one press."""
    forms = [knb.SearchForm(handbook) for _ in range(5)]
    seen: list[object] = []
    for form in forms:
        form.observe(seen.append, "result")
    forms[-1].ask("backup")
    assert len(seen) == 1


def test_every_field_and_button_has_a_name(handbook: KnowledgeBase) -> None:
    """Fields are labelled and buttons described, for screen readers."""
    import ipywidgets as widgets

    def walk(widget: widgets.Widget) -> list[widgets.Widget]:
        inner = [each for child in getattr(widget, "children", ()) for each in walk(child)]
        return [widget, *inner]

    explorer = knb.Explorer(handbook)
    explorer.search.ask("door")
    for widget in walk(explorer):
        if isinstance(widget, (widgets.Text, widgets.BoundedIntText, widgets.Dropdown)):
            assert widget.description
            assert widget.tooltip
        if isinstance(widget, widgets.Text):
            assert widget.continuous_update is False
        if isinstance(widget, widgets.Button) and widget.description:
            assert widget.tooltip


def test_explorer_keeps_the_last_frame_of_any_tab(handbook: KnowledgeBase) -> None:
    """`result` follows whichever form answered last."""
    explorer = knb.Explorer(handbook)
    explorer.search.ask("door")
    explorer.vocabulary.ask("^do")
    assert explorer.result is explorer.vocabulary.result
    explorer.search.ask("lamp")
    assert explorer.result is explorer.search.result


def test_the_index_tab_says_the_state_and_brings_it_up_to_date(tmp_path: Path) -> None:
    """Not built, built, and a pass from the form; a missing folder is an error in it."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("door")
    with knb.open(tmp_path / "knowledge") as kb:
        explorer = knb.Explorer(kb)
        assert "No indexing pass has completed" in explorer.index._state.value
        explorer.index._index.click()
        explorer.index.worker.join()
        assert isinstance(explorer.index.error, ConfigurationError)
        kb.index(docs)
        (docs / "b.md").write_text("lamp")
        explorer.index._index.click()
        explorer.index.worker.join()
        assert explorer.index.error is None
        assert "1 added" in explorer.index._report.value
        assert "Covers 2 indexed documents" in explorer.index._state.value
