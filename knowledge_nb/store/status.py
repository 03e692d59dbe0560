"""What a store holds, and what it does not: the figures behind every completeness statement."""

from __future__ import annotations

import datetime
import json

import apsw

from knowledge_nb.records import Completeness
from knowledge_nb.store.format import read_meta
from knowledge_nb.store.sql import rows, value

_DOCUMENTS = "SELECT count(*), total(chunks), total(stale_reason IS NOT NULL) FROM documents"
_SKIPPED = "SELECT reason, count(*) FROM skipped_files GROUP BY reason ORDER BY 2 DESC, 1"
_OTHER = "SELECT suffix, sum(files) FROM other_types GROUP BY suffix ORDER BY 2 DESC, 1"
_NO_VECTOR = "SELECT count(*) FROM chunks WHERE vector_state IN ('none', 'refused')"


def utc_now() -> str:
    """The time now, UTC, ISO 8601 to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_completeness(connection: apsw.Connection) -> Completeness:
    """Count what this committed state covers, on the caller's transaction."""
    meta = read_meta(connection)
    ((documents, chunks, stale),) = rows(connection, _DOCUMENTS)
    without_vector = 0
    if "embedding_manifest" in meta:
        without_vector = value(connection, _NO_VECTOR)
    return Completeness(
        documents=documents,
        chunks=int(chunks),
        skipped=dict(rows(connection, _SKIPPED)),
        other_types=dict(rows(connection, _OTHER)),
        stale=int(stale),
        without_vector=without_vector,
        generation=int(meta.get("generation", "0")),
        last_completed=meta.get("pass_completed", ""),
        unfinished_since=meta.get("pass_started", ""),
        base=meta.get("base", ""),
        older_passes=json.loads(meta.get("older_passes", "{}")),
        removed_by_hand=int(meta.get("removed_by_hand", "0")),
        store_id=meta.get("store_id", ""),
    )


def iso_time(nanoseconds: int) -> str:
    """A file's mtime as UTC, ISO 8601 to the second; "" outside the years 1 to 9999."""
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    try:
        moment = epoch + datetime.timedelta(seconds=nanoseconds // 10**9)
    except OverflowError:
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
