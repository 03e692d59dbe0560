"""`knowledge mcp` in a process of its own: stdio and HTTP, with the SDK's client and without."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client, MCPError

from knowledge_nb.core import Core
from knowledge_nb.embedding.openai import OpenAIEmbedder
from tests.agents.conftest import (
    BOTH,
    environment,
    http_server,
    server_on,
    structured,
    talk,
    text_of,
    write_settings,
)
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding
from tests.processes import GENEROUS

TRANSPORTS = ("stdio", "http")
QUERIES = ("retention", "backup", '"two-person rule" -loan', "frost", "ransomware", "temperature")


class Served:
    """The same server over either transport."""

    def __init__(self, transport: str, folder: Path, stack: ExitStack, *options: str) -> None:
        if transport == "http":
            self._target: Any = stack.enter_context(http_server(folder, *options))[0]
        else:
            self._target = server_on(folder)
            self._target.args += options

    def client(self, mode: str = "auto") -> Client:
        return Client(self._target, mode=mode)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


# -- only protocol bytes -------------------------------------------------------------------------


def converse(command: list[str], folder: Path, *calls: tuple[str, dict[str, Any]]) -> bytes:
    """Speak the protocol line by line, end stdin after the last answer, give all of stdout."""
    child = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(PYTHONFAULTHANDLER="1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "0"},
    }
    read = b""

    def send(message: dict[str, Any]) -> None:
        assert child.stdin is not None
        child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        child.stdin.flush()

    send({"id": 0, "method": "initialize", "params": hello})
    read += child.stdout.readline()
    send({"method": "notifications/initialized"})
    for number, (name, arguments) in enumerate(calls, 1):
        params = {"name": name, "arguments": arguments}
        send({"id": number, "method": "tools/call", "params": params})
        read += child.stdout.readline()
    out, err = child.communicate(timeout=GENEROUS)
    assert child.returncode == 0, err.decode()
    assert b"NOISE" in err or "NOISE" not in " ".join(command)
    return read + out


def messages(raw: bytes) -> list[dict[str, Any]]:
    """The lines of stdout, each of which must be one JSON-RPC message."""
    found = [json.loads(line) for line in raw.decode().splitlines()]
    assert all(message["jsonrpc"] == "2.0" for message in found)
    assert raw.endswith(b"\n")
    return found


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("knowledge_search", {"query": "how long are temperature readings kept", "top_k": 20}),
    ("knowledge_enumerate", {"query": "retention backup"}),
    ("knowledge_enumerate", {"query": "a OR b"}),
    ("knowledge_search", {"query": "\x00 x"}),
)


@pytest.mark.parametrize("level", [[], ["--log-level", "debug"]], ids=["quiet", "debug"])
def test_stdout_holds_protocol_lines_only(handbook_folder: Path, level: list[str]) -> None:
    """J06: with warnings and every log on, each line of stdout is a message, and no more."""
    command = [sys.executable, "-X", "dev", "-m", "knowledge_nb", *level, "mcp"]
    found = messages(converse(command, handbook_folder, *CALLS))
    assert [message["id"] for message in found] == [0, 1, 2, 3, 4]


NOISE = """
    # Prints from where third parties print: while they are imported, from threads, through logging
    # and warnings, past Python, and at exit.
    import atexit, logging, os, sys, threading, time, warnings

    def noise():
        while True:
            print("NOISE from a thread", flush=False)
            os.write(1, b"NOISE past Python\\n")
            time.sleep(0.002)

    class Noisy:
        begun = False
        def find_spec(self, name, path=None, target=None):
            if name.startswith("knowledge_nb.agents") and not self.begun:
                self.begun = True
                print("NOISE at import")
                warnings.warn("NOISE as a warning", stacklevel=1)
                logging.basicConfig(stream=sys.stdout, level="DEBUG", format="NOISE %(message)s")
                atexit.register(print, "NOISE at exit")
                threading.Thread(target=noise, daemon=True).start()
            return None

    sys.meta_path.insert(0, Noisy())
    sys.argv = ["knowledge", "mcp"]
    from knowledge_nb.cli import main
    main()
