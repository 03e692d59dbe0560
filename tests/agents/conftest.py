"""Agents as they are: the SDK's own client, against a child process or in this one."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from knowledge_nb.core import Core

BOTH = ("knowledge_search", "knowledge_enumerate")
Result = TypeVar("Result")


def talk(main: Callable[[], Awaitable[Result]]) -> Result:
    """Run a conversation to its end, at most a generous while."""

    async def bounded() -> Result:
        return await asyncio.wait_for(main(), 120)

    return asyncio.run(bounded())


def write_settings(folder: Path, expose: Sequence[str] = BOTH, more: str = "") -> Path:
    """A knowledge.toml that exposes these tools."""
    file = folder / "knowledge.toml"
    names = ", ".join(f'"{name}"' for name in expose)
    file.write_text(f"[knowledge]\n{more}\n[knowledge.mcp]\nexpose = [{names}]\n")
    return file


def environment(**extra: str) -> dict[str, str]:
    """With every warning shown, on stderr where it belongs."""
    return {**os.environ, "PYTHONWARNINGS": "always", **extra}


def server_on(folder: Path, *options: str) -> StdioServerParameters:
    """`knowledge mcp` on stdio, in a folder with its settings and its store `knowledge`."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "knowledge_nb", *options, "mcp"],
        env=environment(),
        cwd=folder,
    )


@contextmanager
def http_server(folder: Path, *options: str) -> Iterator[tuple[str, list[str]]]:
    """`knowledge mcp --http` on a free port: its address, and what it said on stderr."""
    child = subprocess.Popen(
        [sys.executable, "-m", "knowledge_nb", "mcp", "--http", "--port", "0", *options],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    said: list[str] = []
    try:
        while True:
            line = child.stderr.readline()
            assert line, f"it ended: {''.join(said)}"
            said.append(line)
            found = re.search(r" at (http://\S+/mcp);", line)
            if found:
                break
        yield found[1], said
    finally:
        child.terminate()
        out, err = child.communicate(timeout=60)
        said.append(err)
    assert out == ""


async def structured(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and give its record; an error is one of the test."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return result.structured_content


def text_of(result: CallToolResult) -> str:
    """The text form of an answer, or the text of an error."""
    (content,) = result.content
    assert content.type == "text"
    return content.text


@pytest.fixture(scope="session")
def handbook_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with settings that expose both tools, and a store of the handbook."""
    folder = tmp_path_factory.mktemp("agents")
    source = Path(__file__).resolve().parents[2] / "data" / "handbook"
    (folder / "handbook").symlink_to(source)
    write_settings(folder)
    core = Core(folder / "knowledge")
    core.index(source)
    core.close()
    return folder


@pytest.fixture
def core_of(tmp_path: Path) -> Iterator[Callable[..., Core]]:
    """Index files into a store of their own whose settings expose both tools."""
    opened: list[Core] = []

    def build(
        files: dict[str, str], *, expose: Sequence[str] = BOTH, more: str = "", **how: Any
    ) -> Core:
        write_settings(tmp_path, expose, more)
        core = Core(tmp_path / "knowledge", **how)
        opened.append(core)
        corpus = tmp_path / "corpus"
        for name, text in files.items():
            path = corpus / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if files:
            core.index(corpus)
        return core

    yield build
    for core in opened:
        core.close()
