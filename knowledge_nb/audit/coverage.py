"""What a list of terms covers of the corpus, term by term: every number as `enumerate` gives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import apsw

from knowledge_nb.audit.term_list import ListedTerm
from knowledge_nb.audit.universe import Universe, read_universe, smallest_cover, to_bits
from knowledge_nb.errors import QueryError
from knowledge_nb.matching.lexicon import LexiconCache
from knowledge_nb.matching.parted import parted
from knowledge_nb.matching.postings import Postings
from knowledge_nb.matching.query import ParsedQuery, parse, printable
from knowledge_nb.matching.sets import QuerySet, match_queries
from knowledge_nb.records import Completeness, Status, counted
from knowledge_nb.retrieval.under import resolve


@dataclass(frozen=True, slots=True)
class CoverageTerm:
    """One row of a coverage report; counts are of documents unless another unit is named.

    Attributes
    ----------
    documents : int
        That hold it; `enumerate`'s total for the same query and folder.
    unique_documents : int
        That no other term of the list hits.
    new_documents : int
        That no earlier term of the list hits.
    documents_as_written : int
        In which each of its words stands as written; the others hold a related form only.
    chunks, body_matches, heading_matches : int
        Chunks that match in either place, in the body, in the heading.
    share : float
        Of the documents looked at, 0 to 1.
    overlap_term, overlap_documents : str, int
        The other term that shares most documents, and how many; ties go to the term with more
        documents, then to the earlier one; "" and 0 where none shares any.
    duplicate_of : str
        The earlier term that asks the same; such a row takes nothing from the other rows' unique
        documents, and has none itself.
    error : str
        Why it was not answered; the counts are then 0 and say nothing, and tables leave them out.
    left_out : str
        Parts of it that were not searched, with the reasons.
    notes : str
        The same in a sentence, and the like.
    compiled : str
        The query as it was read.
    relatives : tuple of (str, int)
        Forms other than the words as written, with the documents that hold each.
    parted : frozenset of str
        Documents that hold a phrase of it for a reader only: markup stands between its words.
    parted_whole : bool
        Whether they were looked for everywhere.
    question : str
        What tells the question from another one: the same words in another order, or in capitals,
        ask the same.
    members, unanswered : int
        Of a group: its terms with an answer, each question once; and those without one.
    bits : int
        Its documents, as a set of the result's universe.
    """

    term: str
    label: str = ""
    group: str = ""
    documents: int = 0
    unique_documents: int = 0
    new_documents: int = 0
    documents_as_written: int = 0
    chunks: int = 0
    body_matches: int = 0
    heading_matches: int = 0
    share: float = 0.0
    overlap_term: str = ""
    overlap_documents: int = 0
    duplicate_of: str = ""
    error: str = ""
    notes: str = ""
    compiled: str = ""
    relatives: tuple[tuple[str, int], ...] = ()
    left_out: str = ""
    parted: frozenset[str] = frozenset()
    parted_whole: bool = True
    question: str = ""
    members: int = 0
    unanswered: int = 0
    bits: int = field(default=0, repr=False)

    @property
    def answered(self) -> bool:
        """Whether it is an answer of its own: no error, no repetition."""
        return not self.error and not self.duplicate_of


@dataclass(frozen=True, slots=True)
class CoverageResult:
    """The coverage of a whole list.

    Attributes
    ----------
    rows : tuple of CoverageTerm
        One per listed term, in the order of the list.
    hit : int
        The set of documents that any term hits; `documents_hit` counts it.
    universe : Universe
        The documents looked at: the whole corpus, or those under a folder.
    """

    status: Status
    tier: str
    universe: Universe
    rows: tuple[CoverageTerm, ...] = ()
    listed: tuple[ListedTerm, ...] = ()
    hit: int = field(default=0, repr=False)
    notes: tuple[str, ...] = ()
    under: str = ""
    completeness: Completeness = field(default_factory=Completeness)

    @property
    def documents(self) -> int:
        """Documents looked at."""
        return len(self.universe)

    @property
    def documents_hit(self) -> int:
        """Documents that at least one term hits."""
        return self.hit.bit_count()

    @property
    def matched(self) -> int:
        """The same, under the name that every result has."""
        return self.documents_hit

    @property
    def documents_missed(self) -> int:
        """Documents that no term hits."""
        return self.documents - self.documents_hit

    @property
    def errors(self) -> tuple[CoverageTerm, ...]:
        """Terms that were not answered."""
        return tuple(term for term in self.rows if term.error)

    def answered(self) -> list[CoverageTerm]:
        """Terms with an answer of their own, in list order."""
        return [term for term in self.rows if term.answered]

    def totals(self) -> str:
        """The totals in words."""
        where = f" under {self.under}" if self.under else ""
        return (
            f"{self.documents_hit:,} of {counted(self.documents)}{where} hit by any of "
            f"{counted(len(self.answered()), 'term')}, {self.documents_missed:,} by none."
        )

    def cover(self) -> tuple[list[tuple[CoverageTerm, int]], bool]:
        """Few terms that hit as many documents as all, and whether no fewer can."""
        terms = self.answered()
        chosen, proven = smallest_cover([term.bits for term in terms])
        return [(terms[place], added) for place, added in chosen], proven

    def groups(self) -> list[CoverageTerm]:
        """The same for the groups of the list, each the union of its terms, in order of mention.

        A term that stands in two groups counts in both. Chunks, places and forms are of terms, and
        are 0 here; "" groups the terms without one. A group of which no term was answered has an
        error, and its counts say nothing.
        """
        members: dict[str, dict[str, CoverageTerm]] = {}
        unanswered: Counter[str] = Counter()
        for term in self.rows:
            held = members.setdefault(term.group, {})
            if term.error:
                unanswered[term.group] += 1
            else:
                held.setdefault(term.question, term)
        rows = []
        for group, terms in members.items():
            bits = 0
            for term in terms.values():
                bits |= term.bits
            number = len(terms)
            rows.append(
                CoverageTerm(
                    group,
                    counted(number, "term"),
                    group,
                    members=number,
                    unanswered=unanswered[group],
                    error="" if terms else "none of its terms was answered",
                    bits=bits,
                )
            )
        return _compared(rows, self.documents)


def coverage(
    connection: apsw.Connection,
    listed: Sequence[ListedTerm],
    *,
    tier: str,
    completeness: Completeness,
    lexicon: LexiconCache,
    under: str = "",
) -> CoverageResult:
    """Answer every term of a list, in one committed state.

    Parameters
    ----------
    connection : apsw.Connection
        In the caller's read transaction.
    listed : sequence of ListedTerm
        As from `read_terms`.
    tier : str
        Passed through to the result.
    completeness : Completeness
        Of the same transaction.
    lexicon : LexiconCache
        Kept by the caller from call to call.
    under : str
        A folder, relative to the corpus base; restricts everything.

    Returns
    -------
    CoverageResult
        With a status other than OK there are no rows in it, and it says nothing of the corpus.
        A term that the language refuses has its `error` set and stops no other.
    """
    under = printable(under)
    result = CoverageResult(
        Status.OK, tier, Universe(()), listed=tuple(listed), under=under, completeness=completeness
    )
    if note := completeness.emptiness():
        return replace(result, status=completeness.status, notes=(note,))
    scope = resolve(connection, under)
    universe = read_universe(connection, under)
    parsed = [_parse(entry.term) for entry in listed]
    first: dict[str, int] = {}
    for number, query in enumerate(parsed):
        if isinstance(query, ParsedQuery):
            first.setdefault(_question(query), number)
    distinct = [query for query in (parsed[n] for n in first.values()) if _is_parsed(query)]
    postings = Postings(connection, scope)
    sets = match_queries(postings, lexicon.get(completeness), distinct)
    places = universe.places()
    answers: dict[str, CoverageTerm] = {}
    for question, found in zip(first, sets, strict=True):
        hidden = parted(postings, found.matches)
        answers[question] = replace(
            _counts(found, places),
            notes=" ".join(each.note() for each in hidden),
            parted=frozenset(path for each in hidden for path in each.paths),
            parted_whole=all(each.whole for each in hidden),
        )
    rows: list[CoverageTerm] = []
    for number, (entry, query) in enumerate(zip(listed, parsed, strict=True)):
        name, label, group = (printable(text) for text in (entry.term, entry.label, entry.group))
        if isinstance(query, str):
            rows.append(CoverageTerm(name, label, group, error=query))
            continue
        question = _question(query)
        earlier = first[question]
        rows.append(
            replace(
                answers[question],
                term=name,
                label=label,
                group=group,
                compiled=query.compiled,
                question=question,
                duplicate_of="" if earlier == number else printable(listed[earlier].term),
                left_out=query.left_out,
                notes=" ".join(filter(None, (_notes(query), answers[question].notes))),
            )
        )
    rows = _compared(rows, len(universe))
    hit = 0
    for row in rows:
        hit |= row.bits
    result = replace(result, universe=universe, rows=tuple(rows), hit=hit)
    return replace(result, notes=tuple(_list_notes(result, scope.note())))


def _parse(term: str) -> ParsedQuery | str:
    try:
        parsed = parse(term)
    except QueryError as error:
        return str(error)
    if parsed.terms:
        return parsed
    return f"Nothing of it can be searched: {parsed.left_out or 'it is blank'}."


def _question(query: ParsedQuery) -> str:
    """What is asked, whatever the order, the case and the repeats of the terms."""
    return " ".join(sorted({term.compiled.lower() for term in query.terms}))


def _is_parsed(query: ParsedQuery | str) -> TypeGuard[ParsedQuery]:
    return isinstance(query, ParsedQuery)


def _notes(query: ParsedQuery) -> str:
    notes = list(query.notes)
    if query.dropped:
        notes.insert(0, f"Left out of the question: {query.left_out}.")
    return " ".join(notes)


def _counts(found: QuerySet, places: dict[int, int]) -> CoverageTerm:
    forms: Counter[str] = Counter()
    for match in found.matches:
        if not match.term.excluded:
            forms.update(dict(match.related))
    return CoverageTerm(
        "",
        documents=len(found.documents),
        documents_as_written=len(found.as_written),
        chunks=len(found.body | found.heading),
        body_matches=len(found.body),
        heading_matches=len(found.heading),
        relatives=tuple(sorted(forms.items(), key=lambda form: (-form[1], form[0]))),
        bits=to_bits(found.documents, places),
    )


def _compared(rows: Sequence[CoverageTerm], documents: int) -> list[CoverageTerm]:
    """Fill in what depends on the other rows: unique, new, overlap; and the share."""
    once = more = 0
    for row in rows:
        if row.answered:
            more |= once & row.bits
            once |= row.bits
    alone, seen = once & ~more, 0
    ranked = sorted(
        (number for number, row in enumerate(rows) if row.answered and row.bits),
        key=lambda number: (-rows[number].bits.bit_count(), number),
    )
    compared = []
    for number, row in enumerate(rows):
        size = row.bits.bit_count()
        if not row.answered:
            compared.append(replace(row, share=size / documents if documents else 0.0))
            continue
        other, shared = _nearest(rows, ranked, number)
        compared.append(
            replace(
                row,
                documents=size,
                unique_documents=(row.bits & alone).bit_count(),
                new_documents=(row.bits & ~seen).bit_count(),
                share=size / documents if documents else 0.0,
                overlap_term=other,
                overlap_documents=shared,
            )
        )
        seen |= row.bits
    return compared


def _nearest(rows: Sequence[CoverageTerm], ranked: Sequence[int], number: int) -> tuple[str, int]:
    bits = rows[number].bits
    size, best, name = bits.bit_count(), 0, ""
    for other in ranked:  # by falling size: none that follows can share more than it holds
        if best >= min(size, rows[other].bits.bit_count()):
            break
        if other != number and (shared := (bits & rows[other].bits).bit_count()) > best:
            best, name = shared, rows[other].term
    return name, best


def _list_notes(result: CoverageResult, scope: str) -> list[str]:
    notes = [result.totals()]
    if scope:
        notes.append(scope)
    elif result.under:
        notes.append(
            f"Only {result.under!r} was looked at: {result.documents:,} of "
            f"{counted(result.completeness.documents)}."
        )
    repeated = [row for row in result.rows if row.duplicate_of]
    if repeated:
        notes.append(
            f"{counted(len(repeated), 'term')} asked the same as an earlier one and not counted "
            f"again: {_named(repeated)}."
        )
    if result.errors:
        notes.append(
            f"{counted(len(result.errors), 'term')} NOT ANSWERED: {_named(result.errors)}. "
            "Documents that only these would hit are among those hit by none."
        )
    cut = [row for row in result.rows if row.left_out]
    if cut:
        notes.append(
            f"{counted(len(cut), 'term')} asked without a part that cannot be searched: "
            f"{'; '.join(f'`{_short(row.term)}` ({row.left_out})' for row in cut[:SHOWN])}"
            + (f"; and {len(cut) - SHOWN:,} more." if len(cut) > SHOWN else ".")
        )
    hidden = [row for row in result.answered() if row.parted or not row.parted_whole]
    if hidden:
        shown = ", ".join(
            f"`{_short(row.term)}` ({'' if row.parted_whole else 'at least '}{len(row.parted):,})"
            for row in hidden[:SHOWN]
        )
        notes.append(
            f"{counted(len(hidden), 'term')} with further documents, not counted, that hold a "
            f"phrase for a reader only, since markup stands between its words: {shown}"
            + (f" and {len(hidden) - SHOWN:,} more." if len(hidden) > SHOWN else ".")
        )
    absent = [row for row in result.answered() if not row.documents]
    if absent:
        notes.append(f"{counted(len(absent), 'term')} in no document: {_named(absent)}.")
    gained = [row for row in result.answered() if row.documents and not row.documents_as_written]
    if gained:
        notes.append(
            f"{counted(len(gained), 'term')} found in related forms only, never as written: "
            f"{_named(gained)}; the stem gain lists the forms."
        )
    return notes


SHOWN = 10


def _named(rows: Sequence[CoverageTerm]) -> str:
    shown = ", ".join(f"`{_short(row.term)}`" for row in rows[:SHOWN])
    return shown if len(rows) <= SHOWN else f"{shown} and {len(rows) - SHOWN:,} more"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
