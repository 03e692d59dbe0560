"""Is the index what it claims to be? Checks on the stored rows, and the one repair there is.

FTS5's integrity check is a write, since FTS5 commands are inserts, and only its rank form compares
the index with the text: the bare form and rank 0 pass on an index that has drifted (measured). So
all of this needs the write lock; it runs in a transaction that is rolled back.

References
----------
https://www.sqlite.org/fts5.html#the_integrity_check_command,
https://www.sqlite.org/pragma.html#pragma_integrity_check
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import apsw

from knowledge_nb.errors import StoreDamagedError
from knowledge_nb.records import Check
from knowledge_nb.store import vectors
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.sql import rows, value
from knowledge_nb.store.tokenizers import Analyzer

FTS_TABLES = ("chunks_fts", "chunks_fts_exact")
NAMED = 3  # rows that a message names
RESET = "The content itself is damaged: `knowledge reset --force`, then `knowledge index`."
REBUILD = "`knowledge rebuild` makes both text indexes anew from the stored chunks."
REINDEX = "`knowledge index --reindex` reads every file again."
DISK = "See what the system's log says of the disk; restore a backup on a sound one."
CHUNKS_A_ROUND = 2_000

_SQLITE = "PRAGMA integrity_check(20)"
_SQLITE_TABLE = "PRAGMA integrity_check({0})"
_CONTENT = ("documents", "chunks", "meta", "skipped_files", "other_types")
_FOREIGN_KEYS = 'SELECT "table", rowid, parent FROM pragma_foreign_key_check'
_DOCUMENTS = (
    "SELECT d.path FROM documents d LEFT JOIN chunks c ON c.document_id = d.id GROUP BY d.id"
    " HAVING d.chunks <> count(c.id) OR coalesce(min(c.ordinal), 0) <> 0"
    " OR coalesce(max(c.ordinal), -1) <> count(c.id) - 1"
)
_ORPHANS = (
    "SELECT id FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)"
    " OR id <> document_id * 1048576 + ordinal"
)
_RANK_FORM = "INSERT INTO {0} ({0}, rank) VALUES ('integrity-check', 1)"
_UNINDEXED = "SELECT id FROM chunks WHERE id NOT IN (SELECT id FROM {0}_docsize)"
_GHOSTS = "SELECT id FROM {0}_docsize WHERE id NOT IN (SELECT id FROM chunks)"
_SIZES = (
    "SELECT c.id, c.heading, c.body, s.sz FROM chunks_indexed c JOIN {0}_docsize s ON s.id = c.id"
    " WHERE c.id > ? ORDER BY c.id LIMIT ?"
)
_TOTALS = "SELECT block FROM {0}_data WHERE id = 1"
_LOST_VECTORS = (
    "SELECT id FROM chunks WHERE vector_state = 'stored'"
    " AND id NOT IN (SELECT rowid FROM chunks_vec_rowids)"
)
_GHOST_VECTORS = (
    "SELECT rowid FROM chunks_vec_rowids"
    " WHERE rowid NOT IN (SELECT id FROM chunks WHERE vector_state = 'stored')"
)
_MARKED = "SELECT count(*) FROM chunks WHERE vector_state <> 'none'"
_REBUILD = "INSERT INTO {0} ({0}) VALUES ('rebuild')"

# Columns that hold text from outside; D03: SQLite stores bytes in TEXT that are not UTF-8.
_TEXTS = (
    ("documents", "id", ("path", "title", "sha256", "indexed_at", "stale_reason")),
    ("chunks", "id", ("heading", "body", "heading_terms", "body_terms", "vector_note")),
    ("skipped_files", "path", ("path", "reason", "detail")),
    ("meta", "key", ("key", "value")),
)


def _verdict(name: str, problems: list[str], sound: str, fix: str) -> Check:
    if problems:
        return Check(name, "fail", "; ".join(problems), fix)
    return Check(name, "pass", sound)


def _some(what: str, found: Sequence[tuple[object, ...]]) -> list[str]:
    """One sentence that counts what was found and names a few."""
    if not found:
        return []
    names = ", ".join(str(row[0]) for row in found[:NAMED])
    more = ", ..." if len(found) > NAMED else ""
    return [f"{len(found):,} {what} ({names}{more})"]


def check_pages(connection: apsw.Connection) -> Check:
    """SQLite's own check of every page, index and constraint."""
    found = [str(text) for (text,) in rows(connection, _SQLITE)]
    if found == ["ok"]:
        return Check("pages", "pass", "PRAGMA integrity_check says ok")
    content = check_content(connection)
    fix = (
        REBUILD
        if content.state == "pass" and all("chunks_fts" in text for text in found)
        else RESET
    )
    return Check("pages", "fail", "; ".join(found[:NAMED]), fix)


