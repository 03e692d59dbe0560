"""A process that dies while indexing leaves a whole store, and the next pass completes."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

import pytest

from knowledge_nb.core import Core
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.integrity import check_integrity
from knowledge_nb.store.vectors import load_where_used
from tests import processes

DOCUMENTS = 240
CHUNKS = 6

INDEX = """
    import sys, time
    from knowledge_nb.core import Core
    import knowledge_nb.indexing.pipeline as pipeline
    pipeline.DOCUMENTS_A_TRANSACTION = 10
    core = Core(sys.argv[1], config=sys.argv[3])
    core.embedder() and core.embedder().identity()
    begun = time.monotonic()
    print("begun", flush=True)
    core.index(sys.argv[2])
    print("done", time.monotonic() - begun, flush=True)
"""


def text_of(document: int, version: int) -> str:
    """A document all of whose chunks carry its version."""
    parts = [
        f"## Part {part}\n\nversion{version} document{document} part{part}. " + "Words. " * 60
        for part in range(CHUNKS)
    ]
    return f"# Version {version}\n\n" + "\n\n".join(parts) + "\n"


def write_version(folder: Path, version: int) -> None:
    for document in range(DOCUMENTS):
        (folder / f"{document}.md").write_text(text_of(document, version))


def check_whole(core: Core, old: int, new: int) -> None:
    """The store opens, is sound, and holds each document in its old or its new version, whole."""
    with Writer.open(core.files, prepare=load_where_used) as writer:
        faults = [each for each in check_integrity(writer) if each.state == "fail"]
    assert faults == []
    with core.reader.snapshot() as connection:
        rows = connection.execute(
            "SELECT d.path, c.body FROM documents d LEFT JOIN chunks c ON c.document_id = d.id"
            " ORDER BY d.path, c.ordinal"
        ).fetchall()
    bodies: dict[str, list[str]] = {}
    for path, body in rows:
        bodies.setdefault(path, []).append(body)
    for path, chunks in bodies.items():
        document = int(Path(path).stem)
        found = "\n\n".join(body.strip() for body in chunks)
        versions = [
            version
            for version in {old, new}
            if all(
                f"version{version} document{document} part{part}." in found
                for part in range(CHUNKS)
            )
        ]
        assert len(versions) == 1, f"{path} is neither its old nor its new version"
        assert all(f"version{other} " not in found for other in {old, new} - set(versions))


def kill_at_random_moments(tmp_path: Path, kills: int, *, embedded: bool, erase: bool) -> int:
    """Kill indexing processes; the number that were caught at work."""
    folder = tmp_path / "notes"
    folder.mkdir()
    config = tmp_path / "knowledge.toml"
    config.write_text(
        "[knowledge]\n"
        + (f"erase_replaced = {str(erase).lower()}\n")
        + ('[knowledge.embeddings]\nprovider = "local"\n' if embedded else "")
    )
    chance = random.Random(20240501)
    core = Core(tmp_path / "knowledge", config=config)
    caught = 0
    write_version(folder, 0)
    whole = float(processes.run(INDEX, core.files.directory, folder, config).split()[-1])
    for version in range(1, kills + 1):
        write_version(folder, version)
        process = processes.start(INDEX, core.files.directory, folder, config)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(chance.random() * whole)
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate(timeout=processes.GENEROUS)
        if "done" not in output:
            caught += 1
        check_whole(core, version - 1, version)
        report = core.index(folder)
        assert report.ok, report.notes
        check_whole(core, version, version)
        assert core.enumerate(f"version{version}").matched == DOCUMENTS
        assert core.enumerate(f"version{version - 1}").matched == 0
        assert not core.completeness().unfinished_since
    core.close()
    sys.stdout.write(f"{caught} of {kills} kills struck a pass at work\n")
    return caught


def test_kills_leave_a_whole_store(tmp_path: Path) -> None:
    """I13: eight kills at random moments of a lexical pass."""
    assert kill_at_random_moments(tmp_path, 8, embedded=False, erase=False) >= 2


@pytest.mark.soak
def test_fifty_kills_leave_a_whole_store(tmp_path: Path) -> None:
    """I13: fifty, with vectors, so that these are looked at too."""
    pytest.importorskip("wordllama")
    assert kill_at_random_moments(tmp_path, 50, embedded=True, erase=False) >= 25


@pytest.mark.soak
def test_kills_while_text_is_erased(tmp_path: Path) -> None:
    """Merging and rewriting the file are as safe as a pass, and are taken up again."""
    assert kill_at_random_moments(tmp_path, 20, embedded=False, erase=True)


def test_a_first_pass_that_is_killed_leaves_something_to_go_on_from(tmp_path: Path) -> None:
    """At any moment of the very first pass: no half schema, and no answer that claims an index."""
    folder = tmp_path / "notes"
    folder.mkdir()
    write_version(folder, 0)
    config = tmp_path / "knowledge.toml"
    config.write_text("[knowledge]\n")
    chance = random.Random(3)
    for number in range(4):
        core = Core(tmp_path / f"store{number}", config=config)
        process = processes.start(INDEX, core.files.directory, folder, config)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=processes.GENEROUS)
        result = core.enumerate("words")
        if not result.completeness.built:
            assert result.status == "index_not_built"
        assert core.index(folder).ok
        check_whole(core, 0, 1)
        core.close()
