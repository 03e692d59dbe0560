"""What operators rely on: examples, machine-readable tables, completion, the log."""

from __future__ import annotations

import logging
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from knowledge_nb.cli.examples import EXAMPLES
from knowledge_nb.cli.group import ALIASES, VERBS, knowledge
from tests.cli.conftest import Run, environment, run_knowledge

ROOT = Path(__file__).resolve().parents[2]

# Verbs that print no table, and what they print.
NO_TABLE = {
    "show": "stored text",
    "run": "TREC lines, a format of its own",
    "watch": "a log",
    "backup": "one sentence",
    "rm": "paths, which the caller named",
    "reset": "one sentence",
    "demo": "a tour for people",
    "mcp": "a protocol",
    "completion": "a script",
}
# Examples that run until they are stopped: their options are tried, not the whole.
ENDLESS = ("knowledge watch", "knowledge mcp")


# -- examples ------------------------------------------------------------------------------------


def test_every_verb_has_examples_in_its_help() -> None:
    """As a man page ends: what for, and the line to type."""
    for verb in VERBS:
        assert EXAMPLES.get(verb), f"{verb} has no example in cli/examples.py"
        shown = CliRunner().invoke(knowledge, [verb, "--help"])
        for what, line in EXAMPLES[verb]:
            assert f"    # {what}\n    {line}\n" in shown.output
    assert EXAMPLES.keys() == VERBS.keys()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder `data`, its handbook indexed, in which the examples are typed."""
    folder = tmp_path_factory.mktemp("examples") / "data"
    shutil.copytree(ROOT / "data", folder)
    assert run_knowledge("index", "handbook", cwd=folder).status == 0
    return folder


def example_lines() -> list[str]:
    """In the order of the table, what destroys the index last."""
    last = ("rm", "reset")
    order = [verb for verb in EXAMPLES if verb not in last] + list(last)
    return [line for verb in order for _, line in EXAMPLES[verb] if line.startswith("knowledge ")]


def test_the_examples_run(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ends with status 0; those that say so may end with 1."""
    pytest.importorskip("ir_measures")
    monkeypatch.chdir(data)
    monkeypatch.setenv("HOME", str(tmp_path))
    for line in example_lines():
        arguments = shlex.split(line)[1:]
        if ">" in arguments:
            arguments = arguments[: arguments.index(">")]
        if line.startswith(ENDLESS):
            command = knowledge.get_command(click.Context(knowledge), arguments[0])
            assert command is not None
            command.make_context("knowledge", arguments[1:])
            continue
        done = CliRunner().invoke(knowledge, arguments)
        allowed = (0, 1) if "--exit-code" in line else (0,)
        assert done.exit_code in allowed, f"$ {line}\n{done.output}{done.exception!r}"


# -- programs ------------------------------------------------------------------------------------


def test_every_verb_that_prints_a_table_has_json() -> None:
    """A program need not parse what is made for people."""
    for verb in VERBS:
        command = knowledge.get_command(click.Context(knowledge), verb)
        assert command is not None
        options = {name for parameter in command.params for name in parameter.opts}
        assert ("--json" in options) is (verb not in NO_TABLE), verb
    assert NO_TABLE.keys() <= VERBS.keys()


# -- completion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_one_that_the_shell_takes(
    run: Run, tmp_path: Path, shell: str
) -> None:
    """Each shell that is here parses it without a complaint."""
    done = run("completion", shell)
    assert done.status == 0
    assert "_KNOWLEDGE_COMPLETE" in done.out
    assert done.err == ""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = tmp_path / "script"
    script.write_text(done.out)
    option = "--no-execute" if shell == "fish" else "-n"
    checked = subprocess.run([shell, option, str(script)], capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "expected", "not_expected"),
    [
        ("knowledge ma", "match", "search"),
        ("knowledge ", "completion", "--store"),
        ("knowledge match --pa", "--paths-only", "--json"),
        ("knowledge search --mode le", "lexical", "fused"),
        ("knowledge --lo", "--log-level", "--store"),
    ],
)
def test_what_is_completed(tmp_path: Path, words: str, expected: str, not_expected: str) -> None:
    """Verbs, options and choices, as bash asks for them."""
    done = subprocess.run(
        [sys.executable, "-c", "from knowledge_nb.cli import main; main()"],
        env=environment(
            _KNOWLEDGE_COMPLETE="bash_complete",
            COMP_WORDS=words,
            COMP_CWORD=str(len(words.split(" ")) - 1),
        ),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    offered = [line.partition(",")[2] for line in done.stdout.splitlines()]
    assert expected in offered, done.stderr
    assert not_expected not in offered


def test_an_unknown_shell_is_refused(run: Run) -> None:
    """With the three that there are."""
    done = run("completion", "tcsh")
    assert done.status == 2
    assert "fish" in done.err


# -- the log -------------------------------------------------------------------------------------

USE = """
import logging, sys
root = logging.getLogger()
import knowledge_nb as knb
import knowledge_nb.cli.group
kb = knb.open(sys.argv[1])
kb.index(sys.argv[2])
kb.enumerate("lantern")
kb.search("lantern")
kb.close()
assert root.handlers == [] and root.level == logging.WARNING
ours = [name for name in root.manager.loggerDict if name.startswith("knowledge_nb")]
assert not [name for name in ours if logging.getLogger(name).handlers]
print(*ours)
"""


def test_the_library_installs_no_handler(corpus: Path, tmp_path: Path) -> None:
    """Whoever imports it decides what is logged, and where; it logs under its own name."""
    done = subprocess.run(
        [sys.executable, "-c", USE, "store", str(corpus)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    assert "knowledge_nb" in done.stdout


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_the_log_level_is_a_level(run: Run, small: Path, level: str) -> None:
    """Any of the four; what is logged never reaches stdout, nor holds the query's text."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        done = run("--log-level", level, "match", "lantern", "--json")
        assert done.status == 0
        assert done.out.startswith("{")
        assert ("INFO" in done.err) is (level in ("debug", "info"))
        assert "lantern" not in done.err
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])


def test_aliases_complete_too_where_they_are_typed_whole(run: Run) -> None:
    """An alias shows the help of its verb, examples included."""
    for alias, verb in ALIASES.items():
        shown = run(alias, "--help")
        assert shown.status == 0
        assert EXAMPLES[verb][0][1] in shown.out
