"""A run whose embeddings server fails, over real HTTP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import knowledge_nb as knb
from knowledge_nb.embedding.openai import OpenAIEmbedder, Patience
from knowledge_nb.evaluation import making, questions
from knowledge_nb.retrieval.tier import DegradedSearchWarning
from tests.embedding.server import EmbeddingServer, Faults
from tests.evaluation.conftest import FILES, fill

TOPICS = {f"q{n}": f"lantern number {n} of the harbour" for n in range(8)}


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A server without faults."""
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def kb(server: EmbeddingServer, tmp_path: Path) -> Iterator[knb.KnowledgeBase]:
    """Four documents with vectors of that server; nothing is waited for."""
    embedder = OpenAIEmbedder(
        server.url, "any", patience=Patience(retries=0, first_wait=0.0, longest_wait=0.0)
    )
    with knb.open(tmp_path / "knowledge", embedder=embedder) as opened:
        opened.index(fill(tmp_path / "docs", FILES))
        server.requests.clear()
        yield opened


def test_all_topics_are_embedded_in_one_request(
    kb: knb.KnowledgeBase, server: EmbeddingServer
) -> None:
    """Where the embedder can; the vectors are those of single requests."""
    together = kb.run(TOPICS, mode="fused")
    assert server.sizes == [len(TOPICS)]
    for qid, query in TOPICS.items():
        alone = kb.run({qid: query}, mode="fused")
        assert alone.result.rankings[qid] == together.result.rankings[qid]


def test_one_refused_query_does_not_take_the_others_vectors(
    kb: knb.KnowledgeBase, server: EmbeddingServer
) -> None:
    """The batch fails, each is asked for alone, and only the refused one degrades."""
    server.faults = Faults(marker="number 3")
    with pytest.warns(DegradedSearchWarning, match=r"1 of 8 topics .*\(q3\)"):
        run = kb.run(TOPICS, mode="fused")
    assert run.degraded == ("q3",)
    lexical = kb.run(TOPICS, mode="lexical").result.rankings["q3"]
    assert run.result.rankings["q3"] == lexical
    reason = next(each.degraded for each in run.result.outcomes if each.qid == "q3")
    assert "an input holds number 3" in reason


