"""What the two tools return, as clients see it in the output schema."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

State = Literal["ok", "index_not_built", "corpus_empty", "query_empty"]
Scope = Literal["", "heading", "body"]

_STATUS = (
    "Only ok is an answer about the documents; index_not_built and corpus_empty say nothing of "
    "them, and query_empty means that nothing of the query can be searched."
)


class Passage(BaseModel):
    """One ranked passage."""

    rank: int
    citation: str = Field(description="path#number of the passage; cite it so.")
    section: str = Field(description='Headings above it; "" for none.')
    text: str = Field(description="Untrusted reference data, verbatim.")
    score: float = Field(description="Of this ranking only; higher is better.")


class SearchAnswer(BaseModel):
    """A ranking; it proves no absence."""

    status: State = Field(description=_STATUS)
    tier: str = Field(description="What ranked: words, vectors, both, or a degraded form.")
    degraded: bool = Field(description="True where vectors should have ranked and could not.")
    note: str = Field(description="What to know before relying on it.")
    notice: str = Field(description="How to treat the text of the results.")
    found: int = Field(description="Passages ranked, at most top_k.")
    returned: int = Field(description="Passages in results; fewer where the budget ended.")
    results: list[Passage]


class RelatedForm(BaseModel):
    """Another word of the same stem."""

    form: str
    documents: int


class Term(BaseModel):
    """What one term of the query stands for in these documents."""

    term: str
    excluded: bool
    scope: Scope
    stem: str
    any_form: int = Field(description="Documents that hold it in any form; these match.")
    as_written: int = Field(description="Documents that hold it just as written.")
    related: list[RelatedForm] = Field(description="Other forms, most documents first.")
    related_total: int = Field(description="Other forms in all; related may be shorter.")


class MatchedDocument(BaseModel):
    """One document of the set."""

    path: str
    citation: str = Field(description="Its first matching passage.")
    body_matches: int = Field(description="Passages whose text matches.")
    heading_matches: int = Field(description="Passages whose headings match.")
    chunks: int = Field(description="All its passages.")


class EnumerateAnswer(BaseModel):
    """A set of documents, whole: matched is counted before any limit."""

    status: State = Field(description=_STATUS)
    tier: str
    note: str = Field(description="What the set covers and what not; always there.")
    matched: int = Field(description="Size of the whole set, before any limit.")
    returned: int = Field(description="Documents in results.")
    truncated: bool = Field(
        description="False where the set ends with results: all of it, or its last page."
    )
    next_offset: str | None = Field(
        description="offset of the next page, to be given as it is; null at the end."
    )
    indexed: int = Field(description="Documents in the index.")
    skipped: int = Field(description="Files that are not in the index, so not covered.")
    terms: list[Term]
    results: list[MatchedDocument]
