"""Tier lines: one line in which every answer says what produced it."""

from __future__ import annotations

from typing import Final

from knowledge_nb.records import Mode, counted

LEXICAL: Final = "tier: lexical (FTS5) - no embeddings configured"


class DegradedSearchWarning(UserWarning):
    """A search that should have used vectors answered from words alone; holds the reason."""


def tier_line(
    mode: Mode,
    *,
    model: str = "",
    dimension: int | None = None,
    without_vector: int = 0,
    reason: str = "",
) -> str:
    """Say which tier answered.

    Parameters
    ----------
    mode : {"lexical", "vector", "fused"}
        The mode that answered, or was asked for where a reason says why it did not.
    model : str
        Name of the embedding model; "" where no embeddings are configured.
    dimension : int or None
        Width of the stored vectors; None for a store without any.
    without_vector : int
        Chunks that should have a vector and have none.
    reason : str
        Why the vectors could not be used; "" where they were.

    Returns
    -------
    str
        One line, whatever line breaks the reason or the model's name holds.
    """
    if reason:
        line = f"tier: hybrid -> DEGRADED to lexical ({reason})"
    elif not model:
        line = LEXICAL
    elif dimension is None:
        line = f"tier: lexical (FTS5) - no vectors stored yet for model={model}"
    elif mode == "lexical":
        line = f"tier: lexical (FTS5) - vectors not asked for, model={model}"
    elif mode == "vector":
        line = f"tier: vector (exact L2) - model={model} dim={dimension}"
    else:
        line = f"tier: hybrid (FTS5 + vectors, RRF) - model={model} dim={dimension}"
    if without_vector and (mode != "lexical" or reason):
        line += f" - {counted(without_vector, 'chunk')} without a vector"
    return " ".join(line.split())
