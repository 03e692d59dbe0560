"""`knowledge show`, `sources`, `stats`: what the index holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from knowledge_nb.cli.export_options import ExportTo, export_options, write_export
from knowledge_nb.cli.group import App, pass_app
from knowledge_nb.cli.options import json_option, refuse_together
from knowledge_nb.cli.output import (
    clean,
    clean_line,
    coverage_record,
    covers,
    say,
    size,
    table,
    warn_unfinished,
    write_json,
)
from knowledge_nb.errors import IndexNotBuiltError
from knowledge_nb.records import Completeness, Status
from knowledge_nb.refusals import require_documents

if TYPE_CHECKING:
    from knowledge_nb.core import Core


@click.command()
@click.argument("target", metavar="CITATION|PATH")
@click.option(
    "--around",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also N chunks before and after the one cited.",
)
@pass_app
def show(app: App, target: str, around: int) -> None:
    """Show the stored text of one chunk (PATH#NUMBER) or of a whole document."""
    with app.core() as core:
        say(core.tier())
        chunks = core.show(target, around=around)
        if warning := core.completeness().unfinished():
            say(warning)
    for chunk in chunks:
        click.echo()
        click.echo(click.style(clean_line(chunk.citation), bold=True))
        heading = f"{clean_line(chunk.heading)}, " if chunk.heading else ""
        click.echo(f"{heading}lines {chunk.first_line}-{chunk.last_line}")
        click.echo()
        click.echo(clean(chunk.text).rstrip("\n"))


@click.command()
@json_option
@export_options
@pass_app
def sources(app: App, as_json: bool, to: ExportTo) -> None:
    """List every indexed document."""
    refuse_together(json=as_json, **to.named())
    with app.core() as core:
        for_programs = as_json or bool(to)
        tier = core.tier()
        if not for_programs:
            say(tier)
        completeness = answerable(core)
        documents = core.sources()
    if for_programs:
        warn_unfinished(completeness)
    if as_json:
        write_json(
            {
                "status": str(Status.OK),
                "matched": len(documents),
                "truncated": False,
                "tier": tier,
                "completeness": coverage_record(completeness),
                "results": [asdict(document) for document in documents],
            }
        )
    elif to:
        from knowledge_nb.export.question import SourcesAnswer
        from knowledge_nb.export.tables import records_table

        answer = SourcesAnswer(completeness, tier)
        write_export(core, to, answer, records_table("sources", documents), "documents")
    else:
        click.echo()
        table(
            ("path", "chunks", "bytes", "modified"),
            [(d.path, d.chunks, d.bytes, d.modified) for d in documents],
        )
        for document in documents:
            if document.stale_reason:
                say(f"Stale: {clean_line(document.path)} ({clean_line(document.stale_reason)}).")
        covers(completeness)


def answerable(core: Core) -> Completeness:
    """What the store covers.

    Raises
    ------
    IndexNotBuiltError, CorpusEmptyError
    """
    completeness = core.completeness()
    if not completeness.built:
        raise IndexNotBuiltError(
            f"no indexing pass has completed in {core.files.directory}: run `knowledge index PATH`"
        )
    require_documents(completeness)
    return completeness


@click.command()
@json_option
@pass_app
def stats(app: App, as_json: bool) -> None:
    """Show the size of the corpus and of the store, and what they leave out."""
    with app.core() as core:
        found = core.stats()
        known = found.completeness
        if not as_json:
            say(found.tier)
        if not known.built:
            answerable(core)
    status = Status.OK if known.documents else Status.CORPUS_EMPTY
    if as_json:
        record = {"status": str(status), **asdict(found)}
        write_json({**record, "completeness": coverage_record(known)})
        return
    click.echo()
    facts: tuple[tuple[str, str], ...] = (
        ("store", found.store),
        ("paths relative to", found.base),
        ("documents", f"{found.documents:,}"),
        ("chunks", f"{found.chunks:,}"),
        ("text", f"{size(found.bytes)} ({found.bytes:,} bytes)"),
        ("database", f"{size(found.database_bytes)} ({found.database_bytes:,} bytes)"),
        ("write-ahead log", f"{size(found.log_bytes)} ({found.log_bytes:,} bytes)"),
        ("generation", f"{known.generation:,}"),
    )
    for name, value in facts:
        click.echo(f"{name:<18} {clean_line(value)}")
    covers(known)
