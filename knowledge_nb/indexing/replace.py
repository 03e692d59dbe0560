"""Put documents into the store: each replaced whole, many rows in one statement.

FTS5 flushes its pending terms at every statement, so a row at a time costs about fifteen times
the whole (measured); all functions here run on the caller's transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw

from knowledge_nb.citation import ORDINAL_BITS
from knowledge_nb.indexing.chunk import ChunkedText, ChunkText
from knowledge_nb.store.sql import rows as read_rows
from knowledge_nb.store.sql import value
from knowledge_nb.text import index_headings, index_text

ROWS_A_STATEMENT = 2_400  # of 13 values each: SQLite takes 32,766 to a statement
HEADING_JOINT = " > "
LEVEL_CHARACTERS = 500  # of a heading, in the breadcrumbs of the chunks below its own

_KNOWN = "SELECT path, id FROM documents WHERE path IN (SELECT value FROM json_each(?))"
_INSERT_DOCUMENT = (
    "INSERT INTO documents (path, title, sha256, bytes, modified_ns, indexed_at, chunks)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id"
)
_UPDATE_DOCUMENT = (
    "UPDATE documents SET path = ?, title = ?, sha256 = ?, bytes = ?, modified_ns = ?,"
    " indexed_at = ?, chunks = ?, stale_reason = NULL WHERE id = ?"
)
_DELETE_CHUNKS = "DELETE FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))"
_DELETE_DOCUMENTS = "DELETE FROM documents WHERE path IN (SELECT value FROM json_each(?))"
_CHUNK_COLUMNS = (
    "id, document_id, ordinal, heading, body, heading_terms, body_terms, opens, continues,"
    " first_line, last_line, vector_state, vector_note"
)
_INSERT_CHUNKS = f"INSERT INTO chunks ({_CHUNK_COLUMNS}) VALUES "
_CHUNK_VALUES = "(" + ", ".join("?" * 13) + ")"


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """One row of `chunks` but for its id, which its document gives it."""

    heading: str
    body: str
    heading_terms: str | None
    body_terms: str | None
    opens: int
    continues: int
    first_line: int
    last_line: int
    vector_state: str = "none"
    vector_note: str | None = None


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """One document, ready to be written."""

    path: str
    title: str
    sha256: str
    bytes: int
    modified_ns: int
    chunks: tuple[PreparedChunk, ...]


def prepare_chunks(chunked: ChunkedText) -> tuple[PreparedChunk, ...]:
    """Give each chunk the text that FTS5 sees, stored only where it differs from the shown one."""
    headings: dict[tuple[tuple[str, ...], int], tuple[str, str | None]] = {}
    return tuple(_prepare(chunk, headings) for chunk in chunked.chunks)


def _shortened(levels: tuple[str, ...], opens: int) -> tuple[str, ...]:
    """A breadcrumb in which long levels are whole only where they begin.

    Repeated below, one heading of 450 kB over a thousand sections made a store of 1 GB (measured).
    """
    if all(len(level) <= LEVEL_CHARACTERS for level in levels):
        return levels
    begin = len(levels) - opens
    return tuple(
        level if place >= begin or len(level) <= LEVEL_CHARACTERS else _cut(level)
        for place, level in enumerate(levels)
    )


def _cut(level: str) -> str:
    # At white space, so that no word is cut in two.
    kept = level[:LEVEL_CHARACTERS].rsplit(maxsplit=1)[0] if " " in level else ""
    return f"{kept} \u2026" if len(kept) <= LEVEL_CHARACTERS else "\u2026"


def _prepare(
    chunk: ChunkText, headings: dict[tuple[tuple[str, ...], int], tuple[str, str | None]]
) -> PreparedChunk:
    key = (chunk.headings, chunk.opens)
    known = headings.get(key)
    if known is None:
        shown = HEADING_JOINT.join(_shortened(chunk.headings, chunk.opens))
        terms = index_headings(_shortened(chunk.headings_plain, chunk.opens))
        known = headings[key] = (shown, None if terms == shown else terms)
    terms = index_text(chunk.plain)
    return PreparedChunk(
        known[0],
        chunk.body,
        known[1],
        None if terms == chunk.body else terms,
        chunk.opens,
        int(chunk.continues),
        chunk.first_line,
        chunk.last_line,
    )


def replace_documents(
    connection: apsw.Connection, documents: Sequence[PreparedDocument], *, indexed_at: str
) -> dict[str, int]:
    """Replace each document whole; new ones get ids in the order given.

    Parameters
    ----------
    connection : apsw.Connection
        In a write transaction of the caller's.
    documents : sequence of PreparedDocument
        No path twice.
    indexed_at : str
        UTC, ISO 8601.

    Returns
    -------
    dict of str to int
        Document id by path.
    """
    paths = _json([document.path for document in documents])
    known: dict[str, int] = dict(read_rows(connection, _KNOWN, (paths,)))
    if known:
        connection.execute(_DELETE_CHUNKS, (_json(list(known.values())),))
    ids: dict[str, int] = {}
    rows: list[object] = []
    for document in documents:
        values = (
            document.path,
            document.title,
            document.sha256,
            document.bytes,
            document.modified_ns,
            indexed_at,
            len(document.chunks),
        )
        number = known.get(document.path)
        if number is None:
            number = int(value(connection, _INSERT_DOCUMENT, values))
        else:
            connection.execute(_UPDATE_DOCUMENT, (*values, number))
        ids[document.path] = number
        _chunk_rows(number, document.chunks, rows)
    _insert_chunks(connection, rows)
    return ids


def _chunk_rows(document: int, chunks: Iterable[PreparedChunk], rows: list[object]) -> None:
    for ordinal, chunk in enumerate(chunks):
        rows += (
            (document << ORDINAL_BITS) + ordinal,
            document,
            ordinal,
            chunk.heading,
            chunk.body,
            chunk.heading_terms,
            chunk.body_terms,
            chunk.opens,
            chunk.continues,
            chunk.first_line,
            chunk.last_line,
            chunk.vector_state,
            chunk.vector_note,
        )


def _insert_chunks(connection: apsw.Connection, rows: list[object]) -> None:
    width = 13
    size = ROWS_A_STATEMENT * width
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        values = ", ".join([_CHUNK_VALUES] * (len(part) // width))
        connection.execute(_INSERT_CHUNKS + values, part)


def delete_documents(connection: apsw.Connection, paths: Sequence[str]) -> int:
    """Delete documents by path, with their chunks and index rows; the number that existed."""
    connection.execute(_DELETE_DOCUMENTS, (_json(list(paths)),))
    return connection.changes()


def _json(values: Sequence[str] | Sequence[int]) -> str:
    return json.dumps(values)
