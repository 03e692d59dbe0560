"""A backup is one whole committed state, private, checked, and never in place of something else."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import apsw
import pytest

import knowledge_nb as knb
from knowledge_nb.core import Core
from knowledge_nb.errors import StoreAccessError
from knowledge_nb.store.backup import UnsoundBackupWarning, back_up
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.integrity import EVERY_CHECK
from tests.store.conftest import Place
from tests.store.test_integrity import DELETE_POSTINGS


def test_a_backup_is_a_whole_store(filled: Place, tmp_path: Path) -> None:
    """Put into a directory as knowledge.db it answers as the store did, and can be written."""
    report = back_up(filled.core.reader, tmp_path / "copy.db", overwrite=False)
    assert (report.documents, report.bytes) == (3, os.path.getsize(tmp_path / "copy.db"))
    restored = tmp_path / "restored"
    restored.mkdir()
    os.rename(tmp_path / "copy.db", restored / "knowledge.db")
    core = Core(restored)
    assert core.enumerate("zarquon").matches == filled.core.enumerate("zarquon").matches
    filled.write("new.md", "Newcomer.")
    core.index(filled.folder)
    assert core.enumerate("newcomer").matched == 1
    core.close()
    connection = apsw.Connection(str(restored / "knowledge.db"))
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    connection.close()


def test_a_backup_is_one_private_file(filled: Place, tmp_path: Path) -> None:
    """Mode 0600, no sidecar, nothing partial left beside it."""
    folder = tmp_path / "backups"
    folder.mkdir()
    back_up(filled.core.reader, folder / "copy.db", overwrite=False)
    assert [path.name for path in folder.iterdir()] == ["copy.db"]
    assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600


def test_a_backup_holds_what_is_only_in_the_log(filled: Place, tmp_path: Path) -> None:
    """What `cp` would miss, because it has not left the write-ahead log, is in the backup."""
    with filled.core.reader.snapshot():
        filled.write("late.md", "Latecomer.")
        filled.core.index(filled.folder)
        assert b"Latecomer" not in filled.contents_elsewhere("knowledge.db")
        back_up(filled.core.reader, tmp_path / "copy.db", overwrite=False)
    assert b"Latecomer" in (tmp_path / "copy.db").read_bytes()


def test_a_backup_during_writing_is_of_one_state(filled: Place, tmp_path: Path) -> None:
    """While a writer works, the copy is a committed state whole: no document without its chunks."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            filled.write("alpha.md", f"Version {number}. " * 400)
            filled.core.index(filled.folder)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(5):
            report = back_up(filled.core.reader, tmp_path / f"{number}.db", overwrite=False)
            assert report.documents == 3
    finally:
        stop.set()
        thread.join()


def test_an_existing_file_is_kept_unless_told(filled: Place, tmp_path: Path) -> None:
    """An existing file is refused, and replaced only when that is said."""
    target = tmp_path / "copy.db"
    target.write_bytes(b"mine")
    with pytest.raises(StoreAccessError, match=r"exists.*overwrite"):
        back_up(filled.core.reader, target, overwrite=False)
    assert target.read_bytes() == b"mine"
    back_up(filled.core.reader, target, overwrite=True)
    assert target.read_bytes().startswith(b"SQLite format 3")
    assert target.stat().st_mode & 0o777 == 0o600


def test_places_that_are_no_place_for_a_backup(filled: Place, tmp_path: Path) -> None:
    """The store itself, a link, a folder, a missing folder and a stray log are refused."""
    files = filled.core.files
    (tmp_path / "link.db").symlink_to(tmp_path / "copy.db")
    (tmp_path / "other.db-wal").write_bytes(b"log")
    for target, words in (
        (files.database, "store directory"),
        (files.directory / "copy.db", "store directory"),
        (tmp_path / "link.db", "no regular file"),
        (tmp_path, "no regular file"),
        (tmp_path / "missing" / "copy.db", "cannot write in"),
        (tmp_path / "other.db", "belongs to an open database"),
    ):
        with pytest.raises(StoreAccessError, match=words):
            back_up(filled.core.reader, target, overwrite=True)
    assert not (tmp_path / "copy.db").exists()


def test_a_damaged_store_makes_no_backup(filled: Place, tmp_path: Path) -> None:
    """A copy that does not stand its checks is not kept under the name that was asked for."""
    filled.core.close()
    filled.damage("UPDATE chunks_fts_data SET block = x'00' WHERE id > 10")
    with pytest.raises(Exception, match=r"damaged|did not stand"):
        back_up(filled.core.reader, tmp_path / "copy.db", overwrite=False)
    assert [p.name for p in tmp_path.iterdir() if "copy" in p.name] == []


def test_a_drifted_index_is_told_and_its_text_is_kept(filled: Place, tmp_path: Path) -> None:
    """Pages that are whole can hold an index of another text: the file is written, the table that
    is wrong is named, and a rebuild of the restored store repairs it.
    """
    filled.damage(DELETE_POSTINGS.format("chunks_fts"))
    restored = tmp_path / "restored"
    restored.mkdir()
    report = back_up(filled.core.reader, restored / "knowledge.db", overwrite=False)
    assert "index chunks_fts" in [each.check for each in report.failed]
    assert "NOT SOUND" in report.faults()
    assert "knowledge rebuild" in report.faults()
    assert [path.name for path in restored.iterdir()] == ["knowledge.db"]
    core = Core(restored)
    assert {each.state for each in core.rebuild()} <= {"pass", "not run"}
    assert core.enumerate("zarquon").matched == 1
    core.close()


def test_a_sound_backup_says_what_was_looked_at(filled: Place, tmp_path: Path) -> None:
    """Every check of integrity has run on the copy, and nothing of that is left in it."""
    report = back_up(filled.core.reader, tmp_path / "copy.db", overwrite=False)
    assert [each.check for each in report.checks] == [name for name, _ in EVERY_CHECK]
    assert (report.failed, report.faults()) == ((), "")


def test_the_facade_warns_of_an_unsound_backup(filled: Place, tmp_path: Path) -> None:
    """A program that does not look at the report is told all the same."""
    filled.damage(DELETE_POSTINGS.format("chunks_fts_exact"))
    with (
        knb.open(filled.core.files.directory) as kb,
        pytest.warns(UnsoundBackupWarning, match="index chunks_fts_exact"),
    ):
        assert kb.backup(tmp_path / "copy.db").failed


def test_a_backup_takes_no_write_lock(filled: Place, tmp_path: Path) -> None:
    """A backup beside a writer that holds the lock is made, and disturbs it not."""
    with Writer.open(filled.core.files):
        back_up(filled.core.reader, tmp_path / "copy.db", overwrite=False)
    assert (tmp_path / "copy.db").exists()
