"""The README's examples for agents and operators, each used as it stands there.

Only its folder, `/srv/archive`, is another one here: a copy of the folder `data`.
"""

from __future__ import annotations

import asyncio
import configparser
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from knowledge_nb.core import Core
from tests.processes import GENEROUS, wait_for
from tests.test_docs import ROOT, blocks


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The README's folder, with `knowledge` on the path of `environment`."""
    folder = tmp_path / "archive"
    shutil.copytree(ROOT / "data", folder)
    for script in (tmp_path / "bin" / "knowledge", folder / ".venv" / "bin" / "knowledge"):
        script.parent.mkdir(parents=True)
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m knowledge_nb "$@"\n')
        script.chmod(0o755)
    return folder


def environment(archive: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{archive.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def here(text: str, archive: Path) -> str:
    assert "/srv/archive" in text
    return text.replace("/srv/archive", str(archive))


def test_the_client_configuration_starts_a_server(archive: Path) -> None:
    """The command and arguments, with the settings of the README beside the store."""
    (block,) = blocks("json")
    server = json.loads(here(block, archive))["mcpServers"]["knowledge"]
    (settings,) = (text for text in blocks("toml") if "[knowledge.mcp]" in text)
    (archive / "knowledge.toml").write_text(settings)
    core = Core(archive / "knowledge")
    core.index(archive / "handbook")
    core.close()

    async def main() -> None:
        parameters = StdioServerParameters(
            command=server["command"],
            args=server["args"],
            env=environment(archive),
            cwd=archive.parent,
        )
        async with Client(parameters) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["knowledge_search", "knowledge_enumerate"]
            found = await client.call_tool("knowledge_enumerate", {"query": "retention backup"})
            assert found.structured_content is not None
            assert found.structured_content["matched"] == 2

    asyncio.run(main())


def test_the_line_for_cron_runs(archive: Path) -> None:
    """With the shell, and the poor environment, that cron gives it; silent when all is well."""
    (line,) = blocks("crontab")
    command = here(line, archive).split(maxsplit=5)[5]
    assert "%" not in command  # cron would cut it there
    for _ in range(2):
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            env={"PATH": environment(archive)["PATH"], "HOME": str(archive)},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    report = json.loads((archive / "last-pass.json").read_text())
    assert report["ok"] is True
    assert report["unchanged"] == 72


def test_the_service_keeps_the_index_fresh_and_stops_when_told(archive: Path) -> None:
    """What systemd starts, and ends with SIGTERM."""
    (block,) = blocks("ini")
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read_string(here(block, archive))
    assert unit["Service"]["Restart"] == "on-failure"
    child = subprocess.Popen(
        unit["Service"]["ExecStart"].split(),
        cwd=unit["Service"]["WorkingDirectory"],
        env={"PATH": os.environ["PATH"], "HOME": "/"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    core = Core(archive / "knowledge")
    try:
        wait_for(lambda: core.completeness().documents == 72, "the first pass")
        (archive / "handbook" / "new.md").write_text("# Quokka\n\nA quokka in the vault.\n")
        wait_for(lambda: core.enumerate("quokka").matched == 1, "the new document")
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=GENEROUS)
    finally:
        child.kill()
        core.close()
    assert child.returncode == 0, err.decode()
    assert b"new.md" in out


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_the_unit_is_one_that_systemd_takes(archive: Path) -> None:
    """Its own verifier has nothing to say."""
    (block,) = blocks("ini")
    file = archive / "knowledge-watch.service"
    file.write_text(here(block, archive).replace("User=archive", "User=root"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if file.name in line]
    assert ours == []


def test_the_tracing_program_prints_the_span_that_it_names(archive: Path) -> None:
    """A program of its own, since a process has one tracer provider."""
    (block,) = blocks("python3")
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, check=False, cwd=archive
    )
    assert done.returncode == 0, done.stderr
    span, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert span["name"] == "knowledge.enumerate"
    assert span["attributes"]["knowledge.matched"] == 2
    assert span["attributes"]["knowledge.status"] == "ok"
    assert "retention" not in done.stdout
