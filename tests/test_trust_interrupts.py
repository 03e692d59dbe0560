"""S09: the stop button in the middle of a write leaves no transaction, lock or half document."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from knowledge_nb.core import Core
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.integrity import check_integrity
from tests import processes
from tests.test_trust_crashes import DOCUMENTS, check_whole, write_version

MOMENTS = 10


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A store of version 0 of the documents."""
    folder = tmp_path / "notes"
    folder.mkdir()
    write_version(folder, 0)
    core = Core(tmp_path / "knowledge")
    core.index(folder)
    return core


def interrupted(core: Core, folder: Path, after: float) -> bool:
    """Interrupt the main thread's pass as Jupyter does, by SIGINT; whether it struck."""
    timer = threading.Timer(after, signal.raise_signal, (signal.SIGINT,))
    struck = False
    try:
        timer.start()
        core.index(folder, reindex=True)
        while timer.is_alive():
            time.sleep(0.001)
        time.sleep(0.05)
    except KeyboardInterrupt:
        struck = True
    timer.join()
    return struck


# An interrupt between a file's opening and its `with` leaves it to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_many_moments(
    core: Core, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rolled back, unlocked, still searchable; said until the next pass, which completes."""
    monkeypatch.setattr("knowledge_nb.indexing.pipeline.DOCUMENTS_A_TRANSACTION", 10)
    folder = tmp_path / "notes"
    begun = time.monotonic()
    core.index(folder, reindex=True)
    whole = time.monotonic() - begun
    struck = 0
    for moment in range(MOMENTS):
        write_version(folder, moment + 1)
        hit = interrupted(core, folder, whole * moment / MOMENTS)
        check_whole(core, moment, moment + 1)
        if hit and core.completeness().unfinished_since:
            struck += 1
            statement = core.enumerate("words").completeness.statement()
            assert "did not finish" in statement
        # The same process, and another one, get the lock and complete the pass.
        if moment % 2:
            assert core.index(folder).ok
        else:
            processes.run(
                "import sys; from knowledge_nb.core import Core\n"
                "assert Core(sys.argv[1]).index(sys.argv[2]).ok",
                core.files.directory,
                folder,
            )
        assert not core.completeness().unfinished_since
        check_whole(core, moment + 1, moment + 1)
    assert struck
    core.close()


def test_an_interrupt_inside_one_long_statement(core: Core) -> None:
    """apsw looks for signals only between rows; a statement of seconds stops all the same."""
    endless = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000000000)"
        " SELECT count(*) FROM n"
    )
    timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))

    def write() -> None:
        with Writer.open(core.files) as writer, writer.transaction() as connection:
            connection.execute("DELETE FROM documents")
            connection.execute(endless).fetchall()

    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the timer must not fire before it
        timer.start()
        write()
    timer.join()
    with Writer.open(core.files) as writer:
        assert {each.state for each in check_integrity(writer)} == {"pass", "not run"}
    assert core.enumerate("words").matched == DOCUMENTS
    core.close()


def test_an_interrupt_while_reading(core: Core) -> None:
    """A reader that was interrupted gives its next answer as if nothing had been."""
    timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))

    def read() -> None:
        while True:
            core.enumerate("words")
            core.search("words")

    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the timer must not fire before it
        timer.start()
        read()
    timer.join()
    assert core.enumerate("words").matched == DOCUMENTS
    core.close()


def test_an_interrupt_while_rebuilding(core: Core, tmp_path: Path) -> None:
    """Rebuild is one transaction: interrupted, the old index is still there."""
    for delay in (0.01, 0.03, 0.1):
        timer = threading.Timer(delay, signal.raise_signal, (signal.SIGINT,))
        try:
            timer.start()
            while timer.is_alive():
                core.rebuild()
            time.sleep(0.05)
        except KeyboardInterrupt:
            pass
        timer.join()
        assert {each.state for each in core.check()} == {"pass", "not run"}
        assert core.enumerate("words").matched == DOCUMENTS
    core.close()
