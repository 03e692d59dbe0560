"""Run one statement to its end. apsw runs a statement only as far as its next row is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw


def rows(
    connection: apsw.Connection, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[tuple[Any, ...]]:
    """Every row, in the statement's order; an empty list for none."""
    return connection.execute(sql, values).fetchall()


def value(
    connection: apsw.Connection, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> Any:
    """First column of the first row; None where there is no row."""
    found = rows(connection, sql, values)
    return found[0][0] if found else None


def run_script(connection: apsw.Connection, sql: str) -> None:
    """Run every statement of `sql`, each to its end."""
    for _ in connection.execute(sql):
        pass
