"""A watched folder and its index come to agree, and no deletion is made up on the way."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from knowledge_nb.core import Core
from knowledge_nb.errors import ConfigurationError, RootError
from knowledge_nb.indexing.watch import EXHAUSTED, Watcher
from knowledge_nb.records import IndexReport
from tests import processes
from tests.indexing.conftest import Notes
from tests.processes import wait_for

QUICK = 0.1  # seconds of debounce

Start = Callable[..., Watcher]


@pytest.fixture(params=["events", "polling"])
def poll(request: pytest.FixtureRequest) -> bool:
    """Both ways of noticing a change."""
    return request.param == "polling"


@pytest.fixture
def watch(notes: Notes) -> Iterator[Start]:
    """Start watching the folder; the first pass has completed."""
    started: list[Watcher] = []

    def start(*paths: Path, **options: object) -> Watcher:
        options.setdefault("debounce", QUICK)
        watcher = notes.core.watch(*(paths or (notes.folder,)), **options).start()
        started.append(watcher)
        wait_for(lambda: watcher.status.passes > 0, "the first pass")
        return watcher

    yield start
    for watcher in started:
        watcher.stop()


def becomes(question: Callable[[], object], answer: object) -> None:
    """Wait until a question has an answer, and say what it had in place of it."""
    try:
        wait_for(lambda: question() == answer)
    except AssertionError:
        assert question() == answer


def settled(watcher: Watcher) -> int:
    """Wait until nothing is pending for a while; the number of passes so far."""
    rests = 0
    while rests < 10:
        rests = rests + 1 if watcher.status.state == "idle" else 0
        time.sleep(QUICK / 2)
    return watcher.status.passes


# -- saves as programs make them -------------------------------------------------------------------


def test_files_added_changed_and_deleted(notes: Notes, watch: Start, poll: bool) -> None:
    """What is written is found, what is overwritten is replaced, what is deleted is gone."""
    notes.write("a.md", "zarquon")
    notes.write("b.md", "rest")
    watch(poll=poll)
    assert notes.holding("zarquon") == ["a.md"]
    notes.write("c.md", "quagga")
    becomes(lambda: notes.holding("quagga"), ["c.md"])
    time.sleep(1.1 if poll else 0)  # polling compares times of whole seconds on some systems
    notes.write("c.md", "okapi bigger")
    becomes(lambda: notes.holding("okapi"), ["c.md"])
    assert notes.holding("quagga") == []
    (notes.folder / "a.md").unlink()
    becomes(notes.paths, ["b.md", "c.md"])


def test_write_then_rename(notes: Notes, watch: Start) -> None:
    """W02: an atomic save is one change of one document; its temporary name never is one."""
    notes.write("a.md", "zarquon")
    seen: set[str] = set()
    watcher = watch(on_pass=lambda report: seen.update(e.path for e in report.events))
    for number in range(5):
        notes.write("a.md.tmp", f"version{number}")
        os.replace(notes.folder / "a.md.tmp", notes.folder / "a.md")
        becomes(lambda number=number: notes.holding(f"version{number}"), ["a.md"])
    settled(watcher)
    assert seen == {"a.md"}
    assert notes.paths() == ["a.md"]


def test_an_editor_that_moves_the_file_away_first(notes: Notes, watch: Start) -> None:
    """W07: vim's probe 4913, backup and swap files; the document is never dropped."""
    notes.write("a.md", "zarquon")
    gone: list[str] = []
    watcher = watch(
        on_pass=lambda report: gone.extend(
            e.path for e in report.events if e.action in ("removed", "stale")
        )
    )
    for number in range(5):
        notes.write(".a.md.swp", b"b0VIM")
        notes.write("4913", "")
        (notes.folder / "4913").unlink()
        (notes.folder / "a.md").rename(notes.folder / "a.md~")
        notes.write("a.md", f"version{number}")
        (notes.folder / "a.md~").unlink()
        (notes.folder / ".a.md.swp").unlink()
        becomes(lambda number=number: notes.holding(f"version{number}"), ["a.md"])
    settled(watcher)
    assert gone == []
    assert notes.paths() == ["a.md"]


