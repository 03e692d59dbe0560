"""What must not read as an answer: a bug, a lost stdout, a half-done pass, a mangled question."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from tests.cli.conftest import Finished, Run, environment

KNOWLEDGE = f"{shlex.quote(sys.executable)} -m knowledge_nb"
BUG = """
import sys
import knowledge_nb.core
from knowledge_nb.cli import main
def broken(*arguments, **named):
    raise ZeroDivisionError("a bug")
knowledge_nb.core.Core.enumerate = broken
sys.argv = ["knowledge", "--store", sys.argv[1], "match", "lantern", "--exit-code"]
main()
"""


def _in_shell(command: str, cwd: Path) -> Finished:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def half_done(small: Path) -> Path:
    """The store of three documents as a pass leaves it that was killed."""
    connection = apsw.Connection(str(small / "knowledge.db"))
    connection.execute(
        "INSERT OR REPLACE INTO meta(key, value) VALUES ('pass_started', '2001-02-03T04:05:06Z')"
    )
    connection.close()
    return small


def test_a_bug_is_no_answer(small: Path) -> None:
    """An exception that nobody foresaw: its traceback, and a status that means nothing else."""
    done = subprocess.run(
        [sys.executable, "-c", BUG, small],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (70, "")
    assert "Traceback" in done.stderr
    assert "ZeroDivisionError: a bug" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "command",
    ["match lantern --count >&-", "--help >&-", "--help >/dev/full", "--version >/dev/full"],
)
def test_a_stdout_that_cannot_be_written_is_status_4(
    small: Path, tmp_path: Path, command: str
) -> None:
    """Closed or full: one line says so."""
    done = _in_shell(f"{KNOWLEDGE} {command}", tmp_path)
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith("knowledge: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("mode", ["--count", "--paths-only"])
def test_a_bare_list_or_number_says_on_stderr_what_it_covers(
    run: Run, small: Path, mode: str
) -> None:
    """Always, not only where it is empty."""
    assert run("match", "lantern", mode).err.startswith("knowledge: Covers 3 indexed documents")


@pytest.mark.parametrize(
    "verb",
    [
        ["match", "lantern", "--count"],
        ["match", "lantern", "--json"],
        ["search", "lantern", "--json"],
        ["words", "--csv", "-"],
        ["words", "--json"],
        ["sources", "--csv", "-"],
        ["sources", "--json"],
    ],
    ids=" ".join,
)
def test_programs_hear_of_a_pass_that_did_not_finish(
    run: Run, half_done: Path, verb: list[str]
) -> None:
    """On stderr, in every form."""
    done = run(*verb)
    assert done.status == 0
    assert "a pass that began 2001-02-03T04:05:06Z did not finish" in done.err


@pytest.mark.parametrize("verb", [["search", "lantern"], ["show", "a.md"]], ids=" ".join)
def test_people_read_of_a_pass_that_did_not_finish(
    run: Run, half_done: Path, verb: list[str]
) -> None:
    """As a line of the text."""
    assert "\nWARNING: a pass that began 2001-02-03T04:05:06Z did not finish" in run(*verb).out


@pytest.mark.parametrize(
    "verb",
    [
        "match $'lan\\xfftern'",
        "search $'lantern \\xff'",
        "words $'\\xff'",
        "words --prefix $'\\xff'",
    ],
)
def test_bytes_that_are_no_text_are_refused(small: Path, tmp_path: Path, verb: str) -> None:
    """No other question is answered in the place of the one that was asked."""
    done = _in_shell(f"{KNOWLEDGE} {verb}", tmp_path)
    assert (done.status, done.out) == (2, "")
    assert "\\udcff" in done.err
    assert "bytes that are no text" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["index", ""],
        ["rm", ""],
        ["match", "lantern", "--under", ""],
        ["search", "lantern", "--under", ""],
        ["--store", "", "stats"],
        ["--config", "", "stats"],
    ],
    ids=" ".join,
)
def test_an_empty_argument_is_refused(run: Run, small: Path, arguments: list[str]) -> None:
    """An unset variable of the shell is not the working directory, nor the whole corpus."""
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert "empty; an unset shell variable?" in done.err