def check_content(connection: apsw.Connection) -> Check:
    """SQLite's check of the tables that hold the text, and not of the indexes made from it."""
    problems = [
        str(text)
        for table in _CONTENT
        for (text,) in rows(connection, _SQLITE_TABLE.format(table))
        if text != "ok"
    ]
    return _verdict("content", problems[:NAMED], "the tables of the text are whole", RESET)


def check_references(connection: apsw.Connection) -> Check:
    """No row refers to a row that does not exist."""
    found = [(f"{table} {number}",) for table, number, _ in rows(connection, _FOREIGN_KEYS)]
    return _verdict("references", _some("broken references", found), "every reference holds", RESET)


def check_chunks(connection: apsw.Connection) -> Check:
    """Every chunk belongs to a document, and every document has its chunks, 0 to n - 1."""
    problems = _some("chunks that belong to no document", rows(connection, _ORPHANS))
    found = rows(connection, _DOCUMENTS)
    problems += _some("documents whose chunks are not all there", found)
    return _verdict("chunks", problems, "every document has all of its chunks", REINDEX)


def check_texts(connection: apsw.Connection) -> Check:
    """Every stored text is valid UTF-8 (a text that is not stops other readers of the data)."""
    problems: list[str] = []
    for table, key, columns in _TEXTS:
        wanted = ", ".join(f"CAST({column} AS BLOB)" for column in columns)
        sql = f"SELECT CAST({key} AS BLOB), {wanted} FROM {table}"
        for row in connection.execute(sql):
            for column, stored in zip(columns, row[1:], strict=True):
                if stored is not None and not _is_utf8(stored):
                    problems.append(f"{table}.{column} of row {row[0].decode('utf-8', 'replace')}")
    shown = [f"not UTF-8: {', '.join(problems[:NAMED])}"] if problems else []
    if len(problems) > NAMED:
        shown[0] += f" and {len(problems) - NAMED:,} more"
    return _verdict("stored text", shown, "every stored text is UTF-8", REINDEX)


def _is_utf8(stored: bytes) -> bool:
    try:
        stored.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _check_fts(connection: apsw.Connection, table: str) -> Check:
    name = f"index {table}"
    sqlite = f"SQLite {apsw.sqlite_lib_version()}"
    try:
        rows(connection, _RANK_FORM.format(table))
    except apsw.CorruptError as error:
        said = f"the index does not match the stored text ({error}; {sqlite}, rank form)"
        return Check(name, "fail", said, REBUILD)
    return Check(name, "pass", f"matches the stored text ({sqlite}, rank form)")


def check_porter(connection: apsw.Connection) -> Check:
    """The table that answers queries matches the stored text (rank form)."""
    return _check_fts(connection, "chunks_fts")


def check_exact(connection: apsw.Connection) -> Check:
    """The table of words as written matches the stored text (rank form)."""
    return _check_fts(connection, "chunks_fts_exact")


def check_rows(connection: apsw.Connection) -> Check:
    """Every chunk has a row in both text indexes, and no row there is without its chunk.

    Asked of the tables of sizes: `count(*)` of an external-content table counts the content.
    """
    problems: list[str] = []
    for table in FTS_TABLES:
        found = rows(connection, _UNINDEXED.format(table))
        problems += _some(f"chunks missing from {table}", found)
        problems += _some(f"ghosts in {table}", rows(connection, _GHOSTS.format(table)))
    return _verdict("index rows", problems, "one to each chunk", REBUILD)


def check_tokens(connection: apsw.Connection) -> Check:
    """Every token of the stored text is accounted for: by chunk and column, and in all."""
    problems: list[str] = []
    tokens = 0
    analyzer = Analyzer(connection)
    for table, tokenize in (
        ("chunks_fts", analyzer.porter),
        ("chunks_fts_exact", analyzer.exact),
    ):
        totals, number = [0, 0], 0
        wrong: list[tuple[object, ...]] = []
        for chunk, heading, body, sizes in _sized(connection, table):
            counts = [len(tokenize(heading)), len(tokenize(body))]
            if counts != _varints(sizes):
                wrong.append((chunk,))
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
            number += 1
        problems += _some(f"chunks whose tokens {table} counts otherwise", wrong)
        block = value(connection, _TOTALS.format(table))
        recorded = _varints(block) if block else [0, 0, 0]
        if recorded != [number, *totals]:
            problems.append(f"{table} records {recorded} in all; the text has {[number, *totals]}")
        tokens = sum(totals)
    return _verdict("tokens", problems, f"all {tokens:,} tokens accounted for, twice", REBUILD)


