"""A list of terms to look for: from Python, a frame, a CSV file or a text file."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge_nb.errors import ConfigurationError

COLUMNS = ("term", "label", "group")
_TABLES = {".csv": ",", ".tsv": "\t"}
MAX_FIELD = 10_000_000
_DELIMITERS = (",", ";", "\t", "|")
_OTHER_DELIMITERS = (";", "\t", "|")
# Words of which a first line that is no term may be made; `term` alone is the header.
_LIKE_A_HEADER = frozenset(
    [
        *("search", "term", "terms", "keyword", "keywords", "query", "queries", "word", "words"),
        *("phrase", "phrases", "label", "labels", "group", "groups", "category", "name"),
    ]
)
_LINE_END = re.compile(r"\r\n|\r|\n")


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
        A path: `.csv` and `.tsv` are tables with a header that names `term`, and may name `label`
        and `group`; other columns are not read. Without a header a table has one column. A CSV may
        be separated by semicolons or tabs. Any other file holds a term a line. A DataFrame with
        those columns. Else an iterable of queries, of (term, label, group) or of mappings with
        those keys. White space around a term is dropped, and so are blank rows; a byte order mark
        and Windows line ends do not count. In a CSV the quotes of a phrase are doubled:
        `\"\"\"visitor book\"\"\",label`.

    Returns
    -------
    tuple of ListedTerm
        In order, repeated ones included.

    Raises
    ------
    ConfigurationError
        No term is left, or the source cannot be read as a list of terms: also where a row has
        more cells than the header, or a label and no term, and where the columns of a table
        without a header would have to be guessed.
    """
    if isinstance(source, str | os.PathLike):
        found = _from_file(Path(source))
    elif hasattr(source, "columns") and hasattr(source, "to_dict"):
        found = _from_frame(source)
    elif isinstance(source, Iterable) and not isinstance(source, Mapping):
        found = [_from_python(item) for item in source]
    else:
        raise ConfigurationError(
            f"terms come from a list, a frame or a file, not from {type(source).__name__}"
        )
    for number, term in enumerate(found, start=1):
        if not term.term and (term.label or term.group):
            raise ConfigurationError(
                f"row {number} of the list has no term, only {term.label or term.group!r}"
            )
    kept = tuple(term for term in found if term.term)
    if not kept:
        raise ConfigurationError("the list of terms is empty; name at least one query")
    return kept


def _from_frame(frame: Any) -> list[ListedTerm]:
    names = {str(name).strip().casefold(): name for name in frame.columns}
    if len(names) < len(frame.columns):
        raise ConfigurationError("two columns of the frame of terms have the same name")
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
    text = _LINE_END.sub("\n", text).lstrip("\n")
    first, _, rest = text.partition("\n")
    first = first.strip()
    if first.casefold().startswith("sep=") and len(first) == len("sep=") + 1:
        # The line by which a spreadsheet says what separates the cells.
        delimiter, text = first[-1], rest
    elif _header(first, delimiter) is None:
        delimiter = next((d for d in _DELIMITERS if _header(first, d) is not None), delimiter)
    lines = _rows(path, text, delimiter)
    if not lines:
        return []
    header = _header_of(lines[0])
    if header is None:
        _require_one_column(path, lines)
        header = ["term"]
    else:
        lines = lines[1:]
    repeated = [name for name in COLUMNS if header.count(name) > 1]
    if repeated:
        raise ConfigurationError(f"{path} has two columns {repeated[0]!r}; name each once")
    order = [header.index(name) if name in header else None for name in COLUMNS]
    found = []
    for number, line in enumerate(lines, start=1):
        if any(cell.strip() for cell in line[len(header) :]):
            raise ConfigurationError(
                f"row {number} of {path} has {len(line)} cells under {len(header)} columns; a term "
                "with a comma in it stands between double quotes"
            )
        cells = [*line, *[""] * (len(header) - len(line))]
        found.append(ListedTerm(*("" if at is None else cells[at].strip() for at in order)))
    return found


def _rows(path: Path, text: str, delimiter: str) -> list[list[str]]:
    before = csv.field_size_limit(MAX_FIELD)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ConfigurationError(f"{path} is no CSV: {error}") from error
    finally:
        csv.field_size_limit(before)
    return [line for line in lines if any(cell.strip() for cell in line)]


def _header(line: str, delimiter: str) -> list[str] | None:
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a line longer than a cell may be is no header
        return None
    return _header_of(cells)


def _header_of(cells: Sequence[str]) -> list[str] | None:
    names = [cell.strip().casefold() for cell in cells]
    return names if "term" in names else None


def _require_one_column(path: Path, lines: Sequence[Sequence[str]]) -> None:
    """Refuse a table without a header whose columns, or whose first row, would be a guess."""
    first = [cell.strip() for cell in lines[0]]
    wide = next((line for line in lines if any(cell.strip() for cell in line[1:])), None)
    if wide is not None:
        raise ConfigurationError(
            f"{path} has several columns and no header that names `term` (its first line is "
            f"{first[:5]!r}): begin it with the line term,label,group or with the names it has. A "
            "term with a comma in it stands between double quotes."
        )
    for mark in _OTHER_DELIMITERS:
        if len(lines) > 1 and all(mark in line[0] for line in lines):
            raise ConfigurationError(
                f"every line of {path} holds {mark!r}, as if that separated columns: begin it with "
                f"a header that names `term`, such as term{mark}label, or with `term` alone if it "
                "does not"
            )
    if set(first[0].casefold().split()) <= _LIKE_A_HEADER:
        raise ConfigurationError(
            f"the first line of {path}, {first[0]!r}, looks like a header: call that column "
            "`term`, or put the line elsewhere if it is a term"
        )
