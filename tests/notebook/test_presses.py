"""A press counts for what its sender saw: timed as a browser sends it, without a browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import knowledge_nb as knb
from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.notebook.forms.presses import Presses
from tests.notebook.reading import Page


class Browser:
    """A sender of presses whose clock is so many seconds ahead of the kernel's."""

    def __init__(self, form: Any, ahead: float = 0.0) -> None:
        self.ahead, self.passed = ahead, 0.0
        self.at: float | None = None
        form.presses.when = lambda: self.at
        form.presses.clock = lambda: time.time() + self.passed

    def sends(self, act: Callable[[], object], after: float = 0.0) -> None:
        """Do something as it is sent, so many seconds after what was sent before."""
        self.passed += after
        self.at = time.time() + self.passed + self.ahead
        act()


def enter(field: Any) -> Callable[[], None]:
    """What the browser sends when Enter is pressed in a field."""
    return lambda: field._handle_custom_msg({"event": "submit"}, [])


def said(form: Any) -> str:
    """The message that the form shows."""
    return Page(form._message.value).text


def until(true: Callable[[], bool]) -> None:
    """Wait for a thread of the form."""
    ends = time.monotonic() + 5
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.01)


@pytest.mark.parametrize("ahead", [0.0, 3600.0, -3600.0])
def test_a_row_pressed_while_another_answer_came_opens_nothing(
    handbook: KnowledgeBase, ahead: float
) -> None:
    """The press that takes the focus from a changed field was for the old rows, and is refused."""
    form = knb.EnumerateForm(handbook)
    form.ask("freezer")
    browser = Browser(form, ahead)

    def change() -> None:
        form.query.value = "door"

    browser.sends(change)
    for press in (form._rows._buttons[0].click, form._rows._after.click, form._export.click):
        browser.sends(press, after=0.1)
        assert form._view.layout.display == "none"
        assert "press again" in said(form)
        assert not any(button.button_style for button in form._rows._buttons)
    assert "Rows 1 to 10" in form._rows._place.value
    assert form._exported.value == ""
    browser.sends(form._rows._buttons[0].click, after=1)
    assert form._view.layout.display is None
    assert form._view._path == form.result.path[0]
    assert said(form) == ""


def test_a_row_pressed_while_the_kernel_was_at_work_opens_nothing(handbook: KnowledgeBase) -> None:
    """Enter asks without a press; a press sent before the answer was there is refused."""
    form = knb.EnumerateForm(handbook)
    form.ask("freezer")
    browser = Browser(form)
    browser.sends(enter(form.query))

    def change() -> None:
        form.query.value = "door"

    change()
    form._rows._buttons[0].click()  # sent with them, so before the answer
    assert "press again" in said(form)
    browser.sends(form._rows._buttons[0].click, after=0.05)
    assert form._view._path == form.result.path[0]


def test_enter_asks_once_changed_or_not(handbook: KnowledgeBase) -> None:
    """Enter on the same query asks again; on a changed one it is one question."""
    form = knb.SearchForm(handbook)
    form.ask("backup")
    seen: list[object] = []
    form.observe(seen.append, "result")
    browser = Browser(form)
    browser.sends(enter(form.query))
    until(lambda: len(seen) == 1)
    browser.sends(enter(form.query), after=1)

    def change() -> None:
        form.query.value = "freezer"

    change()
    time.sleep(0.2)
    assert len(seen) == 2
    browser.sends(enter(form.under), after=2)
    until(lambda: len(seen) == 3)
    other = knb.SearchForm(handbook)
    Browser(other).sends(enter(other.under))  # an option asks once there is a query
    time.sleep(0.2)
    assert said(other) == ""


def test_enter_shows_no_warning(handbook: KnowledgeBase) -> None:
    """The deprecated handler of Enter, which warns in the notebook, is not used."""
    form = knb.SearchForm(handbook)
    assert form.query._submission_callbacks.callbacks == []


def test_a_clock_that_is_set_back_does_not_deafen_a_form() -> None:
    """Presses count again at once."""
    at = 5_000.0
    presses = Presses(lambda: at)
    presses.blurred()
    assert presses.early()
    at = 1_000.0
    assert not presses.early()
    assert not presses.repeated()
    assert presses.repeated()


def test_the_old_answer_is_out_of_sight_while_a_slow_one_is_awaited(
    handbook: KnowledgeBase,
) -> None:
    """After a moment; an answer that comes at once makes nothing flicker."""
    seen: list[object] = []

    class Slow(knb.SearchForm):
        wait = 0.0

        def _ask(self, question: dict[str, Any]) -> Any:
            time.sleep(self.wait)
            seen.append(self._answer.layout.visibility)
            return super()._ask(question)

    form = Slow(handbook)
    form.ask("backup")
    form.wait = 0.6
    form.ask("freezer")
    assert seen == [None, "hidden"]
    assert form._answer.layout.visibility is None


def test_a_button_that_was_pressed_keeps_the_focus(handbook: KnowledgeBase) -> None:
    """None is disabled or hidden under the finger; what cannot be done is said."""
    form = knb.SearchForm(handbook)
    focused: list[object] = []

    class Watching(knb.SearchForm):
        def _ask(self, question: dict[str, Any]) -> Any:
            assert not self._button.disabled
            return super()._ask(question)

    form = Watching(handbook)
    form.ask("backup")
    assert form.error is None
    form._rows._buttons[1].click()
    while not form._view._last:
        form._view._later.click()
    form._view._later.click()
    assert form.error is None
    assert "That is the last chunk" in form._view._end.value
    assert not form._view._later.disabled
    for button in form._rows._buttons:
        button.focus = lambda button=button: focused.append(button)
    form._view._close.click()
    assert focused == [form._rows._buttons[1]]
    pane = knb.Explorer(handbook).index
    pane._stop.click()
    assert not pane._stop.disabled
    assert "No pass is running" in pane._report.value


def test_the_text_stands_below_the_row_that_was_pressed(handbook: KnowledgeBase) -> None:
    """Where the eye is: below that row and above the next, and the row is marked."""
    form = knb.SearchForm(handbook)
    form.ask("backup")
    for pressed in (4, 0):
        form._rows._buttons[pressed].click()
        places = [int(line.layout.order) for line in form._rows._lines]
        below = int(form._view.layout.order)
        assert sum(place < below for place in places) == pressed + 1
        assert below not in places
        marked = [at for at, b in enumerate(form._rows._buttons) if b.button_style == "info"]
        assert marked == [pressed]
    form._rows._after.click()
    assert form._view.layout.display == "none"
    assert not any(button.button_style for button in form._rows._buttons)


def test_a_row_of_an_older_index_is_said_to_be_one(tmp_path: Path) -> None:
    """A citation is a place: after another pass another text may stand there."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# One\n\ndoor\n")
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(docs)
        forms = [knb.SearchForm(kb), knb.EnumerateForm(kb), knb.VocabularyForm(kb)]
        for form in forms:
            form.ask("door")
            form._rows._buttons[0].click()
            assert "index changed" not in form._view._title.value
        (docs / "a.md").write_text("# Nothing\n\nof the kind\n\n# One\n\ndoor\n")
        kb.index(docs)
        for form in forms:
            form._rows._buttons[0].click()
            assert "The index changed since this answer" in form._view._title.value
            form.ask()
            form._rows._buttons[0].click()
            assert "index changed" not in form._view._title.value
