"""The format gate: which files this release opens, and the schema that it writes.

There is no migration path, by design. The pinned version and, separately, the column shape and
the object list are compared, because a store whose `meta` was emptied still has the right tables.
"""

from __future__ import annotations

import functools
import unicodedata
import uuid
from importlib.resources import files as package_files

import apsw

from knowledge_nb.errors import (
    ForeignStoreError,
    StoreShapeError,
    StoreTooNewError,
    StoreTooOldError,
)
from knowledge_nb.store.sql import rows, run_script, value
from knowledge_nb.text import TEXT_RULES

FORMAT_VERSION = 1
APPLICATION_ID = 0x6B6E6F77  # "know": tells our file from any other SQLite file
VECTOR_TABLE = "chunks_vec"
_VECTOR_PREFIX = "chunks_vec"

_OBJECTS = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
_COLUMNS = 'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?)'
_REBUILD = "Run `knowledge reset --force`, then `knowledge index` to rebuild it."
_ELSEWHERE = "Name another store with --store, or move it away."


def _schema_parts() -> tuple[str, str]:
    text = package_files("knowledge_nb.store").joinpath("schema.sql").read_text(encoding="utf-8")
    base, _, vectors = text.partition("-- vectors --")
    return base, vectors


def create_schema(connection: apsw.Connection) -> None:
    """Create every object but the vectors, and pin the version, on the caller's transaction."""
    run_script(connection, _schema_parts()[0])
    run_script(connection, f"PRAGMA application_id = {APPLICATION_ID}")
    write_meta(
        connection,
        format_version=str(FORMAT_VERSION),
        generation="0",
        store_id=uuid.uuid4().hex,
        unicode_version=unicodedata.unidata_version,
        text_rules=TEXT_RULES,
        sqlite_version=apsw.sqlite_lib_version(),
    )


def create_vectors(connection: apsw.Connection, dimension: int) -> None:
    """Create `chunks_vec` and its delete trigger for vectors of `dimension` numbers."""
    if not 1 <= dimension <= 8192:
        raise ValueError(f"a vector of {dimension} numbers cannot be stored (1 to 8192)")
    run_script(connection, _schema_parts()[1].replace(":dimension", str(int(dimension))))


def drop_everything(connection: apsw.Connection) -> None:
    """Drop every object of ours, on the caller's transaction.

    Dropping a table fires no row triggers, so this works on an index that has drifted from its
    content, where deleting rows would fire the delete trigger into the broken index.
    """
    order = {"trigger": 0, "view": 1, "table": 2}
    objects = sorted(
        rows(
            connection,
            "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'view', 'trigger')"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        ),
        # fts5vocab tables go before the FTS5 tables that they read.
        key=lambda row: (order[row[0]], "fts5vocab" not in (row[2] or ""), row[1]),
    )
    virtual = [name for kind, name, sql in objects if kind == "table" and _is_virtual(sql)]
    for kind, name, sql in objects:
        owner = any(name != table and name.startswith(table + "_") for table in virtual)
        if kind == "table" and owner and not _is_virtual(sql):
            continue  # a shadow table goes with its virtual table
        run_script(connection, f'DROP {kind.upper()} IF EXISTS "{name}"')


def _is_virtual(sql: str | None) -> bool:
    return (sql or "").upper().startswith("CREATE VIRTUAL TABLE")


def read_meta(connection: apsw.Connection) -> dict[str, str]:
    """Every pinned value, by key."""
    return dict(rows(connection, "SELECT key, value FROM meta"))


def write_meta(connection: apsw.Connection, **values: str | None) -> None:
    """Pin values in `meta`, on the caller's transaction; None removes the key."""
    for key, text in values.items():
        if text is None:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            connection.execute(
                "INSERT INTO meta (key, value) VALUES (?, ?)"
                " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (key, text),
            )


def is_blank(connection: apsw.Connection) -> bool:
    """Whether the file holds no object at all: created, but never given a schema."""
    return not value(connection, "SELECT EXISTS (SELECT 1 FROM sqlite_schema)")


Shape = dict[tuple[str, str], tuple[tuple[str, str, int, int], ...]]


