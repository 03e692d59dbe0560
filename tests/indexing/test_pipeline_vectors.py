"""A pass with an embeddings server: what fails is tried again, what changed meanwhile wins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from knowledge_nb.core import Core
from knowledge_nb.errors import EmbeddingError
from knowledge_nb.records import IndexReport
from knowledge_nb.store import mounts
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding
from tests.indexing.conftest import Notes
from tests.processes import wait_for


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A server that embeds by hashing."""
    with EmbeddingServer(hash_embedding) as running:
        yield running


@pytest.fixture
def embedded(notes: Notes, server: EmbeddingServer, tmp_path: Path) -> Notes:
    """The folder, with the server configured."""
    config = notes.folder / "knowledge.toml"
    config.write_text(
        '[knowledge]\n[knowledge.embeddings]\nprovider = "openai"\nmodel = "m"\n'
        f'base_url = "{server.url}"\ntimeout = 30.0\n'
    )
    notes.core.close()
    notes.core = Core(tmp_path / "knowledge", config=config)
    return notes


def without_vector(notes: Notes) -> int:
    return notes.core.completeness().without_vector


def test_a_refused_chunk_is_embedded_by_the_next_pass(
    embedded: Notes, server: EmbeddingServer
) -> None:
    """P01, P03: the document is not done until all of its vectors are; only the one is sent."""
    sections = [
        f"# Part {n}\n\n" + f"word{n} " * 150 + ("poison" if n == 3 else "") for n in range(6)
    ]
    embedded.write("a.md", "\n\n".join(sections))
    server.faults = Faults(marker="poison", marker_status=400)
    first = embedded.index()
    assert (first.vectors_written, first.vectors_refused) == (5, 1)
    assert not first.ok
    assert without_vector(embedded) == 1
    assert "1 chunk without a vector" in embedded.core.enumerate("word3").completeness.statement()
    again = embedded.index()
    assert (again.unchanged, again.vectors_refused, again.ok) == (1, 1, False)
    server.faults = Faults()
    sent = len(server.requests)
    healed = embedded.index()
    assert (healed.unchanged, healed.vectors_written, healed.ok) == (1, 1, True)
    inputs = [text for request in server.requests[sent:] for text in request.inputs]
    assert len([text for text in inputs if "word" in text]) == 1
    assert without_vector(embedded) == 0


def test_an_unreachable_server_leaves_the_index_whole(
    embedded: Notes, server: EmbeddingServer
) -> None:
    """The vector tier is planned before anything is written: reindex too."""
    embedded.write("a.md", "zarquon")
    embedded.index()
    generation = embedded.core.generation()
    server.faults = Faults(status=500)
    embedded.write("a.md", "quagga")
    for reindex in (False, True):
        with pytest.raises(EmbeddingError):
            embedded.index(reindex=reindex)
    assert embedded.core.generation() == generation
    assert embedded.holding("zarquon") == ["a.md"]
    assert without_vector(embedded) == 0


def during_a_slow_pass(
    notes: Notes, server: EmbeddingServer, change: Callable[[], object]
) -> IndexReport:
    """Run a pass whose server works slowly, and change the folder while it does."""
    server.faults = Faults(skip=1, delay=1.0)  # the probe is answered at once
    sent = len(server.requests)
    reports: list[IndexReport] = []
    thread = threading.Thread(target=lambda: reports.append(notes.index()))
    thread.start()
    wait_for(lambda: len(server.requests) > sent + 1 or not thread.is_alive())
    change()
    thread.join()
    server.faults = Faults()
    return reports[0]


def test_a_file_deleted_while_it_is_embedded_stays_deleted(
    embedded: Notes, server: EmbeddingServer
) -> None:
    """P09: the slow answer does not write back what is gone."""
    embedded.write("a.md", "zarquon")
    embedded.write("b.md", "rest")
    during_a_slow_pass(embedded, server, (embedded.folder / "a.md").unlink)
    assert embedded.holding("zarquon") == []
    assert embedded.paths() == ["b.md"]


def test_a_file_edited_while_it_is_embedded_is_indexed_as_edited(
    embedded: Notes, server: EmbeddingServer
) -> None:
    """P09: the newer text wins, with its own vector."""
    embedded.write("a.md", "zarquon")
    during_a_slow_pass(embedded, server, lambda: embedded.write("a.md", "quagga"))
    assert (embedded.holding("zarquon"), embedded.holding("quagga")) == ([], ["a.md"])
    assert without_vector(embedded) == 0
    assert embedded.index().unchanged == 1


def test_a_slow_server_does_not_hold_the_write_slot(
    embedded: Notes, server: EmbeddingServer
) -> None:
    """While the server works, readers read and no transaction is open."""
    embedded.write("a.md", "zarquon")
    embedded.index()
    embedded.write("b.md", "quagga")
    log: list[int] = []

    def look() -> None:
        with embedded.core.reader.snapshot() as connection:
            log.append(connection.execute("SELECT count(*) FROM documents").fetchall()[0][0])

    during_a_slow_pass(embedded, server, look)
    assert log == [1]
    assert embedded.paths() == ["a.md", "b.md"]


def test_a_note_deleted_while_the_watcher_embeds_it(
    embedded: Notes, server: EmbeddingServer
) -> None:
    """P09, in watch mode: saved, deleted during the slow embedding, and not there afterwards."""
    embedded.write("a.md", "rest")
    with embedded.core.watch(embedded.folder, debounce=0.1).start() as watcher:
        wait_for(lambda: watcher.status.passes > 0)
        server.faults = Faults(skip=1, delay=1.0)
        sent = len(server.requests)
        embedded.write("b.md", "zarquon")
        wait_for(lambda: len(server.requests) > sent + 1)
        (embedded.folder / "b.md").unlink()
        passes = watcher.status.passes
        wait_for(lambda: watcher.status.passes > passes and watcher.status.state == "idle")
    assert embedded.holding("zarquon") == []
    assert embedded.paths() == ["a.md"]


def test_a_store_on_a_network_file_system_is_said(
    notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S07: every pass warns, and names the mount."""
    table = tmp_path / "mounts"
    table.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(mounts, "MOUNTS", str(table))
    notes.write("a.md")
    report = notes.index()
    assert any("nfs4" in note and str(tmp_path) in note for note in report.notes)
    assert notes.core.watch(notes.folder).status.mode == "polling"
