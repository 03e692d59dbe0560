"""One writer at a time, told by the kernel and not by a file that a crash leaves behind."""

from __future__ import annotations

import os
import re
import signal
import sys

import pytest

from knowledge_nb.errors import StoreLockedError
from knowledge_nb.store.connection import Writer
from tests import processes
from tests.store.conftest import Place

HOLD = """
    import sys, time
    from knowledge_nb.store.connection import Writer
    from knowledge_nb.store.files import StoreFiles
    with Writer.open(StoreFiles.at(sys.argv[1])):
        print("held", flush=True)
        time.sleep(600)
"""


def test_a_second_writer_is_refused_at_once_and_told_who_holds_it(filled: Place) -> None:
    """The refusal names the holder's process and for how long, and what to do."""
    with processes.running(HOLD, filled.core.files.directory) as holder:
        with pytest.raises(StoreLockedError) as refusal:
            filled.core.index(filled.folder)
        said = str(refusal.value)
        assert re.search(rf"process {holder.pid}, for \d+ s", said)
        assert "--wait" in said


def test_readers_are_not_refused(filled: Place) -> None:
    """Answers and a dry run need no lock."""
    with processes.running(HOLD, filled.core.files.directory):
        assert filled.core.enumerate("zarquon").matched == 1
        assert filled.core.index(filled.folder, dry_run=True).unchanged == 3


def test_a_killed_writer_frees_the_lock(filled: Place) -> None:
    """SIGKILL leaves nothing to clean up: the kernel frees the lock."""
    with processes.running(HOLD, filled.core.files.directory) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert filled.core.index(filled.folder).unchanged == 3


def test_waiting_takes_the_lock_when_it_comes_free(filled: Place) -> None:
    """`wait` gets the lock of a writer that ends in time."""
    script = """
        import sys
        from knowledge_nb.store.connection import Writer
        from knowledge_nb.store.files import StoreFiles
        with Writer.open(StoreFiles.at(sys.argv[1])):
            print("held", flush=True)
            sys.stdin.readline()
    """
    with processes.running(script, filled.core.files.directory) as holder:
        waiter = processes.start(
            "import sys; from knowledge_nb.core import Core\n"
            "print(Core(sys.argv[1]).index(sys.argv[2], wait=60).unchanged)",
            filled.core.files.directory,
            filled.folder,
        )
        with pytest.raises(StoreLockedError):
            filled.core.index(filled.folder, wait=0.2)
        assert holder.stdin is not None
        holder.stdin.write("\n")
        holder.stdin.flush()
        output, errors = waiter.communicate(timeout=processes.GENEROUS)
        assert output.strip() == "3", errors


def test_two_writers_at_once_lose_nothing(filled: Place) -> None:
    """Of many passes started together each runs or is refused; the index is whole afterwards."""
    script = """
        import sys
        from knowledge_nb.core import Core
        from knowledge_nb.errors import StoreLockedError
        core = Core(sys.argv[1])
        try:
            core.index(sys.argv[2], reindex=True)
            print("done")
        except StoreLockedError:
            print("refused")
    """
    started = [
        processes.start(script, filled.core.files.directory, filled.folder) for _ in range(4)
    ]
    said = []
    for process in started:
        output, errors = process.communicate(timeout=processes.GENEROUS)
        assert process.returncode == 0, errors
        said.append(output.strip())
    assert set(said) <= {"done", "refused"}
    assert "done" in said
    assert filled.core.index(filled.folder).unchanged == 3


def test_a_forked_child_does_not_keep_the_lock(filled: Place) -> None:
    """S10: a child forked while the lock was held, outliving the writer, does not hold it."""
    script = """
        import os, sys, time
        from knowledge_nb.store.connection import Writer
        from knowledge_nb.store.files import StoreFiles
        writer = Writer.open(StoreFiles.at(sys.argv[1]))
        child = os.fork()
        if child == 0:
            time.sleep(600)
            os._exit(0)
        print(child, flush=True)
        time.sleep(600)
    """
    process = processes.start(script, filled.core.files.directory)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        with pytest.raises(StoreLockedError):
            filled.core.index(filled.folder)
        process.kill()
        process.wait()
        assert filled.core.index(filled.folder, wait=5).unchanged == 3
        os.kill(child, 0)  # it lives
    finally:
        os.kill(child, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=processes.GENEROUS)


