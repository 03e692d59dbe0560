"""`knowledge index`, `rm`, `reset`: what changes the index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from knowledge_nb.cli.group import NEGATIVE, App, Interrupted, pass_app
from knowledge_nb.cli.options import json_option, not_empty
from knowledge_nb.cli.output import (
    clean_line,
    coverage_record,
    covers,
    notes,
    say,
    size,
    title,
    warn,
    write_json,
)
from knowledge_nb.cli.progress import bytes_bar
from knowledge_nb.records import IndexReport

NAMES_SHOWN = 5
TYPES_SHOWN = 20

wait_option = click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="How long to wait for another writer.",
)


@click.command()
@click.argument("paths", nargs=-1, callback=not_empty)
@click.option(
    "--reindex", is_flag=True, help="Read every file of these folders again, unchanged ones too."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@click.option("--reconcile", is_flag=True, help="Also remove documents whose file is gone.")
@wait_option
@json_option
@click.option("--verbose", is_flag=True, help="Name every file that was not simply unchanged.")
@pass_app
def index(
    app: App,
    paths: tuple[str, ...],
    reindex: bool,
    dry_run: bool,
    reconcile: bool,
    wait: float,
    as_json: bool,
    verbose: bool,
) -> None:
    """Bring the index up to date with folders of Markdown and text.

    Without PATHS: those of the settings, else those of earlier passes.
    """
    with app.core() as core:
        try:
            with bytes_bar("indexing") as progress:
                report = core.index(
                    *paths,
                    reindex=reindex,
                    dry_run=dry_run,
                    reconcile=reconcile,
                    wait=wait,
                    progress=progress,
                )
        except KeyboardInterrupt as error:
            raise Interrupted(
                "interrupted; what was written before is kept, and `knowledge index` goes on "
                "from there"
            ) from error
    if as_json:
        record = {"ok": report.ok, **asdict(report)}
        write_json({**record, "completeness": coverage_record(report.completeness)})
    else:
        render(report, verbose=verbose)
    if not report.ok and not report.dry_run:
        click.get_current_context().exit(NEGATIVE)


def render(report: IndexReport, *, verbose: bool = False) -> None:
    """Write the report of a pass for people."""
    say(report.tier)
    click.echo()
    speed = size(int(report.bytes / report.seconds)) if report.seconds else "0 B"
    say(
        f"{_count(report.seen, 'file')} of accepted types, {size(report.bytes)} read in "
        f"{report.seconds:.1f} s ({speed}/s)."
    )
    would = "would be " if report.dry_run else ""
    say(
        f"{would}added {report.added:,}, replaced {report.replaced:,}, "
        f"unchanged {report.unchanged:,}, removed {report.removed:,}, stale {report.stale:,}; "
        f"{_count(report.chunks, 'chunk')}, {report.chunks_written:,} of them "
        f"{'new' if report.dry_run else 'written'}."
    )
    if report.vectors_written or report.vectors_reused or report.vectors_refused:
        say(
            f"Vectors: {report.vectors_written:,} written, {report.vectors_reused:,} reused, "
            f"{report.vectors_refused:,} refused; {report.inputs_cut:,} inputs cut to the limit."
        )
    if report.skipped:
        title("Skipped")
        for reason, number in report.skipped.items():
            names = [
                event.path
                for event in report.events
                if event.action == "skipped" and event.reason.startswith(reason)
            ]
            say(f"  {number:,} {reason}: {_names(names, verbose)}")
    if report.other_types:
        title("Other types, not read")
        kinds = [f"{n:,} {clean_line(suffix)}" for suffix, n in report.other_types.items()]
        say(f"  {_names(kinds, verbose, TYPES_SHOWN)}")
    for action in ("removed", "stale", "failed"):
        found = [e for e in report.events if e.action == action]
        if found:
            title(action.capitalize())
            for event in found if verbose else found[:NAMES_SHOWN]:
                reason = f" ({event.reason})" if event.reason else ""
                say(f"  {clean_line(event.path)}{clean_line(reason)}")
            if not verbose and len(found) > NAMES_SHOWN:
                say(f"  and {len(found) - NAMES_SHOWN:,} more (--verbose names them)")
    if verbose:
        title("Files")
        for event in report.events:
            reason = f" ({event.reason})" if event.reason else ""
            click.echo(f"  {event.action:<9} {clean_line(event.path)}{clean_line(reason)}")
    if report.notes:
        click.echo()
        notes(report.notes)
    covers(report.completeness)


def _names(names: list[str], verbose: bool, most: int = NAMES_SHOWN) -> str:
    shown = names if verbose else names[:most]
    text = ", ".join(clean_line(name) for name in shown)
    more = len(names) - len(shown)
    return f"{text} and {more:,} more" if more else text


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@contextmanager
def erasing() -> Iterator[None]:
    """Say on stderr why removed text is not erased yet, where that is so."""
    import warnings

    from knowledge_nb.store.erase import ErasePendingWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ErasePendingWarning)
        yield
    for each in caught:
        warn(f"knowledge: {each.message}")


@click.command()
@click.argument("paths", nargs=-1, required=True, callback=not_empty)
@wait_option
@pass_app
def rm(app: App, paths: tuple[str, ...], wait: float) -> None:
    """Take documents, or folders of them, out of the index, and erase their text there.

    No file on disk is touched. Exports and saved sets that hold passages of them stay.

    The next pass over a folder that still holds them takes them in again.
    """
    with app.core() as core, erasing():
        say(core.tier())
        removed = core.remove(*paths, wait=wait)
    say(f"Removed from the index, {_count(len(removed), 'document')}:")
    for path in removed:
        click.echo(f"  {clean_line(path)}")


@click.command()
@click.option("--force", is_flag=True, help="Do it; without this the verb refuses.")
@wait_option
@pass_app
def reset(app: App, force: bool, wait: float) -> None:
    """Empty the store: every table is dropped and made anew. No indexed file is touched."""
    with app.core() as core, erasing():
        deleted = core.reset(force=force, wait=wait)
        say(core.tier())
    say(f"Deleted: {deleted}.")
