"""Every example in the README runs, and prints what the README says."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
EXECUTED = {"sh", "console", "python", "python3", "toml", "json", "crontab", "ini"}


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder `data`, to work in."""
    folder = tmp_path / "data"
    shutil.copytree(ROOT / "data", folder)
    monkeypatch.chdir(folder)
    return folder


def test_every_block_is_of_a_kind_that_is_executed() -> None:
    """No example escapes the tests below."""
    assert {name for name, _ in BLOCKS} == EXECUTED


def test_what_the_console_blocks_show_is_what_happens(data: Path, tmp_path: Path) -> None:
    """Each `$` line is run, in order; `...` stands for what differs from run to run."""
    script = tmp_path / "bin" / "knowledge"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m knowledge_nb "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    checker = doctest.OutputChecker()
    commands = 0
    for block in blocks("console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = example.partition("\n")
            done = subprocess.run(
                ["bash", "-c", command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                cwd=data,
                env={**os.environ, "PATH": path, "PYTHONUTF8": "1"},
            )
            printed = done.stdout.decode().replace("\r\n", "\n")
            assert checker.check_output(expected, printed, doctest.ELLIPSIS), (
                f"$ {command}\n--- README\n{expected}\n--- really\n{printed}"
            )
            commands += 1
    assert commands > 5


@pytest.mark.usefixtures("data")
def test_the_python_blocks_run() -> None:
    """As the cells of one notebook, from first to last."""
    names: dict[str, object] = {}
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            for block in blocks("python"):
                exec(compile(block, "README.md", "exec"), names)
    finally:
        if "kb" in names:
            names["kb"].close()  # type: ignore[attr-defined]
    assert "is not an operator here" in printed.getvalue()
    assert "No indexing pass has completed" in printed.getvalue()


@pytest.mark.usefixtures("data")
def test_the_configuration_is_one_that_is_taken() -> None:
    """No key of the example is unknown to the settings."""
    from knowledge_nb.settings import load_settings

    example = "\n".join(blocks("toml"))
    file = Path("knowledge.toml")
    file.write_text(example)
    settings = load_settings(file)
    assert settings.paths == (file.absolute().parent / "handbook",)
    assert settings.embeddings is not None
    assert settings.mcp.expose == ("knowledge_search", "knowledge_enumerate")


def test_the_query_table_is_the_language() -> None:
    """Each query in the table of the language is accepted, and means what stands beside it."""
    from knowledge_nb.matching.query import parse

    section = README.partition("## The query language")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    queries = [query for row in rows for query in re.findall(r"`([^`]+)`", row)]
    assert len(queries) > 5
    for query in queries:
        whole = query if not query.startswith("-") else f"lantern {query}"
        assert parse(whole).terms, query


def test_the_readme_and_the_help_tell_the_same_exit_statuses() -> None:
    """One table, in two places."""
    from knowledge_nb.cli.group import EXIT_STATUSES

    told = dict(re.findall(r"^ +(\d+)  (.*?)(?=^ +\d+  |\Z)", EXIT_STATUSES, re.M | re.S))
    rows = dict(re.findall(r"^\| (\d+) \| (.*?) \|$", README, re.MULTILINE))
    assert told.keys() == rows.keys()
    for status, text in told.items():
        assert _plain(rows[status]) == _plain(text)


def _plain(text: str) -> list[str]:
    return re.findall(r"[\w()-]+", text.lower())


def test_ci_runs_the_command_of_the_readme() -> None:
    """The line that a reader is told to type is the line that is tried."""
    install, test = blocks("sh")
    assert install.count("\n") == test.count("\n") == 1
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert test.strip() in lines
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_links_inside_the_repository_lead_somewhere() -> None:
    """A relative link names a file."""
    for target in re.findall(r"\]\(([^)#]+)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target
