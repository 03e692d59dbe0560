"""`knowledge search`: a ranking, with excerpts."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from knowledge_nb.cli.export_options import ExportTo, export_options, write_export
from knowledge_nb.cli.group import App, pass_app
from knowledge_nb.cli.options import json_option, refuse_together, refuse_undecoded, under_option
from knowledge_nb.cli.output import (
    clean_line,
    coverage_record,
    notes,
    require_folder,
    say,
    warn,
    warn_unfinished,
    write_json,
)
from knowledge_nb.records import Hit, Mode, SearchResult, Status
from knowledge_nb.refusals import require_answer

if TYPE_CHECKING:
    from knowledge_nb.retrieval.excerpt import Excerpt


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("-k", type=click.IntRange(1, 10_000), metavar="N", help="Hits wanted. [default: 5]")
@click.option(
    "--mode",
    type=click.Choice(["lexical", "vector", "fused"]),
    help="How to rank. [default: the best that the store has]",
)
@under_option
@json_option
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS")
@export_options
@pass_app
def search(
    app: App,
    query: tuple[str, ...],
    k: int | None,
    mode: Mode | None,
    under: str,
    as_json: bool,
    timeout: float | None,
    to: ExportTo,
) -> None:
    """Rank passages for a free text, best first.

    A ranking proves no absence: `knowledge match` says which documents hold a word.
    """
    refuse_together(json=as_json, **to.named())
    refuse_undecoded(*query)
    with app.core() as core:
        result = core.search(" ".join(query), k=k, mode=mode, under=under, timeout=timeout)
        if not result.hits and result.status is Status.OK:
            require_folder(core, result.under)
        if as_json:
            require_answer(result)
            write_json(_record(result))
            warn_unfinished(result.completeness)
        elif to:
            require_answer(result)
            from knowledge_nb.export.tables import records_table

            write_export(core, to, result, records_table("search", result.hits), "hits")
            _say_what_matters(result)
        else:
            render(result)


def _say_what_matters(result: SearchResult) -> None:
    """On stderr, what a bare list of hits cannot hold."""
    for line in (result.tier, *result.notes, result.completeness.statement()):
        warn(f"knowledge: {clean_line(line)}")


def _record(result: SearchResult) -> dict[str, object]:
    return {
        "status": str(result.status),
        "query": result.query,
        "mode": result.mode,
        "k": result.k,
        "under": result.under,
        "tier": result.tier,
        "degraded": result.degraded,
        "reason": result.reason,
        "compiled": result.compiled,
        "dropped_terms": [list(pair) for pair in result.dropped_terms],
        "common_terms": list(result.common_terms),
        "notes": list(result.notes),
        "completeness": coverage_record(result.completeness),
        "results": [asdict(hit) for hit in result.hits],
    }


def render(result: SearchResult) -> None:
    """Write a ranking for people."""
    from knowledge_nb.retrieval.excerpt import excerpts

    say(result.tier)
    require_answer(result)
    texts = [hit.text for hit in result.hits]
    unused = [*result.common_terms, *(term for term, _ in result.dropped_terms)]
    lines = excerpts(texts, result.query, ignore=unused)
    for hit, excerpt in zip(result.hits, lines, strict=True):
        click.echo()
        _hit(hit, excerpt)
    click.echo()
    if result.hits:
        under = f" under {result.under}" if result.under else ""
        say(f"The best {len(result.hits)}{under}, of at most {result.k} asked for.")
    notes(result.notes)
    if warning := result.completeness.unfinished():
        say(warning)


def _hit(hit: Hit, excerpt: tuple[Excerpt, ...]) -> None:
    click.echo(f"{hit.rank}. " + click.style(clean_line(hit.citation), bold=True))
    place = f"lines {hit.first_line}-{hit.last_line}"
    if hit.first_line == hit.last_line:
        place = f"line {hit.first_line}"
    heading = f"{clean_line(hit.heading)}, " if hit.heading else ""
    click.echo(f"   {heading}{place}")
    scores = [f"score {hit.score:.4g}"]
    if hit.lexical_rank is not None and hit.lexical_score is not None and hit.vector_rank:
        scores.append(f"words: rank {hit.lexical_rank}, {hit.lexical_score:.4g}")
    if hit.vector_rank is not None and hit.vector_distance is not None:
        scores.append(f"vector: rank {hit.vector_rank}, distance {hit.vector_distance:.4g}")
    click.echo(f"   {'; '.join(scores)}")
    for line in excerpt:
        click.echo("     " + "".join(_piece(piece, mark) for piece, mark in line.pieces).strip())


def _piece(text: str, mark: bool) -> str:
    text = clean_line(text)
    if not mark:
        return text
    if sys.stdout.isatty():
        return click.style(text, bold=True, fg="yellow")
    return f"«{text}»" if (sys.stdout.encoding or "").lower().startswith("utf") else f"[{text}]"
