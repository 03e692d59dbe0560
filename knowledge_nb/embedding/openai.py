"""A client for any server that speaks the embeddings part of the OpenAI API, and trusts none.

The wire format is POST ``{"model", "input": [texts]}`` to ``<base_url>/embeddings``; see `endpoint`
for the address and `responses` for what is accepted back. ``encoding_format`` is left out: servers
differ in what they make of it, and all of them send plain numbers without it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from knowledge_nb.errors import ConfigurationError
from knowledge_nb.telemetry import span

from .batches import Halving, WorkingSize
from .endpoint import endpoint
from .errors import (
    BlankTextError,
    DimensionMismatch,
    EmbedderBusy,
    EmbedderDropped,
    EmbedderProtocolError,
    EmbedderRefused,
    EmbedderUnavailable,
    EmbedderUnreachable,
)
from .probe import PROBE_TEXT
from .protocol import (
    BLANK,
    DocumentText,
    Embedded,
    EmbedderIdentity,
    EmbeddingTally,
    Vector,
)
from .responses import AnswerError, Vectors, excerpt, read_vectors, retry_after, server_message
from .texts import is_blank, prepare_document, prepare_query
from .transport import Answer, Deadline, Transport, api_key

_BUSY: Final = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Patience:
    """How 429 and 503 are met.

    Parameters
    ----------
    retries : int
        Times a request is repeated.
    first_wait : float
        Seconds before the first repetition where the server names none; doubles each time.
    longest_wait : float
        Seconds; more is never waited at once, whatever the server asks for.
    """

    retries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0


class OpenAIEmbedder:
    """Embeds through a server; safe to share between threads, usable inside a running event loop.

    Parameters
    ----------
    base_url : str
        See `endpoint` for the rule; a server on this machine is never asked through a proxy.
    model : str
        Sent as it is.
    api_key_env : str
        Name of the environment variable that holds the key; "" for none. The key itself is kept
        nowhere and never shown.
    timeout : float
        Seconds for one request; for a query, for the whole call, unless its caller has less time.
    query_prefix, document_prefix : str
        See `Embedder`.
    batch_size : int
        Largest number of texts in one request.
    single_input : bool
        Send every text alone and as a string, for servers whose lists are broken.
    dimension : int, optional
        The pinned width. Without it the first vector pins it.
    patience : Patience, optional

    Raises
    ------
    ConfigurationError
        A value cannot be used.
    """

    provider: Final = "openai"

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "",
        timeout: float = 30.0,
        query_prefix: str = "",
        document_prefix: str = "",
        batch_size: int = 64,
        single_input: bool = False,
        dimension: int | None = None,
        patience: Patience | None = None,
    ) -> None:
        if not model:
            raise ConfigurationError("embeddings.model must name the server's model")
        if batch_size < 1 or timeout <= 0:
            raise ConfigurationError("batch_size must be at least 1 and timeout above 0 seconds")
        self._endpoint = endpoint(base_url)
        self.model: Final = model
        self.query_prefix: Final = query_prefix
        self.document_prefix: Final = document_prefix
        self._api_key_env = api_key_env
        self._transport = Transport(self._endpoint, api_key_env)
        self._timeout = timeout
        self._single = single_input
        self._size = WorkingSize(1 if single_input else batch_size)
        self._dimension = dimension
        self._patience = patience or Patience()
        self._pin = threading.Lock()
        self._closed = threading.Event()

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._endpoint.url!r}, model={self.model!r})"

    @property
    def url(self) -> str:
        """The address that is called."""
        return self._endpoint.url

    @property
    def working_batch_size(self) -> int:
        """The number of texts now sent at once; at most the configured one."""
        return self._size.inputs

    def identity(self) -> EmbedderIdentity:
        """Ask the live server for the probe text's vector; see `Embedder`."""
        answer = self._request(
            [PROBE_TEXT], EmbeddingTally(), Deadline.after(self._timeout), single=self._single
        )
        (probe,) = answer.vectors
        return EmbedderIdentity(
            provider=self.provider,
            model=self.model,
            dimension=len(probe),
            model_hash=None,
            query_prefix=self.query_prefix,
            document_prefix=self.document_prefix,
            normalised=answer.normalised,
            probe_vector=probe.astype("<f4").tobytes(),
        )

    def embed_query(
        self, text: str, *, timeout: float | None = None, tally: EmbeddingTally | None = None
    ) -> Vector:
        """Embed one query; see `Embedder`."""
        if is_blank(text):
            raise BlankTextError("The query holds nothing that could be embedded.")
        prepared = prepare_query(text, self.query_prefix)
        tally = tally if tally is not None else EmbeddingTally()
        tally.query_characters_cut += prepared.cut
        return self._request(
            [prepared.text], tally, self._deadline(timeout), single=self._single
        ).vectors[0]

    def embed_queries(
        self,
        texts: Sequence[str],
        *,
        timeout: float | None = None,
        tally: EmbeddingTally | None = None,
    ) -> list[Vector]:
        """Embed many queries in few requests: every vector, in order, or an error.

        Raises
        ------
        BlankTextError
            One of them holds nothing to embed.
        EmbeddingError
            A request failed; `embed_query` says which text it was.
        """
        tally = tally if tally is not None else EmbeddingTally()
        if any(is_blank(text) for text in texts):
            raise BlankTextError("One of the queries holds nothing that could be embedded.")
        prepared = [prepare_query(text, self.query_prefix) for text in texts]
        tally.query_characters_cut += sum(each.cut for each in prepared)
        vectors: list[Vector] = []
        size = self._size.inputs
        for start in range(0, len(prepared), size):
            group = [each.text for each in prepared[start : start + size]]
            vectors += self._request(
                group, tally, self._deadline(timeout), single=self._single
            ).vectors
        return vectors

    def embed_documents(
        self,
        texts: Sequence[DocumentText],
        *,
        tally: EmbeddingTally | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Embedded]:
        """Embed chunks in batches that halve where they fail; see `Embedder` and `batches`."""
        tally = tally if tally is not None else EmbeddingTally()
        prepared = [prepare_document(text, self.document_prefix) for text in texts]
        tally.cut += sum(each is not None and each.cut > 0 for each in prepared)
        if on_progress is not None and None in prepared:
            on_progress(prepared.count(None))
        halving = Halving(
            lambda group: self._request(group, tally, None, single=self._single).vectors,
            lambda: self._prove(tally),
            self._size,
            tally,
        )
        vectors = iter(
            halving.run([each.text for each in prepared if each is not None], on_progress)
        )
        return [BLANK if each is None else next(vectors) for each in prepared]

    def _deadline(self, timeout: float | None) -> Deadline:
        # A caller with more time than a request may take has not run out of it when one hangs.
        if timeout is None or timeout > self._timeout:
            return Deadline.after(self._timeout)
        return Deadline.after(timeout, callers=True)

    def close(self) -> None:
        """Close the connections, end any wait for a busy server; a later call opens them anew."""
        self._closed.set()
        self._transport.close()

    def _prove(self, tally: EmbeddingTally) -> None:
        """Raise unless the server embeds the probe text, which nothing is wrong with."""
        try:
            self._request([PROBE_TEXT], tally, None, single=self._single)
        except EmbedderProtocolError as error:
            if not self._single and self._takes_a_string(tally):
                raise EmbedderProtocolError(
                    f"{error}. The server answers a single string but not a list of them: "
                    "set single_input = true in [knowledge.embeddings]"
                ) from error
            raise

    def _takes_a_string(self, tally: EmbeddingTally) -> bool:
        try:
            self._request([PROBE_TEXT], tally, None, single=True)
        except EmbedderUnavailable:
            return False
        return True

    def _request(
        self,
        group: Sequence[str],
        tally: EmbeddingTally,
        overall: Deadline | None,
        *,
        single: bool,
    ) -> Vectors:
        """Send one batch, with the allowed retries, and check what comes back.

        `overall` bounds the call with its waits; without it each attempt has the client's timeout.
        """
        with span("knowledge.embed") as told:
            told.set(provider=self.provider, model=self.model, inputs=len(group))
            told.content(texts=list(group))
            before = tally.requests, tally.waited
            try:
                vectors = self._send(group, tally, overall, single=single)
            finally:
                told.set(requests=tally.requests - before[0], waited=tally.waited - before[1])
            told.set(dimension=len(vectors.vectors[0]))
        return vectors

    def _send(
        self,
        group: Sequence[str],
        tally: EmbeddingTally,
        overall: Deadline | None,
        *,
        single: bool,
    ) -> Vectors:
        self._closed.clear()
        payload = {"model": self.model, "input": group[0] if single else list(group)}
        body = json.dumps(payload, ensure_ascii=False).encode()
        drops = 0
        waits = 0
        while True:
            deadline = overall or Deadline.after(self._timeout)
            tally.requests += 1
            try:
                answer = self._transport.post(body, deadline)
            except EmbedderDropped:
                # An idle connection may be closed just as it is used; only a single text, which
                # cannot be halved, is worth a second try for that.
                drops += 1
                if len(group) > 1 or drops > 1:
                    raise
                tally.retries += 1
                continue
            if answer.status == 200:
                return self._checked(answer, len(group))
            if 200 <= answer.status < 300:
                raise EmbedderProtocolError(
                    f"{self._endpoint.url} answered {answer.status}, which brings no vectors"
                )
            error = self._refusal(answer)
            if answer.status not in _BUSY or waits == self._patience.retries:
                raise error
            self._wait(answer, waits, overall, error, tally)
            waits += 1
            tally.retries += 1

    def _wait(
        self,
        answer: Answer,
        waits: int,
        overall: Deadline | None,
        error: EmbedderRefused,
        tally: EmbeddingTally,
    ) -> None:
        asked = retry_after(answer.retry_after)
        seconds = min(
            self._patience.first_wait * 2**waits if asked is None else asked,
            self._patience.longest_wait,
        )
        if overall is not None and seconds >= overall.left():
            raise error
        if self._closed.wait(seconds):
            raise EmbedderUnreachable(f"Closed while waiting for {self._endpoint.url}")
        tally.waited += seconds

    def _checked(self, answer: Answer, count: int) -> Vectors:
        try:
            read = read_vectors(answer.body, count)
        except AnswerError:
            # Read again with the key blotted out, since the reason may quote the body.
            raise self._unusable(self._without_key(answer.body), count) from None
        with self._pin:
            expected = self._dimension or len(read.vectors[0])
            for vector in read.vectors:
                if len(vector) != expected:
                    raise DimensionMismatch(
                        f"{self._endpoint.url} sent a vector of {len(vector)} numbers where "
                        f"{expected} are pinned; nothing of it was used. Restore the model, or "
                        "run: knowledge index --reindex",
                        expected=expected,
                        got=len(vector),
                    )
            self._dimension = expected
        return read

    def _unusable(self, body: bytes, count: int) -> EmbedderProtocolError:
        try:
            read_vectors(body, count)
            reason = "something unusable"
        except AnswerError as error:
            reason = str(error)
        begins = excerpt(body[:2000].decode("utf-8", "replace"))
        return EmbedderProtocolError(
            f"{self._endpoint.url} answered 200 with {reason}; it begins: {begins!r}"
        )

    def _refusal(self, answer: Answer) -> EmbedderRefused:
        said = server_message(self._without_key(answer.body))
        message = f"{self._endpoint.url} answered {answer.status}: {said or 'no message'}"
        if 300 <= answer.status < 400 and answer.location:
            message += f" (redirects to {excerpt(answer.location)}; redirects are not followed)"
        kind = EmbedderBusy if answer.status in _BUSY else EmbedderRefused
        return kind(message, status=answer.status)

    def _without_key(self, body: bytes) -> bytes:
        # Servers like to quote the key that they refuse. Shorter ones are placeholders.
        key = api_key(self._api_key_env) if self._api_key_env else ""
        return body.replace(key.encode(), b"***") if len(key) > 5 else body
