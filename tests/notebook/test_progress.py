"""The bar of `kb.index` in a kernel, and nothing where there is none."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import nbclient
import nbformat
import pytest

import knowledge_nb as knb

Run = Callable[..., tuple[list[nbformat.NotebookNode], list[str]]]


def test_no_bar_outside_a_kernel(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A script's output is its own."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("door")
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(tmp_path / "docs")
    assert capfd.readouterr() == ("", "")


def test_a_bar_in_a_kernel(run_cells: Run, tmp_path: Path) -> None:
    """One bar that ends with files, sizes and what was skipped; a progress of one's own wins."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for n in range(20):
        (docs / f"{n}.md").write_text("door " * 200)
    (docs / "bad.md").write_bytes(b"\xff\xfe\xff")
    cells, bars = run_cells(
        "import knowledge_nb as knb\nkb = knb.open('knowledge')\nr = kb.index('docs')",
        "seen = []\nr = kb.index(reindex=True, progress=lambda *a: seen.append(a))",
        "print(len(seen))",
    )
    shown = [o for o in cells[0].outputs if o.output_type == "display_data"]
    assert len(shown) == 1
    assert len(bars) == 1
    text = bars[0]
    assert text.startswith("Indexed: 100%")
    assert "20 added" in text
    assert "1 skipped" in text
    assert "B/s" in text
    assert cells[1].outputs == []
    assert cells[2].outputs == [nbformat.v4.new_output("stream", name="stdout", text="21\n")]


def test_stop_says_interrupted_and_leaves_a_sound_index(run_cells: Run, tmp_path: Path) -> None:
    """An interrupt in the middle: the bar says so, the error says so, and a next pass goes on."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for n in range(3_000):
        (docs / f"{n}.md").write_text(f"door {n}\n" * 100)
    code = textwrap.dedent(
        """
        import os, signal, threading
        import knowledge_nb as knb
        kb = knb.open('knowledge')
        from knowledge_nb.notebook import progress
        shown = progress.IndexBar.__call__
        def stop_at_half(self, files, done, all_files, total):
            shown(self, files, done, all_files, total)
            if files == 1500:
                os.kill(os.getpid(), signal.SIGINT)
        progress.IndexBar.__call__ = stop_at_half
        kb.index('docs')
        """
    )
    cells, bars = run_cells(
        code,
        "progress.IndexBar.__call__ = shown\ns = kb.stats()",
        "print(s.completeness.built, s.documents)",
        "r = kb.index('docs')\nprint(kb.stats().documents, len(kb.enumerate('door')))",
        allow_errors=True,
    )
    assert re.match(r"interrupted: +5\d%", bars[0])
    [error] = [o for o in cells[0].outputs if o.output_type == "error"]
    assert error.ename == "KeyboardInterrupt"
    assert "sound" in error.evalue
    built, documents = cells[2].outputs[0].text.split()
    assert built == "False"
    assert 0 <= int(documents) < 3_000
    assert cells[3].outputs[-1].text == "3000 3000\n"


@pytest.fixture
def run_cells(tmp_path: Path, kernel_environment: None) -> Run:
    """Run cells in a kernel of this Python, in tmp_path; give them and the text of each bar."""

    def run(
        *cells: str, allow_errors: bool = False
    ) -> tuple[list[nbformat.NotebookNode], list[str]]:
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        client = nbclient.NotebookClient(
            book,
            timeout=60,
            kernel_name="python3",
            allow_errors=allow_errors,
            resources={"metadata": {"path": str(tmp_path)}},
        )
        client.execute()
        widgets = book.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
        bars = []
        for widget in widgets.values():
            if widget["model_name"] == "HBoxModel":
                parts = [
                    widgets[name.removeprefix("IPY_MODEL_")] for name in widget["state"]["children"]
                ]
                bars.append(
                    "".join(
                        str(part["state"]["value"])
                        for part in parts
                        if part["model_name"] == "HTMLModel"
                    )
                )
        return book.cells, [bar.replace("\u2007", " ") for bar in bars]

    return run
