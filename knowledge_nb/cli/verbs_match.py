"""`knowledge match`: the complete set of documents that hold some words."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import click

from knowledge_nb.cli.export_options import ExportTo, export_options, write_export
from knowledge_nb.cli.group import NEGATIVE, App, pass_app
from knowledge_nb.cli.options import (
    all_option,
    json_option,
    limit_option,
    refuse_together,
    refuse_undecoded,
    rows_wanted,
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
    warn_unfinished,
    write_bytes,
    write_json,
)
from knowledge_nb.errors import QueryError
from knowledge_nb.records import DocumentMatch, EnumerateResult, Status, TermReport
from knowledge_nb.refusals import require_answer

RELATED_SHOWN = 8


class QueryCommand(click.Command):
    """A command whose arguments may begin with a minus: `knowledge match lantern -brass`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        takes_value = {
            name: not (isinstance(parameter, click.Option) and parameter.is_flag)
            for parameter in self.get_params(ctx)
            for name in parameter.opts
        }
        options: list[str] = []
        words: list[str] = []
        rest = iter(args)
        for arg in rest:
            if arg == "--":
                words += rest
            elif arg in takes_value or arg.startswith("--"):
                options.append(arg)
                if takes_value.get(arg) and arg not in ("--help", "-h"):
                    options += [value for value in [next(rest, None)] if value is not None]
            else:
                words.append(arg)
        return super().parse_args(ctx, [*options, "--", *words])


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, required=True)
@click.option("--sort", type=click.Choice(["matches", "path"]), default="matches")
@limit_option
@all_option
@click.option(
    "--min-matches",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Leave out documents with fewer matching chunk bodies.",
)
@under_option
@click.option("--count", is_flag=True, help="Only the number of documents.")
@click.option("--paths-only", is_flag=True, help="Only their paths, one a line.")
@click.option("-0", "nul", is_flag=True, help="With --paths-only: end each path with NUL.")
@click.option("--explain", is_flag=True, help="Also how the query was read, and every form found.")
@click.option("--exit-code", is_flag=True, help=f"Exit status {NEGATIVE} if no document matches.")
@json_option
@export_options
@pass_app
def match(
    app: App,
    query: tuple[str, ...],
    sort: str,
    limit: int | None,
    everything: bool,
    min_matches: int,
    under: str,
    count: bool,
    paths_only: bool,
    nul: bool,
    explain: bool,
    exit_code: bool,
    as_json: bool,
    to: ExportTo,
) -> None:
    """List every document that holds all the words of QUERY.

    Words and "quoted phrases" may stand anywhere in a document; -word excludes;
    heading:word and body:word restrict one term. Put the whole query between single
    quotes so that the shell leaves it alone:

    \b
      knowledge match retention -draft
      knowledge match '"duty keeper" heading:alarm'
    """
    refuse_together(count=count, paths_only=paths_only, explain=explain, json=as_json, **to.named())
    refuse_together(limit=limit, all=everything)
    refuse_together(**to.named(), limit=limit)
    refuse_together(count=count, limit=limit)
    if nul and not paths_only:
        raise click.UsageError("-0 ends paths with NUL; it needs --paths-only.")
    for_programs = bool(as_json or to or paths_only or count)
    with app.core() as core:
        result = core.enumerate(
            one_query(query),
            sort=sort,
            limit=None if count else rows_wanted(limit, everything, for_programs),
            min_body_matches=min_matches,
            under=under,
        )
        if not result.matched and result.status is Status.OK:
            require_folder(core, result.under)
    if not for_programs:
        render(result, explain=explain)
    elif as_json:
        require_answer(result)
        write_json(_record(result))
        warn_unfinished(result.completeness)
    else:
        require_answer(result)
        if count:
            write_bytes(f"{result.matched}\n")
        elif not to:
            _write_paths(result, "\0" if nul else "\n")
        else:
            from knowledge_nb.export.tables import records_table

            write_export(core, to, result, records_table("enumerate", result.matches), "documents")
        _say_what_matters(result)
    if exit_code and not result.matched:
        click.get_current_context().exit(NEGATIVE)


