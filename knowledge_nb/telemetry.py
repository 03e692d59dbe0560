"""Spans for search, enumerate and the embedding batch; nothing else opens one.

A span holds the tier, the status, counts, seconds by step and the class of an error: never the
text of a query, of a document or of an error, unless ``KNOWLEDGE_TRACE_CONTENT=1``.

Importing opentelemetry takes a tenth of a whole `knowledge match` (measured), and without its API
in the process nobody can have set a tracer provider or begun a trace. So it is imported only where
it already is, or where the environment names a provider for it to load.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from knowledge_nb.records import Completeness

CONTENT_VARIABLE: Final = "KNOWLEDGE_TRACE_CONTENT"
PROVIDER_VARIABLE: Final = "OTEL_PYTHON_TRACER_PROVIDER"  # what the API loads a provider for
SCOPE: Final = "knowledge_nb"

# By name: asyncio and concurrent.futures have one each, and cost more to import than a question.
_CANCELLED: Final = frozenset({"KeyboardInterrupt", "CancelledError"})


class Recorder:
    """What one span is told; every method does nothing where nobody traces."""

    def __init__(self, span: Span | None = None) -> None:
        self._span = span
        self._seconds: dict[str, float] = {}

    def set(self, **attributes: str | bool | int | float) -> None:
        """Set attributes, each under `knowledge.` and its name."""
        if self._span is not None:
            self._span.set_attributes({f"knowledge.{k}": v for k, v in attributes.items()})

    def answered(
        self, status: str, completeness: Completeness, **attributes: str | bool | int
    ) -> None:
        """Set the status of an answer, what it covers and what else is told of it."""
        self.set(
            status=str(status),
            documents=completeness.documents,
            skipped=sum(completeness.skipped.values()),
            generation=completeness.generation,
            **attributes,
        )

    def content(self, **texts: str | Sequence[str]) -> None:
        """Set texts of queries and documents, where the environment asks for them."""
        if self._span is not None and os.environ.get(CONTENT_VARIABLE) == "1":
            self._span.set_attributes({f"knowledge.{k}": v for k, v in texts.items()})

    def took(self, step: str, seconds: float) -> None:
        """Add to the seconds of a step."""
        self._seconds[step] = self._seconds.get(step, 0.0) + seconds

    def failed(self, error: BaseException) -> None:
        """Say what kind of error ended it."""
        if self._span is None:
            return
        from opentelemetry.trace import StatusCode

        kind = error_class(error)
        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR, kind)
        self.content(error=str(error))

    def end(self) -> None:
        """Write the seconds of the steps."""
        self.set(**{f"seconds.{step}": seconds for step, seconds in self._seconds.items()})


_NOBODY: Final = Recorder()
_current: ContextVar[Recorder] = ContextVar("knowledge_nb.telemetry", default=_NOBODY)


def error_class(error: BaseException) -> str:
    """The kind of an error: "cancelled" and "deadline" first, whatever step they struck."""
    if any(kind.__name__ in _CANCELLED for kind in type(error).__mro__):
        return "cancelled"
    # A client's own timeout is a failure like another; its error says whose time it was.
    if getattr(error, "deadline", isinstance(error, TimeoutError)) is True:
        return "deadline"
    return type(error).__name__


@contextmanager
def span(name: str) -> Iterator[Recorder]:
    """Open a span around a block; an error that ends the block is recorded and goes on."""
    tracer = _tracer()
    if tracer is None:
        yield _NOBODY
        return
    # The SDK's own record of an exception would hold its text, which may quote the query.
    with tracer.start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    ) as opened:
        recorder = Recorder(opened if opened.is_recording() else None)
        token = _current.set(recorder)
        try:
            yield recorder
        except BaseException as error:
            recorder.failed(error)
            raise
        finally:
            _current.reset(token)
            recorder.end()


@contextmanager
def step(name: str) -> Iterator[None]:
    """Measure a step of the span around it; steps of one name add up."""
    recorder = _current.get()
    if recorder is _NOBODY:
        yield
        return
    started = time.perf_counter()
    try:
        yield
    finally:
        recorder.took(name, time.perf_counter() - started)


def _tracer() -> Tracer | None:
    if "opentelemetry.trace" not in sys.modules and PROVIDER_VARIABLE not in os.environ:
        return None
    trace: Any
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    tracer: Tracer = trace.get_tracer(SCOPE)
    return tracer
