"""Tier lines, to the letter."""

from __future__ import annotations

from typing import Any

import pytest

from knowledge_nb.retrieval.tier import tier_line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"mode": "lexical"}, "tier: lexical (FTS5) - no embeddings configured"),
        (
            {"mode": "fused", "model": "m", "dimension": 3},
            "tier: hybrid (FTS5 + vectors, RRF) - model=m dim=3",
        ),
        (
            {"mode": "fused", "model": "m", "dimension": 3, "without_vector": 7},
            "tier: hybrid (FTS5 + vectors, RRF) - model=m dim=3 - 7 chunks without a vector",
        ),
        (
            {"mode": "fused", "model": "m", "dimension": 3, "reason": "no answer\nfrom x"},
            "tier: hybrid -> DEGRADED to lexical (no answer from x)",
        ),
        (
            {"mode": "fused", "model": "m", "dimension": 3, "reason": "r", "without_vector": 2},
            "tier: hybrid -> DEGRADED to lexical (r) - 2 chunks without a vector",
        ),
        (
            {"mode": "fused", "model": "m", "dimension": 3, "without_vector": 1},
            "tier: hybrid (FTS5 + vectors, RRF) - model=m dim=3 - 1 chunk without a vector",
        ),
        (
            {"mode": "vector", "model": "m", "dimension": 3},
            "tier: vector (exact L2) - model=m dim=3",
        ),
        (
            {"mode": "lexical", "model": "m", "dimension": 3, "without_vector": 2},
            "tier: lexical (FTS5) - vectors not asked for, model=m",
        ),
        (
            {"mode": "lexical", "model": "m"},
            "tier: lexical (FTS5) - no vectors stored yet for model=m",
        ),
    ],
)
def test_tier_lines(arguments: dict[str, Any], line: str) -> None:
    """Each state has one line, and no line break of a reason gets into it."""
    assert tier_line(**arguments) == line
