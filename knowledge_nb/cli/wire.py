"""Stdout as a wire: only the protocol's bytes may reach it, whatever a library prints, and when."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Wire:
    """Takes descriptor 1 for the protocol; from now on all else goes to stderr.

    The SDK does this only while it serves. Before that, something may print at start-up; after it,
    what was printed during the calls would be flushed into the pipe at exit.
    """

    def __init__(self) -> None:
        sys.stdout.flush()
        self._descriptor = os.dup(1)
        _to_stderr()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Give descriptor 1 back for as long as the SDK, which takes it over at once, serves."""
        sys.stdout.flush()
        os.dup2(self._descriptor, 1)
        try:
            yield
        finally:
            _to_stderr()
            sys.stdout.flush()


def _to_stderr() -> None:
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
