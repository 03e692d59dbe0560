"""`knowledge doctor`, `rebuild`, `backup`, `watch`: keeping a store sound and fresh."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from knowledge_nb.cli.group import NEGATIVE, App, Interrupted, pass_app
from knowledge_nb.cli.options import json_option
from knowledge_nb.cli.output import clean_line, say, size, title, warn, write_json
from knowledge_nb.cli.verbs_index import wait_option
from knowledge_nb.records import Check, IndexReport, counted

if TYPE_CHECKING:
    from knowledge_nb.indexing.watch import Watcher

_MARKS = {"pass": "pass", "fail": "FAIL", "not run": "not run"}


@click.command()
@click.option("--integrity", is_flag=True, help="Also compare index, rows and stored text; this "
              "needs the write lock.")  # fmt: skip
@wait_option
@json_option
@pass_app
def doctor(app: App, integrity: bool, wait: float, as_json: bool) -> None:
    """Examine store, files and embeddings; nothing is changed.

    Every check passes, fails or is not run, and what was not run is not vouched for. The exit
    status is 1 when a check fails.
    """
    with app.core() as core:
        report = core.doctor(integrity=integrity, wait=wait)
    if as_json:
        write_json(
            {
                "ok": report.ok,
                "tier": report.tier,
                "summary": report.headline(),
                "checks": [asdict(each) for each in report.checks],
            }
        )
    else:
        say(report.tier)
        click.echo()
        _render(report.checks)
        click.echo()
        say(f"{report.headline()}.")
    if not report.ok:
        click.get_current_context().exit(NEGATIVE)


def _render(checks: Sequence[Check]) -> None:
    width = max(len(each.check) for each in checks)
    for each in checks:
        say(f"{_MARKS[each.state]:<7}  {each.check:<{width}}  {clean_line(each.message)}")
        if each.fix:
            say(f"{'':<7}  {'':<{width}}  -> {clean_line(each.fix)}")


@click.command()
@wait_option
@json_option
@pass_app
def rebuild(app: App, wait: float, as_json: bool) -> None:
    """Make both text indexes anew from the stored chunks; nothing is read or embedded again.

    Refused where the chunks themselves are damaged: an index made from them would only look sound.
    """
    with app.core() as core:
        checks = core.rebuild(wait=wait)
        tier = core.tier()
    if as_json:
        ok = not any(each.state == "fail" for each in checks)
        write_json({"ok": ok, "tier": tier, "checks": [asdict(each) for each in checks]})
        return
    say(tier)
    title("Rebuilt")
    _render(checks)


@click.command()
@click.argument("file", type=click.Path())
@click.option("--overwrite", is_flag=True, help="Replace the file where it exists.")
@pass_app
def backup(app: App, file: str, overwrite: bool) -> None:
    """Write one committed state of the store to FILE, private, and check it as `doctor` would.

    A copy whose index does not match its text is kept, told, and the exit status is 1.

    Copying knowledge.db is no backup: a copy misses what is still in the write-ahead log.
    """
    with app.core() as core:
        say(core.tier())
        report = core.backup(file, overwrite=overwrite)
    say(
        f"{clean_line(report.path)}: {counted(report.documents, 'document')} in "
        f"{counted(report.chunks, 'chunk')}, {size(report.bytes)}; "
        f"{'checked, and NOT SOUND' if report.failed else 'checked'}."
    )
    if report.failed:
        warn(f"knowledge: {clean_line(report.faults())}")
        click.get_current_context().exit(NEGATIVE)


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--debounce", type=click.FloatRange(min=0.1), default=2.0, show_default=True,
              metavar="SECONDS", help="How long the folders must rest before a pass.")  # fmt: skip
@click.option("--full-every", type=click.FloatRange(min=1), default=300.0, show_default=True,
              metavar="SECONDS", help="Time between passes that need no event.")  # fmt: skip
@click.option("--poll", is_flag=True, default=None, help="Look at every file in turn in place of "
              "events. [default: on network file systems]")  # fmt: skip
@click.option("--reconcile", is_flag=True, help="Also remove documents whose file was gone before.")
@pass_app
def watch(
    app: App,
    paths: tuple[str, ...],
    debounce: float,
    full_every: float,
    poll: bool | None,
    reconcile: bool,
) -> None:
    """Keep the index fresh while files change, until Ctrl-C.

    Without PATHS: those of the settings, else those of earlier passes.
    """
    ended = threading.Event()
    with app.core() as core:
        watcher = core.watch(
            *paths,
            debounce=debounce,
            full_every=full_every,
            poll=poll,
            reconcile=reconcile,
            on_pass=_say_pass,
        )
        # A service is stopped by SIGTERM, and the pass that runs is completed.
        previous = signal.signal(signal.SIGTERM, lambda *_: ended.set())
        try:
            with watcher:
                say(f"Watching {', '.join(watcher.status.roots)}, by {watcher.status.mode}.")
                _follow(watcher, ended)
        except KeyboardInterrupt as error:
            raise Interrupted("stopped watching; the last pass was completed") from error
        finally:
            signal.signal(signal.SIGTERM, previous)
    if watcher.status.state == "failed":
        raise click.ClickException(watcher.status.problem)


def _follow(watcher: Watcher, ended: threading.Event) -> None:
    """Say warnings and problems, each once as it comes, until the end."""
    said: set[str] = set()
    problem = ""
    while not ended.wait(0.2) and watcher.status.state != "failed":
        now = watcher.status
        for text in now.warnings:
            if text not in said:
                said.add(text)
                warn(f"knowledge: {text}")
        if now.problem and now.problem != problem:
            warn(f"knowledge: {now.problem} Trying again.")
        problem = now.problem


def _say_pass(report: IndexReport) -> None:
    """One line for a pass that changed something, or whose count of stale documents matters."""
    changed = report.added + report.replaced + report.removed
    if not changed and not report.stale:
        return
    say(
        f"{report.completeness.last_completed}  added {report.added:,}, replaced "
        f"{report.replaced:,}, removed {report.removed:,}, stale {report.stale:,}"
    )
    for event in report.events:
        if event.action in ("added", "replaced", "removed", "stale"):
            click.echo(f"  {event.action:<9} {clean_line(event.path)}")
