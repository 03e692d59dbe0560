"""`knowledge mcp`: two read-only tools for agents."""

from __future__ import annotations

import click

from knowledge_nb.cli.group import INTERRUPTED, App, pass_app
from knowledge_nb.cli.output import warn
from knowledge_nb.errors import ConfigurationError, MissingDependencyError
from knowledge_nb.settings import EXPOSABLE

LOOPBACK = "127.0.0.1"
PORT = 8848
WILDCARDS = ("0.0.0.0", "::")


@click.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp in place of stdio.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help=f"With --http; 0 takes a free one. [default: {PORT}]",
)
@click.option("--host", metavar="ADDRESS", help=f"With --http. [default: {LOOPBACK}]")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="With --host: a name by which clients call this machine; may be repeated.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    metavar="SECONDS",
    help="For one call. [default: 30]",
)
@pass_app
def mcp(
    app: App,
    http: bool,
    port: int | None,
    host: str | None,
    allow_host: tuple[str, ...],
    timeout: float,
) -> None:
    """Serve knowledge_search and knowledge_enumerate to agents, over MCP.

    Nothing is served unless knowledge.toml names it:

    \b
      [knowledge.mcp]
      expose = ["knowledge_search", "knowledge_enumerate"]

    Over stdio an MCP client starts this command itself. The store is only read; an
    index that is built, or brought up to date, while the server runs is served.
    """
    if not http and (port is not None or host is not None or allow_host):
        raise click.UsageError("--port, --host and --allow-host need --http.")
    if http:
        _serve(app, timeout, address=(host or LOOPBACK, PORT if port is None else port, allow_host))
    else:
        _serve(app, timeout)


def _serve(
    app: App, timeout: float, *, address: tuple[str, int, tuple[str, ...]] | None = None
) -> None:
    from knowledge_nb.cli.wire import end_at_once, take_stdout

    # Before anything is imported that might print.
    wire = take_stdout() if address is None else None
    with app.core() as core:
        exposed = core.settings.mcp.expose
        if not exposed:
            raise ConfigurationError(
                "no tool is exposed, so nothing is served. Name them in knowledge.toml, under "
                f"[knowledge.mcp]: expose = [{', '.join(repr(name) for name in EXPOSABLE)}]"
            )
        try:
            from knowledge_nb.agents import server
        except ImportError as error:
            raise MissingDependencyError(
                f"`knowledge mcp` needs {error.name}, which is not installed: "
                "pip install 'knowledge-nb[mcp]'"
            ) from error
        for sentence in server.lost(exposed):
            warn(f"knowledge: {sentence}")
        serving = server.build(core, timeout=timeout)
        if wire is not None:
            warn(f"knowledge: {', '.join(exposed)} on stdio; store {core.files.directory}")
            end_at_once(INTERRUPTED)
            server.serve_stdio(serving, wire)
        elif address is not None:
            host, port, names = address
            listening = server.listen(host, port)
            if host not in server.LOOPBACK:
                warn(
                    "knowledge: WARNING: everyone who reaches this address can read the text of "
                    f"all indexed documents through {' and '.join(exposed)}; there is no log-in."
                )
            where = f"http://{server.bracketed(host)}:{listening.getsockname()[1]}/mcp"
            warn(f"knowledge: {', '.join(exposed)} at {where}; store {core.files.directory}")
            server.serve_http(serving, listening, [*_names(host), *names])


def _names(host: str) -> list[str]:
    if host not in WILDCARDS:
        return [host]
    import socket

    return [socket.gethostname()]
