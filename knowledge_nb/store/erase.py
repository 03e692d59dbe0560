"""Removing means removing: no trace of a removed text in knowledge.db or its log.

Three places keep text that SQLite no longer shows, and each was found by looking at the bytes:

* The words of the FTS5 index. A delete only adds a marker to them, and they stay in older
  segments, those of earlier versions of a document as well. (FTS5's own `secure-delete` edits
  segments in place, but leaves removed words as keys of `%_idx`, and knows nothing of earlier
  versions.) Here all segments are merged into one, which drops every marker and its word.
* The unallocated middle of b-tree pages. `PRAGMA secure_delete`, which every writer has on,
  overwrites deleted cells and freed pages, but not what rebalancing leaves behind there. VACUUM
  writes every page anew from the live rows.
* The write-ahead log. It is emptied last, which a reader of an older state can prevent.

References
----------
https://www.sqlite.org/fts5.html#the_merge_command, https://www.sqlite.org/lang_vacuum.html,
https://www.sqlite.org/pragma.html#pragma_secure_delete
"""

from __future__ import annotations

import os
from typing import Final

import apsw

from knowledge_nb.errors import StoreAccessError, StoreLockedError
from knowledge_nb.store.connection import Writer
from knowledge_nb.store.format import read_meta, write_meta
from knowledge_nb.store.sql import rows, value
from knowledge_nb.store.status import utc_now
from knowledge_nb.store.translate import translated

PENDING: Final = "erase_pending"
"""Key in `meta`: since when removed text may still be in the files."""

LATER: Final = (
    "; the next pass or removal erases it, and `knowledge doctor` says whether that is done"
)
IN_LOG: Final = f"removed text is still in knowledge.db-wal, because a reader is at work{LATER}"

FTS_TABLES: Final = ("chunks_fts", "chunks_fts_exact")
PAGES_A_STEP: Final = 1_000  # 4 MB of log at a time
IN_MEMORY_BYTES: Final = 256 * 1024 * 1024  # a larger database is rewritten through a private file
_MOST_STEPS: Final = 100_000

_MERGE = "INSERT INTO {0} ({0}, rank) VALUES ('merge', ?)"
_SEGMENTS = "SELECT count(DISTINCT segid) FROM {0}_idx"


class ErasePendingWarning(UserWarning):
    """Text was removed from the index, and its bytes are still in the store's files."""


def mark(connection: apsw.Connection) -> None:
    """Note, on the caller's transaction, that text was removed and not yet erased."""
    if PENDING not in read_meta(connection):
        write_meta(connection, **{PENDING: utc_now()})


def pending_since(connection: apsw.Connection) -> str:
    """Since when (UTC, ISO 8601) removed text may still be in the files; "" when it is not."""
    return read_meta(connection).get(PENDING, "")


def finish(writer: Writer, *, pages: int = PAGES_A_STEP) -> str:
    """Erase what was marked, if anything.

    Parameters
    ----------
    writer : Writer
        With no transaction open.
    pages : int
        Pages of a text index to merge in one transaction.

    Returns
    -------
    str
        "" when it is done; else why removed text is still in the files. The mark then stays, and
        the next pass or removal takes it up again.
    """
    if not pending_since(writer.connection):
        return ""
    try:
        for table in FTS_TABLES:
            _merge(writer, table, pages)
        _rewrite(writer)
        if not writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE):
            return IN_LOG
        with writer.maintenance() as connection:
            write_meta(connection, **{PENDING: None})
    except (StoreAccessError, StoreLockedError) as error:
        return f"removed text is not erased yet ({error.said}){LATER}"
    return ""


def _merge(writer: Writer, table: str, pages: int) -> None:
    # A negative number starts to merge all segments into one, positive ones go on with it.
    step = -pages
    for _ in range(_MOST_STEPS):
        before = writer.connection.total_changes()
        with writer.maintenance() as connection:
            rows(connection, _MERGE.format(table), (step,))
            segments = value(connection, _SEGMENTS.format(table))
        if segments <= 1:
            return
        # Less than two changes: nothing was left to merge, so the merge has to be started again.
        step = pages if writer.connection.total_changes() - before >= 2 else -pages


def _rewrite(writer: Writer) -> None:
    large = os.lstat(writer.files.database).st_size > IN_MEMORY_BYTES
    with translated(str(writer.files.database)):
        if large:
            # SQLite makes that file 0600 and unlinks it as it opens it.
            value(writer.connection, "PRAGMA temp_store = FILE")
        try:
            # Row ids stay: every table has an INTEGER PRIMARY KEY or an index of its own, vec0's
            # too (insert.c, xferOptimization; a test looks).
            value(writer.connection, "VACUUM")
        finally:
            value(writer.connection, "PRAGMA temp_store = MEMORY")
