"""The fusion study."""

from __future__ import annotations

import pytest

import knowledge_nb as knb
from knowledge_nb.evaluation.fusion_grid import split
from knowledge_nb.evaluation.qrels import read_qrels
from knowledge_nb.evaluation.topics import read_topics
from tests.evaluation.conftest import QRELS, TOPICS


@pytest.fixture(scope="module")
def grid(vectors_kb: knb.KnowledgeBase) -> object:
    """A small one, of the handbook."""
    return vectors_kb.fusion_grid(
        TOPICS, QRELS, k=[10, 60], weights=[0.3, (1, 1), 0.8], window=[50, 1000]
    )


def test_a_cell_is_what_a_run_with_that_setting_measures(
    vectors_kb: knb.KnowledgeBase, grid: knb.Run
) -> None:
    """To the last bit of every topic's ranking: the same numbers, no search a cell."""
    assert len(grid) == 2 * 3 * 2
    for cell in grid.result.cells[::3]:
        run = vectors_kb.run(
            TOPICS,
            mode="fused",
            k=100,
            fusion={
                "weights": (cell.lexical_weight, cell.vector_weight),
                "rrf_k": cell.k,
                "window": cell.window,
            },
        )
        found = vectors_kb.evaluate(run, QRELS, "nDCG@10")
        assert found["mean"][0] == pytest.approx(cell.mean, abs=1e-12)


def test_what_is_reported_was_not_tuned_on(grid: knb.Run) -> None:
    """The best cell of one half, on the other; the halves share no topic and are all of them."""
    one, two = grid.result.halves
    assert set(one) & set(two) == set()
    assert set(one) | set(two) == set(read_topics(TOPICS))
    chosen = grid.chosen
    assert list(chosen["chosen_on"]) == ["first half", "second half"]
    assert list(chosen["reported_on"]) == ["second half", "first half"]
    for half, other, row in (
        ("first_half", "second_half", chosen.iloc[0]),
        ("second_half", "first_half", chosen.iloc[1]),
    ):
        best = grid.loc[grid[half].idxmax()]
        assert (row["k"], row["window"]) == (best["k"], best["window"])
        assert row["tuned"] == pytest.approx(best[other])
    held = grid.held_out
    assert set(held["qid"]) == set(one) | set(two)
    assert held[held["qid"].isin(two)]["tuned"].mean() == pytest.approx(chosen["tuned"][0])
    assert grid.test().topics == 40


def test_judged_documents_that_the_index_has_not_are_said(
    vectors_kb: knb.KnowledgeBase, grid: knb.Run
) -> None:
    """In the words of `evaluate`; not where the index has them all."""
    setting = {"k": [60], "weights": [(1, 1)], "window": [50]}
    judged = {qid: dict(grades) for qid, grades in read_qrels(QRELS).grades.items()}
    judged["t01"]["gone.md"] = 1
    found = vectors_kb.fusion_grid(TOPICS, judged, **setting).result.notes
    run = vectors_kb.run(TOPICS, mode="lexical", k=10)
    evaluated = vectors_kb.evaluate(run, judged, "nDCG@10").result.notes
    note = "Judged but not in the index, so missed by every run: 1 document (gone.md)."
    assert note in found
    assert note in evaluated
    assert not any("not in the index" in each for each in grid.result.notes)


def test_the_split_is_seeded() -> None:
    """The same seed gives the same halves, another one others; too few cannot be split."""
    topics, qrels = read_topics(TOPICS), read_qrels(QRELS)
    assert split(topics, qrels, 1) == split(topics, qrels, 1)
    assert split(topics, qrels, 1) != split(topics, qrels, 2)
    with pytest.raises(knb.EvaluationError, match="too few"):
        split(["t01", "t02", "t03"], qrels, 1)


def test_without_judgements_cells_show_agreement(vectors_kb: knb.KnowledgeBase) -> None:
    """More weight on a tier is more agreement with it; nothing is chosen."""
    found = vectors_kb.fusion_grid(TOPICS, weights=[0.0, 0.5, 1.0], k=[60], window=[1000])
    assert found["mean"].isna().all()
    assert found["agreement_lexical"].is_monotonic_increasing
    assert found["agreement_vector"].is_monotonic_decreasing
    assert found["agreement_vector"][0] == pytest.approx(1.0)
    assert len(found.chosen) == 0
    assert list(found.chosen.columns)[:3] == ["chosen_on", "reported_on", "topics"]


@pytest.mark.parametrize(
    "options", [{"weights": [2]}, {"weights": []}, {"k": [-1]}, {"window": [0]}], ids=str
)
def test_settings_out_of_range_are_refused(
    vectors_kb: knb.KnowledgeBase, options: dict[str, object]
) -> None:
    """As in a search."""
    with pytest.raises((knb.EvaluationError, knb.QueryError)):
        vectors_kb.fusion_grid(TOPICS, **options)


def test_a_store_without_vectors_has_nothing_to_fuse(small: knb.KnowledgeBase) -> None:
    """And says so."""
    with pytest.raises(knb.QueryError):
        small.fusion_grid({"q": "bread"})
