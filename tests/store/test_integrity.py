"""Damage is found where it is, and repaired only where that is honest."""

from __future__ import annotations

import pytest

from knowledge_nb.errors import StoreDamagedError
from knowledge_nb.records import Check
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.integrity import check_integrity, rebuild
from knowledge_nb.store.vectors import load_where_used
from tests.store.conftest import Place

NO_TRIGGERS = (
    "DROP TRIGGER chunks_deleted",
    "DROP TRIGGER chunks_inserted",
    "DROP TRIGGER chunks_updated",
)
DELETE_POSTINGS = (
    "INSERT INTO {0} ({0}, rowid, heading, body)"
    " SELECT 'delete', id, heading, body FROM chunks_indexed"
    " WHERE id = (SELECT min(id) FROM chunks)"
)


def check(place: Place) -> dict[str, Check]:
    """The outcome of every check, by name; the gate is passed by."""
    place.core.close()
    with Writer.open(place.core.files, gate=False, prepare=load_where_used) as writer:
        return {each.check: each for each in check_integrity(writer)}


def failed(place: Place) -> set[str]:
    """Names of the checks that fail."""
    return {name for name, each in check(place).items() if each.state == "fail"}


def repair(place: Place) -> None:
    """Rebuild, past the gate as an operator's last means."""
    with Writer.open(place.core.files, gate=False) as writer:
        rebuild(writer)


def test_a_sound_store_passes_every_check(filled: Place) -> None:
    """A sound store passes; vectors, which it has none of, are said not to have been checked."""
    found = check(filled)
    assert {each.state for name, each in found.items() if name != "vectors"} == {"pass"}
    assert found["vectors"].state == "not run"


def test_checking_changes_nothing(filled: Place) -> None:
    """The check is a write that writes nothing: generation, rows and answers stay."""
    before = filled.core.generation(), filled.query("SELECT * FROM chunks")
    check(filled)
    assert (filled.core.generation(), filled.query("SELECT * FROM chunks")) == before


def test_twenty_rounds_leave_one_index_row_to_a_chunk(filled: Place) -> None:
    """I05: replacing documents leaves no row behind in either text index."""
    for number in range(20):
        filled.write("alpha.md", f"# Alpha\n\nRound {number}.\n\n" + "More. " * (10 * number))
        filled.core.index(filled.folder)
    for table in ("chunks_fts", "chunks_fts_exact"):
        ((rows,),) = filled.query(f"SELECT count(*) FROM {table}_docsize")
        assert [(rows,)] == filled.query("SELECT count(*) FROM chunks")
    assert not failed(filled)


def test_removed_words_are_forgotten(place: Place) -> None:
    """I02: a new document never matches the words of a removed or replaced one."""
    place.write("a.md", "zarquon")
    place.core.index(place.folder)
    place.core.remove("a.md")
    (place.folder / "a.md").unlink()
    place.write("b.md", "innocent")
    place.core.index(place.folder)
    assert place.core.enumerate("zarquon").matched == 0
    place.write("b.md", "other")
    place.core.index(place.folder)
    assert place.core.enumerate("innocent").matched == 0
    assert not failed(place)


def test_a_chunk_deleted_behind_the_index_is_found_and_repaired(filled: Place) -> None:
    """I01, I03: rows gone from under the index are drift on both tables; rebuild repairs it."""
    trigger = filled.query("SELECT sql FROM sqlite_schema WHERE name = 'chunks_deleted'")[0][0]
    filled.damage(
        "DROP TRIGGER chunks_deleted",
        "DELETE FROM chunks WHERE ordinal = (SELECT max(ordinal) FROM chunks)",
        "UPDATE documents SET chunks ="
        " (SELECT count(*) FROM chunks c WHERE c.document_id = documents.id)",
        str(trigger),
    )
    assert {"index chunks_fts", "index chunks_fts_exact", "index rows", "tokens"} <= failed(filled)
    repair(filled)
    assert not failed(filled)
    assert filled.core.enumerate("zarquon").matched == 1


@pytest.mark.parametrize("table", ["chunks_fts", "chunks_fts_exact"])
def test_lost_postings_are_found_in_the_table_that_lost_them(filled: Place, table: str) -> None:
    """I07: a chunk whose index entry was deleted fails, and names the table."""
    filled.damage(DELETE_POSTINGS.format(table))
    found = failed(filled)
    other = ({"chunks_fts", "chunks_fts_exact"} - {table}).pop()
    assert f"index {table}" in found
    assert f"index {other}" not in found
    repair(filled)
    assert not failed(filled)


def test_postings_of_another_text_are_found(filled: Place) -> None:
    """Equal counts everywhere do not hide that the index holds the words of another text."""
    filled.damage(
        "DROP TRIGGER chunks_updated",
        "UPDATE chunks SET body = replace(body, 'zarquon', 'zorquan')",
    )
    assert {"index chunks_fts", "index chunks_fts_exact"} <= failed(filled)


def test_a_missing_chunk_fails_and_refuses_a_rebuild(filled: Place) -> None:
    """An index built over damaged content would look sound, so rebuild refuses and says why."""
    filled.damage("DELETE FROM chunks WHERE ordinal = 0")
    assert "chunks" in failed(filled)
    with pytest.raises(StoreDamagedError, match=r"damaged.*reindex"):
        repair(filled)


def test_an_orphan_chunk_is_found(filled: Place) -> None:
    """A chunk of a document that does not exist breaks both references and chunks."""
    filled.damage("DELETE FROM documents WHERE path = 'alpha.md'")
    assert {"references", "chunks"} <= failed(filled)


def test_text_that_is_not_utf8_is_found(filled: Place) -> None:
    """D03: bytes in a TEXT column that are not UTF-8 fail and are named by table and column."""
    filled.damage("UPDATE documents SET title = CAST(x'ff' AS TEXT) WHERE path = 'beta.md'")
    found = check(filled)["stored text"]
    assert found.state == "fail"
    assert "documents.title" in found.message


def test_a_changed_total_is_found(filled: Place) -> None:
    """Token totals that the ranking divides by are compared with the text."""
    filled.damage("UPDATE chunks_fts_data SET block = x'0304FF01' WHERE id = 1")
    assert "tokens" in failed(filled)
    repair(filled)
    assert not failed(filled)


def test_the_message_names_the_sqlite_version(filled: Place) -> None:
    """I09: verdicts differ between SQLite versions, so each names the one that gave it."""
    assert "SQLite 3." in check(filled)["index chunks_fts"].message


def test_damaged_index_pages_are_repaired_by_a_rebuild(filled: Place) -> None:
    """Garbage in the index's own pages is damage of the index only: rebuild is the fix."""
    filled.damage("UPDATE chunks_fts_data SET block = x'00' WHERE id > 1000")
    found = check(filled)
    assert found["index chunks_fts"].state == "fail"
    assert "rebuild" in found["pages"].fix
    repair(filled)
    assert not failed(filled)


def test_rebuild_embeds_nothing_and_keeps_the_chunks(filled: Place) -> None:
    """Rebuild leaves every chunk as it is and answers as before."""
    before = filled.query("SELECT * FROM chunks")
    filled.damage("UPDATE chunks_fts_data SET block = x'00' WHERE id > 1000")
    repair(filled)
    assert filled.query("SELECT * FROM chunks") == before
    assert [m.path for m in filled.core.enumerate("quagga").matches] == ["beta.md"]
