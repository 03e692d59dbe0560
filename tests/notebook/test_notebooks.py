"""The notebooks: clean in the repository, and each runs top to bottom in a clean place."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbclient
import nbformat
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))


def names() -> list[str]:
    """Names of the notebooks, for the test's own name."""
    return [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names())
def test_it_is_clean(path: Path) -> None:
    """No outputs, no counts, ids that stay the same, a kernel that is everywhere."""
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    ids = [cell.id for cell in book.cells]
    assert len(set(ids)) == len(ids)
    for cell in book.cells:
        assert cell.source.strip()
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
    assert book.metadata.kernelspec.name == "python3"
    assert nbformat.writes(book) + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names())
def test_it_runs(path: Path, tmp_path: Path, kernel_environment: None) -> None:
    """In a copy of `notebooks` and `data` alone, from top to bottom, leaving those as they were."""
    shutil.copytree(REPOSITORY / "data", tmp_path / "data")
    place = tmp_path / "notebooks"
    place.mkdir()
    shutil.copy(path, place)
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    book = nbformat.read(place / path.name, as_version=4)
    client = nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(place)}}
    )
    client.execute()
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before
    text = str(book)
    assert "Traceback" not in text
    assert "Warning" not in text
