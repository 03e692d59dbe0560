"""One SQL question to the snapshot."""

from __future__ import annotations

import datetime
import decimal
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from knowledge_nb.audit.snapshot import Snapshots
from knowledge_nb.audit.table import Table, TableResult, Type
from knowledge_nb.errors import MissingDependencyError, QueryError

# By name, or by asking which tables there are: a listing without it would say that it is not.
_ASKS_FOR_TERMS = re.compile(
    r"\b(terms|show|information_schema|duckdb_tables|duckdb_columns)\b", re.IGNORECASE
)
_INTEGER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|U?HUGEINT")


def run_sql(
    snapshots: Snapshots, query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
) -> TableResult:
    """Run one statement on the snapshot and give its rows.

    Parameters
    ----------
    snapshots : Snapshots
    query : str
        DuckDB's SQL; tables `documents`, `chunks`, `skipped_files`, `other_types`, `terms`,
        `folders`, `snapshot`. The word table is built when a query first names it. Names that are
        no tables do not stand for Python variables here.
    parameters : sequence or mapping, optional
        Bound to `?` or `$name`.

    Returns
    -------
    TableResult
        Its columns are named as DuckDB names them, a repeated name with a number. Empty: the
        query has no rows, of the generation that the result carries.

    Raises
    ------
    QueryError
        It is not one statement, or DuckDB refuses it; the message is then its own.
    """
    wanted = bool(_ASKS_FOR_TERMS.search(query))
    with snapshots.connect(terms=wanted) as (connection, info):
        import duckdb

        try:
            statements = duckdb.extract_statements(query)
            if len(statements) != 1:
                raise QueryError(
                    f"this holds {len(statements)} statements; sql takes one, since only the rows "
                    "of one can be given (kb.duckdb() takes any)"
                )
            if parameters is None:
                found = connection.execute(query)
            else:
                held = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)
                found = connection.execute(query, held)
            described = found.description or []
            rows = found.fetchall() if described else []
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            if "'pytz'" in str(error):
                raise MissingDependencyError(
                    "times with a zone need pytz: `python -m pip install "
                    "'knowledge-nb[statistics]'`; or cast them to TIMESTAMP"
                ) from error
            raise QueryError(f"DuckDB refused the query: {error}") from error
    columns: dict[str, Type] = {}
    for name, kind, *_ in described:
        columns[_unused(str(name), columns)] = _type(str(kind))
    kinds = list(columns.values())
    return TableResult(
        Table(
            "sql",
            columns,
            tuple(tuple(_cell(k, v) for k, v in zip(kinds, row, strict=True)) for row in rows),
        ),
        {"query": query, "parameters": _plain(parameters)},
        info.generation,
        info.taken,
        info.completeness,
        statement=query,
    )


def _unused(name: str, taken: Mapping[str, Type]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _type(kind: str) -> Type:
    kind = kind.upper()
    if _INTEGER.fullmatch(kind):
        return "integer"
    if kind.startswith(("DECIMAL", "DOUBLE", "FLOAT", "REAL")) or kind == "NUMBER":
        return "number"
    if kind in ("BOOLEAN", "BOOL"):
        return "boolean"
    if kind.startswith("TIMESTAMP"):
        return "time"
    return "text"


def _cell(kind: Type, value: Any) -> Any:
    if value is None:
        return "" if kind in ("text", "time") else None
    if kind == "time" and isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return value.isoformat(timespec="microseconds" if value.microsecond else "seconds") + "Z"
    if kind == "number":
        return float(value)
    if kind == "text" and not isinstance(value, str):
        return str(value)
    return value


def _plain(parameters: Sequence[Any] | Mapping[str, Any] | None) -> Any:
    """Parameters as JSON can hold them, for asking again."""
    if parameters is None:
        return None
    if isinstance(parameters, Mapping):
        return {name: _plain_value(value) for name, value in parameters.items()}
    return [_plain_value(value) for value in parameters]


def _plain_value(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, uuid.UUID | datetime.date | datetime.datetime):
        return str(value)
    return value
