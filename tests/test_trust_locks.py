"""No public call drops the locks that SQLite holds on knowledge.db, so nothing committed is lost.

POSIX locks belong to the process: a second SQLite library in it, or a plain open() and close() of
the file, drops all of them; another process then takes itself for the last user and unlinks the
log (https://www.sqlite.org/howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import knowledge_nb as knb
from knowledge_nb.cli.group import knowledge
from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.store.connection import Reader
from tests import processes
from tests.processes import locks_on

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/locks")

Call = Callable[[KnowledgeBase, Path], Any]


def statistics(kb: KnowledgeBase, folder: Path) -> None:
    """Every statistic that needs no argument."""
    for name, value in inspect.getmembers(kb.statistics):
        if name.startswith("_") or not callable(value):
            continue
        required = [
            parameter
            for parameter in inspect.signature(value).parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind == parameter.POSITIONAL_OR_KEYWORD
        ]
        if not required:
            value()


def duckdb(kb: KnowledgeBase, folder: Path) -> None:
    """DuckDB, and attempts to reach the live file through it."""
    with kb.duckdb() as connection:
        connection.execute("SELECT count(*) FROM documents").fetchall()
        for attempt in (
            f"ATTACH '{kb.core.files.database}' AS live (TYPE sqlite)",
            f"SELECT * FROM sqlite_scan('{kb.core.files.database}', 'documents')",
            f"SELECT * FROM read_blob('{kb.core.files.database}')",
        ):
            with pytest.raises(Exception, match=r".+"):
                connection.execute(attempt).fetchall()


def watch(kb: KnowledgeBase, folder: Path) -> None:
    with kb.watch(folder, debounce=0.1) as watcher:
        processes.wait_for(lambda: watcher.status.passes > 0)
        (folder / "watched.md").write_text("lemur")
        processes.wait_for(lambda: kb.core.enumerate("lemur").matched == 1)


def saved(kb: KnowledgeBase, folder: Path) -> None:
    kb.save("set", kb.enumerate("zarquon"), overwrite=True)
    kb.saved()
    kb.saved("set")
    kb.delete_saved("set")


def run(kb: KnowledgeBase, folder: Path) -> None:
    topics = {"1": "zarquon", "2": "quagga"}
    one = kb.run(topics, mode="lexical", k=10)
    kb.pool([one])
    kb.evaluate([one], {"1": {"a.md": 1}, "2": {"b.md": 1}}, measures=["RR"])


def verify_export(kb: KnowledgeBase, folder: Path) -> None:
    """An export of the command line, in this process, and its check."""
    target = folder.parent / "export.csv"
    store = str(kb.core.files.directory)
    done = CliRunner().invoke(
        knowledge, ["--store", store, "match", "zarquon", "--csv", str(target)]
    )
    assert done.exit_code == 0, done.output
    kb.verify_export(target)


CALLS: dict[str, Call] = {
    "index": lambda kb, folder: kb.index(folder),
    "reindex": lambda kb, folder: kb.index(folder, reindex=True),
    "dry_run": lambda kb, folder: kb.index(folder, dry_run=True),
    "search": lambda kb, folder: kb.search("zarquon"),
    "enumerate": lambda kb, folder: kb.enumerate('zarquon -"no such"'),
    "vocabulary": lambda kb, folder: kb.vocabulary(prefix="z"),
    "kwic": lambda kb, folder: kb.kwic("zarquon"),
    "show": lambda kb, folder: kb.show("a.md#0"),
    "sources": lambda kb, folder: kb.sources(),
    "stats": lambda kb, folder: kb.stats(),
    "remove": lambda kb, folder: kb.remove("b.md"),
    "doctor": lambda kb, folder: kb.doctor(integrity=True),
    "check": lambda kb, folder: kb.check(),
    "rebuild": lambda kb, folder: kb.rebuild(),
    "backup": lambda kb, folder: kb.backup(folder.parent / "copy.db"),
    "watch": watch,
    "audit_files": lambda kb, folder: kb.audit_files(),
    "coverage": lambda kb, folder: kb.coverage(["zarquon", "okapi"]),
    "match_set": lambda kb, folder: kb.match_set("zarquon"),
    "saved": saved,
    "sql": lambda kb, folder: kb.sql("SELECT count(*) FROM documents"),
    "duckdb": duckdb,
    "statistics": statistics,
    "run": run,
    "compare": lambda kb, folder: kb.compare({"1": "zarquon"}, a="lexical", b="lexical"),
    "explain": lambda kb, folder: kb.explain("zarquon", "a.md#0"),
    "reconcile": lambda kb, folder: kb.reconcile("zarquon"),
    "verify_export": verify_export,
    "close": lambda kb, folder: kb.close(),
    "reset": lambda kb, folder: kb.reset(force=True),
}
COVERED_ELSEWHERE = {
    "save": "saved",
    "delete_saved": "saved",
    "pool": "run",
    "evaluate": "run",
    "fusion_grid": "needs vectors; it ranks as `run` does",
}


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[tuple[KnowledgeBase, Path]]:
    """A knowledge base whose store lies inside the indexed folder, as it may."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# One\n\nThe zarquon runs.\n\n# Two\n\nIt rests.")
    (folder / "b.md").write_text("A quagga.")
    kb = knb.open(folder / "knowledge")
    kb.index(folder)
    yield kb, folder
    kb.close()


