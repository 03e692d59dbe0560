"""What a verb imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import environment

HEAVY = ("pandas", "numpy", "duckdb", "ipywidgets", "httpx", "matplotlib", "mcp", "rich", "scipy")
PROGRAM = """
import sys
from knowledge_nb.cli import main
sys.argv[0] = "knowledge"
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("IMPORTED", *(name for name in sys.modules if "." not in name))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["match", "frost"],
        ["match", "frost", "--json"],
        ["match", "frost", "--csv", "-"],
        ["search", "frost"],
        ["search", "frost", "--mode", "lexical", "--json"],
        ["words", "--prefix", "fro"],
        ["stats"],
    ],
    ids=" ".join,
)
def test_a_question_imports_nothing_heavy(
    handbook_store: Path, tmp_path: Path, arguments: list[str]
) -> None:
    """A lexical question, its output not on a terminal, needs SQLite and click."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--store", str(handbook_store), *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment(),
    )
    imported = done.stdout.rpartition("IMPORTED")[2].split()
    assert "apsw" in imported
    assert [name for name in HEAVY if name in imported] == []


def test_a_verb_does_not_import_the_other_verbs(handbook_store: Path, tmp_path: Path) -> None:
    """The table of verbs is imported row by row."""
    program = PROGRAM.replace('if "." not in name', 'if "cli.verbs" in name')
    done = subprocess.run(
        [sys.executable, "-c", program, "--store", str(handbook_store), "stats"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.stdout.rpartition("IMPORTED")[2].split() == ["knowledge_nb.cli.verbs_corpus"]