def test_temporary_files_of_editors_are_no_documents(notes: Notes, watch: Start) -> None:
    """W07: emacs, JetBrains and office leave files that the walk does not take either."""
    names = ["#a.md#", "a.md___jb_tmp___", "a.md___jb_old___", "a.md.bak", ".a.md.swo", "4913"]
    watcher = watch()
    (notes.folder / ".#a.md").symlink_to("user@host.1234:1700000000")  # emacs' lock
    for name in names:
        notes.write(name, "zarquon")
    notes.write("real.md", "quagga")
    becomes(lambda: notes.holding("quagga"), ["real.md"])
    settled(watcher)
    assert notes.paths() == ["real.md"]


def test_folders_that_watchers_like_to_skip(notes: Notes, watch: Start) -> None:
    """W07: a notes folder named node_modules or .venv's site-packages follows the walk's rules."""
    notes.write("node_modules/a.md", "zarquon")
    notes.write("site-packages/__pycache__/b.md", "zarquon")
    watch()
    notes.write("node_modules/a.md", "quagga")
    notes.write("site-packages/__pycache__/b.md", "quagga")
    becomes(
        lambda: notes.holding("quagga"), ["node_modules/a.md", "site-packages/__pycache__/b.md"]
    )


def test_a_half_written_file_is_replaced_by_the_whole(notes: Notes, watch: Start) -> None:
    """W07: what was indexed between two writes is not the last word."""
    watch()
    with open(notes.folder / "a.md", "w") as file:
        file.write("first ")
        file.flush()
        becomes(lambda: notes.holding("first"), ["a.md"])
        file.write("second")
    becomes(lambda: notes.holding("second"), ["a.md"])


def test_a_touched_file_is_not_written_again(notes: Notes, watch: Start) -> None:
    """A new mtime with old bytes is a pass that replaces nothing."""
    file = notes.write("a.md", "zarquon")
    reports: list[IndexReport] = []
    watcher = watch(on_pass=reports.append)
    os.utime(file, (1, 1))
    wait_for(lambda: watcher.status.passes > 1)
    settled(watcher)
    assert [report.replaced for report in reports[1:]] == [0] * (len(reports) - 1)
    assert watcher.status.changed == 1
    assert notes.core.sources()[0].modified == "1970-01-01T00:00:01Z"


def test_deleted_and_made_again(notes: Notes, watch: Start) -> None:
    """A file that is back is there, whatever the events say."""
    notes.write("a.md", "zarquon")
    notes.write("b.md", "rest")
    watcher = watch()
    for number in range(5):
        (notes.folder / "a.md").unlink()
        if number % 2:
            becomes(notes.paths, ["b.md"])
        notes.write("a.md", f"version{number}")
        becomes(lambda number=number: notes.holding(f"version{number}"), ["a.md"])
    settled(watcher)
    assert notes.paths() == ["a.md", "b.md"]


# -- folders ---------------------------------------------------------------------------------------


def test_a_folder_that_moves(notes: Notes, watch: Start, poll: bool) -> None:
    """Its documents leave their old paths and are found at the new ones."""
    for number in range(5):
        notes.write(f"old/deep/{number}.md", "zarquon")
    notes.write("rest.md", "rest")
    watch(poll=poll)
    (notes.folder / "old").rename(notes.folder / "new")
    becomes(lambda: notes.holding("zarquon"), [f"new/deep/{n}.md" for n in range(5)])
    becomes(notes.paths, [*(f"new/deep/{n}.md" for n in range(5)), "rest.md"])


def test_a_folder_that_comes_from_elsewhere(notes: Notes, watch: Start, tmp_path: Path) -> None:
    """A folder moved in is walked, whether or not its files make events."""
    watch()
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere" / "deep" / "a.md").write_text("zarquon")
    (tmp_path / "elsewhere").rename(notes.folder / "arrived")
    becomes(lambda: notes.holding("zarquon"), ["arrived/deep/a.md"])
    notes.write("arrived/deep/b.md", "quagga")
    becomes(lambda: notes.holding("quagga"), ["arrived/deep/b.md"])


def test_a_file_written_straight_into_a_new_folder(notes: Notes, watch: Start) -> None:
    """It makes no event (measured), and is found because an added folder is walked."""
    watch()
    for number in range(10):
        notes.write(f"new{number}/deep/deeper/a.md", "zarquon")
    becomes(lambda: len(notes.holding("zarquon")), 10)


def test_a_folder_that_is_deleted(notes: Notes, watch: Start) -> None:
    """Its documents go with it, and no others."""
    for number in range(5):
        notes.write(f"old/{number}.md", "zarquon")
    notes.write("rest.md", "rest")
    watch()
    shutil.rmtree(notes.folder / "old")
    becomes(notes.paths, ["rest.md"])