def one_query(arguments: tuple[str, ...]) -> str:
    """The query that the arguments make.

    Raises
    ------
    QueryError
        One of several arguments holds white space: the shell took quotes that were meant for us,
        and without them the query would be another one. Or one holds bytes that are no text.
    """
    refuse_undecoded(*arguments)
    if len(arguments) > 1:
        for argument in arguments:
            if argument.split() != [argument]:
                raise QueryError(
                    f"the shell took the quotes around {argument!r}. Put the whole query between "
                    """single quotes, and phrases in it between double ones: 'lamp "brass ring"'."""
                )
    return " ".join(arguments)


def _say_what_matters(result: EnumerateResult) -> None:
    """On stderr, what a bare list or number cannot hold and a reader must not miss."""
    if result.dropped_terms or result.truncated or result.parted or not result.matched:
        for note in result.notes:
            warn(f"knowledge: {clean_line(note)}")
    warn(f"knowledge: {clean_line(result.completeness.statement())}")


def _write_paths(result: EnumerateResult, end: str) -> None:
    paths = [row.path for row in result.matches]
    if end == "\n" and any("\n" in path for path in paths):
        raise QueryError("a matching path holds a line break; ask again with -0 (or --json)")
    if sys.stdout.isatty():
        for path in paths:
            click.echo(clean_line(path))
    else:
        write_bytes("".join(path + end for path in paths))


def _record(result: EnumerateResult) -> dict[str, Any]:
    return {
        "status": str(result.status),
        "query": result.query,
        "compiled": result.compiled,
        "under": result.under,
        "sort": result.sort,
        "matched": result.matched,
        "truncated": result.truncated,
        "parted": [asdict(each) for each in result.parted],
        "tier": result.tier,
        "terms": [{**asdict(term), "related": dict(term.related)} for term in result.terms],
        "dropped_terms": [list(pair) for pair in result.dropped_terms],
        "notes": list(result.notes),
        "completeness": coverage_record(result.completeness),
        "results": [asdict(row) for row in result.matches],
    }


def render(result: EnumerateResult, *, explain: bool = False) -> None:
    """Write a match set for people."""
    say(result.tier)
    require_answer(result)
    click.echo()
    where = f" under {clean_line(result.under)}" if result.under else ""
    if result.matched:
        noun = "document matches" if result.matched == 1 else "documents match"
        say(f"{result.matched:,} {noun}{where}: {clean_line(result.query)}")
        table(
            ("path", "body", "heading", "chunks", "first"),
            [
                (row.path, row.body_matches, row.heading_matches, row.chunks, _first(row))
                for row in result.matches
            ],
        )
        if result.truncated:
            say(f"Listed {len(result.matches):,} of {result.matched:,}; --all lists every one.")
    else:
        say(f"No indexed document matches{where}: {clean_line(result.query)}")
    if explain:
        title("Query")
        say(f"  {result.compiled}")
    if result.terms:
        title("Terms")
        for term in result.terms:
            say(_term(term, explain=explain))
    if result.notes:
        click.echo()
        notes(result.notes)
    covers(result.completeness)


def _first(row: DocumentMatch) -> str:
    return f"#{row.citation.rpartition('#')[2]}"  # with the path before it, a citation


def _term(term: TermReport, *, explain: bool) -> str:
    name = clean_line(term.term)
    if term.scope:
        name = f"{term.scope}:{name}"
    if term.excluded:
        name = f"excluded: {name}"
    noun = "document" if term.documents == 1 else "documents"
    line = (
        f"  {name}: in any form {term.documents:,} {noun}, as written {term.documents_as_written:,}"
    )
    shown = term.related if explain else term.related[:RELATED_SHOWN]
    if shown:
        forms = ", ".join(f"{clean_line(form)} {number:,}" for form, number in shown)
        line += f"; other forms: {forms}"
        if len(shown) < len(term.related):
            line += f" and {len(term.related) - len(shown):,} more (--explain names them)"
    if explain:
        line += f" [stem: {clean_line(term.stem)}]"
    return line
