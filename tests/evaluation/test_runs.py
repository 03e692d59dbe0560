"""Runs: a search for many topics, with what made it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation import making
from knowledge_nb.evaluation.runs import as_run, named_runs
from knowledge_nb.evaluation.topics import read_topics
from tests.evaluation.conftest import FILES, QRELS, TOPICS, fill

MODES = ("lexical", "vector", "fused")


@pytest.mark.parametrize("mode", MODES)
def test_chunks_are_those_of_a_search_with_that_k(vectors_kb: knb.KnowledgeBase, mode: str) -> None:
    """The same citations, order and scores, topic by topic."""
    topics = dict(list(read_topics(TOPICS).items())[::3])
    run = vectors_kb.run(topics, mode=mode, k=10, unit="chunk").result
    for qid, query in topics.items():
        hits = vectors_kb.core.search(query, k=10, mode=mode).hits
        assert [(hit.citation, hit.score) for hit in hits] == list(run.rankings[qid])


@pytest.mark.parametrize("mode", MODES)
def test_the_best_chunk_stands_for_its_document(vectors_kb: knb.KnowledgeBase, mode: str) -> None:
    """Documents in the order of their first chunk, its score theirs, until nothing more ranks."""
    topics = {"t": "how long are temperature readings kept"}
    deep = vectors_kb.run(topics, mode=mode, k=1000, unit="chunk").result.rankings["t"]
    expected: dict[str, float] = {}
    for citation, score in deep:
        expected.setdefault(citation.rpartition("#")[0], score)
    run = vectors_kb.run(topics, mode=mode, k=1000).result.rankings["t"]
    assert run == tuple(expected.items())
    if mode != "lexical":
        with_chunks = [each for each in vectors_kb.core.sources() if each.chunks]
        assert len(run) >= len(with_chunks) - 1  # a heading alone may have a blank text


def test_the_frame_has_pyterriers_columns(small: knb.KnowledgeBase) -> None:
    """`qid docno rank score`, ranks from 1, higher score better; derived frames are plain."""
    run = small.run({"q": "lantern harbour", "r": "bread"}, mode="lexical")
    assert list(run.columns) == ["qid", "docno", "rank", "score"]
    assert list(run["qid"]) == ["q", "q", "q", "r"]
    assert list(run["rank"]) == [1, 2, 3, 1]
    assert run["score"][:3].is_monotonic_decreasing
    assert isinstance(run, knb.Run)
    assert type(run[run["qid"] == "q"]) is pd.DataFrame
    empty = small.run({"q": "zebra"}, mode="lexical")
    assert list(empty.dtypes) == list(run.dtypes)
    assert len(empty) == 0


def test_a_run_says_what_made_it(vectors_kb: knb.KnowledgeBase) -> None:
    """Mode, model, fusion, k, window, generation, versions."""
    made = vectors_kb.run(
        {"q": "ice"}, mode="fused", k=7, fusion={"weights": (2, 1), "rrf_k": 30, "window": 70}
    ).result.provenance
    assert (made.mode, made.k, made.window, made.rrf_k, made.weights) == (
        "fused",
        7,
        70,
        30,
        (2, 1),
    )
    assert made.model.startswith("wordllama")
    assert made.generation == vectors_kb.core.generation()
    assert {"python", "sqlite", "apsw", "knowledge-nb"} <= set(made.versions)
    by_search = [hit.path for hit in vectors_kb.core.search("ice", k=7, mode="fused").hits]
    assert by_search  # and a run without a fusion of its own has the search's
    assert vectors_kb.run({"q": "ice"}, mode="fused", k=7).result.provenance.window == 50


def test_topics_that_cannot_be_searched_stay_without_rows(small: knb.KnowledgeBase) -> None:
    """An empty topic, one of letters alone, one that nothing matches: each says which it is."""
    run = small.run({"e": "  ", "s": "a I ?", "n": "zebra", "q": "bread"}, mode="lexical")
    status = {each.qid: each.status for each in run.result.outcomes}
    assert status == {"e": "query_empty", "s": "query_empty", "n": "no_hits", "q": "ok"}
    assert list(run["qid"]) == ["q"]
    assert "2 topics of which nothing can be searched: no row (e, s)." in run.result.notes
    assert "1 topic for which nothing ranks: no row (n)." in run.result.notes
    assert dict(zip(run.outcomes["qid"], run.outcomes["status"], strict=True)) == status


def test_a_topic_of_words_that_stand_everywhere_is_ranked(tmp_path: Path) -> None:
    """There is no stop list: words that half of all chunks hold rank where nothing else is left."""
    files = {f"{n}.md": f"the and the of {'rare ' * (n == 1)}text number {n}\n" for n in range(6)}
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(fill(tmp_path / "docs", files))
        run = kb.run({"s": "the and of"}, mode="lexical")
        assert len(run) == 6
        found = kb.core.search("the and of", k=6).hits
        assert list(run["docno"]) == [hit.path for hit in found]


def test_a_blank_topic_in_vector_mode_is_empty_too(vectors_kb: knb.KnowledgeBase) -> None:
    """Nothing is embedded for it, and nothing degrades."""
    run = vectors_kb.run({"e": "", "q": "ice"}, mode="fused")
    assert run.result.outcomes[0].status == "query_empty"
    assert run.degraded == ()


def test_docnos_are_paths_stems_or_what_a_callable_says(small: knb.KnowledgeBase) -> None:
    """One rule for every document."""
    topics = {"q": "bread"}
    assert list(small.run(topics, mode="lexical")["docno"]) == ["d.md"]
    assert list(small.run(topics, mode="lexical", docno="stem")["docno"]) == ["d"]
    upper = small.run(topics, mode="lexical", docno=str.upper)
    assert list(upper["docno"]) == ["D.MD"]
    assert "upper" in upper.result.provenance.docno


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("stem", "'x': 'x.md' and 'x.txt'"),
        (lambda path: "same", "two documents would have the docno 'same'"),
        (lambda path: "", "gave ''"),
        ("name", 'docno is "path"'),
    ],
    ids=["stem", "one name", "no name", "unknown"],
)
def test_colliding_docnos_are_an_error(tmp_path: Path, rule: object, said: str) -> None:
    """Judgements could not tell the documents apart."""
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(fill(tmp_path / "docs", {"x.md": "bread\n", "x.txt": "bread\n"}))
        with pytest.raises(knb.EvaluationError, match=said):
            kb.run({"q": "bread"}, mode="lexical", docno=rule)


def test_a_store_without_an_answer_is_refused(tmp_path: Path) -> None:
    """Not built and empty are told apart, and neither gives an empty run."""
    with knb.open(tmp_path / "knowledge") as kb:
        with pytest.raises(knb.IndexNotBuiltError):
            kb.run({"q": "bread"})
        (tmp_path / "docs").mkdir()
        kb.index(tmp_path / "docs")
        with pytest.raises(knb.CorpusEmptyError):
            kb.run({"q": "bread"})


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"k": True}, {"mode": "best"}, {"unit": "page"}, {"common_terms": "x"},
                {"window": 0}, {"rrf_k": -1}, {"weights": (1, -1)}],
    ids=str,
)  # fmt: skip
def test_arguments_out_of_range_are_refused(
    small: knb.KnowledgeBase, options: dict[str, object]
) -> None:
    """As in a search."""
    with pytest.raises(knb.QueryError):
        small.run({"q": "bread"}, **options)  # type: ignore[arg-type]


def test_a_window_that_is_too_narrow_is_widened_and_said(vectors_kb: knb.KnowledgeBase) -> None:
    """k documents are wanted; a window that was given is never widened."""
    topics = {"t": "temperature"}
    wide = vectors_kb.run(topics, mode="fused", k=70)
    assert len(wide) == 70
    assert wide.result.outcomes[0].widened
    assert "whole rankings were fused there (t)" in " ".join(wide.result.notes)
    narrow = vectors_kb.run(topics, mode="fused", k=70, fusion={"window": 20})
    assert len(narrow) < 70
    assert not narrow.result.outcomes[0].widened


def test_the_progress_counts_topics(small: knb.KnowledgeBase) -> None:
    """Done and in all."""
    seen: list[tuple[int, int]] = []
    small.run({"q": "bread", "r": "tin"}, mode="lexical", progress=lambda *n: seen.append(n))
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_an_index_that_changes_meanwhile_stops_the_run(
    small: knb.KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is of one committed state."""
    monkeypatch.setattr(making, "BATCH", 1)
    other = knb.open(tmp_path / "knowledge")

    def change(done: int, total: int) -> None:
        if done == 1:
            (tmp_path / "docs" / "e.md").write_text("More bread.\n", "utf-8")
            other.index()

    with pytest.raises(knb.EvaluationError, match="the index changed"):
        small.run({"q": "bread", "r": "tin"}, mode="lexical", progress=change)
    other.close()


