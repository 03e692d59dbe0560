"""The lexical tier: free text to OR-ed quoted terms, ranked by FTS5's BM25 on the porter table.

References
----------
FTS5, section 5.1.1 (bm25): https://www.sqlite.org/fts5.html#the_bm25_function. Okapi BM25 with
k1 = 1.2 and b = 0.75, negative there, so that lower is better; turned round here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import apsw

from knowledge_nb.retrieval.under import Under
from knowledge_nb.store.sql import rows, value
from knowledge_nb.text import is_unspaced, words

CommonTerms = Literal["drop", "keep"]

MAX_TERMS: Final = 40
MIN_CHARACTERS: Final = 2
CANDIDATES: Final = 50
# FTS5 opens one reader for every token of a phrase: a pasted page without spaces is cut.
_RUN_CLUSTERS: Final = 32

TOO_SHORT: Final = "under two characters"
TOO_MANY: Final = f"past the limit of {MAX_TERMS} terms"
NOT_SEARCHABLE: Final = "no letter or digit in it"

_RANK = (
    "SELECT rowid, -bm25(chunks_fts, 2.0, 1.0) FROM chunks_fts WHERE chunks_fts MATCH ?"
    " ORDER BY bm25(chunks_fts, 2.0, 1.0), rowid LIMIT ?"
)
_RANK_UNDER = (
    "SELECT rowid, -bm25(chunks_fts, 2.0, 1.0) FROM chunks_fts WHERE chunks_fts MATCH ?"
    " AND rowid >> 20 IN (SELECT value FROM json_each(?))"
    " ORDER BY bm25(chunks_fts, 2.0, 1.0), rowid LIMIT ?"
)
_ROWS = "SELECT count(*) FROM chunks_fts_docsize"
_HOLDING = "SELECT count(*) FROM (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT ?)"


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """A free text as the lexical tier searches it.

    Attributes
    ----------
    terms : tuple of str
        At most forty, in the order of the text, repeats kept: a word said twice counts twice.
        Empty when nothing of the text can be searched.
    dropped : tuple of (str, str)
        Words that are not searched, each once, with the reason, in the order of the text.
    """

    terms: tuple[str, ...]
    dropped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LexicalRanking:
    """Chunks by BM25, best first, ties by chunk id.

    Attributes
    ----------
    chunk_ids : tuple of int
        Empty when no chunk holds any of the terms.
    scores : tuple of float
        BM25 of each, falling; higher is better.
    common_terms : tuple of str
        Left out of `compiled` because at least half of the chunks hold them.
    compiled : str
        The FTS5 expression that ranked; "" when there was no term.
    """

    chunk_ids: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    common_terms: tuple[str, ...] = ()
    compiled: str = ""


def parse(text: str) -> LexicalQuery:
    """Reduce a free text to terms.

    Parameters
    ----------
    text : str
        Anything, of any length.

    Returns
    -------
    LexicalQuery
    """
    kept: list[str] = []
    dropped: dict[tuple[str, str], None] = {}
    searched: set[str] = set()
    for word in words(text):
        for term in _pieces(word):
            if len(term) < MIN_CHARACTERS and not is_unspaced(term):
                dropped[_shown(term), TOO_SHORT] = None
            elif len(kept) < MAX_TERMS:
                kept.append(term)
                searched.add(term)
            elif term not in searched:
                dropped[_shown(term), TOO_MANY] = None
    for piece in text.split():
        if not piece.isalnum() and not words(piece):
            dropped[piece, NOT_SEARCHABLE] = None
    return LexicalQuery(tuple(kept), tuple(dropped))


def compile_terms(terms: Sequence[str]) -> str:
    """The FTS5 expression: every term quoted, its quotes doubled, OR between; "" for none."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def rank(
    connection: apsw.Connection,
    terms: Sequence[str],
    *,
    limit: int,
    needed: int,
    under: Under,
    common_terms: CommonTerms = "drop",
) -> LexicalRanking:
    """Rank the chunks that hold any of the terms.

    FTS5 gives a term that at least half of the chunks hold an inverse document frequency of 1e-6,
    so it adds at most 2.2e-6 to a score, and spends most of its time on it. With "drop" such terms
    are left out where others remain, and chunks that hold nothing else are ranked, by their full
    score, only when fewer than `needed` were found. The order is then FTS5's own save between
    chunks whose scores differ by less than 2.2e-6 times the number of terms left out.

    Parameters
    ----------
    connection : apsw.Connection
        In a read transaction.
    terms : sequence of str
        As from `parse`.
    limit : int
        Chunks to return at most.
    needed : int
        Chunks that the caller will use; at most `limit`.
    under : Under
        Restricts before ranking, never after a cut.
    common_terms : {"drop", "keep"}
        "keep" gives FTS5's plain order.

    Returns
    -------
    LexicalRanking

    Raises
    ------
    apsw.SQLError
        FTS5 refused the expression. That is a fault here and never an empty answer.
    """
    if not terms or under.unknown:
        return LexicalRanking(compiled=compile_terms(terms))
    common = _common(connection, terms) if common_terms == "drop" else ()
    rest = [term for term in terms if term not in common]
    if not rest:
        common, rest = (), list(terms)
    compiled = compile_terms(rest)
    found = _run(connection, compiled, limit, under)
    if common and len(found) < needed:
        found_ids = {chunk for chunk, _ in found}
        often = compile_terms([term for term in terms if term in common])
        more = _run(connection, often, limit + len(found), under)
        # None of them holds another term, so this score is the full one.
        found += [row for row in more if row[0] not in found_ids]
        found = sorted(found, key=lambda row: (-row[1], row[0]))[:limit]
    return LexicalRanking(
        tuple(chunk for chunk, _ in found),
        tuple(score for _, score in found),
        tuple(_shown(term) for term in common),
        compiled,
    )


def _run(
    connection: apsw.Connection, compiled: str, limit: int, under: Under
) -> list[tuple[int, float]]:
    if under.documents is None:
        return _pairs(rows(connection, _RANK, (compiled, limit)))
    return _pairs(rows(connection, _RANK_UNDER, (compiled, under.as_json(), limit)))


def _pairs(found: list[tuple[Any, ...]]) -> list[tuple[int, float]]:
    return [(number, score) for number, score in found]


def _common(connection: apsw.Connection, terms: Sequence[str]) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(terms))
    if len(distinct) < 2:
        return ()
    half = -(-value(connection, _ROWS) // 2)
    return tuple(
        term
        for term in distinct
        if half and value(connection, _HOLDING, (compile_terms([term]), half)) >= half
    )


def _pieces(word: str) -> list[str]:
    if len(word) < 2 * _RUN_CLUSTERS or " " not in word:
        return [word]
    clusters = word.split(" ")
    return [
        " ".join(clusters[start : start + _RUN_CLUSTERS])
        for start in range(0, len(clusters), _RUN_CLUSTERS)
    ]


def _shown(term: str) -> str:
    return term.replace(" ", "")