"""


def test_what_libraries_print_never_reaches_the_wire(handbook_folder: Path) -> None:
    """At start-up, during the calls and at exit: it goes to stderr."""
    command = [sys.executable, "-c", textwrap.dedent(NOISE)]
    raw = converse(command, handbook_folder, *CALLS)
    assert len(messages(raw)) == 5
    assert b"NOISE" not in raw


def test_a_line_that_is_no_message_does_not_end_the_server(handbook_folder: Path) -> None:
    """T11: JSON with half a surrogate pair, broken JSON, bytes that are not UTF-8."""
    child = subprocess.Popen(
        [sys.executable, "-m", "knowledge_nb", "mcp"],
        cwd=handbook_folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    bad = b"""{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"knowledge_search",\
"arguments":{"query":"\\ud83d"}}}\n{"jsonrpc":\n\xff\xfe\n"""
    hello = (
        b'{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}\n'
    )
    out, err = child.communicate(bad + hello, timeout=GENEROUS)
    assert child.returncode == 0, err.decode()
    assert 9 in [message.get("id") for message in messages(out)]


# -- both transports -----------------------------------------------------------------------------


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_lists_and_calls(
    handbook_folder: Path, stack: ExitStack, transport: str, mode: str
) -> None:
    """Both generations of the protocol, over both transports."""
    served = Served(transport, handbook_folder, stack)

    async def main() -> None:
        async with served.client(mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == list(BOTH)
            found = await structured(client, "knowledge_enumerate", query="retention backup")
            assert found["matched"] == 2
            ranked = await structured(client, "knowledge_search", query="a sensor drifts")
            assert ranked["results"][0]["citation"].partition("#")[1] == "#"
            refused = await client.call_tool("knowledge_enumerate", {"query": "frost OR ice"})
            assert refused.is_error
            assert "QuerySyntaxError" in text_of(refused)

    talk(main)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_fifty_calls_at_once(handbook_folder: Path, stack: ExitStack, transport: str) -> None:
    """Each gets the answer that it would get alone."""
    served = Served(transport, handbook_folder, stack)

    async def main() -> None:
        async with served.client() as client:
            alone = {
                (tool, query): await structured(client, tool, query=query)
                for tool in BOTH
                for query in QUERIES
            }
            asked = [list(alone)[n % len(alone)] for n in range(50)]
            answers = await asyncio.gather(
                *(structured(client, tool, query=query) for tool, query in asked)
            )
            assert [alone[call] for call in asked] == answers

    talk(main)


def test_a_reindex_during_calls(tmp_path: Path, stack: ExitStack) -> None:
    """Every answer is of one committed state, before, between and after; none is an error."""
    write_settings(tmp_path)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for n in range(150):
        (corpus / f"{n:03}.md").write_text(f"# Part {n}\n\nThe pier number {n}.\n")
    core = Core(tmp_path / "knowledge")
    core.index(corpus)
    served = Served("stdio", tmp_path, stack)

    async def main() -> None:
        done = asyncio.Event()

        async def reindex() -> None:
            for _ in range(4):
                await anyio.to_thread.run_sync(lambda: core.index(corpus, reindex=True))
            done.set()

        async def ask(client: Client) -> None:
            while not done.is_set():
                listed = await structured(client, "knowledge_enumerate", query="pier", limit=1)
                assert (listed["status"], listed["matched"]) == ("ok", 150)
                ranked = await structured(client, "knowledge_search", query="pier")
                assert (ranked["status"], ranked["returned"]) == ("ok", 5)

        async with served.client() as client, asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(ask(client))
            group.create_task(reindex())

    talk(main)
    core.close()


def test_an_index_built_while_the_server_runs_is_served(tmp_path: Path, stack: ExitStack) -> None:
    """It starts without a store, makes none, and serves the one that comes."""
    write_settings(tmp_path)
    served = Served("stdio", tmp_path, stack)

    async def main() -> None:
        async with served.client() as client:
            for tool in BOTH:
                assert (await structured(client, tool, query="pier"))["status"] == (
                    "index_not_built"
                )
            assert not (tmp_path / "knowledge").exists()
            (tmp_path / "corpus").mkdir()
            (tmp_path / "corpus" / "a.md").write_text("The old pier.")
            core = Core(tmp_path / "knowledge")
            core.index(tmp_path / "corpus")
            core.close()
            for tool in BOTH:
                found = await structured(client, tool, query="pier")
                assert (found["status"], len(found["results"])) == ("ok", 1)

    talk(main)


# -- cancellation and deadlines ------------------------------------------------------------------


@pytest.fixture
def embeddings() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(hash_embedding) as server:
        yield server


@pytest.fixture
def hybrid(tmp_path: Path, embeddings: EmbeddingServer) -> Path:
    """A folder whose store has vectors of a server that the test can break."""
    block = f'[knowledge.embeddings]\nbase_url = "{embeddings.url}"\nmodel = "m"\ntimeout = 60\n'
    write_settings(tmp_path, more=block)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("The old pier.")
    core = Core(tmp_path / "knowledge", embedder=OpenAIEmbedder(embeddings.url, "m"))
    core.index(tmp_path / "corpus")
    core.close()
    return tmp_path


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_call_that_hangs_meets_its_deadline(
    hybrid: Path, embeddings: EmbeddingServer, stack: ExitStack, transport: str
) -> None:
    """The client learns that the time was up, not that nothing was found; the next call works."""
    options = ("--timeout", "3")
    served = Served(transport, hybrid, stack, *options)

    async def main() -> None:
        async with served.client() as client:
            embeddings.faults = Faults(hang=True)
            late = await client.call_tool("knowledge_search", {"query": "pier"})
            assert late.is_error
            assert "SearchTimeoutError" in text_of(late)
            embeddings.faults = Faults()
            found = await structured(client, "knowledge_search", query="pier")
            assert found["tier"].startswith("tier: hybrid")

    talk(main)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_cancelled_call_leaves_the_server_free(
    hybrid: Path, embeddings: EmbeddingServer, stack: ExitStack, transport: str
) -> None:
    """Calls that clients gave up do not stand in the way of others."""
    served = Served(transport, hybrid, stack)

    async def main() -> None:
        async with served.client() as client:
            embeddings.faults = Faults(hang=True)
            for _ in range(4):
                asked = len(embeddings.requests)
                call = asyncio.create_task(client.call_tool("knowledge_search", {"query": "pier"}))
                while len(embeddings.requests) == asked:  # until it hangs in the server
                    await asyncio.sleep(0.02)
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
            listed = await structured(client, "knowledge_enumerate", query="pier")
            assert listed["matched"] == 1
            embeddings.faults = Faults()
            found = await structured(client, "knowledge_search", query="pier")
            assert found["degraded"] is False

    talk(main)


def test_a_degraded_ranking_says_so(
    hybrid: Path, embeddings: EmbeddingServer, stack: ExitStack
) -> None:
    """Words alone where vectors were due: in the tier, in the note and as a flag."""
    served = Served("stdio", hybrid, stack)
    embeddings.faults = Faults(status=500)

    async def main() -> None:
        async with served.client() as client:
            found = await structured(client, "knowledge_search", query="pier")
            assert found["degraded"] is True
            assert "DEGRADED" in found["tier"]
            assert "words alone" in found["note"]
            assert found["results"]

    talk(main)


# -- HTTP ----------------------------------------------------------------------------------------

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_other_hosts_and_origins_are_refused(handbook_folder: Path) -> None:
    """A web page, or a name that was pointed here, reads nothing; tools on this machine may."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "0"},
        },
    }
    modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}
    with http_server(handbook_folder) as (url, said), httpx.Client(trust_env=False) as client:
        port = httpx.URL(url).port

        def status(body: dict[str, Any] = hello, **headers: str) -> int:
            return client.post(url, json=body, headers={**ACCEPT, **headers}).status_code

        assert status() == 200
        assert status(Origin=f"http://localhost:{port}") == 200
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example"):
            assert status(Host=host) == 421
            assert status(PING, Host=host, **modern) == 421
        for origin in ("http://evil.example", f"http://evil.example:{port}", "null"):
            assert status(Origin=origin) == 403
            assert status(PING, Origin=origin, **modern) == 403
        assert httpx.URL(url).host == "127.0.0.1"
    assert "WARNING" not in "".join(said)


