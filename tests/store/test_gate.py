"""What the gate refuses, how it says so, and that reset opens it all the same."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from knowledge_nb.core import Core
from knowledge_nb.errors import (
    ForeignStoreError,
    IndexNotBuiltError,
    KnowledgeError,
    StoreDamagedError,
    StoreError,
    StoreShapeError,
    StoreTooNewError,
    StoreTooOldError,
)
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.erase import ErasePendingWarning
from knowledge_nb.store.integrity import check_integrity
from tests.store.conftest import Place

Damage = Callable[[Place], None]


def too_new(place: Place) -> None:
    place.damage("UPDATE meta SET value = '99' WHERE key = 'format_version'")


def too_old(place: Place) -> None:
    place.damage("UPDATE meta SET value = '0' WHERE key = 'format_version'")


def emptied_meta(place: Place) -> None:
    place.damage("DELETE FROM meta")


def no_number(place: Place) -> None:
    place.damage("UPDATE meta SET value = 'one' WHERE key = 'format_version'")


def no_meta(place: Place) -> None:
    place.damage("DROP TABLE meta")


def other_meta(place: Place) -> None:
    place.damage("DROP TABLE meta", "CREATE TABLE meta (name TEXT, content TEXT)")


def extra_column(place: Place) -> None:
    place.damage("ALTER TABLE chunks ADD COLUMN mood TEXT")


def lost_column(place: Place) -> None:
    place.damage("ALTER TABLE chunks DROP COLUMN vector_note")


def lost_trigger(place: Place) -> None:
    place.damage("DROP TRIGGER chunks_deleted")


def lost_index_table(place: Place) -> None:
    place.damage("DROP TABLE words_exact", "DROP TABLE terms_exact", "DROP TABLE chunks_fts_exact")


def extra_table(place: Place) -> None:
    place.damage("CREATE TABLE diary (entry TEXT)")


def foreign(place: Place) -> None:
    place.core.close()
    os.unlink(place.core.files.database)
    connection = apsw.Connection(str(place.core.files.database))
    connection.execute("CREATE TABLE recipes (dish TEXT)").fetchall()
    connection.close()


def no_database(place: Place) -> None:
    place.core.close()
    place.core.files.database.write_bytes(b"This is a shopping list.\n" * 400)


def random_pages(place: Place) -> None:
    place.core.close()
    data = bytearray(place.core.files.database.read_bytes())
    chance = random.Random(5)
    for page in range(1, len(data) // 4096, 2):
        data[page * 4096 : page * 4096 + 4096] = chance.randbytes(4096)
    place.core.files.database.write_bytes(bytes(data))


def first_page(place: Place) -> None:
    place.core.close()
    data = bytearray(place.core.files.database.read_bytes())
    data[100:4096] = random.Random(6).randbytes(3996)
    place.core.files.database.write_bytes(bytes(data))


def cut_short(place: Place) -> None:
    place.core.close()
    data = place.core.files.database.read_bytes()
    place.core.files.database.write_bytes(data[: len(data) // 2])


def drifted(place: Place) -> None:
    """The index does not match its content: deleting rows there would fail."""
    trigger = place.query("SELECT sql FROM sqlite_schema WHERE name = 'chunks_deleted'")[0][0]
    place.damage(
        "DROP TRIGGER chunks_deleted", "DELETE FROM chunks WHERE ordinal > 0", str(trigger)
    )


def garbled_index(place: Place) -> None:
    place.damage("UPDATE chunks_fts_data SET block = x'00'")


GATED: list[tuple[Damage, type[StoreError], str]] = [
    (too_new, StoreTooNewError, "[Uu]pgrade"),
    (too_old, StoreTooOldError, "reset.*index"),
    (emptied_meta, StoreShapeError, "version pin.*reset"),
    (no_number, StoreShapeError, "unreadable version pin"),
    (no_meta, StoreShapeError, "no meta table"),
    (other_meta, StoreShapeError, "foreign meta"),
    (extra_column, StoreShapeError, "other columns in chunks"),
    (lost_column, StoreShapeError, "other columns in chunks"),
    (lost_trigger, StoreShapeError, "missing chunks_deleted"),
    (lost_index_table, StoreShapeError, "missing .*chunks_fts_exact"),
    (extra_table, StoreShapeError, "unknown diary"),
    (foreign, ForeignStoreError, "not a knowledge store"),
    (no_database, ForeignStoreError, "not an SQLite file"),
    (first_page, StoreError, "knowledge.db"),
]
EVERY_DAMAGE = [*(damage for damage, _, _ in GATED), random_pages, cut_short, drifted]


@pytest.mark.parametrize(
    ("damage", "error", "words"), GATED, ids=lambda v: getattr(v, "__name__", "")
)
def test_the_gate_refuses_and_says_what_it_is(
    filled: Place, damage: Damage, error: type[StoreError], words: str
) -> None:
    """Readers and writers are refused with the fault and the way out; the file stays as it is."""
    filled.core.close()
    damage(filled)
    before = filled.core.files.database.read_bytes()
    for use in (
        lambda: filled.core.enumerate("zarquon"),
        lambda: filled.core.search("zarquon"),
        lambda: filled.core.index(filled.folder),
        lambda: filled.core.remove("alpha.md"),
        filled.core.sources,
    ):
        with pytest.raises(error, match=f"(?s){words}"):
            use()
    filled.core.close()
    assert filled.core.files.database.read_bytes() == before


OURS = [damage for damage in (*EVERY_DAMAGE, garbled_index) if damage is not foreign]


def test_reset_leaves_the_file_of_somebody_else(filled: Place) -> None:
    """A sound SQLite file of another program is not emptied, whoever asks."""
    filled.core.close()
    foreign(filled)
    before = filled.core.files.database.read_bytes()
    with pytest.raises(ForeignStoreError, match="move it away"):
        filled.core.reset(force=True)
    filled.core.close()
    assert filled.core.files.database.read_bytes() == before


@pytest.mark.parametrize("damage", OURS, ids=lambda d: d.__name__)
def test_reset_opens_whatever_is_there(filled: Place, damage: Damage) -> None:
    """Reset leaves a clean, empty, sound index, of which the next pass makes a whole one."""
    filled.core.close()
    damage(filled)
    with pytest.raises(KnowledgeError, match="--force"):
        filled.core.reset()
    filled.core.reset(force=True)
    with Writer.open(filled.core.files) as writer:
        assert {each.state for each in check_integrity(writer)} == {"pass", "not run"}
    assert filled.core.completeness().documents == 0
    with pytest.raises(IndexNotBuiltError):
        filled.core.sources()
    assert filled.core.index(filled.folder).added == 3
    assert [m.path for m in filled.core.enumerate("zarquon").matches] == ["alpha.md"]


def test_reset_gives_the_space_back_and_keeps_no_text(filled: Place) -> None:
    """The file shrinks to an empty index; no text is left in it."""
    for number in range(50):
        filled.write(f"more{number}.md", f"filler{number} " * 2000)
    filled.core.index(filled.folder)
    filled.core.reset(force=True)
    filled.core.close()
    assert b"filler" not in filled.contents()
    assert os.path.getsize(filled.core.files.database) < 200_000


def test_reset_while_another_handle_reads(filled: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader in the middle of its answer keeps its state; its next answer is of the new one."""
    monkeypatch.setattr("knowledge_nb.store.connection.BUSY_MILLISECONDS", 200)
    other = Core(filled.core.files.directory)
    with other.reader.snapshot() as connection:
        count = "SELECT count(*) FROM documents"
        assert connection.execute(count).fetchall() == [(3,)]
        with pytest.warns(ErasePendingWarning, match="still in knowledge.db-wal"):
            filled.core.reset(force=True)
        assert connection.execute(count).fetchall() == [(3,)]
    assert not other.completeness().built
    other.close()


