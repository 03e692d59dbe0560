"""A list of terms to look for: from Python, a frame, a CSV file or a text file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge_nb.errors import ConfigurationError

COLUMNS = ("term", "label", "group")
_TABLES = {".csv": ",", ".tsv": "\t"}
MAX_FIELD = 10_000_000


@dataclass(frozen=True, slots=True)
class ListedTerm:
    """One term: a query in the language of `enumerate`, with an optional label and group."""

    term: str
    label: str = ""
    group: str = ""


def read_terms(source: Any) -> tuple[ListedTerm, ...]:
    """Read a list of terms.

    Parameters
    ----------
    source
        A path: `.csv` and `.tsv` are tables, with a header `term` (and `label`, `group`) or
        without one, the first column being the term; any other file holds a term a line. A
        DataFrame with those columns. Else an iterable of queries, of (term, label, group) or of
        mappings with those keys. White space around a term is dropped, and so are blank terms;
        a byte order mark and Windows line ends do not count. In a CSV the quotes of a phrase are
        doubled: `\"\"\"visitor book\"\"\",label`.

    Returns
    -------
    tuple of ListedTerm
        In order, repeated ones included.

    Raises
    ------
    ConfigurationError
        No term is left, or the source cannot be read as a list of terms.
    """
    if isinstance(source, str | os.PathLike):
        found = _from_file(Path(source))
    elif hasattr(source, "columns") and hasattr(source, "to_dict"):
        found = _from_frame(source)
    elif isinstance(source, Iterable):
        found = [_from_python(item) for item in source]
    else:
        raise ConfigurationError(
            f"terms come from a list, a frame or a file, not from {type(source).__name__}"
        )
    kept = tuple(term for term in found if term.term)
    if not kept:
        raise ConfigurationError("the list of terms is empty; name at least one query")
    return kept


def _from_frame(frame: Any) -> list[ListedTerm]:
    names = {str(name).strip().casefold(): name for name in frame.columns}
    if "term" not in names:
        raise ConfigurationError(
            f"the frame of terms has no column 'term' (it has {', '.join(names) or 'none'})"
        )
    columns = [
        [_text(value) for value in frame[names[name]].tolist()] if name in names else None
        for name in COLUMNS
    ]
    return [
        ListedTerm(*(column[row].strip() if column else "" for column in columns))
        for row in range(len(frame))
    ]


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value)  # NaN differs from itself


def _from_python(item: Any) -> ListedTerm:
    if isinstance(item, ListedTerm):
        return item
    if isinstance(item, str):
        return ListedTerm(item.strip())
    if isinstance(item, Mapping):
        return ListedTerm(*(_text(item.get(name)).strip() for name in COLUMNS))
    if isinstance(item, Sequence) and 1 <= len(item) <= len(COLUMNS):
        return ListedTerm(*(_text(part).strip() for part in item))
    raise ConfigurationError(f"{item!r} is no term: give a query, or (query, label, group)")


def _from_file(path: Path) -> list[ListedTerm]:
    try:
        data = path.read_bytes()
    except OSError as error:
        hint = "" if path.suffix else " A single query goes into a list: [query]."
        raise ConfigurationError(f"cannot read {path}: {error.strerror}.{hint}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error
    delimiter = _TABLES.get(path.suffix.lower())
    if delimiter is None:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return [ListedTerm(line.strip()) for line in lines]
    return _from_table(path, text, delimiter)


def _from_table(path: Path, text: str, delimiter: str) -> list[ListedTerm]:
    before = csv.field_size_limit(MAX_FIELD)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ConfigurationError(f"{path} is no CSV: {error}") from error
    finally:
        csv.field_size_limit(before)
    lines = [line for line in lines if any(cell.strip() for cell in line)]
    if not lines:
        return []
    header = [cell.strip().casefold() for cell in lines[0]]
    if "term" in header:
        order = [header.index(name) if name in header else None for name in COLUMNS]
        lines = lines[1:]
    else:
        order = [0, 1, 2]
    return [
        ListedTerm(
            *(
                line[place].strip() if place is not None and place < len(line) else ""
                for place in order
            )
        )
        for line in lines
    ]
