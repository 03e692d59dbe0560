"""The command as a person has it: real stores, click's runner, and real processes."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from knowledge_nb.cli.group import knowledge

HANDBOOK = Path(__file__).resolve().parents[2] / "data" / "handbook"


@dataclass(frozen=True)
class Finished:
    """A command that ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Finished]


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without what would change the output."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")
    }
    return {**kept, "PYTHONWARNINGS": "error", **extra}


def run_knowledge(
    *arguments: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> Finished:
    """Run `python -m knowledge_nb` to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "knowledge_nb", *map(str, arguments)],
        cwd=cwd,
        env=environment(**(env or {})),
        capture_output=True,
        check=False,
        timeout=120,
    )
    return Finished(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))


def run_on_terminal(*arguments: str | Path, cwd: Path) -> Finished:
    """Run it with a terminal of 80 columns for stdout and stderr; `out` is what both wrote."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "knowledge_nb", *map(str, arguments)],
        cwd=cwd,
        env=environment(TERM="xterm", COLUMNS="80", LINES="40"),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    read = bytearray()
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says EIO when the other end is closed
            break
        if not piece:
            break
        read += piece
    os.close(ours)
    return Finished(child.wait(timeout=60), read.decode().replace("\r\n", "\n"), "")


@pytest.fixture
def spawn(tmp_path: Path) -> Run:
    """Run the command in a process of its own, in a folder of its own."""

    def in_folder(*arguments: str | Path, **how: Any) -> Finished:
        return run_knowledge(*arguments, cwd=tmp_path, **how)

    return in_folder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command through click's runner, in a folder of its own; a traceback is raised."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)

    def in_folder(*arguments: str | Path) -> Finished:
        done = CliRunner().invoke(knowledge, [str(argument) for argument in arguments])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Finished(done.exit_code, done.stdout, done.stderr)

    return in_folder


@pytest.fixture(scope="session")
def handbook_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the handbook, for tests that only read."""
    folder = tmp_path_factory.mktemp("handbook")
    done = run_knowledge("--store", folder / "store", "index", HANDBOOK, cwd=folder)
    assert done.status == 0, done.err
    return folder / "store"


@pytest.fixture
def ask(run: Run, handbook_store: Path) -> Run:
    """Run a verb on the handbook."""

    def on_handbook(*arguments: str | Path) -> Finished:
        return run("--store", handbook_store, *arguments)

    return on_handbook


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Three small documents."""
    folder = tmp_path / "corpus"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("# Lanterns\n\nA brass lantern hangs in the harbour.\n")
    (folder / "b.md").write_text("# Boats\n\nThe lantern of the boat is made of tin.\n")
    (folder / "sub" / "c.txt").write_text("A harbour without light.\n")
    return folder


@pytest.fixture
def small(run: Run, corpus: Path) -> Path:
    """A store of the three documents, in `knowledge` of the test's folder."""
    done = run("index", corpus)
    assert done.status == 0, done.err
    return corpus.parent / "knowledge"


@pytest.fixture
def empty(run: Run, tmp_path: Path) -> Path:
    """A store whose last pass left no document."""
    folder = tmp_path / "nothing"
    folder.mkdir()
    done = run("index", folder)
    assert done.status == 0, done.err
    shutil.rmtree(folder)
    return tmp_path / "knowledge"
