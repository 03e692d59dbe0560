"""Keyword in context: every place of the words of a query, in the documents that it matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from knowledge_nb.citation import ORDINAL_BITS, citation
from knowledge_nb.errors import QueryError
from knowledge_nb.matching.enumerate import enumerate_documents
from knowledge_nb.matching.lexicon import Lexicon, LexiconCache
from knowledge_nb.matching.occurrences import Occurrences, Token, aligned, located
from knowledge_nb.matching.postings import Postings
from knowledge_nb.matching.query import parse
from knowledge_nb.matching.terms import TermMatcher
from knowledge_nb.records import Completeness, EnumerateResult, Status, TermReport
from knowledge_nb.retrieval.under import resolve
from knowledge_nb.store.sql import rows
from knowledge_nb.text import LEVEL_MARK, has_unspaced, tokens

_IDS = "SELECT id FROM documents WHERE path = ?"
_CHUNKS = (
    "SELECT ordinal, heading, heading_terms, body, body_terms, opens, continues, first_line,"
    " last_line"
    " FROM chunks WHERE document_id = ? ORDER BY ordinal"
)
_SPACE = re.compile(r"\s+")
_LEVELS = " > "


@dataclass(frozen=True, slots=True)
class KwicLine:
    """One place. White space of any length is one space in `left`, `match` and `right`."""

    path: str
    citation: str  # of the chunk in which the match begins
    line: int  # of the file, from 1; for a heading, the first that its chunk opens
    left: str
    match: str  # as it stands in the file
    right: str


@dataclass(frozen=True, slots=True)
class KwicResult:
    """Places in order of path, then of the file; `matched` is counted before the limit."""

    query: str
    status: Status
    tier: str
    width: int
    matched: int = 0
    documents: int = 0
    lines: tuple[KwicLine, ...] = ()
    truncated: bool = False
    terms: tuple[TermReport, ...] = ()
    dropped_terms: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    compiled: str = ""
    under: str = ""
    completeness: Completeness = field(default_factory=Completeness)


@dataclass(frozen=True, slots=True)
class _Chunk:
    ordinal: int
    heading: str
    heading_searched: str | None
    body: str
    searched: str | None
    opens: int
    continues: int
    first_line: int
    last_line: int

    def opened(self) -> Iterator[tuple[str, str | None]]:
        """The headings that begin here, as stored, and as searched where that differs."""
        if not self.opens:
            return
        if self.heading_searched is None:  # one level, which the index was given as it is
            yield self.heading, None
            return
        searched = self.heading_searched.split(LEVEL_MARK)
        pieces = self.heading.split(_LEVELS)
        levels = []
        for place, level in enumerate(searched, start=1):
            # A heading that holds the separator itself is in several pieces.
            spare = len(pieces) - (len(searched) - place)
            words, taken = len(tokens(level)), 1
            while taken < spare and len(tokens(_LEVELS.join(pieces[:taken]))) < words:
                taken += 1
            taken = spare if place == len(searched) else taken
            levels.append((_LEVELS.join(pieces[:taken]), level))
            del pieces[:taken]
        yield from levels[-self.opens :]

    @property
    def body_line(self) -> int:
        """The line of the file in which the body begins."""
        return self.last_line - self.body.count("\n")


def kwic(
    connection: apsw.Connection,
    query: str,
    *,
    tier: str,
    completeness: Completeness,
    lexicon: LexiconCache,
    width: int = 60,
    limit: int | None = None,
    under: str = "",
) -> KwicResult:
    """List every place of a query's words in the documents that `enumerate` gives for it.

    Parameters
    ----------
    connection : apsw.Connection
        In the caller's read transaction.
    query : str
        In the language of `query.parse`; terms with a minus only leave documents out.
    tier : str
        Passed through to the result.
    completeness : Completeness
        Of the same transaction.
    lexicon : LexiconCache
        Kept by the caller from call to call.
    width : int
        Characters of context on each side, at most; 0 to 10,000.
    limit : int, optional
        Rows at most; `matched` is counted before it.
    under : str
        A folder, relative to the corpus base.

    Returns
    -------
    KwicResult
        In order of path, then of the file. A heading counts once, where it stands.

    Raises
    ------
    QuerySyntaxError, QueryError
    """
    if not 0 <= width <= 10_000:
        raise QueryError(f"width is a number of characters from 0 to 10,000, not {width}")
    if limit is not None and limit < 0:
        raise QueryError(f"limit is a whole number from 0, not {limit}")
    asked = enumerate_documents(
        connection,
        query,
        tier=tier,
        completeness=completeness,
        lexicon=lexicon,
        sort="path",
        under=under,
    )
    lines: list[KwicLine] = []
    matched = 0
    if asked.status is Status.OK and asked.matches:
        known = lexicon.get(completeness)
        for line in _places(connection, asked, known, width):
            matched += 1
            if limit is None or len(lines) < limit:
                lines.append(line)
    notes = list(asked.notes)
    if len(lines) < matched:
        notes.append(f"{len(lines):,} of {matched:,} places shown; the limit cut the rest.")
    return _result(
        asked,
        width,
        matched=matched,
        lines=tuple(lines),
        truncated=len(lines) < matched,
        notes=notes,
    )


def not_built(query: str, *, tier: str, width: int = 60) -> KwicResult:
    """The answer where there is no store to read.

    Raises
    ------
    QuerySyntaxError
        As for a store that is there.
    """
    from knowledge_nb.matching import enumerate as documents

    asked = documents.not_built(query, tier=tier)
    return _result(asked, width, notes=asked.notes)


def _result(
    asked: EnumerateResult, width: int, *, notes: Sequence[str], **found: Any
) -> KwicResult:
    return KwicResult(
        query=asked.query,
        status=asked.status,
        tier=asked.tier,
        width=width,
        documents=asked.matched,
        terms=asked.terms,
        dropped_terms=asked.dropped_terms,
        notes=tuple(notes),
        compiled=asked.compiled,
        under=asked.under,
        completeness=asked.completeness,
        **found,
    )


def _places(
    connection: apsw.Connection, asked: EnumerateResult, known: Lexicon, width: int
) -> Iterator[KwicLine]:
    postings = Postings(connection, resolve(connection, asked.under))
    parsed = parse(asked.query).terms
    terms = [m for m in TermMatcher(postings, known).match(parsed) if not m.term.excluded]
    stem = postings.analyzer.porter
    bodies = Occurrences([() if t.term.scope == "heading" else t.stems for t in terms], stem)
    headings = Occurrences([() if t.term.scope == "body" else t.stems for t in terms], stem)
    hits = frozenset(chunk for term in terms for chunk in term.body | term.heading)
    for document in asked.matches:
        [(number,)] = rows(connection, _IDS, (document.path,))
        chunks = [_Chunk(*row) for row in rows(connection, _CHUNKS, (number,))]
        base = number << ORDINAL_BITS
        wanted = {chunk.ordinal for chunk in chunks if base + chunk.ordinal in hits}
        yield from _lines(document.path, chunks, wanted, bodies, headings, width)


def _lines(
    path: str,
    chunks: Sequence[_Chunk],
    wanted: set[int],
    bodies: Occurrences,
    headings: Occurrences,
    width: int,
) -> Iterator[KwicLine]:
    for section in _sections(chunks):
        if wanted.isdisjoint(chunk.ordinal for chunk in section):
            continue
        opening = section[0]
        for level, searched in opening.opened():
            for start, end in _ranges(headings.find(level, searched)):
                cited = citation(path, opening.ordinal)
                yield _line(path, cited, opening.first_line, level, start, end, width)
        text, starts, places = _joined(section)
        at = 0
        for start, end in _ranges(bodies.among(places)):
            while at + 1 < len(starts) and starts[at + 1] <= start:
                at += 1
            chunk = section[at]
            line = chunk.body_line + text.count("\n", starts[at], start)
            yield _line(path, citation(path, chunk.ordinal), line, text, start, end, width)


def _ranges(found: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Places without repeats: a word that two terms name is one place."""
    return sorted({(start, end) for start, end, _ in found})


