"""The door: one flat sorted list of names, each of which can be had, none of them heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import knowledge_nb


def test_the_door_is_sorted_and_every_name_opens() -> None:
    """`__all__` is sorted, and getting each name works."""
    names = knowledge_nb.__all__
    assert names == sorted(names)
    for name in names:
        assert getattr(knowledge_nb, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    """A misspelt name says so, in the words that Python uses."""
    with pytest.raises(AttributeError, match="serach"):
        knowledge_nb.serach  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    """`import knowledge_nb` and opening a store load none of the slow libraries."""
    code = (
        "import sys, tempfile, knowledge_nb as knb;"
        "kb = knb.open(tempfile.mkdtemp()); kb.stats();"
        "print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    )
    heavy = ["pandas", "numpy", "duckdb", "ipywidgets", "httpx", "matplotlib", "mcp", "scipy"]
    done = subprocess.run(
        [sys.executable, "-c", code, *heavy, "sqlite3"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
