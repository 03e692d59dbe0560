"""Records to pandas frames: declared columns and dtypes, the same for no, one and many rows.

`ResultFrame` is a DataFrame that knows the result it was made from. What is derived from it is a
plain DataFrame, so that no banner describes rows that are no longer there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from knowledge_nb.records import (
    Chunk,
    Document,
    EnumerateResult,
    IndexReport,
    SearchResult,
    VocabularyResult,
)

if TYPE_CHECKING:
    from knowledge_nb.audit.doctor import DoctorReport
    from knowledge_nb.export.write import ExportReport
    from knowledge_nb.matching.kwic import KwicResult

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
    "kwic": {
        "path": TEXT,
        "citation": TEXT,
        "line": COUNT,
        "left": TEXT,
        "match": TEXT,
        "right": TEXT,
    },
    "doctor": {
        "check": TEXT,
        "state": TEXT,
        "message": TEXT,
        "fix": TEXT,
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

    In a notebook it shows a banner over its rows: totals, tier, notes, what each term stands for,
    and what the answer covers. Whatever is derived from it (`query`, `merge`, `groupby`, `copy`, a
    slice) is a plain DataFrame without a banner; a pickle keeps the result, for it is the same
    answer.

    Attributes
    ----------
    result
        The frozen record; None on anything derived from the frame.
    """

    # pandas' own lists of attributes that are no columns; what is in `_metadata` would travel to
    # derived frames, so nothing is.
    _internal_names: ClassVar[list[str]] = [
        *pd.DataFrame._internal_names,
        *("_result", "_kind", "_core"),
    ]
    _internal_names_set: ClassVar[set[str]] = set(_internal_names)

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    @property
    def result(self) -> Any:
        """The record behind the frame."""
        return self.__dict__.get("_result")

    @property
    def kind(self) -> str:
        """The verb that made the frame, a key of `COLUMNS`; "" where none did."""
        return self.__dict__.get("_kind", "")

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        bom: bool = False,
        neutralise: bool = True,
    ) -> ExportReport:
        """Write the whole answer to a file, with a side file `<name>.meta.json` to verify it by.

        Parameters
        ----------
        path : path
            `.csv`, `.json`, `.jsonl` or `.parquet`.
        format : {"csv", "json", "jsonl", "parquet"}, optional
            In place of the suffix.
        bom : bool
            Begin a CSV with a byte order mark, for Excel.
        neutralise : bool
            In a CSV, put an apostrophe before text that a spreadsheet would run as a formula;
            numbers stay as they are. `False` writes the text as it is.

        Returns
        -------
        ExportReport

        Raises
        ------
        ExportError
            The answer was cut by a limit: an export is never a page.
        ExportTargetError
            The file cannot be written; what was there before is as it was.
        """
        from knowledge_nb.notebook.frames_audit import export_frame

        return export_frame(self, path, format=format, bom=bom, neutralise=neutralise)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_result": self.result, "_kind": self.kind}

    def __setstate__(self, state: dict[str, Any]) -> None:
        result, kind = state.pop("_result", None), state.pop("_kind", "")
        super().__setstate__(state)
        self._result, self._kind = result, kind

    def _repr_html_(self) -> str:
        from knowledge_nb.notebook.banner import banner
        from knowledge_nb.notebook.html import page
        from knowledge_nb.notebook.table import table

        return page(banner(self.result, len(self)) + table(self, self.kind, self.result))

    @property
    def charts(self) -> tuple[str, ...]:
        """Names of the charts that `chart` can draw of this frame; the first is the default."""
        from knowledge_nb.notebook.charts import names

        return names(self)

    def chart(self, name: str | None = None, *others: pd.DataFrame, **options: Any) -> Any:
        """Draw a chart of the answer, offline.

        Parameters
        ----------
        name : str, optional
            One of `charts`; None: the first.
        *others : DataFrame
            Other rankings to compare with, for "overlap".
        **options
            Of the chart; see `knowledge_nb.notebook.charts`.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        MissingDependencyError
            matplotlib is not installed.
        QueryError
            There is no such chart of this frame.
        """
        from knowledge_nb.notebook.charts import draw

        return draw(self, name, *others, **options)


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
        name: pd.Series([getattr(record, name) for record in records], dtype=dtype_of(dtype))
        if not dtype.startswith("datetime")
        else pd.to_datetime(
            pd.Series([getattr(record, name) or None for record in records], dtype="object"),
            utc=True,
        ).astype(dtype)
        for name, dtype in columns.items()
    }
    frame = ResultFrame(data, columns=list(columns))
    frame._result, frame._kind = result, kind
    return frame


def dtype_of(name: str) -> Any:
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


def kwic_frame(result: KwicResult) -> ResultFrame:
    """`path citation line left match right`, by path, then in the order of the file."""
    return make_frame("kwic", result.lines, result)


def sources_frame(documents: Iterable[Document]) -> ResultFrame:
    """`path chunks bytes modified indexed stale_reason`, in path order."""
    return make_frame("sources", documents)


def chunks_frame(chunks: Iterable[Chunk]) -> ResultFrame:
    """`citation path ordinal heading first_line last_line text`, in file order."""
    return make_frame("show", chunks)


def doctor_frame(report: DoctorReport) -> ResultFrame:
    """`check state message fix`, in the order of the report."""
    return make_frame("doctor", report.checks, report)


def events_frame(report: IndexReport) -> ResultFrame:
    """`path action reason bytes chunks`: what a pass did, unchanged files left out."""
    return make_frame("events", report.events, report)
