"""The answers of every verb as tables, cell for cell what their frames show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knowledge_nb.audit.table import Table, Type

# The columns of `notebook.frames.COLUMNS`; a test holds the two together.
COLUMNS: dict[str, dict[str, Type]] = {
    "search": {
        "rank": "integer",
        "citation": "text",
        "path": "text",
        "ordinal": "integer",
        "heading": "text",
        "score": "number",
        "lexical_rank": "integer",
        "lexical_score": "number",
        "vector_rank": "integer",
        "vector_distance": "number",
        "text": "text",
    },
    "enumerate": {
        "path": "text",
        "citation": "text",
        "body_matches": "integer",
        "heading_matches": "integer",
        "chunks": "integer",
    },
    "vocabulary": {
        "word": "text",
        "stem": "text",
        "documents": "integer",
        "documents_any_form": "integer",
        "occurrences": "integer",
    },
    "sources": {
        "path": "text",
        "chunks": "integer",
        "bytes": "integer",
        "modified": "time",
        "indexed": "time",
        "stale_reason": "text",
    },
    "show": {
        "citation": "text",
        "path": "text",
        "ordinal": "integer",
        "heading": "text",
        "first_line": "integer",
        "last_line": "integer",
        "text": "text",
    },
}


def records_table(kind: str, records: Sequence[Any]) -> Table:
    """The table of a verb of `COLUMNS`, a row per record, in their order."""
    columns = COLUMNS[kind]
    rows = tuple(tuple(getattr(record, name) for name in columns) for record in records)
    return Table(kind, dict(columns), rows)