def test_a_subprocess_does_not_keep_the_lock(filled: Place) -> None:
    """The lock's descriptor is closed in programs that the writer starts."""
    script = """
        import subprocess, sys, time
        from knowledge_nb.store.connection import Writer
        from knowledge_nb.store.files import StoreFiles
        writer = Writer.open(StoreFiles.at(sys.argv[1]))
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                                 close_fds=False)
        print(child.pid, flush=True)
        time.sleep(600)
    """
    process = processes.start(script, filled.core.files.directory)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        process.kill()
        process.wait()
        assert filled.core.index(filled.folder, wait=5).unchanged == 3
    finally:
        os.kill(child, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=processes.GENEROUS)


def test_a_forked_child_that_exits_does_not_free_the_lock(filled: Place) -> None:
    """S11: a child that runs Python's finalisers leaves the parent's lock and log alone."""
    script = """
        import os, sys
        from knowledge_nb.store.connection import Writer
        from knowledge_nb.store.files import StoreFiles
        writer = Writer.open(StoreFiles.at(sys.argv[1]))
        with writer.transaction() as connection:
            connection.execute("UPDATE documents SET title = 'kept' WHERE path = 'alpha.md'")
        child = os.fork()
        if child == 0:
            writer.close()
            sys.exit(0)
        os.waitpid(child, 0)
        print("forked", flush=True)
        sys.stdin.readline()
        with writer.transaction() as connection:
            connection.execute("UPDATE documents SET title = 'kept' WHERE path = 'beta.md'")
        writer.close()
    """
    with processes.running(script, filled.core.files.directory) as process:
        with pytest.raises(StoreLockedError, match=f"process {process.pid}"):
            filled.core.index(filled.folder)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait(timeout=processes.GENEROUS) == 0
    filled.core.close()
    kept = filled.query("SELECT path FROM documents WHERE title = 'kept' ORDER BY path")
    assert kept == [("alpha.md",), ("beta.md",)]


def test_a_reader_that_was_forked_answers_in_both_processes(filled: Place) -> None:
    """Connections are not used across a fork: parent and child each open their own."""
    script = """
        import os, sys
        from knowledge_nb.core import Core
        core = Core(sys.argv[1])
        first = core.enumerate("zarquon").matched
        child = os.fork()
        if child == 0:
            code = 0 if core.enumerate("zarquon").matched == first else 9
            core.close()
            sys.exit(code)
        _, status = os.waitpid(child, 0)
        print(status, core.enumerate("zarquon").matched)
    """
    assert processes.run(script, filled.core.files.directory).split() == ["0", "1"]


def test_a_failed_open_frees_the_lock(filled: Place) -> None:
    """A writer that the gate refuses holds no lock afterwards."""
    filled.core.close()
    filled.damage("UPDATE meta SET value = '99' WHERE key = 'format_version'")
    for _ in range(2):
        with pytest.raises(Exception, match="format 99"):
            filled.core.index(filled.folder)
    filled.damage("UPDATE meta SET value = '1' WHERE key = 'format_version'")
    assert filled.core.index(filled.folder).unchanged == 3


def test_the_lock_is_held_for_the_writers_whole_life(filled: Place) -> None:
    """Between its transactions, too, a writer is the only one."""
    with Writer.open(filled.core.files) as writer:
        for _ in range(2):
            with writer.transaction():
                pass
            with pytest.raises(StoreLockedError, match=f"process {os.getpid()}"):
                Writer.open(filled.core.files)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/locks")
def test_locks_are_flock_not_posix(filled: Place) -> None:
    """POSIX locks would go with any descriptor of the lock file that the process closes."""
    with Writer.open(filled.core.files):
        filled.core.files.lock.read_bytes()
        with pytest.raises(StoreLockedError):
            Writer.open(filled.core.files)