def test_damage_that_sqlite_finds_is_named_as_damage(filled: Place) -> None:
    """A page of garbage is damage, with the doctor as the next command, never an empty answer."""
    filled.core.close()
    filled.damage("UPDATE chunks_fts_data SET block = x'00' WHERE id > 10")
    with pytest.raises(StoreDamagedError, match="doctor --integrity"):
        filled.core.enumerate("zarquon")


@pytest.mark.parametrize("name", ["knowledge.db", "knowledge.db-wal", "knowledge.db-shm"])
def test_symbolic_links_are_refused(filled: Place, tmp_path: Path, name: str) -> None:
    """A link at any of SQLite's three paths is refused, and its target is left alone."""
    filled.core.close()
    target = tmp_path / "elsewhere"
    target.write_bytes(b"mine")
    link = filled.core.files.directory / name
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    for use in (lambda: filled.core.enumerate("zarquon"), lambda: filled.core.index(filled.folder)):
        with pytest.raises(StoreError, match="symbolic link"):
            use()
    assert target.read_bytes() == b"mine"
    assert oct(target.stat().st_mode & 0o777) != oct(0o600)


def test_modes_are_private_and_asserted_again(filled: Place) -> None:
    """Directory 0700; database and sidecars 0600, also after somebody opened them up."""
    files = filled.core.files
    os.chmod(files.directory, 0o755)
    os.chmod(files.database, 0o644)
    filled.write("new.md", "New.")
    with filled.core.reader.snapshot():
        filled.core.index(filled.folder)
        modes = {path.name: path.stat().st_mode & 0o777 for path in files.directory.iterdir()}
    assert files.directory.stat().st_mode & 0o777 == 0o700
    for path in (files.database, *files.sidecars):
        assert modes[path.name] == 0o600, path
