"""Why files cannot be used, as the system tells of their place, and what helps.

SQLite says "disk I/O error" of a full disk, and "unable to open database file" of a medium on
which it cannot make the two files beside the database that it needs even to read one.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final, NamedTuple

from knowledge_nb.store.mounts import mounted_read_only

MAKE_ROOM: Final = "Free some space there, then run the same command again."
LITTLE: Final = 64 * 1024  # bytes; the shared-memory file alone takes 32 KiB


class Cause(NamedTuple):
    """What is the matter with a place, and what to do about it; both "" where nothing is."""

    said: str = ""
    fix: str = ""


def fix_of(error: OSError, directory: Path) -> str:
    """What helps where the system refused to make or write a file; "" where that is not known."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return MAKE_ROOM
    if error.errno == errno.EROFS:
        return (
            "Mount the file system writable, or copy the store's directory to a writable place and "
            "name it with --store."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"Run this as the owner of {directory}, or make it yours to write."
    return ""


def cause_at(database: Path) -> Cause:
    """Why SQLite cannot use a database, by its place; a guess is not made.

    Parameters
    ----------
    database : Path
        Absolute; it need not exist.

    Returns
    -------
    Cause
        Empty where the place can be read and written and has room.
    """
    directory = database.parent
    if not os.access(directory, os.X_OK) or (
        os.path.lexists(database) and not os.access(database, os.R_OK)
    ):
        return Cause("you may not read it", f"Run this as the owner of {directory}.")
    if mounted_read_only(directory):
        return Cause(
            "it lies on a file system that is mounted read-only, where SQLite cannot make the "
            "files that it needs beside it",
            f"Copy {directory}, all of it, to a writable place and name that with --store. What "
            "`knowledge backup FILE` writes is one file, which can be read there as well.",
        )
    if 0 <= room_at(directory) < LITTLE:
        return Cause("its file system is full", MAKE_ROOM)
    if not os.access(directory, os.W_OK):
        return Cause(
            f"you may not write in {directory}",
            f"Run this as the owner of {directory}, or ask for a `knowledge backup`, which is one "
            "file and can be read anywhere.",
        )
    if os.path.lexists(database) and not os.access(database, os.W_OK):
        return Cause("you may not write it", f"Run this as the owner of {directory}.")
    return Cause()


def room_at(directory: Path) -> int:
    """Bytes that this user can still write below a directory; -1 where nobody can tell."""
    if not hasattr(os, "statvfs"):
        return -1
    try:
        found = os.statvfs(directory)
    except OSError:
        return -1
    # What is kept back for root is room for root.
    blocks = found.f_bfree if os.geteuid() == 0 else found.f_bavail
    return blocks * found.f_frsize
