"""What each word of a query adds to a chunk's BM25 score.

BM25 is a sum over terms, so FTS5, asked for one term alone, gives that term's part. The parts sum
to the score of the whole query (tested to 1e-6).

References
----------
FTS5, section 5.1.1 (bm25): https://www.sqlite.org/fts5.html#the_bm25_function. A term that at
least half of all chunks hold has an inverse document frequency of 1e-6 there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import apsw

from knowledge_nb.retrieval.lexical import LexicalQuery, compile_terms
from knowledge_nb.store.sql import rows, value

_WEIGHT = (
    "SELECT -bm25(chunks_fts, 2.0, 1.0) FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid = ?"
)
_HOLDS = "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid = ?"
_CHUNKS = "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?"


@dataclass(frozen=True, slots=True)
class TermWeight:
    """One word of a query in one chunk.

    Attributes
    ----------
    status : {"matched", "common", "absent", "dropped"}
        "common": the chunk holds it, as do at least half of all chunks, so that it was left out of
        the ranking. "dropped": it is not searched at all, see `reason`.
    times : int
        How often it stands in the query; it counts so often.
    weight : float
        What it adds to the chunk's BM25 score, all its times together; 0 unless matched.
    chunks : int
        Chunks of the corpus that hold it in any form.
    place : str
        "heading", "body" or "heading, body"; "" where the chunk does not hold it.
    reason : str
        Why it was dropped.
    """

    term: str
    status: str
    times: int
    weight: float
    chunks: int
    place: str
    reason: str = ""


def term_weights(
    connection: apsw.Connection, parsed: LexicalQuery, common: frozenset[str], chunk_id: int
) -> tuple[TermWeight, ...]:
    """The words of a query in one chunk, in the order of the query, dropped ones last.

    Parameters
    ----------
    connection : apsw.Connection
        In a read transaction.
    parsed : LexicalQuery
    common : frozenset of str
        Words that the ranking left out, as `LexicalRanking.common_terms` shows them. Where the
        chunk holds no other word, they alone make its score, and count.
    chunk_id : int
    """
    times = Counter(parsed.terms)
    shown = {term: term.replace(" ", "") for term in times}
    weights = {term: _weight(connection, term, chunk_id) for term in times}
    others = any(weights[term] is not None for term in times if shown[term] not in common)
    found = []
    for term, number in times.items():
        weight = weights[term]
        left_out = shown[term] in common and others
        status = "absent" if weight is None else "common" if left_out else "matched"
        counted = number * weight if weight is not None and status == "matched" else 0.0
        chunks = int(value(connection, _CHUNKS, (compile_terms([term]),)))
        place = "" if weight is None else _place(connection, term, chunk_id)
        found.append(TermWeight(shown[term], status, number, counted, chunks, place))
    found += [TermWeight(word, "dropped", 1, 0.0, 0, "", why) for word, why in parsed.dropped]
    return tuple(found)


def _weight(connection: apsw.Connection, term: str, chunk_id: int) -> float | None:
    found = rows(connection, _WEIGHT, (compile_terms([term]), chunk_id))
    return float(found[0][0]) if found else None


def _place(connection: apsw.Connection, term: str, chunk_id: int) -> str:
    quoted = compile_terms([term])
    return ", ".join(
        column
        for column in ("heading", "body")
        if rows(connection, _HOLDS, (f"{column} : {quoted}", chunk_id))
    )
