"""Charts of the evaluation frames: drawn without pyplot, with and without rows."""

from __future__ import annotations

import sys

import pytest

import knowledge_nb as knb
from tests.evaluation.conftest import QRELS, TOPICS

EXPECTED = {
    "evaluation": ("means", "per query"),
    "comparison": ("overlap distribution", "bump", "ranks"),
    "explanation": ("terms",),
    "reconciliation": ("recall",),
    "fusion_grid": ("heat map",),
}


def draw(frame: knb.Run) -> None:
    """Draw every chart of a frame, and look at what came out."""
    for name in frame.charts:
        png = frame.chart(name)._repr_png_()
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert len(png) > 3_000
    assert "matplotlib.pyplot" not in sys.modules


def test_every_frame_has_its_charts(vectors_kb: knb.KnowledgeBase) -> None:
    """By name; the first is the default; also in the banner's page."""
    runs = {mode: vectors_kb.run(TOPICS, mode=mode, k=50) for mode in ("lexical", "fused")}
    frames = (
        vectors_kb.evaluate(runs, QRELS),
        vectors_kb.compare(TOPICS),
        vectors_kb.explain("temperature of the ice", "policies/retention.md"),
        vectors_kb.reconcile("temperature readings"),
        vectors_kb.fusion_grid(TOPICS, QRELS, k=[60], window=[50]),
    )
    for frame in frames:
        assert frame.charts == EXPECTED[frame.kind]
        draw(frame)
        assert frame.result.tier.split()[0] in frame._repr_html_()
    assert runs["fused"].charts == ()
    assert "run fused" in runs["fused"]._repr_html_()


def test_the_worst_topics_are_named(vectors_kb: knb.KnowledgeBase) -> None:
    """`worse` and `better` are the sides of the chart."""
    runs = {mode: vectors_kb.run(TOPICS, mode=mode, k=50) for mode in ("lexical", "fused")}
    frame = vectors_kb.evaluate(runs, QRELS, "nDCG@10")
    row = frame[frame["measure"] == "nDCG@10"].iloc[1]
    assert len(frame.worse) == row["losses"]
    assert len(frame.better) == row["wins"]
    assert (frame.worse["difference"] < 0).all()
    assert frame.worse["difference"].is_monotonic_increasing


def test_charts_of_hardly_anything(small: knb.KnowledgeBase) -> None:
    """No judged hit, no common document, an empty set: a figure, never a traceback."""
    runs = {"a": {"q": {"x": 1.0}}, "b": {"q": {"y": 1.0}}}
    draw(small.evaluate(runs, {"q": {"z": 0}}, ["AP"]))
    draw(small.compare(a=runs["a"], b=runs["b"]))
    draw(small.reconcile("lantern bread"))
    draw(small.explain("?", "a.md"))
    with pytest.raises(knb.QueryError, match="a difference needs two"):
        small.evaluate(runs["a"], {"q": {"z": 0}}, ["AP"]).chart("per query")
    with pytest.raises(knb.QueryError, match="no chart 'pie'"):
        small.compare(a=runs["a"], b=runs["b"]).chart("pie")
