"""Presses and keys whose timing only a real browser gives."""

from __future__ import annotations

from typing import Any

from tests.browser.lab import Notebook
from tests.browser.test_forms import OPEN, READ_MS, field, wide

FOCUS = "() => document.activeElement.textContent || document.activeElement.tagName"


def judged(notebook: Notebook, name: str) -> int:
    """Judgements in a file."""
    file = notebook.server.root / name
    return len(file.read_text().splitlines()) if file.exists() else 0


def rest(page: Any) -> None:
    """Read for a moment, as a person would: what comes sooner is of the gesture before."""
    page.wait_for_timeout(READ_MS)


def test_enter_and_a_press_on_rows_that_change(notebook: Notebook) -> None:
    """Enter asks once, changed or not; a press that meets another answer opens nothing."""
    page = notebook.page
    notebook.open(
        "presses.ipynb",
        [
            f"{OPEN}\nasked = []\nform = knb.EnumerateForm(kb)\n"
            "form.observe(lambda change: asked.append(form.query.value), 'result')\nform",
            "print('asked', asked)",
        ],
    )
    notebook.run_all()
    field(page).fill("freezer")
    field(page).press("Enter")
    page.get_by_text("documents for freezer").wait_for()
    page.wait_for_timeout(300)
    field(page).press("Enter")
    page.wait_for_timeout(500)
    notebook.run_cell(1)
    page.get_by_text("asked ['freezer', 'freezer']").wait_for()
    row = page.locator(".jp-OutputArea-output button", has_text="#").first
    before = row.inner_text()
    field(page).fill("")
    field(page).press_sequentially("door")
    row.click()  # takes the focus from the field, which asks
    page.get_by_text("press again").wait_for()
    assert row.inner_text() != before
    assert page.get_by_role("region", name="The chunk").count() == 0
    page.wait_for_timeout(500)
    row.click()
    page.get_by_role("region", name="The chunk").wait_for()
    assert page.get_by_text("press again").count() == 0
    # Right below the row, above the next one.
    rows = page.locator(".jp-OutputArea-output button", has_text="#")
    shown = page.get_by_role("button", name="Later chunk").bounding_box()["y"]
    assert rows.nth(0).bounding_box()["y"] < shown < rows.nth(1).bounding_box()["y"]
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output .widget-button')].filter(
            button => button.scrollWidth > button.clientWidth).length"""
    )
    assert cut == 0
    assert page.locator(".jp-OutputArea-output[data-mime-type*=stderr]").count() == 0
    assert "Deprecat" not in notebook.outputs()


def test_the_focus_stays_in_the_form(notebook: Notebook) -> None:
    """The last page, the last chunk, Close and the question's own button leave it where it is."""
    page = notebook.page
    notebook.open("focus.ipynb", [f"{OPEN}\nform = knb.SearchForm(kb)\nform"])
    notebook.run_all()
    field(page).fill("backup")
    page.get_by_role("button", name="Search").focus()
    page.keyboard.press("Enter")
    page.get_by_text("hits for backup").wait_for()
    assert page.evaluate(FOCUS) == "Search"
    page.wait_for_timeout(500)
    after = page.get_by_role("button", name="Next ›")
    after.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Rows 11 to").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("That is the last page.").wait_for()
    assert page.evaluate(FOCUS) == "Next ›"
    row = page.locator(".jp-OutputArea-output button", has_text="#").first
    name = row.inner_text()
    row.focus()
    page.keyboard.press("Enter")
    page.get_by_role("region", name="The chunk").wait_for()
    later = page.get_by_role("button", name="Later chunk")
    for _ in range(30):
        later.dblclick()
        if page.get_by_text("That is the last chunk").count():
            break
    page.get_by_text("That is the last chunk").wait_for()
    assert page.evaluate(FOCUS) == "Later chunk ›"
    assert page.get_by_role("alert").count() == 0
    page.get_by_role("button", name="Close", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_function("name => document.activeElement.textContent === name", arg=name)
    assert wide(page) == 0


def test_one_gesture_judges_one_document(notebook: Notebook) -> None:
    """A double click, "23" typed fast and Enter held down are one judgement each."""
    page = notebook.page
    opening = (
        f"{OPEN}\nruns = kb.run({{'q1': 'alarm', 'q2': 'freezer'}}, k=5)\n"
        "knb.JudgeForm(kb, kb.pool(runs, 3), 'gestures.txt')"
    )
    notebook.open("gestures.ipynb", [opening])
    notebook.run_all()
    rest(page)
    page.get_by_role("button", name="1 useful").dblclick()
    page.get_by_text("1 of 6 judged").wait_for()
    page.get_by_text("Pressed too soon").wait_for()
    assert judged(notebook, "gestures.txt") == 1
    rest(page)
    field(page, "Grade").focus()
    page.keyboard.type("23", delay=60)
    page.get_by_text("2 of 6 judged").wait_for()
    rest(page)
    assert judged(notebook, "gestures.txt") == 2
    page.get_by_role("button", name="0 does").focus()
    page.keyboard.down("Enter")
    page.wait_for_timeout(500)
    for _ in range(25):
        page.keyboard.down("Enter")  # again without an up: the key repeats
        page.wait_for_timeout(30)
    page.keyboard.up("Enter")
    page.get_by_text("3 of 6 judged").wait_for()
    rest(page)
    assert judged(notebook, "gestures.txt") == 3
    inside = page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output pre[tabindex]')].map(text =>
            text.getBoundingClientRect().right
            <= text.closest('.jp-OutputArea-output').getBoundingClientRect().right + 0.5)"""
    )
    assert inside == [True]
