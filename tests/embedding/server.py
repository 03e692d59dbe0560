"""A real embeddings server on this machine, with a knob for every fault seen in the field.

::

    with EmbeddingServer() as server:
        server.faults = Faults(status=503, retry_after="0", times=1)
        OpenAIEmbedder(server.url, "any")
        server.requests[-1].inputs
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.embedding.answers import ANSWERS

Embed = Callable[[Sequence[str]], list[list[float]]]

HASH_WIDTH = 32


def hash_embedding(texts: Sequence[str]) -> list[list[float]]:
    """Sum a fixed vector for each word: equal texts agree, texts that share words are near."""
    vectors = []
    for text in texts:
        total = [0.0] * HASH_WIDTH
        for word in re.findall(r"\w+", text.lower()) or [text]:
            for place, byte in enumerate(hashlib.blake2b(word.encode(), digest_size=32).digest()):
                total[place] += (byte - 127.5) / 127.5
        vectors.append(total)
    return vectors


def local_embedding() -> Embed:
    """Return the local model's vectors where it is installed, else the hash embedding."""
    if any(importlib.util.find_spec(n) is None for n in ("wordllama", "tokenizers", "safetensors")):
        return hash_embedding
    from knowledge_nb.embedding.local import LocalEmbedder
    from knowledge_nb.embedding.protocol import DocumentText, Refused

    model = LocalEmbedder()

    def embed(texts: Sequence[str]) -> list[list[float]]:
        found = model.embed_documents([DocumentText("", text) for text in texts])
        for each in found:
            if isinstance(each, Refused):
                raise ValueError(each.message)
        return [each.tolist() for each in found]  # type: ignore[attr-defined]

    return embed


@dataclass(frozen=True)
class Faults:
    """What the server does wrong; the default is nothing.

    Parameters
    ----------
    skip, times
        Leave the first `skip` requests (counted from when this was set) alone; then misbehave for
        `times` requests, or for ever.
    answer
        Name of a malformed 200, see `tests.embedding.answers`.
    lists_only
        `answer` strikes only when `input` is a list.
    status, message, retry_after, raw, location
        Answer every request with this status, an error object (or the bytes `raw`), these headers.
    limit, limit_status
        More inputs than `limit` get `limit_status`.
    drop_above
        More inputs than this, and the connection is reset.
    marker, marker_status, marker_answer
        Inputs that hold the marker fail their whole batch, with a status (0: a reset) or an answer.
    delay, hang, drip
        Seconds before the answer; no answer until the server stops; seconds between body bytes.
    truncate
        Embed only so many characters of each input.
    width
        Cut or pad vectors to this width.
    body_bytes
        Send a body of so many bytes.
    """

    skip: int = 0
    times: int | None = None
    answer: str | None = None
    lists_only: bool = False
    status: int | None = None
    message: str = "out of order"
    retry_after: str | None = None
    location: str | None = None
    raw: bytes | None = None
    limit: int | None = None
    limit_status: int = 413
    drop_above: int | None = None
    marker: str | None = None
    marker_status: int = 400
    marker_answer: str | None = None
    delay: float = 0.0
    hang: bool = False
    drip: float = 0.0
    truncate: int | None = None
    width: int | None = None
    body_bytes: int | None = None


@dataclass(frozen=True)
class Recorded:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    inputs: tuple[str, ...]
    as_list: bool


