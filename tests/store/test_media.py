"""A store on a disk that is full or may not be written: what can be read is read, the rest is told.

Each test runs on a small file system of its own, which it fills or makes read-only.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_nb.store import mounts
from tests import processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system")

BEGIN = """
import json, os, subprocess, sys
from pathlib import Path
from knowledge_nb.core import Core
from knowledge_nb.errors import KnowledgeError
from knowledge_nb.store.connection import Writer

place = Path(sys.argv[1])
notes = place / "notes"
notes.mkdir()
(notes / "a.md").write_text("zarquon")
(notes / "b.md").write_text("quagga")
core = Core(place / "knowledge")
core.index(notes)
core.close()

def remount(how):
    subprocess.run(["mount", "-o", f"remount,{how}", str(place)], check=True)

def lone():
    core.close()
    Writer.open(core.files).close()  # the last to write empties the log and takes it away
    assert not any(path.exists() for path in core.files.sidecars)

def fill():
    with open(place / "filler", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            return

def attempt(do):
    try:
        return do()
    except KnowledgeError as error:
        return f"{type(error).__name__}: {error}"

def doctor(of, **options):
    report = of.doctor(**options)
    return [[each.check, each.state, each.message, each.fix] for each in report.checks]

answer = {}
"""
END = """
print(json.dumps(answer))
"""


def on_disk(script: str, place: Path) -> dict[str, object]:
    """What a script on a disk of its own left in `answer`."""
    place.mkdir()
    found: dict[str, object] = json.loads(processes.run_on_disk(BEGIN + script + END, place))
    return found


Checks = dict[str, tuple[str, str, str]]


def by_name(found: object) -> Checks:
    """State, message and fix of each check, by its name."""
    assert isinstance(found, list)
    return {name: (state, message, fix) for name, state, message, fix in found}


READ_ONLY = """
lone()
core.backup(place / "copy.db")
(place / "copied").mkdir()
os.rename(place / "copy.db", place / "copied" / "knowledge.db")
answer["healthy"] = doctor(core, integrity=True)
lone()
remount("ro")
answer["matched"] = [core.enumerate("zarquon").matched for _ in range(3)]
answer["ranked"] = [hit.path for hit in core.search("quagga").hits]
answer["built"] = core.reader.is_built()
answer["doctor"] = doctor(core, integrity=True)
answer["copy"] = Core(place / "copied").enumerate("zarquon").matched
answer["index"] = attempt(lambda: core.index(notes).ok)
answer["left"] = sorted(os.listdir(core.files.directory))
"""


def test_a_whole_store_is_read_where_nobody_can_write(tmp_path: Path) -> None:
    """Without the two files beside it, which cannot be made there, the database is read all the
    same; so is a backup; a pass is refused with what to do; and the doctor condemns nothing.
    """
    found = on_disk(READ_ONLY, tmp_path / "disk")
    assert found["matched"] == [1, 1, 1]
    assert found["ranked"] == ["b.md"]
    assert found["copy"] == 1
    assert found["built"] is True
    assert "Read-only file system. Mount the file system writable, or copy" in str(found["index"])
    assert "knowledge.db-shm" not in str(found["left"])
    checks = by_name(found["doctor"])
    assert not [name for name, (state, _, _) in checks.items() if state == "fail"]
    assert checks["disk space"][0] == checks["write lock"][0] == "not run"
    for name in ("pages", "index chunks_fts", "tokens", "stored text equals file"):
        assert checks[name][0] == "not run"
        assert "Read-only file system" in checks[name][1]
    assert "copy the store's directory" in checks["pages"][2]
    assert "reset" not in json.dumps(found["doctor"])
    assert list(checks) == list(by_name(found["healthy"]))


VIEW = """
lone()
view = place / "view"
view.mkdir()
subprocess.run(["mount", "--bind", str(core.files.directory), str(view)], check=True)
subprocess.run(["mount", "-o", "remount,ro,bind", str(view)], check=True)
answer["view"] = attempt(lambda: Core(view).enumerate("zarquon").matched)
core.index(notes)
with core.reader.snapshot():  # keeps the two files there
    answer["with"] = attempt(lambda: Core(view).enumerate("zarquon").matched)
"""


def test_a_view_of_what_others_write_is_not_taken_for_frozen(tmp_path: Path) -> None:
    """A read-only bind mount, as into a container: its store may be written from outside, so it is
    read under SQLite's locks or not at all, and what to do is said.
    """
    found = on_disk(VIEW, tmp_path / "disk")
    assert "mounted read-only" in str(found["view"])
    assert "Copy " in str(found["view"])
    assert "knowledge backup" in str(found["view"])
    assert found["with"] == 1


LOG = """
child = os.fork()
if not child:
    with core.reader.snapshot():
        (notes / "c.md").write_text("okapi")
        Core(core.files.directory).index(notes)
        os._exit(0)  # as a crash: the log stays
os.waitpid(child, 0)
core.files.sidecars[1].unlink()
answer["log"] = os.path.getsize(core.files.sidecars[0])
remount("ro")
answer["said"] = attempt(lambda: core.enumerate("okapi").matched)
"""


def test_a_log_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    """What is committed in the log only is in no answer that leaves the log out: none is given."""
    found = on_disk(LOG, tmp_path / "disk")
    assert found["log"]
    assert str(found["said"]).startswith("StoreAccessError: cannot use ")
    assert "all of it, to a writable place" in str(found["said"])


THAWED = """
lone()
remount("ro")
def ask():
    with core.reader.snapshot() as connection:
        remount("rw")
        (notes / "c.md").write_text("zarquon")
        Core(core.files.directory).index(notes)
answer["said"] = attempt(ask)
answer["after"] = core.enumerate("zarquon").matched
"""


def test_an_answer_from_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    """Read without locks, the file must be the same at the end; the next answer is of the new."""
    found = on_disk(THAWED, tmp_path / "disk")
    assert "was written while it was read. Ask again." in str(found["said"])
    assert found["after"] == 2


FULL = """
answer["healthy"] = doctor(core, integrity=True)
lone()
fill()
answer["said"] = attempt(lambda: core.enumerate("zarquon").matched)
answer["doctor"] = doctor(core, integrity=True)
os.unlink(place / "filler")
answer["after"] = core.enumerate("zarquon").matched
"""


def test_a_full_disk_is_named_and_nothing_is_condemned(tmp_path: Path) -> None:
    """Where not even reading is possible the cause is said, with what to do, and once; no check
    changes its name, and none advises to destroy what it did not look at.
    """
    found = on_disk(FULL, tmp_path / "disk")
    assert "file system is full. Free some space" in str(found["said"])
    checks = by_name(found["doctor"])
    failed = {name for name, (state, _, _) in checks.items() if state == "fail"}
    assert failed == {"store opens", "disk space"}
    assert "file system is full" in checks["store opens"][1]
    assert "Free some space" in checks["store opens"][2]
    for name in ("format", "write-ahead log", "removed text erased", "Unicode", "pages", "tokens"):
        assert checks[name][0] == "not run", name
    assert "reset" not in json.dumps(found["doctor"])
    assert list(checks) == list(by_name(found["healthy"]))
    assert found["after"] == 1


LOOKED_AT = """
with core.reader.snapshot():
    fill()
    answer["doctor"] = doctor(core, integrity=True)
    answer["holder"] = core.files.lock_holder.exists()
"""


def test_a_full_disk_does_not_hinder_the_integrity_check(tmp_path: Path) -> None:
    """It writes nothing, so it runs; the name of the lock's holder goes without saying."""
    found = on_disk(LOOKED_AT, tmp_path / "disk")
    checks = by_name(found["doctor"])
    assert {name for name, (state, _, _) in checks.items() if state == "fail"} == {"disk space"}
    assert checks["index chunks_fts"][0] == checks["write lock"][0] == "pass"
    assert found["holder"] is False


@pytest.fixture
def foreign_place() -> Iterator[Path]:
    """A directory that any user may enter."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        yield Path(made)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a second user")
@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_a_store_of_another_user_is_not_condemned(foreign_place: Path, mode: int) -> None:
    """Who may read and not write, or not even look, is told whose store it is: it is neither
    damaged nor absent.
    """
    script = BEGIN + (
        """
for path, mode in ((core.files.directory, 0o755), (core.files.database, 0o644)):
    os.chmod(path, mode)
core.doctor()  # imports what the other user may not be able to read
lone()
os.setresuid(65534, 65534, 65534)
answer["said"] = attempt(lambda: core.enumerate("zarquon").matched)
answer["doctor"] = doctor(core, integrity=True)
"""
        + END
    )
    found = json.loads(processes.run(script, foreign_place, mode))
    assert "Run this as the owner of" in str(found["said"])
    checks = by_name(found["doctor"])
    assert checks["store opens"][0] == "fail"
    assert "owner" in checks["store opens"][2]
    assert checks["pages"][0] == checks["format"][0] == "not run"
    assert "reset" not in json.dumps(found["doctor"])


@pytest.mark.parametrize(
    ("lines", "frozen"),
    [
        ("36 35 98:0 / {0} ro,noatime - iso9660 /dev/sr0 ro,norock", True),
        ("36 35 98:0 / {0} ro,noatime master:1 shared:2 - ext4 /dev/sda1 ro", True),
        ("36 35 98:0 / {0} ro,noatime - ext4 /dev/sda1 rw,errors=continue", False),
        ("36 35 98:0 / {0} ro - nfs4 server:/x ro,vers=4.2", False),
        ("36 35 98:0 / {0} ro - overlay overlay ro,lowerdir=/a", False),
        ("36 35 98:0 / {0} ro - fuse.sshfs user@host: ro", False),
        ("36 35 98:0 / / ro - ext4 /dev/sda1 ro\n37 36 0:9 / {0} ro - tmpfs none rw", False),
        ("36 35 98:0 / /elsewhere ro - ext4 /dev/sda1 ro", False),
        ("broken", False),
    ],
)
def test_what_counts_as_frozen(lines: str, frozen: bool) -> None:
    """A local file system that is read-only as a whole; no view, no share, no guess."""
    assert mounts.frozen_by("/media/x/knowledge", lines.format("/media/x") + "\n") is frozen


def test_a_writable_place_is_not_frozen(tmp_path: Path) -> None:
    """The ordinary case, and that of a place which does not exist."""
    assert not mounts.is_frozen(tmp_path)
    assert not mounts.is_frozen(tmp_path / "missing")


PASS = """
names = [f"{number}.md" for number in range(300)]
for name in names:
    (notes / name).write_text(f"before{name} " * 6_000)
core.index(notes)
lone()
for name in names:
    (notes / name).write_text(f"after{name} " * 6_000)
fill()
os.truncate(place / "filler", os.path.getsize(place / "filler") - int(sys.argv[2]))
answer["said"] = attempt(lambda: core.index(notes).ok)
with core.reader.snapshot() as connection:
    new = "SELECT DISTINCT document_id FROM chunks WHERE body LIKE 'after%'"
    answer["new"] = len(connection.execute(new).fetchall())
    old = "SELECT DISTINCT document_id FROM chunks WHERE body LIKE 'before%'"
    answer["old"] = len(connection.execute(old).fetchall())
answer["unfinished"] = core.completeness().unfinished()
core.close()
os.unlink(place / "filler")
answer["states"] = sorted({each.state for each in core.check()})
answer["later"] = core.index(notes).replaced
"""


@pytest.mark.parametrize("room", [150_000, 9_000_000])
def test_a_pass_that_ends_for_lack_of_room(tmp_path: Path, room: int) -> None:
    """What is said of the index is so: earlier transactions stay, each document is whole, the pass
    is unfinished, and with room the next one takes up the rest.
    """
    (tmp_path / "disk").mkdir()
    script = BEGIN + PASS + END
    found = json.loads(processes.run_on_disk(script, tmp_path / "disk", room, size="120m"))
    said = found["said"]
    assert said.startswith("StoreAccessError: no space left for ")
    assert "as before" not in said
    assert "stays; a pass that stops here is not finished. Free some space" in said
    assert "`knowledge index`" in said
    assert (found["new"] > 0) == (room > 1_000_000)
    assert found["new"] + found["old"] == 300
    assert found["unfinished"] or not found["new"]
    assert set(found["states"]) == {"pass", "not run"}
    assert found["later"] == found["old"]


REMOVAL = """
import warnings
for number in range(100):
    (notes / f"{number}.md").write_text(f"okapi{number} " * 6_000)
core.index(notes)
core.close()
fill()
os.truncate(place / "filler", os.path.getsize(place / "filler") - 1_500_000)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    answer["removed"] = attempt(lambda: core.remove("a.md"))
answer["warned"] = [str(each.message) for each in caught]
answer["doctor"] = doctor(core)
os.unlink(place / "filler")
answer["later"] = core.index(notes).ok
answer["after"] = doctor(core)
"""


def test_a_removal_that_could_not_erase_for_lack_of_room(tmp_path: Path) -> None:
    """The warning names the lack of room; the doctor blames no reader, and what it says to do
    finishes the work.
    """
    (tmp_path / "disk").mkdir()
    script = BEGIN + REMOVAL + END
    found = json.loads(processes.run_on_disk(script, tmp_path / "disk", size="64m"))
    assert found["removed"] == ["a.md"]
    (warned,) = found["warned"]
    assert warned.startswith("removed text is not erased yet (no space left for ")
    state, message, fix = by_name(found["doctor"])["removed text erased"]
    assert state == "fail"
    assert "no room for a copy of the database" in message
    assert "MB are free, then run `knowledge index`" in fix
    assert found["later"]
    assert by_name(found["after"])["removed text erased"][0] == "pass"
