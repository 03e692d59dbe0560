"""Bars on stderr, where that is a terminal; nothing at all elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bytes_bar(label: str) -> Iterator[Callable[[int, int, int, int], None] | None]:
    """Files, speed and time left; called with files and bytes done, files and bytes in all."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn(label),
        BarColumn(),
        TextColumn("{task.fields[files]}"),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None, files="reading the folders")

        def progress(files: int, size: int, all_files: int, all_bytes: int) -> None:
            shown.update(
                task,
                completed=size,
                total=max(all_bytes, 1),
                files=f"{files:,} of {all_files:,} files",
            )

        yield progress


@contextmanager
def count_bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """How many are done, and time left; called with done and all."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)

        def progress(done: int, total: int) -> None:
            shown.update(task, completed=done, total=total)

        yield progress