@dataclass
class EmbeddingServer:
    """Serve `embed` over the OpenAI wire format on a free port.

    Parameters
    ----------
    embed
        Texts to vectors; the local model where it is installed.
    host
        "127.0.0.1" or "::1".
    paths
        What is served; everything else is a 404.
    """

    embed: Embed | None = None
    host: str = "127.0.0.1"
    paths: tuple[str, ...] = ("/v1/embeddings",)
    requests: list[Recorded] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._embed = self.embed or local_embedding()
        self._lock = threading.Lock()
        self._faults = Faults()
        self._since = 0
        self.stopping = threading.Event()

    @property
    def faults(self) -> Faults:
        """What goes wrong from now on."""
        return self._faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        with self._lock:
            self._faults, self._since = faults, 0

    @property
    def port(self) -> int:
        """The port in use."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The base_url to configure, with /v1."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/v1"

    @property
    def sizes(self) -> list[int]:
        """Number of inputs in each request so far."""
        return [len(request.inputs) for request in self.requests]

    def start(self, port: int = 0) -> EmbeddingServer:
        """Listen; a stopped server may be started again on its old port."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = type("Listener", (_Listener,), {"address_family": family})
        self.stopping.clear()
        self._server = listener((self.host, port), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening and drop every connection."""
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server.drop_all()

    def __enter__(self) -> EmbeddingServer:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def record(self, request: Recorded) -> Faults:
        """Log a request and return the faults that strike it."""
        with self._lock:
            self.requests.append(request)
            number, self._since = self._since, self._since + 1
            faults = self._faults
        active = number >= faults.skip and (
            faults.times is None or number < faults.skip + faults.times
        )
        return faults if active else Faults()

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed without any fault."""
        return self._embed(texts)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    owner: EmbeddingServer

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def drop_all(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body go out as two writes; without this each answer waits 40 ms for an ACK.
    disable_nagle_algorithm = True
    server: _Listener

    def log_message(self, *args: Any) -> None:
        """Keep the terminal clean."""

    def do_POST(self) -> None:
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        given = body.get("input")
        inputs = tuple(given) if isinstance(given, list) else (given,)
        request = Recorded(self.path, dict(self.headers), body, inputs, isinstance(given, list))
        faults = owner.record(request)
        if faults.hang:
            owner.stopping.wait(60)
            return
        if faults.delay:
            owner.stopping.wait(faults.delay)
        if self.path.partition("?")[0] not in owner.paths:
            self._error(404, f"no route {self.path}")
        elif faults.status is not None:
            extra = {"Retry-After": faults.retry_after, "Location": faults.location}
            self._error(faults.status, faults.message, extra, faults.raw)
        elif faults.limit is not None and len(inputs) > faults.limit:
            self._error(
                faults.limit_status, f"batch size {len(inputs)} > maximum allowed {faults.limit}"
            )
        elif faults.drop_above is not None and len(inputs) > faults.drop_above:
            self._reset()
        elif faults.marker is not None and any(faults.marker in text for text in inputs):
            self._marked(inputs, faults)
        elif faults.body_bytes is not None:
            self._send(200, b" " * faults.body_bytes)
        else:
            self._answer(request, faults)

    def _marked(self, inputs: tuple[str, ...], faults: Faults) -> None:
        if faults.marker_answer is not None:
            self._malformed(inputs, faults.marker_answer)
        elif faults.marker_status == 0:
            self._reset()
        else:
            self._error(faults.marker_status, f"an input holds {faults.marker}")

    def _answer(self, request: Recorded, faults: Faults) -> None:
        if faults.answer is not None and (request.as_list or not faults.lists_only):
            self._malformed(request.inputs, faults.answer)
            return
        texts = [text[: faults.truncate] for text in request.inputs]
        vectors = self.server.owner.vectors(texts)
        if faults.width is not None:
            vectors = [(v * (faults.width // len(v) + 1))[: faults.width] for v in vectors]
        answer = {
            "object": "list",
            "model": request.body.get("model"),
            "data": [
                {"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)
            ],
        }
        self._send(200, json.dumps(answer).encode(), drip=faults.drip)

    def _malformed(self, inputs: tuple[str, ...], name: str) -> None:
        answer = ANSWERS[name](self.server.owner.vectors(inputs))
        self._send(200, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def _error(
        self,
        status: int,
        message: str,
        extra: dict[str, str | None] | None = None,
        raw: bytes | None = None,
    ) -> None:
        body = json.dumps({"error": {"message": message, "type": "test"}}).encode()
        self._send(status, body if raw is None else raw, extra or {})

    def _send(
        self,
        status: int,
        body: bytes,
        extra: dict[str, str | None] | None = None,
        drip: float = 0.0,
    ) -> None:
        self.send_response(status)
        for name, value in (extra or {}).items():
            if value is not None:
                self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status == 204:
            return
        if not drip:
            self.wfile.write(body)
            return
        for place in range(len(body)):
            if self.server.owner.stopping.is_set():
                return
            self.wfile.write(body[place : place + 1])
            time.sleep(drip)

    def _reset(self) -> None:
        """Close with a TCP reset, as a killed process does."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # An open reader would keep the socket open.
        self.rfile.close()
        self.connection.close()
