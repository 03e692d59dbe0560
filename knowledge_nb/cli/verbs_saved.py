"""`knowledge saved` and `knowledge verify-export`: earlier answers against now."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

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
    write_json,
)
from knowledge_nb.cli.verbs_match import one_query
from knowledge_nb.refusals import require_answer

if TYPE_CHECKING:
    from knowledge_nb.core import Core
    from knowledge_nb.export.saved import SavedDiff
    from knowledge_nb.export.verify import Verification


@click.command()
@click.argument("name", required=False)
@click.option("--save", "query", metavar="QUERY", help="Save what QUERY matches now as NAME.")
@click.option("--overwrite", is_flag=True, help="With --save: replace a set of that name.")
@click.option("--delete", is_flag=True, help="Remove the set.")
@under_option
@all_option
@click.option(
    "--exit-code", is_flag=True, help=f"Exit status {NEGATIVE} if documents came or went."
)
@json_option
@pass_app
def saved(
    app: App,
    name: str | None,
    query: str | None,
    overwrite: bool,
    delete: bool,
    under: str,
    everything: bool,
    exit_code: bool,
    as_json: bool,
) -> None:
    """List saved sets of documents, or compare one with now.

    A set keeps its question. Asked again, it shows which documents were added, removed or
    kept, and what became of each: new, changed or gone.

    \b
      knowledge saved --save 'retention -draft' retention
      knowledge saved retention
    """
    from knowledge_nb.export.saved import delete_saved, saved_diff, saved_sets

    refuse_together(save=query, delete=delete, json=as_json)
    if name is None and (query is not None or delete or exit_code):
        raise click.UsageError("name the set: knowledge saved [OPTIONS] NAME")
    if query is None and (overwrite or under):
        raise click.UsageError("--overwrite and --under need --save QUERY.")
    with app.core() as core:
        if name is None:
            _list(saved_sets(core), as_json=as_json)
        elif query is not None:
            _save(core, name, query, under, overwrite=overwrite)
        elif delete:
            delete_saved(core, name)
            say(f"Deleted the saved set {clean_line(name)}.")
        else:
            diff = saved_diff(core, name)
            if as_json:
                write_json(_diff_record(diff))
            else:
                _render(diff, everything=everything)
            if exit_code and not diff.same:
                click.get_current_context().exit(NEGATIVE)


def _list(sets: Any, *, as_json: bool) -> None:
    if as_json:
        from knowledge_nb.export.saved import saved_table

        listed = saved_table(sets)
        names = list(listed.columns)
        write_json({"results": [dict(zip(names, row, strict=True)) for row in listed.rows]})
        return
    if not sets:
        say("No set is saved. `knowledge saved --save QUERY NAME` saves one.")
        return
    table(
        ("name", "documents", "saved", "query", "under"),
        [
            (held.name, len(held.paths), held.saved, held.query, held.under)
            for held in sets
            if not held.error
        ],
        path=3,
    )
    for held in sets:
        if held.error:
            say(f"Not a saved set: {held.error}")


def _save(core: Core, name: str, query: str, under: str, *, overwrite: bool) -> None:
    from knowledge_nb.export.saved import save
    from knowledge_nb.export.tables import records_table

    result = core.enumerate(one_query((query,)), under=under)
    if not result.matched:
        require_answer(result)
        require_folder(core, result.under)
    held = save(core, name, result, records_table("enumerate", result.matches), overwrite=overwrite)
    noun = "document" if len(held.paths) == 1 else "documents"
    say(f"Saved {clean_line(held.name)}: {len(held.paths):,} {noun}.")
    notes(result.notes)
    covers(result.completeness)


def _diff_record(diff: SavedDiff) -> dict[str, Any]:
    return {
        "name": diff.saved.name,
        "query": diff.saved.query,
        "under": diff.saved.under,
        "saved": diff.saved.saved,
        "same": diff.same,
        "asked_again": diff.asked_again,
        **diff.counts,
        "generation_then": diff.saved.generation,
        "generation_now": diff.completeness.generation,
        "notes": list(diff.notes),
        "results": [
            {"path": path, "change": change, "cause": cause} for path, change, cause in diff.changes
        ],
    }


def _render(diff: SavedDiff, *, everything: bool) -> None:
    say(diff.tier)
    click.echo()
    say(diff.headline())
    if diff.saved.query:
        under = f" (under {diff.saved.under})" if diff.saved.under else ""
        say(clean_line(f"Question: {diff.saved.query}{under}"))
    rows = [row for row in diff.changes if everything or row[1] != "kept" or row[2] != "unchanged"]
    shown = rows if everything else rows[:DEFAULT_ROWS]
    if shown:
        click.echo()
        table(("change", "path", "cause"), [(c, p, why) for p, c, why in shown], path=1)
    if len(shown) < len(rows):
        say(f"Listed {len(shown):,} of {len(rows):,}; --all lists every one.")
    notes(diff.notes)
    covers(diff.completeness)


@click.command("verify-export")
@click.argument("file", metavar="FILE")
@json_option
@all_option
@pass_app
def verify_export(app: App, file: str, as_json: bool, everything: bool) -> None:
    """Ask the question of an exported file again, and compare row by row.

    Says "same", or which rows differ and why: the document is new, changed or gone. Also
    whether the file itself is as it was written. Exit status 1 where anything differs.
    """
    from knowledge_nb.export.verify import verify_export

    refuse_together(json=as_json, all=everything)
    with app.core() as core:
        found = verify_export(core, file)
    if as_json:
        write_json({**asdict(found), "completeness": coverage_record(found.completeness)})
    else:
        _render_verification(found, everything=everything)
    if not found.same:
        click.get_current_context().exit(NEGATIVE)


def _render_verification(found: Verification, *, everything: bool) -> None:
    say(found.headline())
    say(f"File: {'as it was written' if found.untouched else 'NOT as it was written'}.")
    say(f"Question: {clean_line(found.question)}")
    notes(found.notes)
    shown = found.differences if everything else found.differences[:DEFAULT_ROWS]
    if shown:
        click.echo()
        table(("change", "row", "cause"), [(d.change, d.row, d.cause) for d in shown], path=1)
    if len(shown) < len(found.differences):
        say(f"Listed {len(shown):,} of {len(found.differences):,}; --all lists every one.")
    then = "?" if found.generation_then is None else f"{found.generation_then:,}"
    say(f"Index: generation {then} then, {found.generation_now:,} now.")
    covers(found.completeness)
