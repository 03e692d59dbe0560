"""Snapshots of stores that are odd, damaged, large or being written."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from knowledge_nb.embedding.local import LocalEmbedder
from knowledge_nb.errors import QueryError, StoreDamagedError
from knowledge_nb.knowledge_base import open as open_knowledge
from tests.audit.conftest import Place
from tests.processes import run


def test_a_store_with_vectors(tmp_path: Path) -> None:
    """A vec0 table breaks no listing of tables and no message of a misspelt one (report D01)."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("A brass lantern.\n")
    kb = open_knowledge(tmp_path / "store", embedder=LocalEmbedder())
    kb.index(tmp_path / "docs")
    assert kb.sql("SELECT count(*) AS n FROM information_schema.tables")["n"][0] == 7
    with kb.duckdb() as con:
        assert len(con.execute("SHOW ALL TABLES").fetchall()) == 7
    with pytest.raises(QueryError, match="chunks_vec"):
        kb.sql("SELECT * FROM chunks_vec")
    kb.close()


def test_text_that_is_no_utf8_is_named(place: Place) -> None:
    """The row is told, and nothing is left behind (report D03)."""
    place.kb.core.reader.close()
    connection = apsw.Connection(str(place.kb.core.files.database))
    connection.execute(
        "UPDATE documents SET sha256 = CAST(x'ff' AS TEXT) WHERE path = 'b.md'"
    ).fetchall()
    (number,) = connection.execute("SELECT id FROM documents WHERE path = 'b.md'").fetchone()
    connection.close()
    with pytest.raises(StoreDamagedError, match=f"column sha256 of the row with id {number}"):
        place.kb.sql("SELECT 1")
    (folder,) = place.kb.core.files.directory.glob("knowledge-snapshot-*")
    assert list(folder.iterdir()) == []


def test_removing_a_document_removes_it_from_the_snapshot(place: Place) -> None:
    """No copy of its text stays in the store's directory until somebody asks again."""
    place.kb.sql("SELECT body FROM chunks")
    place.kb.remove("b.md")
    assert list(place.kb.core.files.directory.glob("knowledge-snapshot-*")) == []
    assert "b.md" not in place.kb.sql("SELECT path FROM documents")["path"].tolist()
    place.kb.reset(force=True)
    assert list(place.kb.core.files.directory.glob("knowledge-snapshot-*")) == []


@pytest.mark.parametrize("limit", [1_000, 200_000])
def test_a_full_disk_is_told(place: Place, limit: int) -> None:
    """One error of ours, whichever of the two files does not fit; the store goes on."""
    script = """
        import resource, signal, sys, knowledge_nb
        kb = knowledge_nb.open(sys.argv[1])
        kb.enumerate("lantern")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
        try:
            kb.sql("SELECT 1")
        except knowledge_nb.StoreError as error:
            print(type(error).__name__)
        print(kb.enumerate("lantern").result.matched)
        kb.close()
    """
    said = run(script, place.kb.core.files.directory, limit).split()
    assert said == ["StoreAccessError", "2"]
    assert list(place.kb.core.files.directory.glob("knowledge-snapshot-*")) == []


def test_threads_share_one_snapshot(place: Place) -> None:
    """Eight threads at once: one copy, the same answers, no error."""
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(lambda: place.kb.sql("SELECT count(*) AS n FROM terms")["n"].tolist())
            for _ in range(40)
        ]
        found = [answer.result() for answer in asked]
    assert len(found) == 40
    assert found == [found[0]] * 40
    (folder,) = place.kb.core.files.directory.glob("knowledge-snapshot-*")
    assert len(list(folder.glob("*.duckdb"))) == 1


def _index_beside_statistics(place: Place, seconds: float) -> tuple[int, int]:
    """Index in one thread and ask in this one; passes and answers."""
    stop = threading.Event()

    def index() -> int:
        passes = 0
        while not stop.is_set():
            for number in range(20):
                place.write(f"n{number}.md", f"# N{number}\n\nword{passes} common\n")
            place.index()
            passes += 1
        return passes

    answers = 0
    end = time.monotonic() + seconds
    with ThreadPoolExecutor(1) as pool:
        indexing = pool.submit(index)
        try:
            while time.monotonic() < end and not indexing.done():
                documents = place.kb.sql(
                    "SELECT count(*) AS n, sum(chunks) AS chunks, (SELECT generation FROM snapshot)"
                    " AS g, (SELECT count(*) FROM chunks) AS c FROM documents"
                )
                row = documents.iloc[0]
                assert row["chunks"] == row["c"]  # one consistent state
                assert documents.result.generation == row["g"]
                place.kb.coverage(["common", "lantern"])
                answers += 1
        finally:
            stop.set()
        return indexing.result(), answers


def test_statistics_while_indexing(place: Place) -> None:
    """No lock error, no lost row, each answer of one consistent state (report S12)."""
    passes, answers = _index_beside_statistics(place, 2.0)
    assert passes
    assert answers
    assert place.kb.enumerate("common").result.matched == 20


@pytest.mark.soak
def test_statistics_while_indexing_for_long(place: Place) -> None:
    """The same for a minute."""
    passes, answers = _index_beside_statistics(place, 60.0)
    assert passes > 10
    assert answers > 10
    assert place.kb.enumerate("common").result.matched == 20