def test_every_public_call_is_in_the_table() -> None:
    """A new verb is tried too: add it to `CALLS`."""
    public = {name for name in vars(KnowledgeBase) if not name.startswith("_")}
    for parent in KnowledgeBase.__mro__[1:-1]:
        public |= {name for name in vars(parent) if not name.startswith("_")}
    assert public - CALLS.keys() - COVERED_ELSEWHERE.keys() == set()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::knowledge_nb.store.erase.ErasePendingWarning")
def test_locks_survive_every_public_call(
    filled: tuple[KnowledgeBase, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another reader of this process holds its locks on the database and its index before, during
    (as far as another process sees it) and after the call."""
    monkeypatch.setattr("knowledge_nb.store.connection.BUSY_MILLISECONDS", 100)
    kb, folder = filled
    files = kb.core.files
    reader = Reader(files)
    with reader.snapshot() as connection:
        count = connection.execute("SELECT count(*) FROM documents").fetchall()
        before = locks_on(files.database), locks_on(files.sidecars[1])
        assert all(before), "the test itself must see locks"
        CALLS[name](kb, folder)
        after = locks_on(files.database), locks_on(files.sidecars[1])
        assert all(after), f"{name} dropped this process's locks"
        assert connection.execute("SELECT count(*) FROM documents").fetchall() == count
    reader.close()


def test_a_plain_open_drops_them(filled: tuple[KnowledgeBase, Path]) -> None:
    """The test above can fail: what the product never does is seen by it."""
    script = """
        import sys
        from knowledge_nb.store.connection import Reader
        from knowledge_nb.store.files import StoreFiles
        from tests.processes import locks_on
        files = StoreFiles.at(sys.argv[1])
        with Reader(files).snapshot():
            assert locks_on(files.database)
            open(files.database, "rb").close()
            print(len(locks_on(files.database)))
    """
    kb, _ = filled
    assert processes.run(script, kb.core.files.directory).strip() == "0"


def test_two_processes_lose_nothing(filled: tuple[KnowledgeBase, Path], tmp_path: Path) -> None:
    """S01: statistics run here while another process writes, opens and closes; all is there."""
    kb, folder = filled
    other = """
        import sys
        from pathlib import Path
        from knowledge_nb.core import Core
        folder = Path(sys.argv[2])
        for number in range(int(sys.argv[3]), int(sys.argv[3]) + 10):
            (folder / f"{number}.md").write_text(f"written{number}")
            core = Core(sys.argv[1])
            core.index(folder, wait=60)
            core.close()
    """
    reader = Reader(kb.core.files)
    for start in (0, 10, 20):
        with reader.snapshot():
            process = processes.start(other, kb.core.files.directory, folder, start)
            while process.poll() is None:
                statistics(kb, folder)
                kb.sql("SELECT count(*) FROM documents")
                kb.search("zarquon")
                kb.audit_files()
            _, errors = process.communicate()
            assert process.returncode == 0, errors
        (folder / f"mine{start}.md").write_text(f"mine{start}")
        kb.index(folder)
    reader.close()
    kb.close()
    fresh = knb.open(kb.core.files.directory)
    found = set(fresh.sources()["path"])
    assert found >= {f"{n}.md" for n in range(30)} | {f"mine{n}.md" for n in (0, 10, 20)}
    assert len(fresh.enumerate("written7")) == 1
    assert set(fresh.check()["state"]) <= {"pass", "not run"}
    fresh.close()
