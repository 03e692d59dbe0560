"""The two tools: they ask the core, cut to the budget and say what was cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from knowledge_nb.agents import wording
from knowledge_nb.agents.budget import Size, fitting, search_budget, set_budget
from knowledge_nb.agents.paging import begin_of, continuation
from knowledge_nb.agents.schemas import (
    EnumerateAnswer,
    MatchedDocument,
    Passage,
    RelatedForm,
    Scope,
    SearchAnswer,
    State,
    Term,
)
from knowledge_nb.core import Core
from knowledge_nb.errors import QueryError
from knowledge_nb.records import EnumerateResult, SearchResult, Status, TermReport

MOST_HITS: Final = 20
QUERY_CHARACTERS: Final = 10_000
RELATED_SHOWN: Final = (8, 3, 0)  # of each term: fewer where the terms would fill half the budget
TERM_SHOWN: Final = 60

_STATES: Final[dict[Status, State]] = {
    Status.OK: "ok",
    Status.INDEX_NOT_BUILT: "index_not_built",
    Status.CORPUS_EMPTY: "corpus_empty",
    Status.QUERY_EMPTY: "query_empty",
}
_MEMBERSHIP = (
    "The set is complete for these words in the covered documents; synonyms and other spellings "
    "are other words."
)


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools over one core; threads may share them.

    Parameters
    ----------
    core : Core
        Of the store, which need not be built.
    exposed : tuple of str
        Names of the tools that the settings expose.
    """

    core: Core
    exposed: tuple[str, ...]

    def search(
        self, query: str, top_k: int | None, *, timeout: float | None
    ) -> tuple[SearchAnswer, str]:
        """Rank passages.

        Parameters
        ----------
        query : str
            Free text, at most 10,000 characters.
        top_k : int or None
            Passages wanted, from 1; more than 20 are taken as 20. None: as in the settings.
        timeout : float or None
            Seconds.

        Returns
        -------
        SearchAnswer, str
            The answer as a record and as text; both hold the same.

        Raises
        ------
        KnowledgeError
            As `Core.search`.
        """
        _check(query)
        wanted = self.core.settings.top_k if top_k is None else top_k
        result = self.core.search(query, k=min(wanted, MOST_HITS), timeout=timeout)
        return self._ranking(result, wanted)

    def _ranking(self, result: SearchResult, wanted: int) -> tuple[SearchAnswer, str]:
        passages = [
            Passage(
                rank=hit.rank,
                citation=hit.citation,
                section=hit.heading,
                text=hit.text,
                score=hit.score,
            )
            for hit in result.hits
        ]
        end = wording.mark()
        texts = [wording.passage_text(passage, end) for passage in passages]
        sizes = [Size.of(*pair) for pair in zip(texts, passages, strict=True)]
        budget = search_budget(self.core.settings.max_injected_tokens)

        def answer(returned: int) -> SearchAnswer:
            return SearchAnswer(
                status=_STATES[result.status],
                tier=result.tier,
                degraded=result.degraded,
                note=self._search_note(result, wanted, returned, sizes, budget),
                notice=wording.NOTICE,
                found=len(passages),
                returned=returned,
                results=passages[:returned],
            )

        bare = answer(0)  # with the longest note: the one that says what was cut
        returned = fitting(Size.of(wording.search_frame(bare), bare), sizes, budget)
        given = answer(returned)
        return given, "\n".join([wording.search_frame(given), *texts[:returned]])

    def _search_note(
        self, result: SearchResult, wanted: int, returned: int, sizes: list[Size], budget: int
    ) -> str:
        complete = "knowledge_enumerate" in self.exposed
        first = [wording.ASK_ENUMERATE if complete else wording.RANKING_ONLY]
        if wanted > MOST_HITS:
            first.append(f"top_k is at most {MOST_HITS}.")
        if sizes and sizes[0].longer > budget and returned:
            first.append(
                f"The first passage alone takes {sizes[0].longer:,} characters, more than the "
                f"budget of {budget:,}; it is given whole."
            )
        if returned < len(sizes):
            first.append(
                f"{returned:,} of {len(sizes):,} passages given: the next would exceed the budget "
                f"of {budget:,} characters."
            )
        return wording.note(" ".join(first), *result.notes)

    def enumerate(
        self,
        query: str,
        *,
        sort: str = "matches",
        limit: int | None = None,
        offset: int | str = 0,
        timeout: float | None = None,
    ) -> tuple[EnumerateAnswer, str]:
        """List the documents that hold all words.

        Parameters
        ----------
        query : str
            In the query language, at most 10,000 characters.
        sort : {"matches", "path"}
        limit : int or None
            Documents to list at most, from 1; None: as many as the budget holds.
        offset : int or str
            0, or for the next page the `next_offset` of the one before, as it was given.
        timeout : float or None
            Seconds.

        Returns
        -------
        EnumerateAnswer, str
            The answer as a record and as text; both hold the same.

        Raises
        ------
        PageError
            The page is of another set, order or question than the one before it.
        KnowledgeError
            As `Core.enumerate`.
        """
        _check(query)
        result = self.core.enumerate(query, sort=sort, timeout=timeout)
        begin = begin_of(offset, query, sort, result.matches)
        rows = result.matches[begin:]
        documents = [
            MatchedDocument(
                path=row.path,
                citation=row.citation,
                body_matches=row.body_matches,
                heading_matches=row.heading_matches,
                chunks=row.chunks,
            )
            for row in (rows if limit is None else rows[:limit])
        ]
        budget = set_budget(self.core.settings.max_injected_tokens)
        mark = continuation(query, sort, result.matches)  # hashed once, shown with many numbers

        def answer(returned: int, related: int) -> EnumerateAnswer:
            reached = begin + returned
            more = reached < result.matched
            return EnumerateAnswer(
                status=_STATES[result.status],
                tier=result.tier,
                note=_set_note(result, begin, returned),
                matched=result.matched,
                returned=returned,
                truncated=reached != result.matched,  # past the end, too: no set ends there
                next_offset=f"{reached}{mark}" if more else None,
                indexed=result.completeness.documents,
                skipped=sum(result.completeness.skipped.values()),
                terms=[_term(term, related) for term in result.terms],
                results=documents[:returned],
            )

        # Documents beyond the budget's characters cannot fit, so they are not measured.
        texts = [wording.document_text(document) for document in documents[: budget or 1]]
        sizes = [Size.of(*pair) for pair in zip(texts, documents, strict=False)]
        for related in RELATED_SHOWN:
            bare = answer(0, related)
            frame = Size.of(wording.enumerate_frame(bare), bare)
            if frame.longer <= budget // 2:
                break
        returned = fitting(frame, sizes, budget)
        given = answer(returned, related)
        return given, "\n".join([wording.enumerate_frame(given), *texts[:returned]])