def test_the_last_file_can_be_deleted(notes: Notes, watch: Start) -> None:
    """A deletion that an event told of is one, also when the folder is empty then."""
    notes.write("a.md", "zarquon")
    watch()
    (notes.folder / "a.md").unlink()
    becomes(notes.paths, [])


@pytest.mark.parametrize("poll_", [False, True])
def test_a_root_that_vanishes_deletes_nothing(notes: Notes, watch: Start, poll_: bool) -> None:
    """P04: the folder gone, it is said and nothing is deleted; back again, it is watched again."""
    for number in range(5):
        notes.write(f"{number}.md", "zarquon")
    watcher = watch(poll=poll_)
    notes.folder.rename(notes.folder.parent / "away")
    wait_for(lambda: watcher.status.state == "retrying")
    assert "Nothing was indexed or deleted" in watcher.status.problem
    assert len(notes.holding("zarquon")) == 5
    (notes.folder.parent / "away").rename(notes.folder)
    wait_for(lambda: watcher.status.problem == "")
    notes.write("new.md", "quagga")
    becomes(lambda: notes.holding("quagga"), ["new.md"])
    assert len(notes.holding("zarquon")) == 5


def test_a_root_that_comes_back_empty_deletes_nothing(notes: Notes, watch: Start) -> None:
    """P04: as when a disk is not mounted and its folder stays."""
    for number in range(5):
        notes.write(f"{number}.md", "zarquon")
    watcher = watch()
    notes.folder.rename(notes.folder.parent / "away")
    notes.folder.mkdir()
    wait_for(lambda: watcher.status.passes > 1)
    settled(watcher)
    assert len(notes.holding("zarquon")) == 5
    assert len(notes.stale()) == 5


def test_a_root_exchanged_for_another_is_watched(notes: Notes, watch: Start) -> None:
    """A watch follows the folder it was set on; the one of the same name is looked at anew."""
    notes.write("a.md", "zarquon")
    notes.write("b.md", "rest")
    watch()
    notes.folder.rename(notes.folder.parent / "away")
    notes.write("b.md", "quagga")
    notes.write("c.md", "okapi")
    becomes(lambda: notes.holding("quagga") + notes.holding("okapi"), ["b.md", "c.md"])
    notes.write("d.md", "lemur")
    becomes(lambda: notes.holding("lemur"), ["d.md"])


def test_a_root_that_is_one_file(notes: Notes, watch: Start) -> None:
    """A file is watched by its name, so that an atomic save is seen."""
    file = notes.write("a.md", "zarquon")
    watch(file)
    for number in range(3):
        notes.write("a.md.tmp", f"version{number} " * (number + 1))
        os.replace(notes.folder / "a.md.tmp", file)
        becomes(lambda number=number: notes.holding(f"version{number}"), ["a.md"])


# -- one pass at a time, and no more than needed -------------------------------------------------


def test_changes_during_a_pass_make_one_follow_up(notes: Notes, watch: Start) -> None:
    """However many changes arrive while a pass runs, exactly one more pass takes them all."""
    entered, go_on = threading.Event(), threading.Event()
    passes: list[IndexReport] = []

    def slow(report: IndexReport) -> None:
        passes.append(report)
        if len(passes) == 2:
            entered.set()
            assert go_on.wait(processes.GENEROUS)

    watcher = watch(on_pass=slow)
    notes.write("start.md", "word")
    assert entered.wait(processes.GENEROUS)
    for number in range(200):
        notes.write(f"{number}.md", "zarquon")
        if number % 20 == 0:
            time.sleep(QUICK)
    time.sleep(5 * QUICK)
    go_on.set()
    becomes(lambda: len(notes.holding("zarquon")), 200)
    settled(watcher)
    assert [report.added for report in passes] == [0, 1, 200]


def test_the_stores_own_events_are_ignored(notes: Notes) -> None:
    """A store inside the folder does not keep its watcher busy."""
    core = Core(notes.folder / "knowledge")
    notes.write("a.md", "zarquon")
    with core.watch(notes.folder, debounce=QUICK).start() as watcher:
        wait_for(lambda: watcher.status.passes > 0)
        before = settled(watcher)
        notes.write("b.md", "quagga")
        wait_for(lambda: core.enumerate("quagga").matched == 1)
        assert settled(watcher) == before + 1
        notes.write("knowledge/notes.md", "okapi")
        notes.write("memory/notes.md", "okapi")
        notes.write(".git/notes.md", "okapi")
        notes.write("picture.png", b"")
        assert settled(watcher) == before + 1
    core.close()


