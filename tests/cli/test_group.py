"""The group: verbs, aliases, exit statuses, failures in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowledge_nb.cli.group import ALIASES, VERBS, exit_status, knowledge
from knowledge_nb.errors import KnowledgeError
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.lock import WriteLock
from tests.cli.conftest import Run, environment


def test_help_lists_every_verb_its_aliases_and_the_exit_statuses() -> None:
    """`knowledge --help` is enough to find a verb and to script against the statuses."""
    shown = CliRunner().invoke(knowledge, ["--help"])
    assert shown.exit_code == 0
    for name in (*VERBS, *ALIASES):
        assert f" {name}" in shown.output
    for status in (0, 1, 2, 3, 4, 130, 141):
        assert f" {status}  " in shown.output


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str) -> None:
    """Each row of the table leads to a command with a help text."""
    shown = CliRunner().invoke(knowledge, [verb, "--help"])
    assert shown.exit_code == 0
    assert shown.output.startswith(f"Usage: knowledge {verb}")


@pytest.mark.parametrize(("alias", "verb"), ALIASES.items())
def test_an_alias_answers_as_its_verb(ask: Run, alias: str, verb: str) -> None:
    """`enumerate`, `which`, `vocabulary` and `vocab` are the same verbs under other names."""
    assert ask(alias, "frost") == ask(verb, "frost")


def test_a_mistyped_verb_is_refused_with_the_nearest(run: Run) -> None:
    """A typing error costs one look."""
    done = run("serch", "frost")
    assert done.status == 2
    assert "Did you mean `search`?" in done.err
    assert done.out == ""


def test_no_verb_shows_the_help(spawn: Run) -> None:
    """`knowledge` alone says what there is."""
    done = spawn()
    assert done.status == 2
    assert "match" in done.out + done.err


def test_the_version_is_the_package_version(spawn: Run) -> None:
    """`knowledge --version` names the release."""
    from knowledge_nb import __version__

    assert spawn("--version").out == f"knowledge {__version__}\n"


def test_every_verb_runs_in_a_process_of_its_own(spawn: Run, corpus: Path) -> None:
    """From an empty folder to an empty store, as a person types it."""
    for arguments in (
        ["index", str(corpus)],
        ["search", "lantern"],
        ["match", "lantern", "-tin"],
        ["words"],
        ["show", "a.md#0"],
        ["sources"],
        ["stats"],
        ["rm", "a.md"],
        ["reset", "--force"],
        ["demo"],
    ):
        done = spawn(*arguments)
        assert (done.status, done.err) == (0, ""), arguments
        assert "tier: lexical (FTS5) - no embeddings configured\n" in done.out


def test_the_installed_script_runs(tmp_path: Path) -> None:
    """The entry point of the package is this command."""
    script = Path(sys.executable).with_name("knowledge")
    if not script.exists():
        pytest.skip("the package is not installed in this environment")
    done = subprocess.run([script, "--version"], capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout.startswith(b"knowledge ")


def _errors(root: type[KnowledgeError]) -> list[type[KnowledgeError]]:
    found = [root]
    for child in root.__subclasses__():
        found += _errors(child)
    return found


def test_every_error_has_an_exit_status() -> None:
    """No error of ours ends in status 0 or 1, which are answers."""
    import knowledge_nb.embedding.errors  # noqa: F401  (its classes are subclasses too)

    for kind in _errors(KnowledgeError):
        error = kind.__new__(kind)
        assert exit_status(error) in (2, 3, 4), kind


def test_an_error_is_one_line_without_a_traceback(spawn: Run) -> None:
    """A missing folder: what happened, to which path, and nothing else."""
    done = spawn("index", "no/such\nfolder")
    assert done.status == 4
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert done.err.startswith("knowledge: cannot read ")


def test_a_bad_settings_file_is_refused(run: Run, tmp_path: Path) -> None:
    """An unknown key is named, with the nearest known one."""
    (tmp_path / "knowledge.toml").write_text("[knowledge]\ntopk = 3\n")
    done = run("stats")
    assert done.status == 2
    assert "'topk'" in done.err
    assert "'top_k'" in done.err


def test_settings_are_found_beside_the_store_or_by_name(run: Run, tmp_path: Path) -> None:
    """`--config` names a file; else the one beside `--store` is read."""
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "a.md").write_text("alpha\n")
    (folder / "knowledge.toml").write_text('[knowledge]\npaths = ["docs"]\n')
    assert run("--store", folder / "kb", "index").status == 0
    assert run("--config", folder / "knowledge.toml", "--store", "kb", "index").status == 0
    for store in (folder / "kb", Path("kb")):
        assert run("--store", store, "match", "alpha", "--paths-only").out == "docs/a.md\n"


@pytest.mark.parametrize(
    "damage",
    [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000],
    ids=["foreign", "damaged"],
)
def test_a_store_that_cannot_be_used_is_status_4(run: Run, tmp_path: Path, damage: bytes) -> None:
    """A file of another kind in the store's place is said, in one line."""
    (tmp_path / "knowledge").mkdir()
    (tmp_path / "knowledge" / "knowledge.db").write_bytes(damage)
    for arguments in (
        ["match", "frost"],
        ["match", "frost", "--json"],
        ["stats"],
        ["search", "x y"],
    ):
        done = run(*arguments)
        assert done.status == 4, arguments
        assert done.err.count("\n") == 1
        assert "knowledge.db" in done.err


def test_a_locked_store_is_status_4_and_names_the_holder(
    spawn: Run, small: Path, corpus: Path
) -> None:
    """Without `--wait` a second writer is refused at once."""
    with WriteLock(StoreFiles.at(small)):
        done = spawn("index", corpus)
    assert done.status == 4
    assert f"process {os.getpid()}" in done.err


def test_ctrl_c_is_one_line_and_status_130(small: Path, corpus: Path, tmp_path: Path) -> None:
    """An interrupt, here while waiting for another writer, leaves no traceback."""
    with WriteLock(StoreFiles.at(small)):
        child = subprocess.Popen(
            [
                *(sys.executable, "-m", "knowledge_nb", "--log-level", "debug"),
                *("index", str(corpus), "--wait", "60"),
            ],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stderr is not None
        waiting = child.stderr.readline()  # filelock logs each try
        assert b"DEBUG" in waiting
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    said = [line for line in err.decode().splitlines() if not line.startswith("DEBUG")]
    assert child.returncode == 130
    assert out == b""
    assert len(said) == 1
    assert said[0].startswith("knowledge: interrupted")


@pytest.mark.parametrize(
    "verb", [["words"], ["words", "--json"], ["show", "index.md"]], ids=" ".join
)
def test_a_reader_that_goes_away_is_no_error(
    handbook_store: Path, tmp_path: Path, verb: list[str]
) -> None:
    """What `| head -1` leaves behind: nothing on stderr, and a status that is no answer."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "knowledge_nb", "--store", str(handbook_store), *verb],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        cwd=tmp_path,
        env=environment(),
    )
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux only")
def test_a_full_disk_is_said_once(handbook_store: Path, tmp_path: Path) -> None:
    """An answer that could not be written is not reported as given."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "knowledge_nb", "--store", str(handbook_store), "sources"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            cwd=tmp_path,
            env=environment(),
        )
    assert done.returncode == 4
    assert done.stderr.decode() == "knowledge: No space left on device\n"


def test_the_log_goes_to_stderr(spawn: Run, corpus: Path) -> None:
    """`--log-level` never mixes into an answer."""
    done = spawn("--log-level", "debug", "index", corpus, "--json")
    assert done.status == 0
    assert "DEBUG" in done.err
    assert done.out.startswith("{")
