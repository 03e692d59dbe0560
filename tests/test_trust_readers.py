"""Readers beside a writer: no error, and every answer is that of one committed state."""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path

import pytest

from knowledge_nb.core import Core
from knowledge_nb.store.connection import CHECKPOINT_BYTES, MAX_IDLE_CONNECTIONS
from tests import processes

# Each pass rewrites every document, and each holds the words of one round only. A pass writes its
# documents in one transaction here, so an answer of a committed state has all documents in one
# round; one that mixed states would have several, or too few.
WRITER = """
    import sys
    from pathlib import Path
    from knowledge_nb.core import Core
    store, folder, documents, rounds, size = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    print("ready", flush=True)
    for number in range(1, rounds + 1):
        for document in range(documents):
            text = f"# Round{number}\\n\\nround{number} common. " + f"filler{document} " * size
            (folder / f"{document}.md").write_text(text)
        core = Core(store)
        core.index(folder, reindex=True)
        core.close()
        print(number, flush=True)
"""


def write_round_zero(folder: Path, documents: int) -> None:
    folder.mkdir()
    for document in range(documents):
        (folder / f"{document}.md").write_text("# Round0\n\nround0 common. " + "filler " * 20)


class Question:
    """Asks over and over, from a thread of its own, until told to stop."""

    def __init__(self, core: Core, documents: int, kind: int, stop: threading.Event) -> None:
        self.core, self.documents, self.kind, self.stop = core, documents, kind, stop
        self.answers = 0
        self.generations: list[int] = []
        self.faults: list[str] = []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self.ask()
                self.answers += 1
        except BaseException as error:  # noqa: BLE001 - any error is the answer to the test
            self.faults.append(repr(error))

    def ask(self) -> None:
        if self.kind == 0:
            result = self.core.enumerate("common")
            self.expect(result.matched == self.documents, f"{result.matched} documents")
            self.generations.append(result.completeness.generation)
        elif self.kind == 1:
            hits = self.core.search("common", k=50).hits
            rounds = {word for hit in hits for word in re.findall(r"round\d+", hit.text)}
            self.expect(len(rounds) == 1, f"hits of {rounds}")
            self.expect(len(hits) == min(50, self.documents), f"{len(hits)} hits")
        elif self.kind == 2:
            words = self.core.vocabulary(prefix="round").words
            found = [(word.word, word.documents) for word in words]
            self.expect(len(found) == 1, f"words {found}")
            self.expect(found[0][1] == self.documents, f"words {found}")
        else:
            with self.core.reader.snapshot() as connection:
                rounds = connection.execute("SELECT DISTINCT heading FROM chunks").fetchall()
                index = connection.execute(
                    "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?",
                    (rounds[0][0].lower(),),
                ).fetchall()
            self.expect(len(rounds) == 1, f"rounds {rounds}")
            self.expect(index[0][0] >= self.documents, f"index {index}")

    def expect(self, true: bool, what: str) -> None:
        if not true:
            self.faults.append(what)


def readers_under_a_writer(tmp_path: Path, documents: int, rounds: int, size: int) -> int:
    """Run 16 readers beside a writer; the largest size of the log that was seen."""
    folder = tmp_path / "notes"
    write_round_zero(folder, documents)
    core = Core(tmp_path / "knowledge")
    core.index(folder)
    stop = threading.Event()
    log = core.files.sidecars[0]
    largest = 0
    with processes.running(WRITER, core.files.directory, folder, documents, rounds, size) as writer:
        questions = [Question(core, documents, number % 4, stop) for number in range(16)]
        try:
            assert writer.stdout is not None
            watched = threading.Event()
            done: list[str] = []

            def follow() -> None:
                assert writer.stdout is not None
                done.extend(line.strip() for line in writer.stdout)
                watched.set()

            follower = threading.Thread(target=follow)
            follower.start()
            while not watched.wait(0.005):
                try:
                    largest = max(largest, os.stat(log).st_size)
                except FileNotFoundError:
                    continue
            follower.join()
        finally:
            stop.set()
            for question in questions:
                question.thread.join()
        assert writer.wait(processes.GENEROUS) == 0
    assert [question.faults for question in questions] == [[]] * 16
    assert done == [str(number) for number in range(1, rounds + 1)]
    assert all(question.answers for question in questions)
    for question in questions:
        assert question.generations == sorted(question.generations), "an answer went back in time"
    assert len(core.reader._idle) <= MAX_IDLE_CONNECTIONS
    assert core.enumerate(f"round{rounds}").matched == documents
    core.close()
    answers = sum(question.answers for question in questions)
    sys.stdout.write(f"largest log seen: {largest:,} bytes; {answers:,} answers\n")
    return largest


def test_every_answer_is_of_a_committed_state(tmp_path: Path) -> None:
    """16 threads on one handle, while another process reindexes 20 times: no error, no mixture of
    states, no going back in time; the log stays bounded."""
    largest = readers_under_a_writer(tmp_path, documents=60, rounds=20, size=30)
    assert largest <= 2 * CHECKPOINT_BYTES


@pytest.mark.soak
def test_the_log_stays_bounded_when_much_is_written(tmp_path: Path) -> None:
    """The same with more text than the log may hold: readers do not let it grow."""
    largest = readers_under_a_writer(tmp_path, documents=450, rounds=20, size=400)
    assert largest <= 3 * CHECKPOINT_BYTES


def test_reading_and_indexing_in_one_process(tmp_path: Path) -> None:
    """S04: 8 threads search through one handle while this very process indexes."""
    folder = tmp_path / "notes"
    write_round_zero(folder, 40)
    core = Core(tmp_path / "knowledge")
    core.index(folder)
    stop = threading.Event()
    questions = [Question(core, 40, number % 4, stop) for number in range(8)]
    for number in range(1, 11):
        for document in range(40):
            (folder / f"{document}.md").write_text(f"# Round{number}\n\nround{number} common.")
        core.index(folder)
    stop.set()
    for question in questions:
        question.thread.join()
    assert [question.faults for question in questions] == [[]] * 8
    core.close()


def test_an_idle_handle_pins_nothing(tmp_path: Path) -> None:
    """A reader that is only kept open does not stop the log from being emptied."""
    folder = tmp_path / "notes"
    write_round_zero(folder, 40)
    core = Core(tmp_path / "knowledge")
    core.index(folder)
    other = Core(tmp_path / "knowledge")
    assert other.enumerate("common").matched == 40
    core.remove("0.md")  # ends with a log of no bytes, and would warn if it could not
    assert os.stat(core.files.sidecars[0]).st_size < 100_000
    assert other.enumerate("common").matched == 39
    core.close()
    other.close()