def _sized(connection: apsw.Connection, table: str) -> Iterator[tuple[int, str, str, bytes]]:
    last = -1
    while True:
        found = rows(connection, _SIZES.format(table), (last, CHUNKS_A_ROUND))
        if not found:
            return
        last = found[-1][0]
        yield from found


def _varints(blob: bytes) -> list[int]:
    """Decode SQLite varints (big-endian groups of seven bits; a ninth byte holds eight)."""
    numbers: list[int] = []
    stream = iter(blob)
    for first in stream:
        number, byte = first & 0x7F, first
        for place in range(2, 10):
            if byte < 0x80:
                break
            byte = next(stream, 0)
            number = number << 8 | byte if place == 9 else number << 7 | byte & 0x7F
        numbers.append(number)
    return numbers


def check_vectors(connection: apsw.Connection) -> Check:
    """Every chunk that is marked as having a vector has one, and no vector is without its chunk."""
    if vectors.dimension(connection) is None:
        marked = value(connection, _MARKED)
        if marked:
            said = f"{marked:,} chunks are marked as embedded and there is no table of vectors"
            return Check("vectors", "fail", said, REINDEX)
        return Check("vectors", "not run", "this store holds no vectors (lexical only)")
    problems = _some("chunks have lost their vector", rows(connection, _LOST_VECTORS))
    problems += _some("vectors of no chunk", rows(connection, _GHOST_VECTORS))
    return _verdict("vectors", problems, "one to each embedded chunk", REINDEX)


Named = tuple[str, Callable[[apsw.Connection], Check]]
"""A check with its name, which it has whatever becomes of it."""

CONTENT_CHECKS: tuple[Named, ...] = (
    ("content", check_content),
    ("references", check_references),
    ("chunks", check_chunks),
    ("stored text", check_texts),
)
"""What must hold before a rebuild: an index rebuilt over damaged content would look sound."""

INDEX_CHECKS: tuple[Named, ...] = (
    ("index chunks_fts", check_porter),
    ("index chunks_fts_exact", check_exact),
    ("index rows", check_rows),
    ("tokens", check_tokens),
    ("vectors", check_vectors),
)

EVERY_CHECK: tuple[Named, ...] = (("pages", check_pages), *CONTENT_CHECKS[1:], *INDEX_CHECKS)


def _run(named: Named, connection: apsw.Connection) -> Check:
    name, check = named
    try:
        return check(connection)
    except apsw.CorruptError as error:
        return Check(name, "fail", f"damaged: {error}", RESET)
    except (apsw.SQLError, apsw.NotADBError) as error:
        return Check(name, "fail", f"cannot be read: {error}", RESET)
    except apsw.IOError as error:
        return Check(name, "fail", f"cannot be read: {error}", DISK)


def check_integrity(writer: Writer) -> tuple[Check, ...]:
    """Run every check; nothing is written.

    Parameters
    ----------
    writer : Writer
        With no transaction open; it may have been opened past the gate.

    Returns
    -------
    tuple of Check
        In the order of `EVERY_CHECK`.
    """
    with writer.maintenance(keep=False) as connection:
        return tuple(_each(EVERY_CHECK, connection))


def check_copy(connection: apsw.Connection) -> tuple[Check, ...]:
    """The same on a file that is nobody else's, as a backup is before it gets its name.

    Parameters
    ----------
    connection : apsw.Connection
        Writable, with no transaction open.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        return tuple(_each(EVERY_CHECK, connection))
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def rebuild(writer: Writer) -> tuple[Check, ...]:
    """Make both FTS5 tables anew from the chunks, in one transaction; nothing is embedded again.

    Returns
    -------
    tuple of Check
        The index as it is afterwards.

    Raises
    ------
    StoreDamagedError
        The chunks themselves are unsound (nothing was changed), or the outcome is.
    """
    with writer.maintenance(keep=False) as connection:
        unsound = [each for each in _each(CONTENT_CHECKS, connection) if each.state == "fail"]
    if unsound:
        raise StoreDamagedError(
            "the stored text itself is damaged, and an index made from it would only look sound: "
            + "; ".join(f"{each.check}: {each.message}" for each in unsound),
            fix=unsound[0].fix,
        )
    with writer.transaction() as connection:
        for table in FTS_TABLES:
            rows(connection, _REBUILD.format(table))
        after = tuple(_each(INDEX_CHECKS, connection))
        if any(each.state == "fail" and each.check != "vectors" for each in after):
            raise StoreDamagedError(
                "the rebuilt index is not sound, nothing was changed", fix=RESET
            )
    return after


def _each(checks: Sequence[Named], connection: apsw.Connection) -> Iterator[Check]:
    return (_run(named, connection) for named in checks)
