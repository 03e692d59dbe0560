"""`knowledge completion`: the script that completes verbs and options in a shell."""

from __future__ import annotations

import click

from knowledge_nb.cli.output import write_bytes

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Write the completion script of a shell to stdout."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # click has all of SHELLS
    root = ctx.find_root()
    write_bytes(found(root.command, {}, "knowledge", "_KNOWLEDGE_COMPLETE").source())
