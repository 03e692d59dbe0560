"""Tables to and from Parquet, through DuckDB, which is here already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from knowledge_nb.audit.snapshot import interruptible
from knowledge_nb.audit.table import Table, Type
from knowledge_nb.errors import MissingDependencyError

_TYPES: dict[Type, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "time": "VARCHAR",
}


def write_parquet(table: Table, path: Path) -> None:
    """Write every row; a time is written as its text (UTC, ISO 8601)."""
    columns = ", ".join(f"{_name(name)} {_TYPES[kind]}" for name, kind in table.columns.items())
    # Whole columns as lists: a row at a time takes DuckDB a millisecond each.
    values = [[row[place] for row in table.rows] for place in range(len(table.columns))]
    unnested = ", ".join(f"unnest(?::{_TYPES[kind]}[])" for kind in table.columns.values())
    with interruptible(), _connect() as connection:
        connection.execute(f"CREATE TABLE exported ({columns})")
        if table.rows:
            connection.execute(f"INSERT INTO exported SELECT {unnested}", values)
        connection.execute(f"COPY exported TO {_text(path)} (FORMAT parquet)")


def read_parquet(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows, in the file's order."""
    with interruptible(), _connect() as connection:
        found = connection.execute(f"SELECT * FROM read_parquet({_text(path)})")
        return [column[0] for column in found.description], found.fetchall()


def _connect() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet needs duckdb: `python -m pip install 'duckdb>=1.5.5,<1.6'`"
        ) from error
    return duckdb.connect(
        ":memory:",
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False},
    )


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