def test_a_writer_at_work_is_waited_for(notes: Notes, watch: Start) -> None:
    """The lock is held for a pass only; a clash is tried again until it is done."""
    notes.write("a.md", "zarquon")
    watcher = watch()
    assert notes.index().unchanged == 1  # nobody holds the lock between passes
    script = """
        import sys
        from knowledge_nb.store.connection import Writer
        from knowledge_nb.store.files import StoreFiles
        with Writer.open(StoreFiles.at(sys.argv[1])):
            print("held", flush=True)
            sys.stdin.readline()
    """
    with processes.running(script, notes.core.files.directory) as holder:
        notes.write("b.md", "quagga")
        (notes.folder / "a.md").unlink()
        wait_for(lambda: watcher.status.state == "retrying")
        assert f"process {holder.pid}" in watcher.status.problem
        assert holder.stdin is not None
        holder.stdin.write("\n")
        holder.stdin.flush()
        becomes(notes.paths, ["b.md"])
    # The pass is committed a moment before its watcher says so.
    wait_for(lambda: watcher.status.problem == "")


def test_lost_events_are_repaired_by_a_whole_pass(notes: Notes, watch: Start) -> None:
    """W03: a change that made no event is found by the next whole pass, a deletion too."""
    for number in range(5):
        notes.write(f"{number}.md", "zarquon")
    watcher = watch(full_every=0.5)
    watcher._filter.matters = lambda path: False  # type: ignore[method-assign] # all are lost
    notes.write("new.md", "quagga")
    (notes.folder / "0.md").unlink()
    becomes(lambda: notes.holding("quagga"), ["new.md"])
    becomes(lambda: notes.holding("zarquon"), [f"{n}.md" for n in range(1, 5)])


def test_what_was_gone_before_watching_is_not_deleted(notes: Notes, watch: Start) -> None:
    """Nobody saw that file go, so it stays, as stale, until a reconcile is asked for."""
    notes.write("a.md", "zarquon")
    notes.write("b.md", "rest")
    notes.index()
    (notes.folder / "a.md").unlink()
    watcher = watch()
    notes.write("c.md", "quagga")
    becomes(lambda: notes.holding("quagga"), ["c.md"])
    assert notes.holding("zarquon") == ["a.md"]
    watcher.stop()
    watch(reconcile=True)
    becomes(notes.paths, ["b.md", "c.md"])


def test_many_files_at_once(notes: Notes, watch: Start) -> None:
    """A checkout of 5,000 files: the index and the disk agree, in few passes."""
    watcher = watch(full_every=20)
    for number in range(5_000):
        notes.write(f"{number % 50}/{number}.md", f"zarquon {number}")
    becomes(lambda: notes.core.stats().documents, 5_000)
    settled(watcher)
    assert watcher.status.passes < 30
    for folder in range(25):
        shutil.rmtree(notes.folder / str(folder))
    becomes(lambda: notes.core.stats().documents, 2_500)
    assert len(notes.holding("zarquon")) == 2_500


def test_the_debounce_waits_for_the_folder_to_rest(notes: Notes, watch: Start) -> None:
    """Saves in quick succession are one pass."""
    watcher = watch(debounce=1.0)
    before = settled(watcher)
    for number in range(10):
        notes.write("a.md", f"version{number}")
        time.sleep(0.05)
    becomes(lambda: notes.holding("version9"), ["a.md"])
    settled(watcher)
    assert watcher.status.passes == before + 1


# -- limits, arguments, lifetimes ----------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
def test_too_few_watches_are_one_warning_and_a_slower_watch(tmp_path: Path) -> None:
    """W05: the kernel's limit is named with its sysctl; changes are found all the same."""
    if not os.access("/proc/sys/fs/inotify/max_user_instances", os.R_OK):
        pytest.skip("no inotify here")
    script = """
        import resource, sys, time
        from pathlib import Path
        from knowledge_nb.core import Core
        import knowledge_nb.indexing.watch as module
        module.WALK_WITHOUT_EVENTS = 0.5
        folder = Path(sys.argv[2])
        with Core(sys.argv[1]).watch(folder, debounce=0.1).start() as first:
            pass
        # With no descriptor left, inotify cannot be had: EMFILE, as with max_user_instances.
        core = Core(sys.argv[1])
        core.index(folder)
        watcher = core.watch(folder, debounce=0.1)
        files = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        try:
            while True:
                files.append(open("/dev/null"))
        except OSError:
            pass
        watcher.start()
        end = time.monotonic() + 50
        while not watcher.status.warnings and time.monotonic() < end:
            time.sleep(0.05)
        del files[:40]
        (folder / "new.md").write_text("quagga")
        while core.enumerate("quagga").matched == 0 and time.monotonic() < end:
            time.sleep(0.05)
        print(core.enumerate("quagga").matched, watcher.status.mode)
        print(*watcher.status.warnings, sep="|")
        watcher.stop()
    """
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("word")
    found, warnings = processes.run(script, tmp_path / "store", tmp_path / "notes").splitlines()
    assert found == "1 walking"
    assert warnings == EXHAUSTED.format(0.5)
    assert "fs.inotify.max_user_watches" in warnings
    assert "poll" in warnings


