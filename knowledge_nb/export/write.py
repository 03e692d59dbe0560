"""Export a table with the side file that says what it is and lets anyone verify it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import platform
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import apsw

from knowledge_nb.audit.changes import Corpus
from knowledge_nb.audit.table import Table
from knowledge_nb.export import cells
from knowledge_nb.export.files import Target, fill_json, fill_table, format_of
from knowledge_nb.export.question import Question, question_of
from knowledge_nb.store.status import utc_now

META_SUFFIX = ".meta.json"
META_VERSION = 1


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote."""

    path: str
    meta_path: str
    format: str
    rows: int
    rows_sha256: str
    neutralised: int  # cells that got an apostrophe

    def __str__(self) -> str:
        guarded = ""
        if self.neutralised:
            cells_ = "cell" if self.neutralised == 1 else "cells"
            guarded = f", {self.neutralised:,} {cells_} guarded from spreadsheets"
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"{rows} written to {self.path}{guarded}; verify with {self.meta_path}"


def export(
    result: Any,
    table: Table,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    bom: bool = False,
    neutralise: bool = True,
    corpus: Corpus | None = None,
) -> ExportReport:
    """Write a whole answer to a file, and `<name>.meta.json` beside it.

    Parameters
    ----------
    result
        The record behind the table.
    table : Table
        Its rows, all of them.
    path : path
        `.csv`, `.json`, `.jsonl` (or `.ndjson`) or `.parquet`.
    format : {"csv", "json", "jsonl", "parquet"}, optional
        In place of the suffix.
    bom : bool
        Begin a CSV with a byte order mark, by which Excel knows UTF-8. Readers that do not expect
        one take it for a part of the first column's name.
    neutralise : bool
        CSV only: put an apostrophe before text cells that a spreadsheet would run as a formula;
        `knowledge_nb.export.cells` tells how it is taken away again. Numbers are never touched.
    corpus : Corpus, optional
        The documents as they are, so that a later verification can say why a row differs.

    Returns
    -------
    ExportReport

    Raises
    ------
    IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
        There is no answer to export.
    ExportError
        The result is a page of a list, or the suffix names no format.
    ExportTargetError
        The file cannot be written; what was there before is as it was.
    """
    place = Path(path)
    form = format_of(place, format)
    question = question_of(result, table)
    target, beside_it = Target(place), Target(meta_path(place))
    rows = cells.plain_rows(table)
    neutral = neutralise and form == "csv"
    written = target.write(fill_table(table, form, bom=bom, neutralise=neutral))
    try:
        record = _meta(question, table, rows, written, corpus)
        record["file"] |= {
            "name": place.name,
            "format": form,
            "bom": bom and form == "csv",
            "formulas_neutralised": neutral,
        }
        record["checksum"] = checksum(record)
        meta = beside_it.write(fill_json(record))
    except BaseException:
        written.unlink(missing_ok=True)
        raise
    target.keep(written)
    beside_it.keep(meta)
    guarded = 0
    if neutral:
        guarded = sum(
            isinstance(cell, str) and cells.neutralise(cell) != cell for row in rows for cell in row
        )
    digest = record["rows"]["sha256"]
    return ExportReport(str(place), str(meta_path(place)), form, len(rows), digest, guarded)


def checksum(record: Mapping[str, Any]) -> str:
    """SHA-256 over all that a side file says but this."""
    told = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(told, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def meta_path(path: Path) -> Path:
    """The side file of an exported file."""
    return path.with_name(path.name + META_SUFFIX)


def _meta(
    question: Question, table: Table, rows: list[list[Any]], written: Path, corpus: Corpus | None
) -> dict[str, Any]:
    known = question.completeness
    documents: Mapping[str, Any] = {}
    if corpus is not None and "path" in table.columns:
        place = list(table.columns).index("path")
        documents = corpus.noted(dict.fromkeys(str(row[place]) for row in rows))
    return {
        "meta_version": META_VERSION,
        "exported": utc_now(),
        "query": question.query,
        "compiled": question.compiled,
        "totals": {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in question.totals.items()
        },
        "notes": list(question.notes),
        "tier": question.tier,
        "completeness": asdict(known) if known is not None else None,
        "completeness_statement": known.statement() if known is not None else "",
        "generation": known.generation if known is not None else None,
        "columns": table.columns,
        "rows": {"count": len(rows), "sha256": cells.rows_hash(table.columns, rows)},
        "file": {"sha256": hashlib.sha256(written.read_bytes()).hexdigest()},
        "question": {"verb": question.verb, "arguments": question.arguments},
        "documents": documents,
        "last_document_id": corpus.last_id if corpus is not None else None,
        "store_id": corpus.store_id if corpus is not None else None,
        "versions": {
            "knowledge_nb": _version("knowledge-nb"),
            "sqlite": apsw.sqlite_lib_version(),
            "python": platform.python_version(),
            "unicode": unicodedata.unidata_version,
        },
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