def test_runs_come_in_many_forms() -> None:
    """pytrec_eval's dict, PyTerrier's and ir-measures' frames: the score decides, then the rank."""
    scores = {"q": {"b": 1.0, "a": 2.0, "c": 1.0}}
    expected = (("a", 2.0), ("b", 1.0), ("c", 1.0))
    terrier = pd.DataFrame(
        {"qid": "q", "docno": ["c", "a", "b"], "rank": [2, 0, 1], "score": [1.0, 2.0, 1.0]}
    )
    measures = pd.DataFrame({"query_id": "q", "doc_id": ["b", "a", "c"], "score": [1.0, 2.0, 1.0]})
    for source in (scores, terrier, measures):
        run = as_run(source)
        assert run.rankings == {"q": expected}
        assert run.tied == 1
        assert run.notes == ()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (pd.DataFrame({"qid": ["q"], "docno": ["a"]}), "no column score"),
        (pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "a"], "score": [1, 2]}), "stands twice"),
        ({"q": {"a": float("nan")}}, "has the score nan"),
    ],
    ids=["column", "twice", "nan"],
)
def test_what_is_no_run_is_refused(source: object, said: str) -> None:
    """Before any number is made of it."""
    with pytest.raises(knb.EvaluationError, match=said):
        as_run(source)


