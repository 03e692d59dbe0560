"""Tracing: three kinds of span, what they hold, and that nobody pays who does not trace."""

from __future__ import annotations

import asyncio
import concurrent.futures
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from knowledge_nb.core import Core
from knowledge_nb.embedding.errors import EmbedderTimeout, EmbedderUnreachable
from knowledge_nb.embedding.openai import OpenAIEmbedder
from knowledge_nb.errors import QuerySyntaxError, SearchTimeoutError
from knowledge_nb.telemetry import error_class
from tests.embedding.server import EmbeddingServer, Faults, hash_embedding

SECRET = "quokka"  # in the documents and in every query below; in no span unless asked for

FILES = {
    "a.md": f"# Pier\n\nThe {SECRET} sits on the old pier.\n",
    "b.md": "# Lamp\n\nThe keeper lights the lamp of the pier.\n",
    "c.bin.md": b"\xff\xfe\x00",
}


@pytest.fixture(scope="session")
def exporter() -> InMemorySpanExporter:
    """The process's one tracer provider, writing into memory."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    assert trace.get_tracer_provider() is provider, "another test has set one; there is no second"
    return exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The same, empty, with content off."""
    monkeypatch.delenv("KNOWLEDGE_TRACE_CONTENT", raising=False)
    exporter.clear()
    return exporter


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(hash_embedding) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture
def lexical(tmp_path: Path, folder: Path) -> Iterator[Core]:
    core = Core(tmp_path / "lexical")
    core.index(folder)
    yield core
    core.close()


@pytest.fixture
def hybrid(tmp_path: Path, folder: Path, server: EmbeddingServer) -> Iterator[Core]:
    embedder = OpenAIEmbedder(server.url, "some-model", timeout=5)
    core = Core(tmp_path / "hybrid", embedder=embedder)
    core.index(folder)
    yield core
    core.close()


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


def attributes(span: ReadableSpan) -> dict[str, object]:
    return {key.removeprefix("knowledge."): value for key, value in (span.attributes or {}).items()}


def everything(spans: InMemorySpanExporter) -> str:
    return "".join(span.to_json() for span in spans.get_finished_spans())


def test_a_search_says_its_tier_and_where_its_time_went(
    hybrid: Core, spans: InMemorySpanExporter
) -> None:
    """Tier, status, counts and seconds by step; the embedding batch is a child of the search."""
    spans.clear()
    hybrid.search(f"{SECRET} pier", k=2)
    (search,), (batch,) = named(spans, "knowledge.search"), named(spans, "knowledge.embed")
    found = attributes(search)
    assert found["tier"] == "fused"
    assert found["degraded"] is False
    assert found["status"] == "ok"
    assert (found["k"], found["returned"], found["documents"]) == (2, 2, 2)
    assert found["skipped"] == 1
    steps = {key for key in found if key.startswith("seconds.")}
    assert steps == {f"seconds.{s}" for s in ("embed", "lexical", "vector", "fuse", "hydrate")}
    assert search.status.status_code is StatusCode.UNSET
    assert batch.parent is not None
    assert search.context is not None
    assert batch.parent.span_id == search.context.span_id
    inside = attributes(batch)
    assert (inside["provider"], inside["model"]) == ("openai", "some-model")
    assert (inside["inputs"], inside["requests"], inside["dimension"]) == (1, 1, 32)


def test_an_enumeration_says_how_large_its_set_is(
    lexical: Core, spans: InMemorySpanExporter
) -> None:
    """The total before the limit, what was returned, and that it was cut."""
    spans.clear()
    lexical.enumerate("pier", limit=1)
    (one,) = spans.get_finished_spans()
    found = attributes(one)
    assert one.name == "knowledge.enumerate"
    assert (found["matched"], found["returned"], found["truncated"]) == (2, 1, True)
    assert (found["status"], found["tier"], found["terms"]) == ("ok", "lexical", 1)
    assert {"seconds.match", "seconds.documents"} <= found.keys()


def test_nothing_but_the_embedding_batch_is_traced_while_indexing(
    tmp_path: Path, folder: Path, hybrid: Core, lexical: Core, spans: InMemorySpanExporter
) -> None:
    """Indexing, listing and counting open no span; the batches of a pass do, as roots."""
    spans.clear()
    lexical.index(folder, reindex=True)
    lexical.sources()
    lexical.stats()
    lexical.vocabulary()
    lexical.kwic("pier")
    lexical.show("a.md#0")
    assert spans.get_finished_spans() == ()
    hybrid.index(folder, reindex=True)
    assert {span.name for span in spans.get_finished_spans()} == {"knowledge.embed"}
    assert all(span.parent is None for span in spans.get_finished_spans())


