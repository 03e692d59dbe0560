"""Stdout as a wire: only the protocol's bytes may reach it, whatever a library prints, and when."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import BinaryIO


def take_stdout() -> BinaryIO:
    """Take stdout away from everybody, and give the only way to it; print() goes to stderr.

    The SDK does this only while it serves. Before that, something may print at start-up; after it,
    what was printed during the calls would be flushed into the pipe at exit.
    """
    sys.stdout.flush()
    wire = os.fdopen(os.dup(1), "wb")
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
    return wire


def end_at_once(status: int) -> None:
    """Let Ctrl-C end the process, which only reads, without waiting for anything.

    The SDK's reader would wait for the next line on stdin, and the process for the reader.
    """

    def end(number: int, frame: FrameType | None) -> None:
        os.write(2, b"knowledge: interrupted\n")
        os._exit(status)

    signal.signal(signal.SIGINT, end)
