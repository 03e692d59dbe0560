"""The forms as a person uses them in JupyterLab."""

from __future__ import annotations

from typing import Any

from tests.browser.lab import Notebook
from tests.notebook import hostile

# Reading a document takes longer than this; a grade that comes sooner is not taken.
READ_MS = 900
OPEN = "import knowledge_nb as knb\nkb = knb.open('handbook-store')"


def wide(page: Any) -> int:
    """Pixels by which anything in an output is wider than the output."""
    return int(
        page.evaluate(
            """() => Math.max(0, ...[...document.querySelectorAll('.jp-OutputArea-output')].map(
                output => output.scrollWidth - output.clientWidth))"""
        )
    )


def field(page: Any, label: str = "Query") -> Any:
    """The field with a label that is to be seen."""
    return page.get_by_label(label).locator("visible=true").first


def test_search_read_copy_page_export(notebook: Notebook) -> None:
    """Type a query, Enter, read the rows, press one, copy its citation, turn the page, export."""
    page = notebook.page
    notebook.open("search.ipynb", [f"{OPEN}\nform = knb.SearchForm(kb)\nform", "form.call"])
    notebook.run_all()
    field(page).fill("catalogue backup")
    field(page).press("Enter")
    page.get_by_text("20 hits").wait_for()
    page.get_by_text("Rows 1 to 10 of 20").wait_for()
    assert page.locator("mark").count() > 10
    assert "Backup policy > Objectives" in notebook.outputs()

    page.get_by_role("button", name="policies/backup.md#1").click()
    chunk = page.get_by_role("region", name="The chunk")
    chunk.wait_for()
    assert "If the tunnel collapsed tonight" in chunk.inner_text()
    assert page.get_by_role("region", name="Its neighbour").count() == 2
    page.get_by_role("button", name="Copy citation").click()
    page.get_by_role("button", name="Copied", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "policies/backup.md#1"
    page.get_by_role("button", name="Later chunk").click()
    page.get_by_text("lines 13 to 17").wait_for()

    page.get_by_role("button", name="Next ›").click()
    page.get_by_text("Rows 11 to 20 of 20").wait_for()
    page.get_by_role("button", name="Export CSV").click()
    page.get_by_text("20 rows written to").wait_for()
    assert (notebook.server.root / "search.csv").read_text().count("\n") > 20

    page.get_by_role("button", name="Copy the call").click()
    page.get_by_role("button", name="Copied", exact=True).first.wait_for()
    call = page.evaluate("navigator.clipboard.readText()")
    assert call == "kb.search('catalogue backup', k=20)"
    assert wide(page) == 0


def test_keyboard_alone(notebook: Notebook) -> None:
    """From the query field, Tab reaches the button, the options, the rows and the pager."""
    page = notebook.page
    notebook.open("keys.ipynb", [f"{OPEN}\nform = knb.SearchForm(kb)\nform"])
    notebook.run_all()
    field(page).fill("backup")
    field(page).press("Enter")
    page.get_by_role("button", name="policies/backup.md#1").wait_for()
    field(page).focus()
    reached = []
    for _ in range(22):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => {
                    const at = document.activeElement;
                    const label = at.labels && at.labels[0];
                    return label ? label.textContent : at.title || at.textContent;
                }"""
            )
        )
    seen = " ".join(reached)
    for name in ("Search (Enter", "Hits", "Ranked by", "Folder", "backup.md#1"):
        assert name in seen
    page.get_by_role("button", name="policies/backup.md#1").focus()
    page.keyboard.press("Enter")
    page.get_by_role("region", name="The chunk").wait_for()


def test_judging_by_keyboard(notebook: Notebook) -> None:
    """A digit judges and the cursor stays; Tab and Space reach every grade; all is in the file."""
    page = notebook.page
    opening = (
        f"{OPEN}\nruns = kb.run({{'q1': 'alarm', 'q2': 'freezer'}}, k=5)\n"
        "knb.JudgeForm(kb, kb.pool(runs, 3), 'judged.txt')"
    )
    notebook.open("judge.ipynb", [opening])
    notebook.run_all()
    grade = field(page, "Grade")
    grade.focus()
    qrels = notebook.server.root / "judged.txt"
    for done, digit in enumerate("203", start=1):
        page.wait_for_timeout(READ_MS)
        page.keyboard.press(digit)
        page.get_by_text(f"{done} of 6 judged").wait_for()
        assert grade.evaluate("field => field === document.activeElement && field.value === ''")
        assert len(qrels.read_text().splitlines()) == done
    page.keyboard.press("x")
    page.get_by_text("'x' is no grade; type one of 0, 1, 2, 3").wait_for()
    page.wait_for_timeout(READ_MS)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.get_by_text("4 of 6 judged").wait_for()
    page.get_by_role("button", name="‹ Back").focus()
    page.keyboard.press("Enter")
    page.get_by_text("judged 1; another grade replaces it").wait_for()
    assert sorted(line.split()[-1] for line in qrels.read_text().splitlines()) == list("0123")
    assert wide(page) == 0


def test_tabs_an_error_and_on(dark_notebook: Notebook) -> None:
    """Every tab of Explorer, in the dark, at 800 pixels: an error in one, then on with the work."""
    notebook, page = dark_notebook, dark_notebook.page
    notebook.open("explorer.ipynb", [f"{OPEN}\nexplorer = knb.Explorer(kb)\nexplorer"])
    notebook.run_all()
    page.get_by_role("tab", name="Match").click()
    field(page).fill("freezer OR door")
    field(page).press("Enter")
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert 'quote it: "OR"' in alert.inner_text()
    field(page).fill("freezer -visitors")
    field(page).press("Enter")
    page.get_by_text("5 documents").first.wait_for()
    assert page.get_by_role("alert").locator("visible=true").count() == 0
    page.get_by_role("button", name="ellerby-lab").click()
    page.get_by_role("region", name="The chunk").wait_for()
    assert wide(page) == 0

    page.get_by_role("tab", name="In context").click()
    field(page).fill("backup")
    field(page).press("Enter")
    page.get_by_text("11 places in 8 documents").wait_for()
    assert wide(page) == 0

    page.get_by_role("tab", name="Words").click()
    field(page, "Begins with").fill("ba")
    field(page, "Begins with").press("Enter")
    page.get_by_text("37 words").wait_for()
    page.get_by_role("button", name="backups").click()
    page.get_by_role("region", name="The chunk").locator("visible=true").wait_for()
    assert wide(page) == 0

    page.get_by_role("tab", name="Index").click()
    page.get_by_text("Covers 72 indexed documents").locator("visible=true").first.wait_for()
    page.get_by_role("tab", name="Doctor").click()
    page.get_by_role("button", name="Run the checks").click()
    page.get_by_text("files changed").or_(page.get_by_text("not run")).locator(
        "visible=true"
    ).first.wait_for()
    assert wide(page) == 0


def test_dark_text_can_be_read(dark_notebook: Notebook) -> None:
    """In the dark theme every text of a form and a frame stands out from what is behind it."""
    notebook, page = dark_notebook, dark_notebook.page
    notebook.open(
        "dark.ipynb",
        [f"{OPEN}\nform = knb.SearchForm(kb)\nform.ask('backup')\nform", "kb.enumerate('backup')"],
    )
    notebook.run_all()
    page.get_by_role("button", name="policies/backup.md#1").click()
    page.get_by_role("region", name="The chunk").wait_for()
    faint = page.evaluate(
        """() => {
            const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
            const over = (top, below) => {
                const a = top.length > 3 ? top[3] : 1;
                return [0, 1, 2].map(i => top[i] * a + below[i] * (1 - a));
            };
            const behind = element => {
                const layers = [];
                for (let at = element; at; at = at.parentElement)
                    layers.push(parse(getComputedStyle(at).backgroundColor));
                return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
            };
            const light = rgb => rgb.map(v => v / 255).map(
                v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
            ).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
            const found = [];
            for (const element of document.querySelectorAll('.mathjax_ignore *')) {
                const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
                if (!own || !element.getClientRects().length) continue;
                const ground = behind(element);
                const ink = over(parse(getComputedStyle(element).color), ground);
                const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
                const ratio = (a + 0.05) / (b + 0.05);
                if (ratio < 4.5) found.push([ratio.toFixed(2), element.textContent.slice(0, 40)]);
            }
            return found;
        }"""
    )
    assert faint == []
    body = page.evaluate(
        "() => getComputedStyle(document.body).getPropertyValue('--jp-layout-color0')"
    )
    assert body.strip() != "white"
    shot = notebook.server.root / "dark.png"
    page.screenshot(path=str(shot))
    assert shot.stat().st_size > 10_000


def test_a_cell_run_five_times_and_shown_twice(notebook: Notebook) -> None:
    """One press is one search, however often its cell ran and wherever the form is shown."""
    page = notebook.page
    notebook.open(
        "again.ipynb",
        [
            f"{OPEN}\nasked = []",
            "form = knb.SearchForm(kb)\n"
            "form.observe(lambda change: asked.append(form.query.value), 'result')\nform",
            "form",
            "print('asked', asked)",
        ],
    )
    for _ in range(5):
        notebook.run_all()
    assert page.get_by_label("Query").count() == 2
    # Typed, not filled in: the field tells of its change only when the press takes its focus.
    page.get_by_label("Query").first.press_sequentially("backup")
    page.get_by_role("button", name="Search").first.click()
    page.get_by_text("hits for backup").nth(1).wait_for()
    page.get_by_label("Query").nth(1).fill("freezer door")
    page.get_by_label("Query").nth(1).press("Enter")
    page.get_by_text("hits for freezer door").nth(1).wait_for()
    # The callback runs beside the cells; it has ended when the busy state has.
    page.wait_for_function("() => !document.body.innerText.includes('Working…')")
    notebook.run_cell(3)
    said = page.get_by_text("asked ['backup'")
    said.wait_for()
    assert said.inner_text().strip() == "asked ['backup', 'freezer door']"


def test_nothing_in_a_hostile_document_runs(notebook: Notebook) -> None:
    """In frames, rows, texts and errors: no script ran, no style applied, no link is there."""
    page = notebook.page
    hostile.write(notebook.server.root / "tricks")
    notebook.open(
        "tricks.ipynb",
        [
            "import knowledge_nb as knb\nkb = knb.open('tricks-store')\nr = kb.index('tricks')",
            "kb.search('lantern onerror', k=50)",
            "kb.enumerate('lantern')",
            "kb.kwic('lantern')",
            "kb.show('formula.md')",
            "kb.vocabulary()",
            "form = knb.EnumerateForm(kb)\nform.ask('lantern')\nform",
            "search = knb.SearchForm(kb)\nsearch.ask('lantern onerror script')\nsearch",
        ],
    )
    notebook.run_all()
    page.evaluate(
        "() => document.querySelectorAll('details').forEach(each => { each.open = true })"
    )
    rows = page.get_by_role("button", name=".md#")
    for at in range(rows.count()):
        rows.nth(at).click()
        page.get_by_role("region", name="The chunk").first.wait_for()
    field(page).fill(hostile.TEXTS["onerror"])
    field(page).press("Enter")
    page.get_by_role("alert").first.wait_for()
    page.mouse.move(400, 400)
    assert page.evaluate("() => window.ran") is None
    inside = page.locator(".jp-OutputArea-output .mathjax_ignore")
    for name in ("script", "img", "svg", "iframe", "style", "link", "a", "mjx-container", "form"):
        assert inside.locator(name).count() == 0, name
    assert page.locator(".jp-OutputArea-output mjx-container").count() == 0
    assert page.evaluate("() => getComputedStyle(document.body).display") != "none"
    assert "⟨U+202E⟩" in notebook.outputs()
    assert "\u202e" not in notebook.outputs()
    assert "<script>" in notebook.outputs()
