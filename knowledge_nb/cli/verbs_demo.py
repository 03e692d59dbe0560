"""`knowledge demo`: the handbook that comes with the package, indexed and asked."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from knowledge_nb.cli import verbs_index, verbs_match, verbs_search, verbs_words
from knowledge_nb.cli.output import say
from knowledge_nb.errors import NotFoundError

SEARCH = "the temperature in the vault is climbing"
MATCHES = ("retention backup", "ransomware")
PREFIX = "calib"


def handbook() -> Path:
    """The folder of the sample corpus, in the installed package or in a checkout.

    Raises
    ------
    NotFoundError
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_data" / "handbook", package.parent / "data" / "handbook"):
        if folder.is_dir():
            return folder
    raise NotFoundError(f"the sample corpus is missing beside {package}; reinstall knowledge-nb")


@click.command()
@click.option("--keep", is_flag=True, help="Keep the store, and say where it is.")
def demo(keep: bool) -> None:
    """Index a sample corpus into a temporary store and ask it four questions."""
    folder = handbook()
    if keep:
        _run(folder, Path(tempfile.mkdtemp(prefix="knowledge-demo-")) / "knowledge", keep=True)
        return
    with tempfile.TemporaryDirectory(prefix="knowledge-demo-") as temporary:
        _run(folder, Path(temporary) / "knowledge", keep=False)


def _run(folder: Path, store: Path, *, keep: bool) -> None:
    from knowledge_nb.core import Core

    core = Core(store)
    try:
        _command(f"knowledge index {folder}")
        verbs_index.render(core.index(folder))
        _command(f"knowledge search '{SEARCH}' -k 2")
        verbs_search.render(core.search(SEARCH, k=2))
        for query in MATCHES:
            _command(f"knowledge match '{query}'")
            verbs_match.render(core.enumerate(query))
        _command(f"knowledge words --prefix {PREFIX}")
        verbs_words.render(core.vocabulary(prefix=PREFIX))
    finally:
        core.close()
    click.echo()
    if keep:
        say(f"The store of this demo is kept in {store}. Ask it further:")
        say(f"  knowledge --store {store} match 'frost -ice'")
        say(f"  knowledge --store {store} show policies/retention.md#0")
    else:
        say("The store of this demo is gone again. With documents of your own:")
        say("  knowledge index FOLDER")
        say("  knowledge match 'some words' --csv matches.csv")
        say("  knowledge --help")


def _command(line: str) -> None:
    click.echo()
    click.echo(click.style(f"$ {line}", bold=True))
