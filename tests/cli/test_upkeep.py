"""`knowledge doctor`, `rebuild`, `backup`, `watch`, and removal as the command says it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from knowledge_nb.core import Core
from tests import processes
from tests.cli.conftest import environment, run_knowledge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with two indexed notes."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# One\n\nThe zarquon runs.")
    (tmp_path / "notes" / "b.md").write_text("A quagga.")
    assert run_knowledge("index", "notes", cwd=tmp_path).status == 0
    return tmp_path


def damage(folder: Path, statement: str) -> None:
    connection = apsw.Connection(str(folder / "knowledge" / "knowledge.db"))
    connection.execute(statement).fetchall()
    connection.close()


def test_doctor_on_a_sound_store(folder: Path) -> None:
    """Status 0, a line for each check, the three states and their counts."""
    done = run_knowledge("doctor", "--integrity", cwd=folder)
    assert (done.status, done.err) == (0, "")
    assert "pass     index chunks_fts " in done.out
    assert "not run  embeddings reachable" in done.out
    assert "0 failed" in done.out


def test_doctor_on_a_drifted_store(folder: Path) -> None:
    """Status 1, the fault, and its fix; the fix then works."""
    damage(folder, "UPDATE chunks_fts_exact_data SET block = x'00' WHERE id > 10")
    done = run_knowledge("doctor", "--integrity", cwd=folder)
    assert done.status == 1
    assert "FAIL     index chunks_fts_exact" in done.out
    assert "-> `knowledge rebuild`" in done.out
    assert run_knowledge("rebuild", cwd=folder).status == 0
    assert run_knowledge("doctor", "--integrity", cwd=folder).status == 0


def test_doctor_for_programs(folder: Path) -> None:
    """One JSON object with every check; the status says the same."""
    damage(folder, "DELETE FROM meta WHERE key = 'format_version'")
    done = run_knowledge("doctor", "--json", cwd=folder)
    record = json.loads(done.out)
    assert (done.status, record["ok"]) == (1, False)
    by_name = {each["check"]: each for each in record["checks"]}
    assert by_name["format"]["state"] == "fail"
    assert "reset --force" in by_name["format"]["fix"]
    assert {each["state"] for each in record["checks"]} <= {"pass", "fail", "not run"}


def test_doctor_where_nothing_is(tmp_path: Path) -> None:
    """No store is a fault, and none is made by looking."""
    done = run_knowledge("doctor", cwd=tmp_path)
    assert done.status == 1
    assert "FAIL     store present" in done.out
    assert list(tmp_path.iterdir()) == []


def test_rebuild_refuses_damaged_content(folder: Path) -> None:
    """Status 4 and why; the index stays as it is."""
    damage(folder, "DELETE FROM documents WHERE path = 'a.md'")
    done = run_knowledge("rebuild", cwd=folder)
    assert done.status == 4
    assert "would only look sound" in done.err


def test_backup_makes_a_file_once(folder: Path) -> None:
    """A backup, a refusal to overwrite, and doing so when told."""
    done = run_knowledge("backup", "copy.db", cwd=folder)
    assert done.status == 0
    assert "2 documents" in done.out
    assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600
    again = run_knowledge("backup", "copy.db", cwd=folder)
    assert again.status == 4
    assert "--overwrite" in again.err
    assert run_knowledge("backup", "copy.db", "--overwrite", cwd=folder).status == 0


def test_backup_of_a_drifted_store(folder: Path) -> None:
    """Status 1, the fault and its fix on stderr; the file is there, since its text is sound."""
    damage(
        folder,
        "INSERT INTO chunks_fts (chunks_fts, rowid, heading, body)"
        " SELECT 'delete', id, heading, body FROM chunks_indexed",
    )
    done = run_knowledge("backup", "copy.db", cwd=folder)
    assert done.status == 1
    assert "NOT SOUND" in done.out
    assert "index chunks_fts: the index does not match the stored text" in done.err
    assert "`knowledge rebuild`" in done.err
    assert (folder / "copy.db").exists()


def test_removed_text_is_gone_from_the_files(folder: Path) -> None:
    """After `rm` a search of the store's bytes finds nothing."""
    store = folder / "knowledge"
    assert b"zarquon" in (store / "knowledge.db").read_bytes()
    assert run_knowledge("rm", "a.md", cwd=folder).status == 0
    assert not [path for path in store.iterdir() if b"zarquon" in path.read_bytes()]


def test_text_that_a_reader_keeps_is_said(folder: Path) -> None:
    """`rm` beside a long reader removes, and says on stderr that the bytes are still there."""
    core = Core(folder / "knowledge")
    with core.reader.snapshot():
        done = run_knowledge("rm", "a.md", cwd=folder)
    core.close()
    assert done.status == 0
    assert "still in knowledge.db-wal" in done.err
    assert "FAIL     removed text erased" in run_knowledge("doctor", cwd=folder).out
    (folder / "notes" / "a.md").unlink()
    assert run_knowledge("index", cwd=folder).status == 0
    assert "pass     removed text erased" in run_knowledge("doctor", cwd=folder).out


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGTERM, 0, ""), (signal.SIGINT, 130, "stopped watching")],
)
def test_watch_until_told_to_stop(folder: Path, number: int, status: int, said: str) -> None:
    """Changes are indexed and named, a line each; SIGTERM ends it well, Ctrl-C with 130."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "knowledge_nb", "watch", "--debounce", "0.1"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "Watching" in process.stdout.readline()
    (folder / "notes" / "c.md").write_text("okapi")
    core = Core(folder / "knowledge")
    processes.wait_for(lambda: core.enumerate("okapi").matched == 1)
    process.send_signal(number)
    out, err = process.communicate(timeout=processes.GENEROUS)
    core.close()
    assert process.returncode == status, err
    assert "added     c.md" in out
    assert said in err
    assert "Traceback" not in err


def test_index_waits_for_a_watcher_at_work(folder: Path) -> None:
    """The line for cron: `index --wait` beside another writer."""
    script = """
        import sys, time
        from knowledge_nb.store.connection import Writer
        from knowledge_nb.store.files import StoreFiles
        with Writer.open(StoreFiles.at(sys.argv[1])):
            print("held", flush=True)
            time.sleep(1)
    """
    with processes.running(script, folder / "knowledge"):
        refused = run_knowledge("index", cwd=folder)
        assert refused.status == 4
        assert "--wait" in refused.err
        assert run_knowledge("index", "--wait", "60", cwd=folder).status == 0


def test_watch_refuses_what_index_refuses(tmp_path: Path) -> None:
    """A missing folder, and none at all."""
    assert run_knowledge("watch", "missing", cwd=tmp_path).status == 4
    assert run_knowledge("watch", cwd=tmp_path).status == 2
    assert os.listdir(tmp_path) == []