def _sections(chunks: Sequence[_Chunk]) -> Iterator[list[_Chunk]]:
    section: list[_Chunk] = []
    for chunk in chunks:
        if section and not chunk.continues:
            yield section
            section = []
        section.append(chunk)
    if section:
        yield section


def _joined(section: Sequence[_Chunk]) -> tuple[str, list[int], list[Token]]:
    """The text of a section, where each chunk begins in it, and its tokens with their places."""
    parts: list[str] = []
    starts: list[int] = []
    places: list[Token] = []
    length = 0
    for number, chunk in enumerate(section):
        if number:
            gap = _gap(section[number - 1], chunk)
            parts.append(gap)
            length += len(gap)
        starts.append(length)
        found = located(chunk.body)
        if chunk.searched is not None:
            found = aligned(found, [token for token, _, _ in located(chunk.searched)])
        places += [(token, start + length, end + length) for token, start, end in found]
        parts.append(chunk.body)
        length += len(chunk.body)
    return "".join(parts), starts, places


def _gap(before: _Chunk, after: _Chunk) -> str:
    """What the packer left out between two chunks: line ends, a space, or nothing."""
    lines = after.body_line - before.last_line
    if lines > 0:
        return "\n" * lines
    cut = has_unspaced(before.body[-1:]) and has_unspaced(after.body[:1])
    return "" if cut else " "


def _line(
    path: str, cited: str, number: int, text: str, start: int, end: int, width: int
) -> KwicLine:
    left = _SPACE.sub(" ", text[max(start - 4 * width, 0) : start])
    right = _SPACE.sub(" ", text[end : end + 4 * width])
    return KwicLine(
        path,
        cited,
        number,
        left[len(left) - width :] if len(left) > width else left,
        _SPACE.sub(" ", text[start:end]),
        right[:width],
    )
