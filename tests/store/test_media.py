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
    for path in core.files.sidecars:
        path.unlink(missing_ok=True)

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
core.close()
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
core.close()
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
def test_a_store_of_another_user_is_not_condemned(foreign_place: Path) -> None:
    """Who may read and not write is told whose store it is; nothing is said of damage."""
    script = BEGIN + (
        """
for path, mode in ((core.files.directory, 0o755), (core.files.database, 0o644)):
    os.chmod(path, mode)
core.doctor()  # imports what the other user may not be able to read
core.close()
lone()
os.setresuid(65534, 65534, 65534)
answer["said"] = attempt(lambda: core.enumerate("zarquon").matched)
answer["doctor"] = doctor(core, integrity=True)
"""
        + END
    )
    found = json.loads(processes.run(script, foreign_place))
    assert "Run this as the owner of" in found["said"]
    checks = by_name(found["doctor"])
    assert checks["store opens"][0] == "fail"
    assert checks["pages"][0] == "not run"
    assert "owner" in checks["pages"][2]
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