def test_a_server_that_dies_in_the_middle(
    kb: knb.KnowledgeBase, server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics before are fused, those after are not and say why; the rest is not asked for."""
    monkeypatch.setattr(making, "BATCH", 2)
    whole = kb.run(TOPICS, mode="fused")
    server.requests.clear()
    server.faults = Faults(skip=1, status=500)
    with pytest.warns(DegradedSearchWarning):
        run = kb.run(TOPICS, mode="fused", save=tmp_path / "x.run")
    assert run.degraded == ("q2", "q3", "q4", "q5", "q6", "q7")
    for qid in ("q0", "q1"):
        assert run.result.rankings[qid] == whole.result.rankings[qid]
    # It cannot pass as a fused run: name, file, and every use of it say so.
    assert run.name == "fused-DEGRADED-6-of-8"
    assert " fused-DEGRADED-6-of-8\n" in (tmp_path / "x.run").read_text("utf-8")
    assert json.loads((tmp_path / "x.run.json").read_text("utf-8"))["degraded"] == list(
        run.degraded
    )
    back = knb.Run.from_trec(tmp_path / "x.run")
    for use in (
        lambda: kb.evaluate(back, {"q0": {"a.md": 1}}),
        lambda: kb.evaluate({"fused": run}, {"q0": {"a.md": 1}}),
        lambda: kb.compare(a=run, b=whole),
    ):
        with pytest.raises(knb.EvaluationError, match="6 of 8 topics were ranked by words alone"):
            use()
    allowed = kb.evaluate({"fused": run}, {"q0": {"a.md": 1}}, allow_degraded=True)
    assert set(allowed["run"]) == {"fused-DEGRADED-6-of-8"}
    # A server that is back: the same call asks only for what degraded, and the run is whole.
    server.faults = Faults()
    server.requests.clear()
    mended = kb.run(TOPICS, mode="fused", save=tmp_path / "x.run")
    assert sum(server.sizes) == 6
    assert mended.name == "fused"
    assert {q: [d for d, _ in r] for q, r in mended.result.rankings.items()} == {
        q: [d for d, _ in r] for q, r in whole.result.rankings.items()
    }


def test_after_three_failures_in_a_row_the_rest_is_not_asked_for(
    kb: knb.KnowledgeBase, server: EmbeddingServer
) -> None:
    """A server that hangs would cost its time limit a topic; the reason says it was not asked."""
    server.faults = Faults(status=500)
    with pytest.warns(DegradedSearchWarning):
        run = kb.run(TOPICS, mode="fused")
    assert len(server.requests) == 1 + questions.FAILURES
    assert run.result.outcomes[-1].degraded.startswith("not asked, since 3 in a row failed")


def test_vector_mode_never_falls_back(kb: knb.KnowledgeBase, server: EmbeddingServer) -> None:
    """It raises, and there is no run."""
    server.faults = Faults(status=500)
    with pytest.raises(knb.EmbeddingError):
        kb.run(TOPICS, mode="vector")


def test_an_interrupted_run_goes_on_where_it_stopped(
    kb: knb.KnowledgeBase, server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done is not asked for again; the result is that of a run in one go."""
    monkeypatch.setattr(making, "BATCH", 2)
    whole = kb.run(TOPICS, mode="fused")

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kb.run(TOPICS, mode="fused", save=tmp_path / "x.run", progress=stop)
    assert not (tmp_path / "x.run").exists()
    with (tmp_path / "x.run.partial").open("a", encoding="utf-8") as file:
        file.write('{"outcome": {"qid": "q4", "que')  # a crash broke the last line off
    server.requests.clear()
    run = kb.run(TOPICS, mode="fused", save=tmp_path / "x.run")
    assert sum(server.sizes) == 4  # q4 and after
    assert run.result == whole.result
    assert not (tmp_path / "x.run.partial").exists()


def test_a_saved_run_that_was_made_otherwise_is_not_replaced(
    kb: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """The difference is named; overwrite replaces it; other topics are another run."""
    file = tmp_path / "x.run"
    kb.run(TOPICS, mode="lexical", save=file)
    with pytest.raises(knb.EvaluationError, match=r"made otherwise \(k: 1000 there, 5 now"):
        kb.run(TOPICS, mode="lexical", k=5, save=file)
    before = file.read_text("utf-8")
    for topics in ({"q0": "bread"}, {"q0": TOPICS["q0"]}, {**TOPICS, "q9": "tin"}):
        with pytest.raises(knb.EvaluationError, match=r"other qids or queries.*overwrite=True"):
            kb.run(topics, mode="lexical", save=file)
    assert file.read_text("utf-8") == before
    reordered = kb.run(dict(reversed(TOPICS.items())), mode="lexical", save=file)
    assert list(reordered.result.rankings) == list(reversed(TOPICS))
    kb.run(TOPICS, mode="lexical", k=5, save=file, overwrite=True)
    assert knb.Run.from_trec(file).result.provenance.k == 5
    (tmp_path / "theirs.run").write_text("q Q0 a 1 1.0 t\n", "utf-8")
    with pytest.raises(knb.EvaluationError, match="does not say what made it"):
        kb.run(TOPICS, mode="lexical", save=tmp_path / "theirs.run")
    with pytest.raises(knb.EvaluationError, match="own directory"):
        kb.run(TOPICS, mode="lexical", save=tmp_path / "knowledge" / "x.run")


def test_explain_and_reconcile_say_that_vectors_could_not_be_asked(
    kb: knb.KnowledgeBase, server: EmbeddingServer
) -> None:
    """They explain the lexical answer that a search gives then."""
    server.faults = Faults(status=500)
    with pytest.warns(DegradedSearchWarning, match="DEGRADED to lexical"):
        why = kb.explain("lantern harbour", "a.md")
    assert why.result.mode == "lexical"
    assert "DEGRADED" in why.result.tier
    assert "the vectors could not be asked" in why["why"][1]
    found = kb.reconcile("lantern")
    assert found.result.tiers == ("lexical",)
    assert any("vectors could not be asked" in note for note in found.result.notes)
    with pytest.raises(knb.EmbeddingError):
        kb.fusion_grid(TOPICS)


def test_without_the_extension_every_topic_degrades(
    kb: knb.KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a search: words alone and the reason; mode "vector" never falls back."""
    lexical = kb.run(TOPICS, mode="lexical").result.rankings
    kb.close()
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    with pytest.warns(DegradedSearchWarning, match="8 of 8 topics"):
        run = kb.run(TOPICS, mode="fused")
    assert run.degraded == tuple(TOPICS)
    assert run.result.rankings == lexical
    assert all("sqlite-vec" in each.degraded for each in run.result.outcomes)
    with pytest.warns(DegradedSearchWarning, match="sqlite-vec"):
        explained = kb.explain("lantern", "d.md", mode="fused")
    assert explained.result.mode == "lexical"
    assert any("sqlite-vec" in note for note in kb.reconcile("lantern").result.notes)
    with pytest.raises(knb.MissingDependencyError):
        kb.run(TOPICS, mode="vector")


def test_a_saved_run_with_other_docnos_is_not_taken_up(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """Two callables may have one name; the names that they make tell them apart."""
    file = tmp_path / "x.run"
    topics = {"q": "bread"}
    small.run(topics, mode="lexical", save=file, docno=lambda path: f"one-{path}")
    with pytest.raises(knb.EvaluationError, match=r"the callable gave other names.*overwrite=True"):
        small.run(topics, mode="lexical", save=file, docno=lambda path: f"two-{path}")
    again = small.run(topics, mode="lexical", save=file, docno=lambda path: f"one-{path}")
    assert list(again["docno"]) == ["one-d.md"]
    other = small.run(
        topics, mode="lexical", save=file, overwrite=True, docno=lambda path: f"two-{path}"
    )
    assert list(other["docno"]) == ["two-d.md"]


def test_an_interrupted_run_of_other_topics_is_not_taken_up(
    kb: knb.KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept beside it belongs to its own topics."""
    monkeypatch.setattr(making, "BATCH", 2)

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kb.run(TOPICS, mode="lexical", save=tmp_path / "x.run", progress=stop)
    kept = (tmp_path / "x.run.partial").read_text("utf-8")
    with pytest.raises(knb.EvaluationError, match="other qids or queries"):
        kb.run({"q0": "bread"}, mode="lexical", save=tmp_path / "x.run")
    assert (tmp_path / "x.run.partial").read_text("utf-8") == kept


def test_a_run_that_a_change_of_the_index_stopped_is_begun_anew(
    small: knb.KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice is to run it again, so that has to work."""
    monkeypatch.setattr(making, "BATCH", 1)
    other = knb.open(tmp_path / "knowledge")

    def change(done: int, total: int) -> None:
        if done == 1:
            (tmp_path / "docs" / "e.md").write_text("More bread.\n", "utf-8")
            other.index()

    topics, file = {"q": "bread", "r": "tin"}, tmp_path / "x.run"
    with pytest.raises(knb.EvaluationError, match="run it again"):
        small.run(topics, mode="lexical", save=file, progress=change)
    other.close()
    assert not file.with_name("x.run.partial").exists()
    again = small.run(topics, mode="lexical", save=file)
    assert set(again[again["qid"] == "q"]["docno"]) == {"d.md", "e.md"}


def test_what_was_saved_of_an_older_generation_is_refused(
    small: knb.KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finished or not: it is another run, and only `overwrite` replaces it."""
    monkeypatch.setattr(making, "BATCH", 1)
    topics, whole, part = {"q": "bread", "r": "tin"}, tmp_path / "x.run", tmp_path / "y.run"

    def stop(done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    small.run(topics, mode="lexical", save=whole)
    with pytest.raises(KeyboardInterrupt):
        small.run(topics, mode="lexical", save=part, progress=stop)
    (tmp_path / "docs" / "e.md").write_text("More bread.\n", "utf-8")
    small.index()
    for file in (whole, part):
        with pytest.raises(knb.EvaluationError, match=r"made otherwise \(generation: \d+ there"):
            small.run(topics, mode="lexical", save=file)
        again = small.run(topics, mode="lexical", save=file, overwrite=True)
        assert set(again[again["qid"] == "q"]["docno"]) == {"d.md", "e.md"}


def test_an_explanation_of_a_degraded_answer_says_so_in_its_text(
    kb: knb.KnowledgeBase, server: EmbeddingServer
) -> None:
    """First, so that it is not taken for one of the fused answer."""
    whole = kb.explain("lantern harbour", "a.md").text
    assert "DEGRADED" not in whole
    server.faults = Faults(status=500)
    with pytest.warns(DegradedSearchWarning):
        why = kb.explain("lantern harbour", "a.md")
    assert why.text.startswith("tier: hybrid -> DEGRADED to lexical")


def test_another_model_behind_the_same_name_fails_the_doctor(
    kb: knb.KnowledgeBase, server: EmbeddingServer
) -> None:
    """Name and width agree, the vector of the probe text does not."""

    def said() -> tuple[str, str]:
        report = kb.core.doctor()
        check = next(each for each in report.checks if each.check == "manifest matches")
        return check.state, check.message

    assert said()[0] == "pass"
    mine = server._embed
    server._embed = lambda texts: [each[::-1] for each in mine(texts)]
    state, message = said()
    assert state == "fail"
    assert "another model answers to the name" in message
    server.faults = Faults(status=500)
    assert said()[0] == "not run"