def test_the_local_model_is_traced_as_a_server_is(
    tmp_path: Path, folder: Path, spans: InMemorySpanExporter
) -> None:
    """Its batch is one span, whatever made the vectors."""
    pytest.importorskip("wordllama")
    from knowledge_nb.embedding.local import LocalEmbedder

    core = Core(tmp_path / "local", embedder=LocalEmbedder())
    core.index(folder)
    spans.clear()
    core.search("pier")
    core.close()
    (batch,) = named(spans, "knowledge.embed")
    assert attributes(batch)["provider"] == "local"
    assert attributes(batch)["dimension"] == 256


def test_a_degraded_search_says_so_without_the_servers_words(
    hybrid: Core, server: EmbeddingServer, spans: InMemorySpanExporter
) -> None:
    """The batch failed, the search did not: each span says its own part, by class."""
    spans.clear()
    server.faults = Faults(status=500, message=f"cannot embed {SECRET}")
    hybrid.search(SECRET)
    (search,), (batch,) = named(spans, "knowledge.search"), named(spans, "knowledge.embed")
    assert attributes(search)["degraded"] is True
    assert attributes(search)["tier"] == "lexical"
    assert "error.type" not in attributes(search)
    assert attributes(batch)["error.type"] == "EmbedderRefused"
    assert batch.status.status_code is StatusCode.ERROR
    assert SECRET not in everything(spans)


def test_a_passed_deadline_goes_before_the_step_that_it_struck(
    hybrid: Core, server: EmbeddingServer, spans: InMemorySpanExporter
) -> None:
    """A hung server is a failed step and a passed deadline: the span says deadline."""
    spans.clear()
    server.faults = Faults(hang=True)
    with pytest.raises(SearchTimeoutError):
        hybrid.search(SECRET, timeout=0.2)
    for name in ("knowledge.search", "knowledge.embed"):
        (one,) = named(spans, name)
        assert attributes(one)["error.type"] == "deadline"
        assert one.status.description == "deadline"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyboardInterrupt(), "cancelled"),
        (asyncio.CancelledError(), "cancelled"),
        (concurrent.futures.CancelledError(), "cancelled"),
        (SearchTimeoutError("x"), "deadline"),
        (EmbedderTimeout("x", deadline=True), "deadline"),
        (EmbedderTimeout("x", deadline=False), "EmbedderTimeout"),
        (EmbedderUnreachable("x"), "EmbedderUnreachable"),
        (QuerySyntaxError("x"), "QuerySyntaxError"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_class_of_an_error(error: BaseException, kind: str) -> None:
    """Cancelled and deadline first; a client's own timeout is a failure like another."""
    assert error_class(error) == kind


def test_no_text_of_queries_documents_or_errors(hybrid: Core, spans: InMemorySpanExporter) -> None:
    """Not in attributes, events, descriptions: of answers, refusals and indexing alike."""
    hybrid.search(f"{SECRET} pier")
    hybrid.enumerate(f"{SECRET} -lamp")
    with pytest.raises(QuerySyntaxError, match=SECRET):
        hybrid.enumerate(f"{SECRET} {SECRET}*")
    with pytest.raises(QuerySyntaxError):
        hybrid.enumerate(f'"{SECRET}')
    assert len(named(spans, "knowledge.enumerate")) == 3
    assert SECRET not in everything(spans)
    assert "pier" not in everything(spans)


def test_content_only_where_it_is_asked_for(
    hybrid: Core, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KNOWLEDGE_TRACE_CONTENT=1, and no other value, puts the texts into the spans."""
    for value in ("0", "true", ""):
        monkeypatch.setenv("KNOWLEDGE_TRACE_CONTENT", value)
        hybrid.search(SECRET)
    assert SECRET not in everything(spans)
    monkeypatch.setenv("KNOWLEDGE_TRACE_CONTENT", "1")
    spans.clear()
    hybrid.search(SECRET)
    assert attributes(named(spans, "knowledge.search")[0])["query"] == SECRET
    assert attributes(named(spans, "knowledge.embed")[0])["texts"] == (SECRET,)


def test_a_span_of_the_caller_is_the_parent(lexical: Core, spans: InMemorySpanExporter) -> None:
    """A trace that is under way goes on through the search."""
    spans.clear()
    with trace.get_tracer("caller").start_as_current_span("question") as caller:
        lexical.search("pier")
    (search,) = named(spans, "knowledge.search")
    assert search.parent is not None
    assert search.parent.span_id == caller.get_span_context().span_id


PROGRAM = """
import sys
{before}
from knowledge_nb.core import Core
core = Core(sys.argv[1])
core.index(sys.argv[2])
assert core.search("pier").hits
assert core.enumerate("pier").matched == 2
core.close()
print(sorted(name for name in sys.modules if name.startswith("opentelemetry.")))
"""


@pytest.mark.parametrize("before", ["", "import opentelemetry.trace"], ids=["nothing", "api"])
def test_without_an_sdk_nothing_happens(tmp_path: Path, folder: Path, before: str) -> None:
    """Without opentelemetry in the process it is not imported; with its API alone nothing fails."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(before=before), "store", str(folder)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (done.stdout.strip() == "[]") is (before == "")
    assert "opentelemetry.sdk" not in done.stdout
