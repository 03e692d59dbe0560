"""Frames of the audit verbs, and every frame as a table for export."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import pandas as pd

from knowledge_nb.audit import coverage_tables as tables
from knowledge_nb.audit.changes import Corpus
from knowledge_nb.audit.coverage import CoverageResult
from knowledge_nb.audit.files import FilesResult
from knowledge_nb.audit.match_set import MatchSet
from knowledge_nb.audit.table import Table, TableResult, Type
from knowledge_nb.audit.verbs import corpus_of
from knowledge_nb.errors import ConfigurationError, ExportError
from knowledge_nb.export.cells import plain_rows
from knowledge_nb.export.question import SourcesAnswer
from knowledge_nb.export.saved import SavedDiff, SavedSet, saved_table
from knowledge_nb.export.tables import records_table
from knowledge_nb.export.verify import Verification
from knowledge_nb.export.write import ExportReport, export
from knowledge_nb.notebook import charts_audit  # with the import the charts are registered
from knowledge_nb.notebook.frames import COUNT, NUMBER, RANK, TEXT, ResultFrame, dtype_of
from knowledge_nb.notebook.html import element, escape, page

Frame = TypeVar("Frame", bound=ResultFrame)

# Columns that may have no value, by kind of table; in an SQL answer any may.
NULLABLE: dict[str, frozenset[str]] = {
    "audit": frozenset({"bytes", "indexed_bytes"}),
    "saved.list": frozenset({"documents", "generation"}),
    # Of a term that was not answered no number is known.
    "coverage": frozenset(name for name, kind in tables.TERM_COLUMNS.items() if kind == "integer"),
    "coverage.groups": frozenset(
        name for name in tables.GROUP_COLUMNS if name.endswith("documents")
    ),
}


class CoverageFrame(ResultFrame):
    """A coverage report: a row per term, and what is derived from the whole list.

    `.chart()` draws documents by term; `.heatmap()` and `.upset()` the two charts of the grid and
    of the combinations.
    """

    def _part(self, table: Table, *, indexed: bool = False) -> ResultFrame:
        core = self.__dict__.get("_core")
        return table_frame(table, self.result, core=core, indexed=indexed)

    @property
    def matrix(self) -> pd.DataFrame:
        """Documents by terms, sparse booleans; the index is every path that was looked at."""
        result: CoverageResult = self.result
        paths = pd.Index([member.path for member in result.universe.members], name="path")
        columns = {}
        for term, places in tables.matrix_columns(result).items():
            flags = array("b", bytes(len(paths)))
            for place in places:
                flags[place] = 1
            dense = pd.Series(memoryview(flags)).astype(bool)
            columns[term] = pd.arrays.SparseArray(dense, fill_value=False)
        return pd.DataFrame(columns, index=paths)

    @property
    def uncovered(self) -> ResultFrame:
        """`path chunks bytes` of the documents that no term hits; empty where all are hit."""
        return self._part(tables.uncovered_table(self.result))

    @property
    def overlap(self) -> ResultFrame:
        """Terms by terms: documents in common; the diagonal is the term's own documents."""
        return self._part(tables.overlap_table(self.result), indexed=True)

    @property
    def smallest_cover(self) -> ResultFrame:
        """Few terms that hit all that is hit, in the order chosen; `.result.cover()[1]` says
        whether it is shown that no fewer can."""
        return self._part(tables.cover_table(self.result)[0])

    @property
    def by_folder(self) -> ResultFrame:
        """Terms by top folders, documents in each cell, zeros included; see `folders`."""
        return self.folders()

    def folders(self, depth: int = 1) -> ResultFrame:
        """The same with folders of `depth` parts; "." are documents that lie in none."""
        return self._part(tables.folders_table(self.result, depth), indexed=True)

    @property
    def groups(self) -> ResultFrame:
        """A row per group of the list: its terms taken together."""
        return self._part(tables.groups_table(self.result))

    @property
    def stem_gain(self) -> ResultFrame:
        """Terms with documents that hold a related form only, and those forms: what the stem
        brought in. Empty where every term stands as written in all its documents."""
        return self._part(tables.stem_table(self.result))

    def heatmap(self, depth: int = 1, top: int = 40) -> Any:
        """Term by folder as a heat map; cells without a document are marked."""
        return charts_audit.heatmap(self, depth=depth, top=top)

    def upset(self, top: int = 15, terms: int = 12) -> Any:
        """The largest combinations of terms, as an upset chart."""
        return charts_audit.upset(self, top=top, terms=terms)


class DocumentSet(MatchSet):
    """A `MatchSet` that turns into a frame."""

    __slots__ = ()

    def frame(self) -> ResultFrame:
        """`path chunks bytes` in path order, with `.export`; empty for an empty set."""
        return table_frame(self.table(), self, core=self.core)

    def _repr_html_(self) -> str:
        tree = element("pre", escape(self.tree()), "margin: 4px 0; line-height: 1.3")
        return page(element("div", f"<b>{escape(self.headline())}</b>") + tree)


def table_frame(
    table: Table,
    result: Any,
    *,
    core: Any = None,
    indexed: bool = False,
    kind: Callable[..., Frame] = ResultFrame,
) -> Frame:
    """The frame of a table: the dtype of a column follows from its type, also without rows.

    With `indexed` the first column, a text, is the index.
    """
    data = {}
    for place, (name, type_) in enumerate(table.columns.items()):
        nullable = table.kind == "sql" or name in NULLABLE.get(table.kind, ())
        data[place] = _series([row[place] for row in table.rows], type_, nullable=nullable)
    names = list(table.columns)
    index = None
    if indexed:
        index = pd.Index(data.pop(0), name=names.pop(0))
        data = {place: series.set_axis(index) for place, series in data.items()}
    frame = kind(data, index=index)
    frame.columns = pd.Index(names)
    frame._result, frame._kind, frame._core = result, table.kind, core
    return frame


