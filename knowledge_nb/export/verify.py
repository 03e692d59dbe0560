"""Verify an exported file: is it as written, and is the same question answered the same now?"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_nb.audit import coverage_tables, verbs
from knowledge_nb.audit.changes import ADDED, REMOVED, Corpus, Then
from knowledge_nb.audit.match_set import MatchSet
from knowledge_nb.audit.snapshot import Snapshots
from knowledge_nb.audit.sql import run_sql
from knowledge_nb.audit.statistics import NEED_TERMS, STATISTICS
from knowledge_nb.audit.table import Table, Type
from knowledge_nb.errors import ExportError, ExportTargetError
from knowledge_nb.export import cells
from knowledge_nb.export.files import decode
from knowledge_nb.export.question import question_of
from knowledge_nb.export.tables import records_table
from knowledge_nb.export.write import META_SUFFIX, META_VERSION, checksum, meta_path
from knowledge_nb.records import Completeness, counted

if TYPE_CHECKING:
    from knowledge_nb.core import Core

CHANGED = "changed"
# What names a row: the first of these that the table has.
KEYS = ("citation", "path", "word", "term", "group", "heading", "folder", "figure", "rank")

# What a side file must tell.
NEEDED = frozenset(
    [
        *("columns", "rows", "file", "question", "documents", "exported", "generation"),
        "completeness",
    ]
)

DIFFERENCE_COLUMNS: dict[str, Type] = {"row": "text", "change": "text", "cause": "text"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that differs: what names it, added, removed or changed, and why."""

    row: str
    change: str
    cause: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome.

    Attributes
    ----------
    untouched : bool
        The file holds the bytes that were written.
    rows_untouched : bool
        The file holds the rows that were written, whatever became of its bytes.
    repeatable : bool
        Whether the question could be asked again.
    same : bool
        Rows and side file are untouched and the answer is the same now.
    question : str
        Verb and query that were asked again.
    side_file_untouched : bool
        The side file says what was written, by its own checksum.
    other_store : bool
        The store that was asked is of another corpus than the export.
    """

    path: str
    untouched: bool
    rows_untouched: bool
    repeatable: bool
    same: bool
    rows: int
    exported: str
    generation_then: int | None
    generation_now: int
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    question: str = ""
    side_file_untouched: bool = True
    completeness: Completeness = field(default_factory=Completeness)
    other_store: bool = False

    def headline(self) -> str:
        """The outcome in words."""
        if self.same:
            return f"Same: {counted(self.rows, 'row')}, as exported {self.exported}."
        if not self.repeatable:
            return "Not asked again: this export holds no question that can be."
        if self.other_store:
            return "Not to be told: this is another store than the export was made from."
        if not self.side_file_untouched:
            return "Not to be told: the side file was edited since it was written."
        if not self.differences:
            return "Different: the file, or the columns of the answer, are not as they were."
        number = counted(len(self.differences), "row")
        return f"Different since {self.exported}: {number}."

    def table(self) -> Table:
        """`row change cause`; empty where nothing differs."""
        rows = tuple((d.row, d.change, d.cause) for d in self.differences)
        return Table("verify_export", dict(DIFFERENCE_COLUMNS), rows)


def verify_export(core: Core, path: str | os.PathLike[str]) -> Verification:
    """Read a file back, ask its question again and compare row by row.

    Parameters
    ----------
    core : Core
        Of the store to ask.
    path : path
        The exported file, or its side file.

    Raises
    ------
    ExportTargetError
        The file, or its side file, is missing or is the store itself.
    ExportError
        The file is no longer of its format, or its rows cannot be compared.
    IndexNotBuiltError, CorpusEmptyError
        There is nothing to ask.
    """
    place = Path(path)
    if place.name.endswith(META_SUFFIX):
        place = place.with_name(place.name.removesuffix(META_SUFFIX))
    for file in (place, meta_path(place)):
        if core.files.is_ours(file):
            raise ExportTargetError(f"{file} is the store itself, not an export")
    meta = _read_meta(place)
    genuine = meta.get("checksum") == checksum(meta)
    try:
        return _verified(core, place, meta, genuine=genuine)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if genuine:
            raise
        raise ExportError(
            f"{meta_path(place).name} was edited since it was written, and what it holds now "
            f"cannot be used: {error!r}"
        ) from error


def _verified(core: Core, place: Path, meta: dict[str, Any], *, genuine: bool) -> Verification:
    columns: dict[str, Type] = meta["columns"]
    try:
        digest = hashlib.sha256(place.read_bytes()).hexdigest()
    except OSError as error:
        raise ExportTargetError(f"cannot read {place}: {error.strerror}") from error
    file = meta["file"]
    held = decode(place, file["format"], columns, neutralised=file["formulas_neutralised"])
    untouched = digest == file["sha256"]
    rows_untouched = cells.rows_hash(columns, held) == meta["rows"]["sha256"]
    notes = []
    if not untouched:
        notes.append(
            "The file's bytes are not those that were written"
            + (", its rows are." if rows_untouched else ", and neither are its rows.")
        )
    if not genuine:
        notes.append(
            "The side file is not as it was written, so its question, totals and times, and what "
            "is said here of then, prove nothing."
        )
    question = meta["question"]
    corpus, known = verbs.corpus_of(core)
    elsewhere = _elsewhere(meta["completeness"] or {}, known)
    if elsewhere:
        notes.append(elsewhere)
    ask = asker(question["verb"])
    differences: tuple[Difference, ...] = ()
    same_columns = False
    if ask is None:
        notes.append("It was made from a frame whose question is not noted.")
    else:
        table = ask(core, **question["arguments"])
        same_columns = list(table.columns) == list(columns)
        if not same_columns:
            new = [name for name in table.columns if name not in columns]
            notes.append(
                "The answer has other columns now"
                + (f" (new: {', '.join(new[:5])})" if new else "")
                + ", so its rows are compared by the columns that are in both."
            )
        differences = _compare(meta, columns, held, table, corpus)
        if not rows_untouched and differences:
            now = cells.rows_hash(table.columns, cells.plain_rows(table))
            edited = "the file was edited: the answer is as it was then"
            if now != meta["rows"]["sha256"]:
                edited = (
                    "the file was edited, and the answer is another too: which it is, is unknown"
                )
            differences = tuple(replace(each, cause=edited) for each in differences)
        if elsewhere:
            differences = tuple(replace(each, cause="another store") for each in differences)
    return Verification(
        str(place),
        untouched,
        rows_untouched,
        ask is not None,
        rows_untouched and genuine and same_columns and not differences and not elsewhere,
        len(held),
        str(meta["exported"]),
        meta["generation"],
        known.generation,
        differences,
        tuple(notes),
        _asked(question["verb"], str(meta.get("query", "")), question["arguments"]),
        genuine,
        known,
        bool(elsewhere),
    )


def _elsewhere(then: dict[str, Any], now: Completeness) -> str:
    """That the export is of another corpus; an index of the same one may have been made anew."""
    if then.get("store_id", now.store_id) == now.store_id or then.get("base") == now.base:
        return ""
    return (
        f"This store is another one than the export was made from: its documents lie below "
        f"{now.base}, those of the export below {then.get('base')}. Name the store with --store."
    )


def _asked(verb: str, query: str, arguments: dict[str, Any]) -> str:
    """The question in words."""
    asked = f"{verb} {query}".strip() or "not known"
    under = arguments.get("under")
    return f"{asked} (under {under})" if under else asked


def _read_meta(place: Path) -> dict[str, Any]:
    beside = meta_path(place)
    try:
        meta = json.loads(beside.read_bytes())
    except FileNotFoundError as error:
        raise ExportTargetError(
            f"{place} has no side file {beside.name}; only an export with one can be verified"
        ) from error
    except OSError as error:
        raise ExportTargetError(f"cannot read {beside}: {error.strerror}") from error
    except ValueError as error:
        raise ExportError(f"{beside} is no JSON: {error}") from error
    if not isinstance(meta, dict) or not meta.keys() >= NEEDED:
        raise ExportError(f"{beside} is not the side file of an export")
    if meta.get("meta_version") != META_VERSION:
        raise ExportError(
            f"{beside} has version {meta.get('meta_version')!r}; this release reads {META_VERSION}"
        )
    return meta


def _compare(
    meta: dict[str, Any],
    columns: dict[str, Type],
    held: list[list[Any]],
    table: Table,
    corpus: Corpus,
) -> tuple[Difference, ...]:
    both = [name for name in columns if name in table.columns]
    before = _by_key(list(columns), held, both)
    after = _by_key(list(table.columns), cells.plain_rows(table), both)
    try:
        # An audit is of the disk: what became of a document in the index is no cause there.
        of_index = meta["last_document_id"] is not None and meta["question"]["verb"] != "audit"
        then = Then.of(meta) if of_index else None
    except (KeyError, TypeError, ValueError) as error:
        raise ExportError(f"the side file does not note the documents: {error!r}") from error
    found = []
    for key in dict.fromkeys([*before, *after]):
        if before.get(key) == after.get(key):
            continue
        change = ADDED if key not in before else REMOVED if key not in after else CHANGED
        values = (after.get(key) or before.get(key) or [{}])[0]
        path = str(values.get("path", ""))
        why = ""
        if then is not None and path:
            why = then.cause(path, change, corpus)
        if change == CHANGED:
            cells_ = _differing(before[key], after[key])
            why = f"{why}; other {cells_}" if why else f"other {cells_}"
        found.append(Difference(str(key), change, why or "the answer is another"))
    return tuple(found)


def _by_key(
    columns: list[str], rows: list[list[Any]], both: list[str]
) -> dict[Any, list[dict[str, Any]]]:
    key = next((name for name in KEYS if name in both), both[0] if both else "")
    if "citation" in both and "first_line" not in columns and "text" not in columns:
        key = "path"  # a document's first matching chunk may move; the document is the row
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        values = {name: cell for name, cell in zip(columns, row, strict=True) if name in both}
        found.setdefault(values.get(key), []).append(values)
    return found


def _differing(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    if len(before) != len(after):
        return "number of rows"
    names = {
        name
        for old, new in zip(before, after, strict=True)
        for name in old
        if old[name] != new[name]
    }
    if "state" in names and len(before) == 1:
        return f"state: {before[0]['state']} then, {after[0]['state']} now"
    return ", ".join(sorted(names))


def asker(verb: str) -> Callable[..., Table] | None:
    """What asks a verb's question again, given a core and its arguments; None for none."""
    if verb.startswith("statistics."):
        name = verb.partition(".")[2]
        if name in STATISTICS:
            return lambda core, **arguments: _statistic(core, name, **arguments)
        return None
    return _ASKERS.get(verb)


