"""The MCP server: which tools there are, how a call runs, and the two transports."""

from __future__ import annotations

import io
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO, Final, Literal, TypeVar

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, InputRequiredResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, Field

from knowledge_nb.agents import wording
from knowledge_nb.agents.schemas import EnumerateAnswer, SearchAnswer
from knowledge_nb.agents.tools import MOST_HITS, Tools
from knowledge_nb.core import Core
from knowledge_nb.errors import KnowledgeError
from knowledge_nb.store.connection import stopping

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
THREADS: Final = 8  # answering at once; SQLite and the interpreter's lock gain nothing from more
_ANNOTATIONS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Calls:
    """Runs calls in threads, each with a deadline that counts from its arrival.

    Parameters
    ----------
    seconds : float
        For one call, the wait for a free thread included.
    limiter : anyio.CapacityLimiter
    """

    seconds: float
    limiter: anyio.CapacityLimiter

    async def run(self, work: Callable[[float], tuple[Answer, str]]) -> CallToolResult:
        """Do the work with the seconds that are left; a cancelled call stops what it reads.

        Raises
        ------
        ToolError
            With the message of any `KnowledgeError`; of other errors the client learns nothing.
        """
        deadline = time.monotonic() + self.seconds
        abandoned = threading.Event()

        def in_thread() -> tuple[Answer, str]:
            with stopping(abandoned.is_set):
                return work(max(deadline - time.monotonic(), 0.0))

        try:
            answer, text = await anyio.to_thread.run_sync(
                in_thread, abandon_on_cancel=True, limiter=self.limiter
            )
        except KnowledgeError as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error
        finally:
            abandoned.set()
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=answer.model_dump(mode="json"),
        )


class Server(MCPServer[Any]):
    """The SDK's server, which can also write to a stream that is not stdout.

    It refuses arguments that a tool does not have. The SDK drops them, and a question that was
    meant for one folder was answered for all of them.
    """

    async def list_tools(self) -> list[Tool]:
        """The tools, whose input schemas say that there are no further arguments."""
        return [
            tool.model_copy(
                update={"input_schema": {**tool.input_schema, "additionalProperties": False}}
            )
            for tool in await super().list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool, once every argument is one that it takes.

        Raises
        ------
        ToolError
            Naming the arguments that it does not take, and those that it does.
        """
        for tool in await super().list_tools():
            taken = tool.input_schema["properties"]
            unknown = [argument for argument in arguments if argument not in taken]
            if tool.name == name and unknown:
                raise ToolError(
                    f"{name} has no argument {wording.names(unknown)}; it takes "
                    f"{', '.join(taken)}. Nothing was asked."
                )
        return await super().call_tool(name, arguments, context)

    async def serve(self, wire: BinaryIO) -> None:
        """Serve one client on stdin and this stream."""
        text = io.TextIOWrapper(wire, encoding="utf-8", newline="\n")
        async with stdio_server(stdout=anyio.wrap_file(text)) as (read, write):
            options = self._lowlevel_server.create_initialization_options()
            await self._lowlevel_server.run(read, write, options)


def build(core: Core, *, timeout: float = 30.0) -> Server:
    """Make the server of the tools that the settings expose.

    Parameters
    ----------
    core : Core
        Shared by all calls; its store need not be built yet.
    timeout : float
        Seconds for one call.

    Returns
    -------
    Server
        Nothing of it runs yet, and no logging handler is left behind.
    """
    exposed = core.settings.mcp.expose
    tools = Tools(core, exposed)
    calls = Calls(timeout, anyio.CapacityLimiter(THREADS))
    with _logging_untouched():
        server = Server(
            name="knowledge",
            version=_version(),
            instructions=" ".join(
                ["Honest search over a fixed folder of documents.", wording.NOTICE, *lost(exposed)]
            ),
            subscriptions=False,
        )

    async def knowledge_search(
        query: Annotated[str, Field(description="A question or words; there is no syntax.")],
        top_k: Annotated[
            int | None, Field(ge=1, description=f"Passages wanted, at most {MOST_HITS}.")
        ] = None,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        return await calls.run(lambda left: tools.search(query, top_k, timeout=left))

    async def knowledge_enumerate(
        query: Annotated[str, Field(description='Such as: retention "backup tape" -draft')],
        sort: Annotated[
            Literal["matches", "path"], Field(description="Most matching passages first, or path.")
        ] = "matches",
        limit: Annotated[
            int | None, Field(ge=1, description="Documents to list at most; the total is counted.")
        ] = None,
        offset: Annotated[
            int | str,
            Field(description="0, or next_offset of the page before, as it was given there."),
        ] = 0,
    ) -> Annotated[CallToolResult, EnumerateAnswer]:
        return await calls.run(
            lambda left: tools.enumerate(query, sort=sort, limit=limit, offset=offset, timeout=left)
        )

    known: dict[str, tuple[Callable[..., Any], str, str]] = {
        "knowledge_search": (knowledge_search, "Search documents", wording.SEARCH),
        "knowledge_enumerate": (knowledge_enumerate, "List matching documents", wording.ENUMERATE),
    }
    for name in exposed:
        function, title, description = known[name]
        server.add_tool(
            function, name=name, title=title, description=description, annotations=_ANNOTATIONS
        )
    return server


def lost(exposed: Sequence[str]) -> list[str]:
    """What a caller misses where only one of the pair is exposed."""
    return [f"{wording.LOST[exposed[0]]}."] if len(exposed) == 1 else []


def serve_stdio(server: Server, wire: BinaryIO) -> None:
    """Serve one client on stdin and on `wire` until stdin ends."""
    anyio.run(server.serve, wire)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises
    ------
    OSError
        The address cannot be used; `filename` names it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        message = getattr(error, "strerror", None) or str(error)
        number = getattr(error, "errno", None) or 0
        raise OSError(number, message, f"{bracketed(host)}:{port}") from error


def bracketed(host: str) -> str:
    """A host as an address has it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def serve_http(server: Server, listening: socket.socket, hosts: Sequence[str]) -> None:
    """Serve streamable HTTP at /mcp until interrupted.

    Parameters
    ----------
    server : Server
    listening : socket
        Closed at the end.
    hosts : sequence of str
        Names by which clients may call it, loopback aside: any other Host or Origin is refused, so
        that a web page cannot reach it through a name of its own (DNS rebinding).
    """
    import uvicorn

    names = dict.fromkeys(bracketed(host) for host in (*LOOPBACK, *hosts))
    port = listening.getsockname()[1]
    security = TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in names] + (list(names) if port == 80 else []),
        allowed_origins=[f"{scheme}://{name}:*" for name in names for scheme in ("http", "https")],
    )
    app = server.streamable_http_app(transport_security=security)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=2
    )
    with listening:
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """The SDK's constructor installs a handler on the root logger; a library must not."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _version() -> str:
    from importlib.metadata import version

    return version("knowledge-nb")
