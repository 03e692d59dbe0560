"""What reaches a terminal, a pipe or a file: plain text, tables, JSON, CSV.

Two kinds of output. For people: text from the corpus is stripped of terminal control sequences, a
character that the locale cannot show is escaped, the tier line comes first. For programs: UTF-8
whatever the locale, verbatim, and nothing at all where there is no complete answer.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from knowledge_nb.errors import ConfigurationError, NotFoundError
from knowledge_nb.records import Completeness

if TYPE_CHECKING:
    from knowledge_nb.core import Core
    from knowledge_nb.store.files import StoreFiles

_SEQUENCES = re.compile(
    "(?:\x1b[P\\]X^_]|[\x90\x9d\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"  # strings
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences
    "|\x1b[ -/]*[0-~]"  # two-character escapes
    # What is left of C0 (but \n and \t), DEL, C1, and the characters that reorder a line.
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


def clean(text: str) -> str:
    """Text for people: no terminal control sequence, no control character but \\n and \\t."""
    return _SEQUENCES.sub("", text)


def clean_line(text: str) -> str:
    """The same on one line: a line break or tab is shown as its escape."""
    return clean(text).replace("\n", "\\n").replace("\t", "\\t")


def say(text: str = "") -> None:
    """Write a line of our own words; on a terminal it is folded at its width."""
    text = clean(text)
    if text and sys.stdout.isatty():
        indent = "    " if text.startswith("  ") else ""
        text = textwrap.fill(
            text, _width(), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )
    click.echo(text)


def title(text: str) -> None:
    """Write a heading, after an empty line."""
    click.echo()
    click.echo(click.style(clean(text), bold=True))


def warn(text: str) -> None:
    """Write a line for people to stderr."""
    click.echo(clean(text), err=True)


def notes(items: Iterable[str]) -> None:
    """Write the notes of an answer."""
    for note in items:
        say(f"Note: {note}")


def covers(completeness: Completeness) -> None:
    """Write the completeness statement."""
    click.echo()
    say(completeness.statement())


def warn_unfinished(completeness: Completeness) -> None:
    """The same on stderr, where stdout is for programs."""
    if said := completeness.unfinished():
        warn(f"knowledge: {clean_line(said)}")


def _width() -> int:
    import shutil

    return max(min(shutil.get_terminal_size().columns, 100), 40)


def table(columns: Sequence[str], rows: Sequence[Sequence[str | int]], path: int = 0) -> None:
    """Write a table; numbers to the right.

    On a terminal it is fitted to the width; elsewhere each row is one line, never shortened.

    Parameters
    ----------
    path : int
        The column that is folded when the terminal is too narrow.
    """
    cells = [
        [f"{cell:,}" if isinstance(cell, int) else clean_line(cell) for cell in row] for row in rows
    ]
    right = [bool(rows) and isinstance(rows[0][n], int) for n in range(len(columns))]
    if sys.stdout.isatty():
        _rich_table(columns, cells, right, path)
        return
    widths = [max(len(columns[n]), *(len(row[n]) for row in cells), 0) for n in range(len(columns))]
    for row in [list(columns), *cells]:
        line = "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        click.echo(line.rstrip())


def _rich_table(
    columns: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], path: int
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for number, (name, to_right) in enumerate(zip(columns, right, strict=True)):
        grid.add_column(
            name,
            justify="right" if to_right else "left",
            no_wrap=number != path,
            overflow="fold",
        )
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    Console(markup=False, highlight=False, emoji=False).print(grid)


def size(count: int) -> str:
    """A number of bytes for people, in powers of a thousand."""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if count >= 1000 else f"{count} B"


def require_folder(core: Core, under: str) -> None:
    """Refuse an empty answer about a folder that the index does not hold.

    Raises
    ------
    NotFoundError
    """
    if under and not core.holds(under):
        raise NotFoundError(
            f"no indexed document lies under {under!r}; paths are relative to the corpus base, "
            "and `knowledge sources` lists them"
        )


def coverage_record(completeness: Completeness) -> dict[str, Any]:
    """The completeness as JSON holds it, with its statement in words."""
    return {**asdict(completeness), "statement": completeness.statement()}


def write_json(record: dict[str, Any]) -> None:
    """Write one object: UTF-8, no NaN, keys in the order given."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2)
    write_bytes(text + "\n")


def write_bytes(text: str) -> None:
    """Write for programs: UTF-8 whatever the locale."""
    click.echo(text.encode("utf-8", "replace"), nl=False)


def write_csv(
    target: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, store: StoreFiles
) -> None:
    """Write a whole CSV file, or "-" for stdout: RFC 4180, UTF-8 without BOM, header, CRLF.

    The file is written beside its target and renamed over it, so that nobody sees half of it.

    Raises
    ------
    ConfigurationError
        The target is a directory, a device or a pipe, or lies in the store's own directory.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(rows)
    if target == "-":
        write_bytes(buffer.getvalue())
        return
    final = os.path.realpath(target)
    if os.path.dirname(final) == os.path.realpath(store.directory):
        raise ConfigurationError(f"{target} lies in the store's own directory; name another place")
    mode = 0o666
    try:
        found = os.stat(final)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        mode &= ~umask
    else:
        if not stat.S_ISREG(found.st_mode):
            raise ConfigurationError(
                f"{target} is no regular file; name a file, or `--csv -` for stdout"
            )
        mode = stat.S_IMODE(found.st_mode)
    beside = os.path.join(os.path.dirname(final), f".{os.path.basename(final)}.{os.getpid()}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(buffer.getvalue().encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, mode)
        os.replace(beside, final)
    except BaseException:
        os.unlink(beside)
        raise
