"""Which topics runs are measured on, and what an index did not cover."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import knowledge_nb as knb
from knowledge_nb.embedding.local import LocalEmbedder
from knowledge_nb.embedding.protocol import Refused
from knowledge_nb.evaluation.evaluating import evaluate
from knowledge_nb.evaluation.runs import Outcome, RunRecord
from tests.evaluation.conftest import FILES, fill

QRELS = {str(n): {"a": 1} for n in range(6)}


def run(name: str, qids: str, found: str = "012345", query: str = "query") -> RunRecord:
    """A run asked for `qids` that finds the relevant document for those of `found`."""
    rankings = {q: ((("a", 1.0),) if q in found else ()) for q in qids}
    return RunRecord(name, rankings, tuple(Outcome(q, f"{query} {q}", "ok") for q in qids))


def test_a_topic_that_was_never_asked_is_no_zero() -> None:
    """Two runs that find everything they are asked are equal, whatever one of them was asked."""
    whole, half = run("whole", "012345"), run("half", "012")
    found = evaluate([whole, half], QRELS, ["RR"])
    assert [mean.mean for mean in found.means] == [1.0, 1.0]
    assert found.qids == ("0", "1", "2")
    assert found.differences[0].test.topics == 3
    said = "Run half was not asked 3 topics (3, 4, 5) that another run was asked"
    assert any(note.startswith(said) for note in found.notes)


def test_a_topic_that_was_asked_without_hits_is_zero() -> None:
    """And its note says no hit."""
    found = evaluate([run("x", "012", found="01")], QRELS, ["RR"])
    assert found.means[0].mean == pytest.approx(2 / 3)
    assert "Run x has no hit, so 0, for 1 judged topic (2)." in found.notes
    assert "Judged but not asked, and left out: 3 topics." in found.notes


def test_a_run_of_another_tool_is_taken_as_asked_for_all(tmp_path: Path) -> None:
    """It cannot know; its missing topics count 0, and the note does not call that no hit."""
    file = tmp_path / "theirs.run"
    file.write_text("0 Q0 a 1 1.0 t\n9 Q0 a 1 1.0 t\n", "utf-8")
    alone = evaluate([str(file)], QRELS, ["RR"])
    assert alone.means[0].mean == pytest.approx(1 / 6)
    said = "which count 0: not asked, or nothing found."
    assert any(note.startswith("Run t has no row for 5 judged") for note in alone.notes)
    assert any(note.endswith(said) for note in alone.notes)
    beside = evaluate([str(file), run("ours", "012")], QRELS, ["RR"])
    assert beside.qids == ("0", "1", "2")
    assert [mean.mean for mean in beside.means] == [pytest.approx(1 / 3), 1.0]
    rest = evaluate([str(file), run("ours", "0")], QRELS, ["RR"])
    assert any("rows for 1 topic (9) that another run was not asked" in n for n in rest.notes)


def test_runs_without_a_common_topic_are_refused_and_other_queries_said() -> None:
    """A mean over nothing is no result; one qid may hide two queries."""
    with pytest.raises(knb.EvaluationError, match=r"no topic was asked of every run \(x, y\)"):
        evaluate([run("x", "01"), run("y", "23")], QRELS, ["RR"])
    found = evaluate([run("x", "01"), run("y", "01", query="other")], QRELS, ["RR"])
    said = "WARNING: the runs were asked different queries under the same qid: 0, 1."
    assert said in found.notes


class SomeRefused:
    """The local model; documents whose text holds "harbour" are refused."""

    def __init__(self) -> None:
        self._inner = LocalEmbedder()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def embed_documents(self, texts: Any, **options: Any) -> list[Any]:
        """As the model, save for what is refused."""
        made = self._inner.embed_documents(texts, **options)
        return [
            Refused("too long") if "harbour" in repr(text).lower() else vector
            for text, vector in zip(texts, made, strict=True)
        ]


@pytest.fixture
def holey(tmp_path: Path) -> Iterator[knb.KnowledgeBase]:
    """Four documents of which two have no vector."""
    with knb.open(tmp_path / "knowledge", embedder=SomeRefused()) as kb:  # type: ignore[arg-type]
        kb.index(fill(tmp_path / "docs", FILES))
        yield kb


TOPICS = {"1": "lantern", "2": "bread", "3": "tin boat", "4": "town"}
JUDGED = {"1": {"a.md": 1}, "2": {"d.md": 1}, "3": {"b.md": 1}, "4": {"d.md": 1}}


def test_missing_vectors_are_said_by_every_verb(holey: knb.KnowledgeBase) -> None:
    """Where vectors rank; words do not need them."""
    said = "2 of 4 chunks without a vector"
    for mode in ("vector", "fused"):
        made = holey.run(TOPICS, mode=mode).result
        assert said in made.notes[-1]
        assert "2 chunks without a vector" in made.tier
        assert made.provenance.without_vector == 2
        assert "2 chunks without a vector" in made.provenance.coverage
        measured = holey.evaluate(made, JUDGED, ["RR"]).result.notes
        assert any(note.startswith(f"Run {mode}: {said}") for note in measured)
    lexical = holey.run(TOPICS, mode="lexical").result
    assert lexical.notes == ()
    assert "without" not in lexical.tier
    compared = holey.compare(TOPICS, a="lexical", b="vector").result.notes
    assert any(note.startswith(f"Run vector: {said}") for note in compared)
    grid = holey.fusion_grid(TOPICS, JUDGED, k=[60], weights=[0.5], window=[50]).result
    assert said in grid.notes[0]
    assert "2 chunks without a vector" in grid.tier
    assert any(said in note for note in holey.reconcile("lantern").result.notes)


def test_a_saved_run_keeps_what_was_missing(holey: knb.KnowledgeBase, tmp_path: Path) -> None:
    """The notes come back with the file, and so do the figures."""
    holey.run(TOPICS, mode="vector", save=tmp_path / "x.run")
    back = knb.Run.from_trec(tmp_path / "x.run").result
    assert "2 of 4 chunks without a vector" in back.notes[-1]
    assert back.provenance.without_vector == 2


def test_an_unfinished_pass_and_skipped_files_are_said(
    small: knb.KnowledgeBase, tmp_path: Path
) -> None:
    """Also of a lexical run: documents may be missing."""
    (tmp_path / "docs" / "bad.md").write_bytes(b"\xff\xfe\xff broken \x00\x00")
    small.index()
    skipped = small.core.completeness()
    assert skipped.skipped
    made = small.run(TOPICS, mode="lexical").result
    assert skipped.statement() in made.notes
    assert made.provenance.skipped == 1

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    for number in range(3):
        (tmp_path / "docs" / f"new{number}.md").write_text("more bread\n", "utf-8")
    with pytest.raises(KeyboardInterrupt):
        small.core.index(progress=stop)
    warning = small.core.completeness().unfinished()
    assert warning
    made = small.run(TOPICS, mode="lexical").result
    assert any(warning in note for note in made.notes)
    assert made.provenance.unfinished == warning
    measured = small.evaluate(made, JUDGED, ["RR"]).result.notes
    assert any(warning in note for note in measured)


def test_an_unknown_folder_is_said(vectors_kb: knb.KnowledgeBase) -> None:
    """As a search says it: an empty run of a misspelt folder is no finding."""
    said = "No indexed document lies under 'polices'"
    topics = {"t": "temperature readings"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = vectors_kb.run(topics, mode="lexical", under="polices")
    assert made.result.notes[0].startswith(said)
    compared = vectors_kb.compare(topics, under="polices").result.notes
    assert any(said in note for note in compared)
    assert any(said in n for n in vectors_kb.reconcile("frost", under="polices").result.notes)
    with pytest.raises(knb.NotFoundError, match=said):
        vectors_kb.explain("frost", "policies/retention.md", under="polices")
    with pytest.raises(knb.QueryError, match="fusion_grid has no argument 'under'"):
        vectors_kb.fusion_grid(topics, under="polices")