def _sql(core: Core, query: str, parameters: Any = None) -> Table:
    snapshots = Snapshots(core.reader)
    try:
        return run_sql(snapshots, query, parameters).table
    finally:
        snapshots.close()


def _statistic(core: Core, name: str, **arguments: Any) -> Table:
    snapshots = Snapshots(core.reader)
    try:
        with snapshots.connect(terms=name in NEED_TERMS) as (connection, info):
            return STATISTICS[name](connection, info, **arguments).table
    finally:
        snapshots.close()


def _checked(result: Any, table: Table) -> Table:
    question_of(result, table)  # refuses what is no answer
    return table


def _enumerate(core: Core, **arguments: Any) -> Table:
    result = core.enumerate(arguments.pop("query"), **arguments)
    return _checked(result, records_table("enumerate", result.matches))


def _vocabulary(core: Core, **arguments: Any) -> Table:
    result = core.vocabulary(**arguments)
    return _checked(result, records_table("vocabulary", result.words))


def _search(core: Core, **arguments: Any) -> Table:
    result = core.search(arguments.pop("query"), **arguments)
    return _checked(result, records_table("search", result.hits))


def _sources(core: Core) -> Table:
    return records_table("sources", core.sources())


def _audit(core: Core, **arguments: Any) -> Table:
    result = verbs.files_of(core, **arguments)
    return _checked(result, result.table())


def _match_set(core: Core, expression: dict[str, Any], under: str = "") -> Table:
    result = verbs.expression_of(core, MatchSet, expression, under=under)
    return _checked(result, result.table())


def _coverage(
    core: Core, terms: list[list[str]], part: str, under: str = "", depth: int = 1
) -> Table:
    result = verbs.coverage_of(core, terms, under=under)
    return _checked(result, coverage_tables.part(result, part, depth))


_ASKERS: dict[str, Callable[..., Table]] = {
    "enumerate": _enumerate,
    "vocabulary": _vocabulary,
    "search": _search,
    "sources": _sources,
    "audit": _audit,
    "match_set": _match_set,
    "coverage": _coverage,
    "sql": _sql,
}