def _series(values: list[Any], type_: Type, *, nullable: bool) -> pd.Series[Any]:
    if type_ == "time":
        times = pd.to_datetime(
            pd.Series([value or None for value in values], dtype="object"),
            utc=True,
            format="ISO8601",
            errors="coerce",
        )
        return times.astype("datetime64[us, UTC]")
    if type_ == "text":
        return pd.Series(values, dtype=dtype_of(TEXT))
    if type_ == "number":
        return pd.Series(values, dtype=NUMBER)
    if type_ == "boolean":
        return pd.Series(values, dtype="boolean" if nullable else "bool")
    try:
        return pd.Series(values, dtype=RANK if nullable else COUNT)
    except OverflowError:  # a HUGEINT of SQL
        return pd.Series(values, dtype="object")


def coverage_frame(result: CoverageResult, by: str | None, core: Any) -> CoverageFrame:
    """The report by terms, or by groups."""
    table = tables.terms_table(result) if by is None else tables.groups_table(result)
    return table_frame(table, result, core=core, kind=CoverageFrame)


def files_frame(result: FilesResult, core: Any) -> ResultFrame:
    """`path state reason kind bytes indexed_bytes modified indexed`, in path order."""
    return table_frame(result.table(), result, core=core)


def result_frame(result: TableResult, core: Any) -> ResultFrame:
    """The frame of a statistic or of an SQL answer."""
    return table_frame(result.table, result, core=core)


def saved_frame(sets: tuple[SavedSet, ...]) -> ResultFrame:
    """`name documents query under saved generation error`, by name."""
    return table_frame(saved_table(sets), None)


def diff_frame(diff: SavedDiff) -> ResultFrame:
    """`path change cause`."""
    return table_frame(diff.table(), diff)


def verification_frame(found: Verification) -> ResultFrame:
    """`row change cause` of the rows that differ; empty where the export is the same."""
    return table_frame(found.table(), found)


def frame_table(frame: pd.DataFrame, kind: str = "") -> Table:
    """Any frame as a table; an index with a name becomes the first column."""
    if not isinstance(frame.index, pd.RangeIndex):
        name = frame.index.name or "index"
        while name in frame.columns:
            name += "_"
        frame = frame.rename_axis(index=name).reset_index()
    columns: dict[str, Type] = {}
    cells = []
    for place, name in enumerate(frame.columns):
        series = frame.iloc[:, place]
        type_ = _type_of(series)
        columns[str(name)] = type_
        cells.append([_plain(type_, value) for value in series.tolist()])
    return Table(kind, columns, tuple(zip(*cells, strict=True)) if cells else ())


def _type_of(series: pd.Series[Any]) -> Type:
    if pd.api.types.is_bool_dtype(series.dtype):
        return "boolean"
    if pd.api.types.is_integer_dtype(series.dtype):
        return "integer"
    if pd.api.types.is_float_dtype(series.dtype):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return "time"
    return "text"


def _plain(type_: Type, value: Any) -> Any:
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return "" if type_ in ("text", "time") else None
    if type_ == "time":
        if value.tzinfo is not None:
            value = value.tz_convert("UTC")
        fraction = f".{value.microsecond:06d}" if value.microsecond else ""
        return value.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"
    return str(value) if type_ == "text" else value


_RECORDS = {"search": "hits", "enumerate": "matches", "vocabulary": "words"}


def whole_table(frame: ResultFrame) -> Table:
    """The rows of a frame, which must still be those of its answer, in whatever order.

    Raises
    ------
    ExportError
        Rows were changed, dropped or added in place: it would be told as the answer that it is not.
    """
    shown = frame_table(frame, frame.kind)
    answered = _answered(frame)
    if answered is not None and _counted(answered) != _counted(shown):
        raise ExportError(
            f"the rows of this frame ({len(shown.rows):,}) are not those of its answer "
            f"({len(answered.rows):,}): it was changed in place. Ask again for the answer, or make "
            "a plain frame of it, pd.DataFrame(frame), and write that with pandas"
        )
    return shown


def _answered(frame: ResultFrame) -> Table | None:
    """The table that the frame was made of; None where only the frame knows it."""
    result, kind = frame.result, frame.kind
    if kind in _RECORDS:
        return records_table(kind, getattr(result, _RECORDS[kind]))
    if isinstance(result, TableResult):
        return result.table
    if isinstance(result, CoverageResult):
        depth = max((name.count("/") + 1 for name in map(str, frame.columns)), default=1)
        try:
            return tables.part(result, kind, depth)
        except ConfigurationError:
            return None
    table = getattr(result, "table", None)
    made = table() if callable(table) else None
    return made if isinstance(made, Table) else None


def _counted(table: Table) -> tuple[list[str], Counter[str]]:
    return list(table.columns), Counter(map(repr, plain_rows(table)))


def export_frame(frame: ResultFrame, path: str | os.PathLike[str], **options: Any) -> ExportReport:
    """Export a frame; see `ResultFrame.export`."""
    core = frame.__dict__.get("_core")
    result = frame.result
    corpus: Corpus | None = None
    if core is not None:
        corpus, known = corpus_of(core)
        if frame.kind == "sources" and result is None:
            result = SourcesAnswer(known, core.tier())
        then = getattr(getattr(result, "completeness", None), "generation", known.generation)
        if then != known.generation:
            corpus = None  # documents as they are now say nothing of an older answer
    return export(result, whole_table(frame), path, corpus=corpus, **options)