def test_another_address_says_what_it_exposes(handbook_folder: Path) -> None:
    """`--host` is a decision: who can read what is printed; its own names are the only ones."""
    options = ("--host", "0.0.0.0", "--allow-host", "archive.example")
    with http_server(handbook_folder, *options) as (url, said):
        port = httpx.URL(url).port
        hello = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "0"},
            },
        }
        with httpx.Client(trust_env=False) as client:
            for host, expected in (("archive.example", 200), ("evil.example", 421)):
                answer = client.post(
                    f"http://127.0.0.1:{port}/mcp",
                    json=hello,
                    headers={**ACCEPT, "Host": f"{host}:{port}"},
                )
                assert answer.status_code == expected
    assert "everyone who reaches this address can read" in "".join(said)


def test_a_port_in_use_is_one_line(handbook_folder: Path) -> None:
    """Status 4, with the address."""
    with http_server(handbook_folder) as (url, _):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "knowledge_nb", "mcp", "--http"),
                *("--port", str(httpx.URL(url).port)),
            ],
            cwd=handbook_folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert f"127.0.0.1:{httpx.URL(url).port}" in done.stderr


# -- the verb ------------------------------------------------------------------------------------


def run_mcp(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "knowledge_nb", "mcp", *options],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=GENEROUS,
    )