@pytest.mark.parametrize(
    "message",
    [
        'OS file watch limit reached. about ["/x"]',
        "error setting up recommended watcher: IO error: Too many open files (os error 24)",
    ],
)
def test_both_limits_are_recognised_by_their_words(notes: Notes, message: str) -> None:
    """watchfiles gives these limits no errno: its very messages are matched."""
    watcher = notes.core.watch(notes.folder)
    for _ in range(3):
        watcher._without_events(OSError(message))
    assert watcher.status.warnings == (EXHAUSTED.format(30),)
    assert watcher.status.mode == "walking"


def test_arguments_are_checked(notes: Notes) -> None:
    """A debounce under 100 ms, a missing folder and no folder at all are refused at once."""
    for wrong in ({"debounce": 0.05}, {"debounce": float("nan")}, {"full_every": 0}):
        with pytest.raises(ConfigurationError):
            notes.core.watch(notes.folder, **wrong)
    with pytest.raises(RootError):
        notes.core.watch(notes.folder / "missing")
    with pytest.raises(ConfigurationError):
        notes.core.watch()
    assert not notes.core.files.directory.exists()


def test_it_starts_and_stops_again(notes: Notes) -> None:
    """start and stop may be called twice, in turn, and leave no thread behind."""
    notes.write("a.md", "zarquon")
    before = threading.active_count()
    watcher = notes.core.watch(notes.folder, debounce=QUICK)
    assert watcher.status.state == "stopped"
    for number in range(3):
        watcher.start().start()
        notes.write("a.md", f"version{number}")
        becomes(lambda number=number: notes.holding(f"version{number}"), ["a.md"])
        watcher.stop()
        watcher.stop()
        assert watcher.status.state == "stopped"
    assert threading.active_count() == before
    notes.write("a.md", "unseen")
    time.sleep(5 * QUICK)
    assert notes.holding("unseen") == []


def test_closing_the_core_stops_its_watchers(notes: Notes) -> None:
    """Nothing goes on writing behind a knowledge base that was closed."""
    watcher = notes.core.watch(notes.folder, debounce=QUICK).start()
    wait_for(lambda: watcher.status.passes > 0)
    notes.core.close()
    assert watcher.status.state == "stopped"


def test_the_process_may_end_while_watching(tmp_path: Path) -> None:
    """A notebook's kernel that ends leaves no error, no lock and no half pass."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("zarquon")
    script = """
        import sys, knowledge_nb as knb
        watcher = knb.open(sys.argv[1]).watch(sys.argv[2], debounce=0.1)
        print("over")
    """
    process = processes.start(script, tmp_path / "store", tmp_path / "notes")
    output, errors = process.communicate(timeout=processes.GENEROUS)
    assert (process.returncode, output, errors) == (0, "over\n", "")
    core = Core(tmp_path / "store")
    core.index(tmp_path / "notes")
    assert not core.completeness().unfinished_since
    core.close()


@pytest.mark.soak
def test_fifty_thousand_files_and_a_busy_watcher(notes: Notes, watch: Start) -> None:
    """W03: more events than the kernel queues; index and disk agree after the next whole pass."""
    watcher = watch(full_every=30)
    for number in range(50_000):
        notes.write(f"{number % 400}/{number}.md", f"zarquon {number}")
    wait_long = time.monotonic() + 300
    while notes.core.stats().documents < 50_000 and time.monotonic() < wait_long:
        time.sleep(1)
    assert notes.core.stats().documents == 50_000
    assert not notes.core.index(notes.folder, dry_run=True).added
    assert watcher.status.problem == ""
