"""The export options that several verbs share: `--csv --json-file --jsonl --parquet` and more."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from knowledge_nb.cli.output import clean_line, warn, write_bytes

if TYPE_CHECKING:
    from knowledge_nb.audit.table import Table
    from knowledge_nb.core import Core

FORMS = {"csv": "csv", "json_file": "json", "jsonl": "jsonl", "parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class ExportTo:
    """What the options say."""

    csv: str | None = None
    json_file: str | None = None
    jsonl: str | None = None
    parquet: str | None = None
    bom: bool = False
    keep_formulas: bool = False

    def __bool__(self) -> bool:
        """Whether an export is asked for."""
        return any(self.named().values())

    def named(self) -> dict[str, str | None]:
        """The files by option, for `refuse_together`."""
        return {option: getattr(self, option) for option in FORMS}


def export_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options, and hand them on as one argument `to`."""

    @functools.wraps(function)
    def with_target(*arguments: Any, **options: Any) -> Any:
        to = ExportTo(
            options.pop("csv_file"),
            options.pop("json_file"),
            options.pop("jsonl_file"),
            options.pop("parquet_file"),
            bom=options.pop("bom"),
            keep_formulas=options.pop("keep_formulas"),
        )
        if (to.bom or to.keep_formulas) and to.csv is None:
            name = "--bom" if to.bom else "--keep-formulas"
            raise click.UsageError(f"{name} is about a CSV file; it needs --csv FILE.")
        if to.parquet == "-":
            raise click.UsageError("Parquet needs a file; the other forms can go to stdout.")
        return function(*arguments, to=to, **options)

    for option in reversed(_OPTIONS):
        with_target = option(with_target)
    return with_target


_WHOLE = "the whole list, never a page of it, and FILE.meta.json for verify-export"
_OPTIONS = (
    click.option(
        "--csv",
        "csv_file",
        metavar="FILE",
        help=f"Write CSV (- for stdout): {_WHOLE}. Text that a spreadsheet would run as a formula "
        "gets an apostrophe.",
    ),
    click.option(
        "--json-file",
        metavar="FILE",
        help="The same rows as one JSON array (--json is the answer with its notes, on stdout).",
    ),
    click.option("--jsonl", "jsonl_file", metavar="FILE", help="The same as JSON Lines."),
    click.option("--parquet", "parquet_file", metavar="FILE", help="The same as Parquet."),
    click.option("--bom", is_flag=True, help="Begin the CSV with a byte order mark, for Excel."),
    click.option(
        "--keep-formulas", is_flag=True, help="Leave every text of the CSV exactly as it is."
    ),
)


def write_export(core: Core, to: ExportTo, result: Any, table: Table, noun: str) -> None:
    """Write an answer where the options say.

    Parameters
    ----------
    noun : str
        What a row is, in the plural, for the line on stderr.

    Raises
    ------
    ExportError, NoAnswerError
    """
    from knowledge_nb.audit.verbs import corpus_of
    from knowledge_nb.export.files import encode
    from knowledge_nb.export.question import question_of
    from knowledge_nb.export.write import export

    form, file = next((FORMS[name], file) for name, file in to.named().items() if file is not None)
    if file == "-":
        question_of(result, table)  # refuses what is no whole answer
        written = encode(table, form, bom=to.bom, neutralise=not to.keep_formulas)
        write_bytes(written.decode())
        return
    corpus, known = corpus_of(core)
    then = getattr(getattr(result, "completeness", None), "generation", known.generation)
    core.reader.close()
    report = export(
        result,
        table,
        file,
        format=form,
        bom=to.bom,
        neutralise=not to.keep_formulas,
        corpus=corpus if then == known.generation else None,
    )
    guarded = ""
    if report.neutralised:
        cells = "1 cell" if report.neutralised == 1 else f"{report.neutralised:,} cells"
        guarded = f"; {cells} guarded from spreadsheets (--keep-formulas leaves them)"
    number = f"1 {noun.removesuffix('s')}" if report.rows == 1 else f"{report.rows:,} {noun}"
    warn(f"knowledge: {number} written to {clean_line(file)}{guarded}")
