"""`knowledge audit` and `knowledge coverage`: disk against index, a term list against both."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from knowledge_nb.cli.export_options import ExportTo, export_options, write_export
from knowledge_nb.cli.group import NEGATIVE, App, pass_app
from knowledge_nb.cli.options import (
    DEFAULT_ROWS,
    all_option,
    json_option,
    refuse_together,
    under_option,
)
from knowledge_nb.cli.output import (
    clean_line,
    coverage_record,
    covers,
    notes,
    require_folder,
    say,
    table,
    title,
    warn,
    write_json,
)
from knowledge_nb.refusals import require_answer

if TYPE_CHECKING:
    from knowledge_nb.audit.coverage import CoverageResult
    from knowledge_nb.audit.files import FilesResult

PARTS = ("terms", "groups", "uncovered", "smallest-cover", "by-folder", "overlap", "stem-gain")


@click.command()
@click.argument("paths", nargs=-1, metavar="[FOLDER]...")
@under_option
@click.option("--all", "everything", is_flag=True, help="List every file, also what agrees.")
@click.option("--exit-code", is_flag=True, help=f"Exit status {NEGATIVE} if index and disk differ.")
@json_option
@export_options
@pass_app
def audit(
    app: App,
    paths: tuple[str, ...],
    under: str,
    everything: bool,
    exit_code: bool,
    as_json: bool,
    to: ExportTo,
) -> None:
    """Compare the disk with the index, file by file.

    Every file below the folders of earlier passes (or those named) is read and hashed: as
    indexed, changed since, new, gone, unreadable, or left out and why. Nothing is written.

    \b
      knowledge audit --exit-code || knowledge index
    """
    from knowledge_nb.audit.verbs import files_of

    refuse_together(json=as_json, all=everything, **to.named())
    with app.core() as core:
        result = files_of(core, paths, under=under)
    if as_json:
        require_answer(result)
        write_json(_files_record(result))
    elif to:
        require_answer(result)
        write_export(core, to, result, result.table(), "files")
    else:
        _render_files(result, everything=everything)
    if exit_code and result.differs:
        click.get_current_context().exit(NEGATIVE)


def _files_record(result: FilesResult) -> dict[str, Any]:
    return {
        "status": str(result.status),
        "differs": result.differs,
        "looked": result.looked,
        "roots": list(result.roots),
        "under": result.under,
        "totals": {
            state: {"files": number, "bytes": size}
            for state, (number, size) in result.totals.items()
        },
        "tier": result.tier,
        "notes": list(result.notes),
        "completeness": coverage_record(result.completeness),
        "results": [asdict(file) for file in result.files],
    }


def _render_files(result: FilesResult, *, everything: bool) -> None:
    say(result.tier)
    require_answer(result)
    click.echo()
    say("Disk and index differ." if result.differs else "Disk and index agree.")
    table(
        ("state", "files", "bytes"),
        [(state, number, size) for state, (number, size) in result.totals.items()],
    )
    shown = [file for file in result.files if everything or file.state != "indexed"]
    cut = shown if everything else sorted(shown, key=lambda file: not file.differs)[:DEFAULT_ROWS]
    if cut:
        click.echo()
        table(
            ("state", "path", "reason"),
            [
                (file.state, file.path + "/" * (file.kind == "directory"), file.reason)
                for file in cut
            ],
            path=1,
        )
    if len(cut) < len(shown):
        say(f"Listed {len(cut):,} of {len(shown):,}; --all lists every one.")
    if result.notes:
        click.echo()
        notes(result.notes)
    click.echo()
    say(
        f"Looked at the disk {result.looked}. The index is of the pass completed "
        f"{result.completeness.last_completed}."
    )


@click.command()
@click.argument("terms", metavar="TERMS.csv")
@click.option(
    "--part",
    type=click.Choice(PARTS),
    default="terms",
    help="Which table: a row per term, per group, the documents that no term hits, few terms that "
    "hit all, terms by folder, terms by terms, or what stems brought in. [default: terms]",
)
@click.option("--depth", type=click.IntRange(min=1), default=1, metavar="N", help="Of by-folder.")
@under_option
@all_option
@json_option
@export_options
@click.option(
    "--exit-code",
    is_flag=True,
    help=f"Exit status {NEGATIVE} if a term is in no document or was not answered.",
)
@pass_app
def coverage(
    app: App,
    terms: str,
    part: str,
    depth: int,
    under: str,
    everything: bool,
    as_json: bool,
    to: ExportTo,
    exit_code: bool,
) -> None:
    """Say what a list of terms covers of the corpus, term by term.

    TERMS.csv has the columns term, label, group (the last two may be missing); any other
    file has a term a line. A term is a query as `match` takes it: in a CSV the quotes of a
    phrase are doubled.

    \b
      knowledge coverage terms.csv --csv report.csv
      knowledge coverage terms.txt --part uncovered
    """
    from knowledge_nb.audit import coverage_tables
    from knowledge_nb.audit.verbs import coverage_of

    refuse_together(json=as_json, all=everything, **to.named())
    with app.core() as core:
        result = coverage_of(core, terms, under=under)
        if not result.matched:
            require_answer(result)
            require_folder(core, result.under)
    kind = "coverage" if part == "terms" else f"coverage.{part.replace('-', '_')}"
    if as_json:
        require_answer(result)
        write_json(_coverage_record(result, coverage_tables.part(result, kind, depth)))
    elif to:
        require_answer(result)
        write_export(core, to, result, coverage_tables.part(result, kind, depth), "rows")
        for note in result.notes:
            warn(f"knowledge: {clean_line(note)}")
    else:
        _render_coverage(result, kind, depth, everything=everything)
    if exit_code and any(row.error or not row.documents for row in result.rows):
        click.get_current_context().exit(NEGATIVE)


def _coverage_record(result: CoverageResult, part: Any) -> dict[str, Any]:
    names = list(part.columns)
    return {
        "status": str(result.status),
        "part": part.kind,
        "under": result.under,
        "documents": result.documents,
        "documents_hit": result.documents_hit,
        "documents_missed": result.documents_missed,
        "tier": result.tier,
        "notes": list(result.notes),
        "completeness": coverage_record(result.completeness),
        "results": [dict(zip(names, row, strict=True)) for row in part.rows],
    }


def _render_coverage(result: CoverageResult, kind: str, depth: int, *, everything: bool) -> None:
    from knowledge_nb.audit import coverage_tables

    say(result.tier)
    require_answer(result)
    click.echo()
    say(result.totals())
    part = coverage_tables.part(result, kind, depth)
    rows = part.rows if everything else part.rows[:DEFAULT_ROWS]
    if kind == "coverage":
        table(
            ("term", "documents", "unique", "new", "as written", "chunks", "share"),
            [
                (row[0], row[3], row[4], row[5], row[6], row[7], f"{row[10]:.1%}")
                for row in rows
                if not row[14]
            ],
        )
    elif rows:
        table(list(part.columns), [tuple(_cell(cell) for cell in row) for row in rows])
    else:
        say("Nothing to list.")
    if len(rows) < len(part.rows):
        say(f"Listed {len(rows):,} of {len(part.rows):,}; --all lists every one.")
    if result.errors:
        title("Not answered")
        for row in result.errors:
            say(f"  {clean_line(row.term[:200])}: {clean_line(row.error)}")
    click.echo()
    notes(result.notes[1:])
    covers(result.completeness)


def _cell(cell: Any) -> str | int:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.1%}"
    return cell if isinstance(cell, int) else str(cell)