def test_equal_labels_are_told_apart(small: knb.KnowledgeBase) -> None:
    """Nothing is lost by naming two runs alike."""
    run = small.run({"q": "bread"}, mode="lexical")
    assert list(named_runs([run, run])) == ["lexical", "lexical (2)"]
    assert list(named_runs({"x": run, "y": {"q": {"a": 1.0}}})) == ["x", "y"]
    assert list(named_runs({"q": {"a": 1.0}})) == ["run"]


def test_the_files_are_four() -> None:
    """The tests above count on it."""
    assert sorted(FILES) == ["a.md", "b.md", "c.md", "d.md"]


@pytest.mark.parametrize(("weights", "mode"), [((1, 0), "lexical"), ((0, 1), "vector")])
def test_weight_zero_leaves_the_other_tiers_ranking(
    vectors_kb: knb.KnowledgeBase, weights: tuple[int, int], mode: str
) -> None:
    """In a run, a search, the grid and reconcile alike: no tail of chunks that add nothing."""
    fused = vectors_kb.run(TOPICS, mode="fused", weights=weights).result
    alone = vectors_kb.run(TOPICS, mode=mode).result
    for qid, ranking in alone.rankings.items():
        assert [d for d, _ in fused.rankings[qid]] == [d for d, _ in ranking]
        assert all(score > 0 for _, score in fused.rankings[qid])
    for query in list(read_topics(TOPICS).values())[::6]:
        by_fusion = vectors_kb.core.search(query, k=20, mode="fused", weights=weights).hits
        by_tier = vectors_kb.core.search(query, k=20, mode=mode).hits  # type: ignore[arg-type]
        assert [hit.citation for hit in by_fusion] == [hit.citation for hit in by_tier]
    grid = vectors_kb.fusion_grid(TOPICS, QRELS, k=[60], weights=[weights], window=[1000])
    measured = vectors_kb.evaluate(alone, QRELS, "nDCG@10")["mean"][0]
    assert grid["mean"][0] == pytest.approx(measured)
    joined = vectors_kb.reconcile("temperature readings", k=5, weights=weights)
    assert list(joined["fused_rank"].fillna(0)) == list(joined[f"{mode}_rank"].fillna(0))
