"""Tables as files, whole or not at all, and back."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from knowledge_nb.audit.parquet import read_parquet, write_parquet
from knowledge_nb.audit.table import Table, Type
from knowledge_nb.errors import ExportError, ExportTargetError
from knowledge_nb.export import cells
from knowledge_nb.store.files import DATABASE_NAME

FORMATS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
BOM = "\ufeff"


def format_of(path: Path, named: str | None) -> str:
    """The format of a file: the one named, else by its suffix.

    Raises
    ------
    ExportError
        Neither says.
    """
    known = sorted(set(FORMATS.values()))
    if named is not None:
        if named not in known:
            raise ExportError(f"format is one of {', '.join(known)}, not {named!r}")
        return named
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ExportError(
            f"the suffix of {path.name!r} names no format ({', '.join(FORMATS)}); rename it or "
            f"give format= one of {', '.join(known)}"
        )
    return found


def encode(table: Table, form: str, *, bom: bool, neutralise: bool) -> bytes:
    """A table as the bytes of a CSV, JSON or JSON Lines file.

    CSV is RFC 4180: a header, CRLF, cells with quotes, commas or line breaks between quotes, and
    quotes in them doubled. A missing number is an empty cell; true and false are so written.

    Raises
    ------
    ExportError
        A number is infinite, which JSON cannot hold; CSV and Parquet can.
    """
    rows = cells.plain_rows(table)
    names = list(table.columns)
    if form in ("json", "jsonl"):
        records = [dict(zip(names, row, strict=True)) for row in rows]
        try:
            if form == "json":
                return (
                    json.dumps(records, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
                ).encode()
            lines = [json.dumps(r, ensure_ascii=False, allow_nan=False) + "\n" for r in records]
            return "".join(lines).encode()
        except ValueError as error:
            raise ExportError(
                "a number is infinite, which JSON cannot hold; export CSV or Parquet"
            ) from error
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    shown = cells.neutralise if neutralise else str
    writer.writerow([shown(name) for name in names])
    for row in rows:
        writer.writerow([_written(cell, shown) for cell in row])
    return (BOM * bom + buffer.getvalue()).encode()


def _written(cell: Any, shown: Callable[[str], str]) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return shown(cell) if isinstance(cell, str) else repr(cell)


def decode(
    path: Path, form: str, columns: dict[str, Type], *, neutralised: bool
) -> list[list[Any]]:
    """The rows of an exported file in plain cells.

    Raises
    ------
    ExportError
        The file does not have these columns, or is not of this format.
    """
    if form == "parquet":
        names, found = _read_parquet(path)
        kinds = list(columns.values())
        _same_columns(path, names, columns)
        return [[cells.plain(k, v) for k, v in zip(kinds, row, strict=True)] for row in found]
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ExportTargetError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ExportError(f"{path} is not UTF-8 any more (byte {error.start})") from error
    if form == "csv":
        return _from_csv(path, text, columns, neutralised=neutralised)
    try:
        records = (
            json.loads(text)
            if form == "json"
            else [json.loads(line) for line in text.split("\n") if line]
        )
        return [[record[name] for name in columns] for record in records]
    except (ValueError, KeyError, TypeError) as error:
        raise ExportError(f"{path} is not the {form} that was written: {error}") from error


def _from_csv(
    path: Path, text: str, columns: dict[str, Type], *, neutralised: bool
) -> list[list[Any]]:
    before = csv.field_size_limit(2**31 - 1)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise ExportError(f"{path} is no CSV any more: {error}") from error
    finally:
        csv.field_size_limit(before)
    held = cells.restore if neutralised else str
    _same_columns(path, [held(name) for name in lines[0]] if lines else [], columns)
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(columns):
            raise ExportError(f"row {number} of {path} has {len(line)} cells, not {len(columns)}")
        rows.append(
            [
                cells.parse(kind, held(cell) if kind == "text" else cell, name)
                for cell, (name, kind) in zip(line, columns.items(), strict=True)
            ]
        )
    return rows


def _same_columns(path: Path, found: list[str], columns: dict[str, Type]) -> None:
    if found != list(columns):
        raise ExportError(
            f"{path} has the columns {', '.join(found) or 'none'}; "
            f"{', '.join(columns)} were written"
        )


def _read_parquet(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    try:
        return read_parquet(path)
    except Exception as error:
        if _is_duckdb(error):
            raise ExportError(f"{path} is no Parquet any more: {error}") from error
        raise


class Target:
    """Where a file is to go: checked first, written beside, renamed over at the end.

    Raises
    ------
    ExportError
        It is a directory, a device or a pipe, or lies in a store's own directory.
    ExportTargetError
        It cannot be looked at, or is read-only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.final = Path(os.path.realpath(path))
        if os.path.lexists(self.final.parent / DATABASE_NAME):
            raise ExportError(f"{path} lies in the store's own directory; name another place")
        try:
            found = os.stat(self.final)
        except FileNotFoundError:
            self.mode = 0o666 & ~_umask()
        except OSError as error:
            raise ExportTargetError(f"cannot write {path}: {error.strerror}") from error
        else:
            if stat.S_ISDIR(found.st_mode):
                raise ExportError(f"{path} is a directory; name a file in it")
            if not stat.S_ISREG(found.st_mode):
                raise ExportError(f"{path} is no regular file; name a file")
            # By the mode, since the superuser may write anywhere and would overwrite it unseen.
            if not found.st_mode & 0o222:
                raise ExportTargetError(f"{path} is read-only; nothing was written")
            self.mode = stat.S_IMODE(found.st_mode)

    def write(self, fill: Callable[[Path], None]) -> Path:
        """Fill a new file beside the target and give its path; `keep` puts it in place.

        On any failure, an interrupt included, nothing is left of it.
        """
        # A name of its own: the target's could be as long as the system allows already.
        beside = self.final.with_name(f".knowledge-export-{os.getpid()}-{secrets.token_hex(4)}.tmp")
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.close(descriptor)
            fill(beside)
            descriptor = os.open(beside, os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.chmod(beside, self.mode)
        except BaseException as error:
            beside.unlink(missing_ok=True)
            if isinstance(error, OSError) or _is_duckdb(error):
                why = getattr(error, "strerror", None) or str(error).splitlines()[0]
                raise ExportTargetError(
                    f"cannot write {self.path}: {why}; what was there before is as it was"
                ) from error
            raise
        return beside

    def keep(self, beside: Path) -> None:
        """Rename a filled file over the target."""
        os.replace(beside, self.final)


def fill_table(table: Table, form: str, *, bom: bool, neutralise: bool) -> Callable[[Path], None]:
    """What writes a table to a path."""

    def fill(path: Path) -> None:
        if form == "parquet":
            path.unlink()
            write_parquet(table, path)
        else:
            path.write_bytes(encode(table, form, bom=bom, neutralise=neutralise))

    return fill


def fill_json(record: dict[str, Any]) -> Callable[[Path], None]:
    """What writes one JSON object to a path."""

    def fill(path: Path) -> None:
        path.write_bytes((json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode())

    return fill


def _is_duckdb(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in ("duckdb", "_duckdb")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
