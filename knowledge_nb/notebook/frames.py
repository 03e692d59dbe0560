"""Records to pandas frames: declared columns and dtypes, the same for no, one and many rows.

`ResultFrame` is a DataFrame that knows the result it was made from. What is derived from it is a
plain DataFrame, so that no banner describes rows that are no longer there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import pandas as pd

from knowledge_nb.records import (
    Chunk,
    Document,
    EnumerateResult,
    IndexReport,
    SearchResult,
    VocabularyResult,
)

TEXT = "str"
COUNT = "int64"
RANK = "Int64"  # nullable: a tier in which the chunk was no candidate has no rank
NUMBER = "float64"

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "search": {
        "rank": COUNT,
        "citation": TEXT,
        "path": TEXT,
        "ordinal": COUNT,
        "heading": TEXT,
        "score": NUMBER,
        "lexical_rank": RANK,
        "lexical_score": NUMBER,
        "vector_rank": RANK,
        "vector_distance": NUMBER,
        "text": TEXT,
    },
    "enumerate": {
        "path": TEXT,
        "citation": TEXT,
        "body_matches": COUNT,
        "heading_matches": COUNT,
        "chunks": COUNT,
    },
    "vocabulary": {
        "word": TEXT,
        "stem": TEXT,
        "documents": COUNT,
        "documents_any_form": COUNT,
        "occurrences": COUNT,
    },
    "sources": {
        "path": TEXT,
        "chunks": COUNT,
        "bytes": COUNT,
        "modified": "datetime64[ns, UTC]",
        "indexed": "datetime64[ns, UTC]",
        "stale_reason": TEXT,
    },
    "show": {
        "citation": TEXT,
        "path": TEXT,
        "ordinal": COUNT,
        "heading": TEXT,
        "first_line": COUNT,
        "last_line": COUNT,
        "text": TEXT,
    },
    "events": {
        "path": TEXT,
        "action": TEXT,
        "reason": TEXT,
        "bytes": RANK,
        "chunks": COUNT,
    },
}


class ResultFrame(pd.DataFrame):
    """A DataFrame with the result that it shows.

    Attributes
    ----------
    result
        The frozen record; None on anything derived from the frame.
    """

    # pandas' own lists of attributes that are no columns; what is in `_metadata` would travel to
    # derived frames, so nothing is.
    _internal_names: ClassVar[list[str]] = [*pd.DataFrame._internal_names, "_result"]
    _internal_names_set: ClassVar[set[str]] = set(_internal_names)

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    @property
    def result(self) -> Any:
        """The record behind the frame."""
        return getattr(self, "_result", None)


def make_frame(kind: str, records: Iterable[Any], result: Any = None) -> ResultFrame:
    """Build the frame of a verb.

    Parameters
    ----------
    kind : str
        A key of `COLUMNS`.
    records : iterable
        Records with an attribute for each column.
    result
        What `.result` gives.

    Returns
    -------
    ResultFrame
        One row a record, in their order, index from 0; missing text is "", never NaN.
    """
    columns = COLUMNS[kind]
    records = list(records)
    data = {
        name: pd.Series([getattr(record, name) for record in records], dtype=_dtype(dtype))
        if not dtype.startswith("datetime")
        else pd.to_datetime(
            pd.Series([getattr(record, name) or None for record in records], dtype="object"),
            utc=True,
        ).astype(dtype)
        for name, dtype in columns.items()
    }
    frame = ResultFrame(data, columns=list(columns))
    frame._result = result
    return frame


def _dtype(name: str) -> Any:
    # pandas 3 calls its text dtype "str"; before it, object columns held Python strings.
    if name == TEXT and int(pd.__version__.split(".")[0]) < 3:
        return "object"
    return name


def search_frame(result: SearchResult) -> ResultFrame:
    """`rank citation path ordinal heading score ... text`, best first."""
    return make_frame("search", result.hits, result)


def enumerate_frame(result: EnumerateResult) -> ResultFrame:
    """`path citation body_matches heading_matches chunks`, in the order asked for."""
    return make_frame("enumerate", result.matches, result)


def vocabulary_frame(result: VocabularyResult) -> ResultFrame:
    """`word stem documents documents_any_form occurrences`, most documents first."""
    return make_frame("vocabulary", result.words, result)


def sources_frame(documents: Iterable[Document]) -> ResultFrame:
    """`path chunks bytes modified indexed stale_reason`, in path order."""
    return make_frame("sources", documents)


def chunks_frame(chunks: Iterable[Chunk]) -> ResultFrame:
    """`citation path ordinal heading first_line last_line text`, in file order."""
    return make_frame("show", chunks)


def events_frame(report: IndexReport) -> ResultFrame:
    """`path action reason bytes chunks`: what a pass did, unchanged files left out."""
    return make_frame("events", report.events, report)
