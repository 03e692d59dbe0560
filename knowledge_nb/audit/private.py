"""A private directory that goes with its owner and, after a crash, with the next use.

The name holds who owns it: the machine (its boot and process id space), the process id and when
that process started, so that a reused process id keeps nobody's leavings alive.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import weakref
from pathlib import Path

from knowledge_nb.errors import StoreAccessError

PREFIX = "knowledge-snapshot"
FOREIGN_SECONDS = 24 * 3600  # another machine's directory, on a shared disk, is left alone so long
_NAME = re.compile(rf"{PREFIX}-([0-9a-f]{{8}})-(\d+)-(\d+)-[0-9a-f]{{16}}")


class PrivateDirectory:
    """A new directory of mode 0700.

    Parameters
    ----------
    parents : sequence of Path
        Tried in order; leavings of dead processes are removed from all of them.

    Attributes
    ----------
    path : Path
        Removed by `close`, else when this object is collected or the process ends. A forked
        child, which inherits the object, removes nothing.

    Raises
    ------
    StoreAccessError
        None of the parents can be written to.
    """

    def __init__(self, *parents: Path) -> None:
        self.path = _make(parents)
        self.owner = os.getpid()
        self._remove = weakref.finalize(self, _remove_own, str(self.path), self.owner)

    def close(self) -> None:
        """Remove the directory with all it holds; twice is harmless."""
        self._remove()


def parents(store: Path) -> tuple[Path, Path]:
    """Where a snapshot may lie: in the private store directory, else the system's temporary one.

    The store directory comes first because the text lies there already, under the same mode and
    on the same disk; the other is for a store on a disk that cannot be written.
    """
    return store, Path(tempfile.gettempdir())


def _make(parents: tuple[Path, ...]) -> Path:
    name = f"{PREFIX}-{_machine()}-{os.getpid()}-{_started(os.getpid())}-{secrets.token_hex(8)}"
    refused: OSError | None = None
    for parent in parents:
        sweep(parent)
    for parent in parents:
        try:
            (parent / name).mkdir(mode=0o700)
        except OSError as error:
            refused = refused or error
        else:
            return parent / name
    raise StoreAccessError(
        f"no place for a snapshot: neither {' nor '.join(map(str, parents))} can be written to "
        f"({refused.strerror if refused else 'no parent'})"
    ) from refused


def sweep(parent: Path) -> None:
    """Remove the directories of processes that are no longer there."""
    try:
        with os.scandir(parent) as entries:
            found = [entry.path for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return  # not there, or not ours to list: nothing of ours to remove
    for path in found:
        if _is_ours(path) and not _alive(path):
            shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return mine and stat.S_ISDIR(status.st_mode)


def _alive(path: str) -> bool:
    machine, pid, started = re.fullmatch(_NAME, os.path.basename(path)).groups()  # type: ignore[union-attr]
    if machine != _machine() or os.name == "nt":
        try:
            return time.time() - os.lstat(path).st_mtime < FOREIGN_SECONDS
        except OSError:
            return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return started == str(_started(int(pid)))


def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot, space = "", ""
    return hashlib.sha256(f"{boot}\n{space}".encode()).hexdigest()[:8]


def _started(pid: int) -> int:
    """When a process started, in the kernel's ticks; 0 where the system does not say."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    return int(line.rpartition(b")")[2].split()[19])


def _remove_own(path: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
