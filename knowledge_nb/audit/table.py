"""A table of an answer: named columns of one type each, and rows of plain Python values.

What statistics return, what an export writes and a frame is made of, so that all three hold the
same cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from knowledge_nb.records import Completeness, Status

Type = Literal["text", "integer", "number", "boolean", "time"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in their stated order.

    Attributes
    ----------
    kind : str
        The verb, with its part after a dot: "coverage", "coverage.uncovered".
    columns : dict of str to {"text", "integer", "number", "boolean", "time"}
        In order. A time is text, UTC, ISO 8601; "" where there is none.
    rows : tuple of tuple
        A missing number is None; missing text is "".
    """

    kind: str
    columns: dict[str, Type]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class TableResult:
    """A table with what it says of itself: a statistic, an SQL answer.

    Attributes
    ----------
    arguments : dict
        What was asked for, for asking again.
    generation, taken : int, str
        Of the snapshot it was computed on, and when that was taken (UTC).
    facts : dict
        Figures beside the rows: a fitted exponent, a total.
    statement : str
        The SQL that was asked; "" for a statistic.
    """

    table: Table
    arguments: dict[str, Any]
    generation: int
    taken: str
    completeness: Completeness
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    statement: str = ""
    tier: str = ""
    status: Status = Status.OK

    def headline(self) -> str:
        """What a banner begins with."""
        number = len(self.table.rows)
        rows = "1 row" if number == 1 else f"{number:,} rows"
        return f"{rows}, from the snapshot of generation {self.generation:,}, {self.taken}"
