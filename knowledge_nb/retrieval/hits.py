"""From rankings and hydrated rows to hits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from knowledge_nb.citation import citation
from knowledge_nb.records import Hit
from knowledge_nb.retrieval.fusion import Fused
from knowledge_nb.retrieval.lexical import LexicalRanking
from knowledge_nb.retrieval.vector import VectorRanking

Row = tuple[Any, ...]  # chunk id, path, ordinal, heading, body, first line, last line


def lexical_hits(rows: Iterable[Row], ranking: LexicalRanking) -> tuple[Hit, ...]:
    """Hits in the order of the rows; the score is BM25."""
    places = _places(ranking.chunk_ids)
    hits = []
    for rank, row in enumerate(rows, start=1):
        place = places[row[0]]
        score = ranking.scores[place]
        hits.append(_hit(rank, row, score, lexical_rank=place + 1, lexical_score=score))
    return tuple(hits)


def vector_hits(rows: Iterable[Row], ranking: VectorRanking) -> tuple[Hit, ...]:
    """Hits in the order of the rows; the score is the cosine: 1 - d^2 / 2 of unit vectors."""
    places = _places(ranking.chunk_ids)
    hits = []
    for rank, row in enumerate(rows, start=1):
        place = places[row[0]]
        distance = ranking.distances[place]
        score = 1 - distance * distance / 2
        hits.append(_hit(rank, row, score, vector_rank=place + 1, vector_distance=distance))
    return tuple(hits)


def fused_hits(
    rows: Iterable[Row], fused: Sequence[Fused], words: LexicalRanking, near: VectorRanking
) -> tuple[Hit, ...]:
    """Hits in the order of the rows; the score is the sum of the two contributions."""
    by_id = {each.chunk_id: each for each in fused}
    hits = []
    for rank, row in enumerate(rows, start=1):
        each = by_id[row[0]]
        lexical_rank, vector_rank = each.ranks
        hits.append(
            _hit(
                rank,
                row,
                each.score,
                lexical_rank=lexical_rank,
                lexical_score=None if lexical_rank is None else words.scores[lexical_rank - 1],
                vector_rank=vector_rank,
                vector_distance=None if vector_rank is None else near.distances[vector_rank - 1],
                lexical_contribution=each.contributions[0],
                vector_contribution=each.contributions[1],
            )
        )
    return tuple(hits)


def _places(chunk_ids: Sequence[int]) -> dict[int, int]:
    return {chunk_id: place for place, chunk_id in enumerate(chunk_ids)}


def _hit(rank: int, row: Row, score: float, **tiers: Any) -> Hit:
    chunk_id, path, ordinal, heading, body, first_line, last_line = row
    return Hit(
        rank,
        chunk_id,
        citation(path, ordinal),
        path,
        ordinal,
        heading,
        body,
        first_line,
        last_line,
        score,
        **tiers,
    )