def shape_of(connection: apsw.Connection) -> Shape:
    """Type and name of every object, with the columns of each plain table; vectors left out."""
    shape: Shape = {}
    for kind, name in rows(connection, _OBJECTS):
        if name.startswith(_VECTOR_PREFIX):
            continue
        columns: tuple[tuple[str, str, int, int], ...] = ()
        # The columns of FTS5's own shadow tables are SQLite's business, not this format's.
        if kind == "table" and not name.startswith(("chunks_fts", "terms_", "words_")):
            columns = tuple(
                (n, t, required, key) for n, t, required, key in rows(connection, _COLUMNS, (name,))
            )
        shape[(kind, name)] = columns
    return shape


@functools.cache
def expected_shape() -> tuple[tuple[tuple[str, str], tuple[tuple[str, str, int, int], ...]], ...]:
    """The shape that this release's schema.sql makes (built once, in memory)."""
    connection = apsw.Connection(":memory:")
    try:
        create_schema(connection)
        return tuple(shape_of(connection).items())
    finally:
        connection.close()


def check_format(connection: apsw.Connection, where: str) -> None:
    """The gate.

    Parameters
    ----------
    connection : apsw.Connection
        On a file that is not blank.
    where : str
        The path for messages.

    Raises
    ------
    StoreTooNewError, StoreTooOldError
        The pinned version is another one.
    StoreShapeError
        The pin is missing, or columns or objects differ.
    ForeignStoreError
        Not a knowledge store.
    """
    try:
        found = shape_of(connection)
        application = value(connection, "PRAGMA application_id")
    except apsw.NotADBError as error:
        raise ForeignStoreError(f"{where} is not an SQLite file", fix=_ELSEWHERE) from error
    _refuse_foreign(found, application, where)
    if ("table", "meta") not in found:
        raise StoreShapeError(f"{where} has no meta table, so its version is unknown", fix=_REBUILD)
    try:
        pinned = read_meta(connection).get("format_version")
    except apsw.SQLError as error:
        raise StoreShapeError(
            f"{where} has a foreign meta table ({error})", fix=_REBUILD
        ) from error
    if pinned is None:
        raise StoreShapeError(
            f"{where} has lost its version pin (the meta table holds none)", fix=_REBUILD
        )
    if not pinned.isdecimal():
        raise StoreShapeError(f"{where} has an unreadable version pin {pinned!r}", fix=_REBUILD)
    version = int(pinned)
    if version > FORMAT_VERSION:
        raise StoreTooNewError(
            f"{where} has format {version}; this release reads {FORMAT_VERSION}",
            fix="Upgrade: `pip install --upgrade knowledge-nb`.",
        )
    if version < FORMAT_VERSION:
        raise StoreTooOldError(
            f"{where} has format {version}; this release reads {FORMAT_VERSION} and there is no "
            "migration",
            fix=_REBUILD,
        )
    differences = _differences(found)
    if differences:
        raise StoreShapeError(
            f"{where} has format {version} but another shape: {differences}", fix=_REBUILD
        )


def refuse_foreign(connection: apsw.Connection, where: str) -> None:
    """Refuse an SQLite file that somebody else made; a damaged or a blank one passes.

    Raises
    ------
    ForeignStoreError
    """
    try:
        found = shape_of(connection)
        application = value(connection, "PRAGMA application_id")
    except apsw.Error:
        return
    if found:
        _refuse_foreign(found, application, where)


def _refuse_foreign(found: Shape, application: int, where: str) -> None:
    if application != APPLICATION_ID and ("table", "chunks") not in found:
        raise ForeignStoreError(
            f"{where} is an SQLite file, but not a knowledge store", fix=_ELSEWHERE
        )


def _differences(found: Shape) -> str:
    expected = dict(expected_shape())
    parts = []
    missing = sorted(name for kind, name in expected.keys() - found.keys())
    extra = sorted(name for kind, name in found.keys() - expected.keys())
    changed = sorted(
        key[1] for key in expected.keys() & found.keys() if expected[key] != found[key]
    )
    if missing:
        parts.append("missing " + ", ".join(missing))
    if extra:
        parts.append("unknown " + ", ".join(extra))
    if changed:
        parts.append("other columns in " + ", ".join(changed))
    return "; ".join(parts)
