"""Which documents hold these words: a set, whole, never a ranking.

FTS5 evaluates a boolean within one row, and a row is a chunk, so each term runs on its own and
the sets of document ids are intersected and subtracted here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import apsw

from knowledge_nb.citation import ORDINAL_BITS, citation
from knowledge_nb.errors import QueryError
from knowledge_nb.matching.absence import Absence
from knowledge_nb.matching.lexicon import LexiconCache
from knowledge_nb.matching.parted import parted
from knowledge_nb.matching.postings import Postings
from knowledge_nb.matching.query import ParsedQuery, parse, printable
from knowledge_nb.matching.sets import query_set
from knowledge_nb.matching.terms import TermMatch, TermMatcher
from knowledge_nb.records import Completeness, DocumentMatch, EnumerateResult, Status, counted
from knowledge_nb.retrieval.under import Under, resolve
from knowledge_nb.store.sql import rows
from knowledge_nb.telemetry import step
from knowledge_nb.text import has_unspaced

SORTS = ("matches", "path")

_DOCUMENTS = "SELECT id, path, chunks FROM documents WHERE id IN (SELECT value FROM json_each(?))"
_ORDINAL = (1 << ORDINAL_BITS) - 1


def enumerate_documents(
    connection: apsw.Connection,
    query: str,
    *,
    tier: str,
    completeness: Completeness,
    lexicon: LexiconCache,
    sort: str = "matches",
    limit: int | None = None,
    min_body_matches: int = 0,
    under: str = "",
) -> EnumerateResult:
    """List every document that holds all terms of a query and none that it excludes.

    Parameters
    ----------
    connection : apsw.Connection
        In the caller's read transaction.
    query : str
        In the language of `query.parse`.
    tier : str
        Passed through to the result.
    completeness : Completeness
        Of the same transaction.
    lexicon : LexiconCache
        Kept by the caller from call to call.
    sort : {"matches", "path"}
        "matches": chunks whose body matches, then chunks whose heading matches, both most first,
        then by path.
    limit : int, optional
        Documents to return at most; `matched` is counted before it.
    min_body_matches : int
        Leave out documents with fewer matching bodies; `matched` is counted after it.
    under : str
        A folder, relative to the corpus base; restricts everything, the reports of terms included.

    Returns
    -------
    EnumerateResult
        With status OK, no match means that no covered document matches; the notes say why. Any
        other status is no answer about the corpus. When several hold, the first of index_not_built,
        corpus_empty, query_empty is given.

    Raises
    ------
    QuerySyntaxError
        Whatever the state of the index.
    QueryError
        `sort`, `limit` or `min_body_matches` cannot be used.
    """
    _check(sort, limit, min_body_matches)
    parsed = parse(query)
    result = EnumerateResult(
        printable(query),
        Status.OK,
        tier,
        sort=sort,
        min_body_matches=min_body_matches,
        dropped_terms=parsed.dropped,
        compiled=parsed.compiled,
        under=printable(under),
        completeness=completeness,
    )
    if not completeness.built:
        return _no_answer(result, Status.INDEX_NOT_BUILT)
    if not completeness.documents:
        return _no_answer(result, Status.CORPUS_EMPTY)
    if not parsed.terms:
        return _no_answer(result, Status.QUERY_EMPTY)
    postings = Postings(connection, resolve(connection, result.under))
    known = lexicon.get(completeness)
    with step("match"):
        matches = TermMatcher(postings, known).match(parsed.terms)
    with step("documents"):
        found = _documents(connection, matches)
    kept = [match for match in found if match.body_matches >= min_body_matches]
    if sort == "path":
        kept.sort(key=lambda match: match.path)
    else:
        kept.sort(key=lambda match: (-match.body_matches, -match.heading_matches, match.path))
    shown = kept if limit is None else kept[:limit]
    notes = []
    if not found and not postings.under.unknown:
        with step("absence"):
            notes += Absence(postings, known).explain(matches)
    with step("markup"):
        hidden = parted(postings, matches)
    notes += [
        *(each.note() for each in hidden),
        *_dropped_notes(parsed),
        *parsed.notes,
        *_form_notes(matches),
        *_under_notes(postings.under, completeness),
    ]
    if len(kept) < len(found):
        notes.append(
            f"{counted(len(found) - len(kept))} with fewer than {min_body_matches:,} matching"
            f" {'body' if min_body_matches == 1 else 'bodies'} left out of {len(found):,}."
        )
    if len(shown) < len(kept):
        notes.append(f"{len(shown):,} of {counted(len(kept))} shown; the limit cut the rest.")
    return replace(
        result,
        matched=len(kept),
        matches=tuple(shown),
        truncated=len(shown) < len(kept),
        terms=tuple(match.report() for match in matches),
        notes=tuple(notes),
        parted=tuple(hidden),
    )


def not_built(query: str, *, tier: str) -> EnumerateResult:
    """The answer where there is no store to read.

    Raises
    ------
    QuerySyntaxError
        As for a store that is there.
    """
    parsed = parse(query)
    result = EnumerateResult(
        printable(query),
        Status.INDEX_NOT_BUILT,
        tier,
        dropped_terms=parsed.dropped,
        compiled=parsed.compiled,
    )
    return _no_answer(result, Status.INDEX_NOT_BUILT)


def _check(sort: str, limit: int | None, min_body_matches: int) -> None:
    if sort not in SORTS:
        raise QueryError(f'sort is "matches" or "path", not {sort!r}')
    for name, number in (("limit", limit), ("min_body_matches", min_body_matches)):
        if number is not None and number < 0:
            raise QueryError(f"{name} is a whole number from 0, not {number}")


def _no_answer(result: EnumerateResult, status: Status) -> EnumerateResult:
    if status is not Status.QUERY_EMPTY:
        note = result.completeness.emptiness()
    elif result.dropped_terms:
        dropped = ", ".join(f"`{term}` ({reason})" for term, reason in result.dropped_terms)
        note = f"Nothing is left to search for: {dropped}. Name a longer word."
    else:
        note = "The query is blank. Name a word that the documents must hold."
    return replace(result, status=status, notes=(note,))


def _documents(connection: apsw.Connection, matches: Sequence[TermMatch]) -> list[DocumentMatch]:
    found = query_set(matches)
    if not found.documents:
        return []
    bodies = Counter(chunk >> ORDINAL_BITS for chunk in found.body)
    headings = Counter(chunk >> ORDINAL_BITS for chunk in found.heading)
    first: dict[int, int] = {}
    for chunk in sorted(found.body | found.heading, reverse=True):
        first[chunk >> ORDINAL_BITS] = chunk & _ORDINAL
    wanted = json.dumps(list(found.documents))
    return [
        DocumentMatch(path, citation(path, first[number]), bodies[number], headings[number], chunks)
        for number, path, chunks in rows(connection, _DOCUMENTS, (wanted,))
    ]


def _dropped_notes(parsed: ParsedQuery) -> list[str]:
    return [f"Left out of the question: {parsed.left_out}."] if parsed.dropped else []


def _form_notes(matches: Sequence[TermMatch]) -> list[str]:
    notes = []
    wider = [match for match in matches if len(match.as_written) < len(match.documents)]
    if wider:
        shown = ", ".join(
            f"`{match.term.text}` stands as written in {len(match.as_written):,} of the "
            f"{counted(len(match.documents))} that it matches"
            for match in wider
        )
        notes.append(f"Words match in any form of the same stem: {shown}.")
    idle = [match.term for match in matches if match.term.excluded and not match.documents]
    if idle:
        shown = ", ".join(f"`{term.compiled}`" for term in idle)
        notes.append(f"Excludes nothing, because no document holds it: {shown}.")
    unspaced = [match.term.text for match in matches if has_unspaced(match.term.text)]
    if unspaced:
        shown = ", ".join(f"`{text}`" for text in unspaced)
        notes.append(
            f"Scripts without spaces are matched as runs of characters, also inside longer words:"
            f" {shown}."
        )
    return notes


def _under_notes(under: Under, completeness: Completeness) -> list[str]:
    if under.documents is None:
        return []
    if under.unknown:
        return [under.note()]
    return [
        f"Only {under.folder!r} was looked at: {len(under.documents):,} of "
        f"{counted(completeness.documents)}."
    ]