def _check(query: str) -> None:
    if len(query) > QUERY_CHARACTERS:
        raise QueryError(
            f"the query has {len(query):,} characters; at most {QUERY_CHARACTERS:,} are taken"
        )


def _set_note(result: EnumerateResult, begin: int, returned: int) -> str:
    if result.status is not Status.OK:
        return wording.note("This says nothing about the documents.", *result.notes)
    first = [_MEMBERSHIP]
    reached, matched = begin + returned, result.matched
    if begin >= matched > 0:
        first.append(f"offset is past the end of the {matched:,} documents.")
    elif reached < matched:
        first.append(
            f"The list is cut: {begin + 1:,} to {reached:,} of {matched:,} documents; for more "
            "ask the same again with next_offset as offset."
        )
    elif begin:
        first.append(
            f"The last page: {begin + 1:,} to {matched:,} of {matched:,} documents; the set ends "
            "here."
        )
    return wording.note(f"{' '.join(first)} {result.completeness.statement()}", *result.notes)


def _term(term: TermReport, related: int) -> Term:
    return Term(
        term=wording.shortened(term.term, TERM_SHOWN),
        excluded=term.excluded,
        scope=cast(Scope, term.scope),
        stem=wording.shortened(term.stem, TERM_SHOWN),
        any_form=term.documents,
        as_written=term.documents_as_written,
        related=[
            RelatedForm(form=wording.shortened(form, TERM_SHOWN), documents=count)
            for form, count in term.related[:related]
        ],
        related_total=len(term.related),
    )
