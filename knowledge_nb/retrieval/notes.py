"""What a search says beside its hits."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_nb.records import Completeness, Hit, SearchResult, Status
from knowledge_nb.retrieval.lexical import LexicalRanking
from knowledge_nb.retrieval.under import Under

_NAMED = 5  # words written out in a note; the result carries them all

_QUERY_EMPTY = (
    "Nothing of this query can be searched: it needs a word of two or more letters or digits."
)
_NOTHING = (
    "No chunk was found. A ranking proves no absence: ask enumerate (`knowledge match`) which "
    "documents hold the words."
)


def status_notes(status: Status, completeness: Completeness) -> tuple[str, ...]:
    """Why there is no answer about the corpus, and the next command."""
    return (_QUERY_EMPTY if status is Status.QUERY_EMPTY else completeness.emptiness(),)


def answer_notes(
    asked: SearchResult,
    scope: Under,
    hits: Sequence[Hit],
    words: LexicalRanking,
    cut: int,
    terms: Sequence[str],
) -> tuple[str, ...]:
    """Sentences on a ranking: degradation first, then the folder, the words, the hits.

    Parameters
    ----------
    asked : SearchResult
        Mode, degradation and dropped terms are read.
    scope : Under
    hits : sequence of Hit
    words : LexicalRanking
    cut : int
        Characters of the query that the embedder did not see.
    terms : sequence of str
        Of the query, as the lexical tier searches it.

    Returns
    -------
    tuple of str
        Never empty when there is no hit.
    """
    notes = []
    if asked.degraded:
        notes.append(f"Vectors could not be used, so words alone were ranked: {asked.reason}")
    if scope.unknown:
        notes.append(scope.note())
    if asked.dropped_terms:
        named = [f"{word[:40]!r} ({reason})" for word, reason in asked.dropped_terms]
        notes.append(f"Not searched: {_some(named)}.")
    if words.common_terms:
        named = [repr(word[:40]) for word in words.common_terms]
        notes.append(
            f"At least half of all chunks hold {_some(named)}, which cannot tell them apart: left "
            "out of the ranking."
        )
    if asked.mode == "fused" and not terms:
        notes.append("No word of the query can be searched, so vectors alone were ranked.")
    if cut:
        notes.append(f"The embedder did not see the last {cut:,} characters of the query.")
    if not hits and not scope.unknown:
        notes.append(_NOTHING)
        runs = [repr(term.replace(" ", "")[:40]) for term in terms if term.count(" ") > 1]
        if runs and asked.mode == "lexical":
            notes.append(
                f"{_some(runs)}: a run of a script without spaces is one phrase. Put spaces "
                "between its words to search each of them."
            )
    return tuple(notes)


def _some(named: Sequence[str]) -> str:
    more = len(named) - _NAMED
    return ", ".join(named[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