def test_nothing_is_exposed_by_default(tmp_path: Path) -> None:
    """Status 2, and the lines that would expose the tools; no empty server that looks alive."""
    for settings in (None, "[knowledge]\n", "[knowledge.mcp]\nexpose = []\n"):
        if settings is not None:
            (tmp_path / "knowledge.toml").write_text(settings)
        done = run_mcp(tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert "nothing is served" in done.stderr
        assert all(name in done.stderr for name in BOTH)


def test_an_unknown_tool_is_a_configuration_error_that_lists_the_two(tmp_path: Path) -> None:
    """A typing error exposes nothing."""
    write_settings(tmp_path, ["knowledge_serch"])
    done = run_mcp(tmp_path)
    assert done.returncode == 2
    assert "'knowledge_serch'" in done.stderr
    assert all(name in done.stderr for name in BOTH)


@pytest.mark.parametrize(
    ("exposed", "lost"),
    [("knowledge_search", "check that it is complete"), ("knowledge_enumerate", "read the text")],
)
def test_one_of_the_pair_is_legal_and_warned_of(tmp_path: Path, exposed: str, lost: str) -> None:
    """The operator reads at start what callers will miss."""
    write_settings(tmp_path, [exposed])
    done = run_mcp(tmp_path)
    assert done.returncode == 0
    assert f"no way to {lost}" in done.stderr


def test_ctrl_c_ends_it_though_stdin_stays_open(handbook_folder: Path) -> None:
    """Status 130 and one line, without a next line on stdin to wait for."""
    child = subprocess.Popen(
        [sys.executable, "-m", "knowledge_nb", "mcp"],
        cwd=handbook_folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdin.write(
        b'{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}\n'
    )
    child.stdin.flush()
    assert child.stdout.readline()
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=GENEROUS) == 130
    assert child.stderr.read().decode().splitlines()[-1] == "knowledge: interrupted"
    for pipe in (child.stdin, child.stdout, child.stderr):
        pipe.close()


def test_options_of_http_need_http(tmp_path: Path) -> None:
    """An address without a socket is a mistake."""
    for options in (["--port", "1"], ["--host", "::1"], ["--allow-host", "x"]):
        done = run_mcp(tmp_path, *options)
        assert done.returncode == 2
        assert "--http" in done.stderr


# -- large ---------------------------------------------------------------------------------------


@pytest.mark.soak
def test_twenty_thousand_documents(tmp_path: Path, stack: ExitStack) -> None:
    """J07: a common word over 20,000 documents is a capped page with its total and the next one."""
    write_settings(tmp_path)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for n in range(20_000):
        (corpus / f"{n:05}.md").write_text(f"# Part {n}\n\nThe pier number {n}.\n")
    core = Core(tmp_path / "knowledge")
    core.index(corpus)
    core.close()
    served = Served("stdio", tmp_path, stack)

    async def main() -> None:
        async with served.client() as client:
            found = await structured(client, "knowledge_enumerate", query="pier", limit=10_000)
            assert found["matched"] == 20_000
            assert found["truncated"] is True
            assert len(json.dumps(found)) <= 4_000
            after = await structured(
                client, "knowledge_enumerate", query="pier", offset=found["next_offset"]
            )
            assert not {r["path"] for r in found["results"]} & {r["path"] for r in after["results"]}

    talk(main)


def test_a_client_that_goes_away_ends_the_server(handbook_folder: Path) -> None:
    """No process stays behind when stdin is closed, or the client is killed in the middle."""

    async def main() -> None:
        async with Client(server_on(handbook_folder)) as client:
            await structured(client, "knowledge_enumerate", query="frost")

    talk(main)
    reading, writing = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-m", "knowledge_nb", "mcp"],
        cwd=handbook_folder,
        env=environment(),
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(reading)
    os.close(writing)
    out, _ = child.communicate(timeout=GENEROUS)
    assert child.returncode == 0
    assert out == b""


def test_an_unknown_method_is_a_protocol_error(handbook_folder: Path) -> None:
    """The protocol's own errors stay the protocol's own."""

    async def main() -> None:
        async with Client(server_on(handbook_folder)) as client:
            with pytest.raises(MCPError):
                await client.read_resource("knowledge://nothing")

    talk(main)
