"""One POST over httpx; every error of httpx is translated here, and nowhere else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx

from knowledge_nb.errors import ConfigurationError

from .endpoint import Endpoint
from .errors import (
    EmbedderDropped,
    EmbedderKeyMissing,
    EmbedderProtocolError,
    EmbedderTimeout,
    EmbedderUnavailable,
    EmbedderUnreachable,
)

RESPONSE_BYTES: Final = 64 * 1024 * 1024
ERROR_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock, and whose it is.

    Parameters
    ----------
    at : float
        `time.monotonic` when time is up.
    seconds : float
        How long that was, for the message.
    callers : bool
        Whether the caller set it for this call.
    """

    at: float
    seconds: float
    callers: bool

    @classmethod
    def after(cls, seconds: float, *, callers: bool = False) -> Deadline:
        """Count from now."""
        return cls(time.monotonic() + seconds, seconds, callers)

    def left(self) -> float:
        """Return the seconds left; negative when time is up."""
        return self.at - time.monotonic()


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, the Retry-After header and the body, which is bounded."""

    status: int
    retry_after: str | None
    location: str | None
    body: bytes


class Transport:
    """A client for one endpoint; may be shared between threads.

    Parameters
    ----------
    endpoint : Endpoint
    api_key_env : str
        Name of an environment variable, read at every request; "" for no key.

    Raises
    ------
    ConfigurationError
        httpx cannot make a URL of it.
    """

    def __init__(self, endpoint: Endpoint, api_key_env: str = "") -> None:
        try:
            for target in endpoint.targets:
                # The second step is what the socket module does with the name, much later.
                httpx.URL(target).host.encode("idna")
        except (httpx.InvalidURL, UnicodeError) as error:
            raise ConfigurationError(f"base_url cannot be used ({endpoint.url}): {error}") from None
        self._endpoint = endpoint
        self._api_key_env = api_key_env
        self._targets = endpoint.targets
        self._client: httpx.Client | None = None
        # httpx leaks a socket when a client is closed while another thread connects.
        self._retired: list[httpx.Client] = []
        self._in_use = 0
        self._lock = threading.Lock()

    def post(self, body: bytes, deadline: Deadline) -> Answer:
        """Send one request and read its answer within the deadline.

        Raises
        ------
        EmbedderUnreachable, EmbedderDropped, EmbedderTimeout, EmbedderKeyMissing
        EmbedderProtocolError
            A body over 64 MiB, or one that cannot be decoded.
        """
        if self._api_key_env:
            api_key(self._api_key_env)
        failures: list[tuple[str, httpx.TransportError]] = []
        for target in self._targets:
            try:
                answer = self._send(target, body, deadline)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failures.append((urlsplit(target).netloc, error))
            except (httpx.HTTPError, httpx.StreamError) as error:
                raise translate(error, self._endpoint.url, deadline) from error
            else:
                # The address that answered is asked alone from now on.
                self._targets = (target,)
                return answer
        self._targets = self._endpoint.targets
        tried = ", ".join(address for address, _ in failures)
        last = failures[-1][1]
        raise translate(last, f"{self._endpoint.url} (tried {tried})", deadline) from last

    def close(self) -> None:
        """Close every connection, those in use when their request ends; the next opens anew."""
        with self._lock:
            if self._client is not None:
                self._retired.append(self._client)
                self._client = None
            self._close_retired()

    def _send(self, target: str, body: bytes, deadline: Deadline) -> Answer:
        headers = {"Content-Type": "application/json"}
        extensions: dict[str, object] = {"timeout": _TimeLeft(deadline)}
        if self._endpoint.alias:
            headers["Host"] = self._endpoint.alias
            extensions["sni_hostname"] = urlsplit(self._endpoint.url).hostname
        with (
            self._borrowed() as client,
            client.stream(
                "POST", target, content=body, headers=headers, extensions=extensions
            ) as response,
        ):
            limit = RESPONSE_BYTES if response.status_code == 200 else ERROR_BYTES
            return Answer(
                response.status_code,
                response.headers.get("Retry-After"),
                response.headers.get("Location"),
                self._read(response, limit, deadline),
            )

    def _read(self, response: httpx.Response, limit: int, deadline: Deadline) -> bytes:
        parts = bytearray()
        for part in response.iter_bytes():
            parts += part
            if len(parts) > limit:
                if limit < RESPONSE_BYTES:
                    return bytes(parts[:limit])
                raise EmbedderProtocolError(
                    f"{self._endpoint.url} answered with more than {limit >> 20} MiB"
                )
            # A server that sends a byte now and then never trips a timeout that counts per read.
            if deadline.left() <= 0:
                raise httpx.ReadTimeout("the answer came too slowly")
        return bytes(parts)

    @contextmanager
    def _borrowed(self) -> Iterator[httpx.Client]:
        with self._lock:
            if self._client is None:
                self._client = self._new_client()
            client = self._client
            self._in_use += 1
        try:
            yield client
        finally:
            with self._lock:
                self._in_use -= 1
                self._close_retired()

    def _close_retired(self) -> None:
        while self._retired and not self._in_use:
            self._retired.pop().close()

    def _new_client(self) -> httpx.Client:
        try:
            return httpx.Client(
                auth=_Bearer(self._api_key_env) if self._api_key_env else None,
                headers={"User-Agent": "knowledge-nb", "Accept": "application/json"},
                follow_redirects=False,
                # A proxy of the environment cannot reach this machine's own loopback.
                trust_env=not self._endpoint.loopback,
            )
        except (ImportError, OSError, ValueError) as error:
            # A proxy or a certificate file of the environment that httpx cannot use.
            raise EmbedderUnreachable(
                f"No connection to {self._endpoint.url}: the environment's proxy or certificate "
                f"settings cannot be used ({type(error).__name__}: {error})"
            ) from error


def translate(
    error: httpx.HTTPError | httpx.StreamError, url: str, deadline: Deadline
) -> EmbedderUnavailable:
    """Turn an error of httpx into ours; a timeout goes first, whatever step it struck."""
    reason = str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        whose = "the caller's deadline" if deadline.callers else "raise timeout or lower batch_size"
        return EmbedderTimeout(
            f"No answer from {url} within {deadline.seconds:g} s ({whose})",
            deadline=deadline.callers,
        )
    if isinstance(error, httpx.DecodingError):
        return EmbedderProtocolError(f"The answer of {url} cannot be decoded: {reason}")
    if isinstance(error, httpx.ReadError | httpx.WriteError | httpx.RemoteProtocolError):
        return EmbedderDropped(f"{url} dropped the connection: {reason}")
    return EmbedderUnreachable(
        f"No connection to {url}: {reason}. Start the server, or correct base_url in knowledge.toml"
    )


def api_key(name: str) -> str:
    """Read the key from the environment.

    Raises
    ------
    EmbedderKeyMissing
        Unset, empty, or not printable ASCII (which httpx would quote in its error).
    """
    key = os.environ.get(name, "").strip()
    if not key:
        raise EmbedderKeyMissing(
            f"The environment variable {name}, named by api_key_env, is not set"
        )
    if not (key.isascii() and key.isprintable()):
        raise EmbedderKeyMissing(
            f"The environment variable {name}, named by api_key_env, holds characters that no "
            "HTTP header may carry"
        )
    return key


class _Bearer(httpx.Auth):
    """Puts the key on the request; holds only the variable's name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {api_key(self._name)}"
        yield request


class _TimeLeft(Mapping[str, float]):
    """httpx's timeouts for one request, where every phase gets what is left of the whole."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __getitem__(self, phase: str) -> float:
        # Zero would mean a socket that never waits.
        return max(self._deadline.left(), 0.001)

    def __iter__(self) -> Iterator[str]:
        return iter(("connect", "read", "write", "pool"))

    def __len__(self) -> int:
        return 4
