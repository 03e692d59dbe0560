"""Other processes that tests start: Python, with this package, running a given script."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

GENEROUS = 60.0  # seconds that no wait of a test should ever need


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a script; `sys.argv[1:]` are the arguments."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(script: str, *arguments: object) -> str:
    """Run a script to its end and give its output; an error of it is one of the test."""
    process = start(script, *arguments)
    output, errors = process.communicate(timeout=GENEROUS)
    assert process.returncode == 0, errors
    return output


@contextmanager
def running(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A script that has written its first line; it is ended with the block."""
    process = start(script, *arguments)
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), process.communicate(timeout=GENEROUS)[1]
        yield process
    finally:
        process.kill()
        process.communicate(timeout=GENEROUS)


_ON_A_DISK = """
mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"
"""


def run_on_disk(script: str, place: Path, *arguments: object, size: str = "24m") -> str:
    """Run a script for which a small file system of its own is mounted at `place`, an empty folder.

    It can be filled and, by `mount -o remount,ro`, made read-only; nobody else sees it. The script
    is skipped where the kernel gives no namespace of mounts to a plain user.
    """
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            [*namespace, "mount", "-t", "tmpfs", "tmpfs", str(place)],
            capture_output=True,
            check=False,
        ).returncode
    ):
        pytest.skip("no file system can be mounted here")
    python = [sys.executable, "-c", textwrap.dedent(script), str(place), *map(str, arguments)]
    done = subprocess.run(
        [*namespace, "sh", "-c", _ON_A_DISK, "sh", size, str(place), *python],
        capture_output=True,
        text=True,
        timeout=GENEROUS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_for(condition: Callable[[], bool], what: str = "the condition") -> None:
    """Wait until a condition holds, at most a generous while."""
    end = time.monotonic() + GENEROUS
    while not condition():
        assert time.monotonic() < end, f"{what} did not come about in {GENEROUS:.0f} s"
        time.sleep(0.02)


def locks_on(file: Path) -> list[str]:
    """This process's POSIX locks on a file, as the kernel lists them; empty where there are none.

    SQLite's own locks are of the type POSIX; those of the writers' lock file are FLOCK.
    """
    own, inode = str(os.getpid()), str(os.stat(file).st_ino)
    found = []
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if fields[1] == "POSIX" and fields[4] == own and fields[5].endswith(f":{inode}"):
            found.append(line)
    return found
