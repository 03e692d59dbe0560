"""What only a real kernel shows: the stop button, an event loop, charts, Notebook 7, Voila."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.lab import Notebook, Server, write_notebook
from tests.conftest import HANDBOOK


def explore(page: Any) -> None:
    """Ask an Explorer, read a chunk, provoke an error in another tab, and go on."""
    query = page.get_by_label("Query").locator("visible=true").first
    query.fill("backup")
    query.press("Enter")
    page.get_by_text("hits for backup").wait_for()
    page.get_by_role("button", name="policies/backup.md#1").click()
    page.get_by_role("region", name="The chunk").wait_for()
    page.get_by_role("tab", name="Match").click()
    query = page.get_by_label("Query").locator("visible=true").first
    query.fill("a OR b")
    query.press("Enter")
    page.get_by_role("alert").locator("visible=true").wait_for()
    query.fill("alarm")
    query.press("Enter")
    page.get_by_text("documents for alarm").wait_for()


def many_files(folder: Path, count: int) -> None:
    """Write files enough for a pass that can be stopped."""
    for number in range(count):
        place = folder / f"{number // 1000}"
        place.mkdir(parents=True, exist_ok=True)
        words = " ".join(f"word{number * 7 + n}" for n in range(120))
        (place / f"{number}.md").write_text(f"# Page {number}\n\nA door. {words}\n")


def test_stop_an_index_run(notebook: Notebook) -> None:
    """The stop button in the middle of a pass: "interrupted", and the next pass completes."""
    page = notebook.page
    many_files(notebook.server.root / "many", 12_000)
    notebook.open(
        "stop.ipynb",
        [
            "import knowledge_nb as knb\nkb = knb.open('many-store')\nr = kb.index('many')",
            "print('built', kb.stats().completeness.built)",
        ],
    )
    notebook.run_cell(0)
    page.get_by_text("of 12,000 files").wait_for()
    notebook.command("notebook:interrupt-kernel")
    page.get_by_text("interrupted:").first.wait_for()
    page.get_by_text("index again to go on").first.wait_for()
    assert "sound" in notebook.outputs()
    notebook.ready()  # until then the kernel throws away what it is asked
    notebook.run_cell(1)
    page.get_by_text("built False").wait_for()
    notebook.run_all()
    text = notebook.outputs().replace("\u2007", " ")  # tqdm's figure spaces
    assert "built True" in text
    assert "12,000 files" in text


def test_stop_in_a_form(notebook: Notebook) -> None:
    """The stop button of Explorer's index tab: "interrupted", a sound index, and on."""
    page = notebook.page
    many_files(notebook.server.root / "more", 12_000)
    notebook.open(
        "stop-form.ipynb",
        [
            "import knowledge_nb as knb\nfrom pathlib import Path\n"
            "Path('more.toml').write_text('[knowledge]\\npaths = [\"more\"]\\n')\n"
            "kb = knb.open('more-store', config='more.toml')\nknb.Explorer(kb)",
            "print('failed', list(kb.check().query('state == \"fail\"')['check']))",
        ],
    )
    notebook.run_cell(0)
    page.get_by_role("tab", name="Index").click()
    page.get_by_role("button", name="Bring up to date").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("alert").wait_for()
    assert "interrupted" in page.get_by_role("alert").inner_text()
    page.get_by_text("did not finish").first.wait_for()
    page.get_by_role("button", name="Bring up to date").click()
    page.get_by_text("12,000 files read").wait_for()
    page.get_by_text("Covers 12,000 indexed documents").first.wait_for()
    notebook.run_cell(1)
    page.get_by_text("failed []").wait_for()
    assert page.get_by_role("alert").locator("visible=true").count() == 0


def test_inside_the_event_loop_of_a_kernel(notebook: Notebook) -> None:
    """Plain cells, `async def`, `await`, tasks and threads of a kernel, whose loop is running."""
    notebook.open(
        "loop.ipynb",
        [
            "import asyncio, threading\nimport knowledge_nb as knb\n"
            "kb = knb.open('handbook-store')\nassert asyncio.get_running_loop().is_running()",
            "async def ask():\n    return len(kb.enumerate('backup'))\nprint('async', await ask())",
            "print('task', await asyncio.create_task(ask()))",
            "print('thread', await asyncio.to_thread(lambda: len(kb.search('backup'))))",
            "kb.index()\nkb.kwic('backup')\nkb.vocabulary()\nkb.sources()\nprint('plain')",
        ],
    )
    notebook.run_all()
    text = notebook.outputs()
    for said in ("async 8", "task 8", "thread 5", "plain"):
        assert said in text
    assert "Traceback" not in text


def test_charts_are_pictures(notebook: Notebook) -> None:
    """A chart is an image in the page, drawn without any request but to the notebook's server."""
    notebook.open(
        "charts.ipynb",
        [
            "import knowledge_nb as knb\nkb = knb.open('handbook-store')\nkb.vocabulary().chart()",
            "kb.enumerate('freezer').chart('folders')",
            "kb.search('alarm').chart('overlap', kb.search('night alarm'))",
        ],
    )
    notebook.run_all()
    pictures = notebook.page.locator(".jp-OutputArea-output img")
    assert pictures.count() == 3
    for at in range(3):
        assert pictures.nth(at).evaluate("image => image.naturalWidth") > 300


def test_notebook_seven(open_page: Callable[..., Any], notebook_server: Server) -> None:
    """The forms in Notebook 7: ask, read a chunk, an error, and on; a frame speaks there too."""
    write_notebook(
        notebook_server.root / "seven.ipynb",
        [
            f"import knowledge_nb as knb\nkb = knb.open('store')\n"
            f"r = kb.core.index({str(HANDBOOK)!r})",
            "knb.Explorer(kb)",
            "kb.enumerate('freezer')",
        ],
    )
    page = open_page(width=900)
    page.goto(f"{notebook_server.url}/notebooks/seven.ipynb?token={notebook_server.token}")
    page.locator(".jp-NotebookKernelStatus, .jp-Notebook-ExecutionIndicator").first.wait_for(
        timeout=60_000
    )
    page.wait_for_function(
        "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status"
        " === 'idle'",
        timeout=60_000,
    )
    page.evaluate(
        "() => window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => null)"
    )
    page.get_by_text("documents for freezer").first.wait_for(timeout=60_000)
    explore(page)


def test_voila(open_page: Callable[..., Any], voila_server: Server) -> None:
    """Explorer as a page of its own in Voila: ask, read, an error, and on."""
    write_notebook(
        voila_server.root / "explorer.ipynb",
        [
            f"import knowledge_nb as knb\nkb = knb.open('store')\n"
            f"r = kb.core.index({str(HANDBOOK)!r})",
            "knb.Explorer(kb)",
        ],
    )
    page = open_page(width=900)
    page.goto(f"{voila_server.url}/voila/render/explorer.ipynb?token={voila_server.token}")
    page.get_by_label("Query").locator("visible=true").first.wait_for(timeout=60_000)
    explore(page)
