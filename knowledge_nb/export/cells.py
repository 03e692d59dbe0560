"""Cells: what a spreadsheet would run is made harmless, and back again; the hash of the rows.

A text cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break (or the full-width
forms of the four signs) is run or changed by spreadsheet programs when they open a CSV file
(https://owasp.org/www-community/attacks/CSV_Injection). Such a cell gets one apostrophe before it;
so does a cell that begins with apostrophes before such a sign, so that taking one apostrophe away
from every cell of that form gives back exactly what was there. Numbers are never touched.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

from knowledge_nb.audit.table import Table, Type
from knowledge_nb.errors import ExportError

_RUNS = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NEUTRAL = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def neutralise(text: str) -> str:
    """A text that no spreadsheet runs."""
    return f"'{text}" if _RUNS.match(text) else text


def restore(text: str) -> str:
    """What `neutralise` was given."""
    return text[1:] if _NEUTRAL.match(text) else text


def plain(kind: Type, value: Any) -> Any:
    """A plain cell: None for a missing number and for NaN, "" for missing text."""
    if kind in ("text", "time"):
        return "" if value is None else str(value)
    if value is None:
        return None
    if kind == "boolean":
        return bool(value)
    if kind == "integer":
        return int(value)
    number = float(value)
    return None if math.isnan(number) else number


def plain_rows(table: Table) -> list[list[Any]]:
    """Every row of a table in plain cells."""
    kinds = list(table.columns.values())
    return [
        [plain(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in table.rows
    ]


def rows_hash(columns: dict[str, Type], rows: list[list[Any]]) -> str:
    """SHA-256 over column names and rows as JSON, whatever the file's format."""
    digest = hashlib.sha256(json.dumps(list(columns), ensure_ascii=False).encode())
    for row in rows:
        digest.update(b"\n")
        digest.update(json.dumps(row, ensure_ascii=False).encode())
    return digest.hexdigest()


def parse(kind: Type, text: str, column: str) -> Any:
    """A cell of a CSV file, by the type of its column.

    Raises
    ------
    ExportError
        It is not of that type.
    """
    if kind in ("text", "time"):
        return text
    if text == "":
        return None
    try:
        if kind == "boolean":
            return {"true": True, "false": False}[text]
        return int(text) if kind == "integer" else float(text)
    except (ValueError, KeyError) as error:
        raise ExportError(f"{text!r} in column {column} is no {kind}") from error
