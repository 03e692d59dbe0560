"""What an answer was to: the question in plain data, so that it can be asked again."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from knowledge_nb.audit.coverage import CoverageResult
from knowledge_nb.audit.files import FilesResult
from knowledge_nb.audit.match_set import MatchSet
from knowledge_nb.audit.table import Table, TableResult
from knowledge_nb.errors import ExportError
from knowledge_nb.records import (
    Completeness,
    EnumerateResult,
    SearchResult,
    Status,
    VocabularyResult,
)
from knowledge_nb.refusals import require_answer


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what its answer said.

    Attributes
    ----------
    verb, arguments : str, dict
        For asking again; the verb is "" where that cannot be done.
    query, compiled : str
        As asked, and as it was read; "" where there is none.
    totals : dict
        Figures of the answer, counted before any limit.
    """

    verb: str
    arguments: dict[str, Any] = field(default_factory=dict)
    query: str = ""
    compiled: str = ""
    totals: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tier: str = ""
    completeness: Completeness | None = None


@dataclass(frozen=True, slots=True)
class SourcesAnswer:
    """What stands behind the list of all documents."""

    completeness: Completeness
    tier: str = ""
    status: Status = Status.OK


def question_of(result: Any, table: Table) -> Question:
    """The question behind a result, and a refusal where the result is not whole.

    Parameters
    ----------
    result
        The record of a verb; None, or one that is not known here, gives a question that cannot
        be asked again.
    table : Table
        The part of the answer that is exported.

    Raises
    ------
    IndexNotBuiltError, CorpusEmptyError, QueryEmptyError
        There is no answer: an empty file would look like one.
    ExportError
        The result is a page of a longer list.
    """
    if hasattr(result, "status"):
        require_answer(result)
    if isinstance(result, EnumerateResult):
        return _enumerate(result)
    if isinstance(result, VocabularyResult):
        return _vocabulary(result)
    if isinstance(result, SearchResult):
        arguments: dict[str, Any] = {
            "query": result.query,
            "k": result.k,
            "mode": result.mode,
            "under": result.under,
        }
        return Question(
            "search",
            arguments,
            result.query,
            result.compiled,
            {"hits": len(result.hits)},
            (
                "A ranking of at most k hits, never a complete set; `match` gives one.",
                *result.notes,
            ),
            result.tier,
            result.completeness,
        )
    if isinstance(result, CoverageResult):
        return _coverage(result, table)
    if isinstance(result, MatchSet):
        return Question(
            "match_set",
            {"expression": result.question(), "under": result.under},
            result.expression,
            result.compiled_expression,
            {"matched": result.matched, "documents": len(result.universe)},
            (result.tree(), *result.notes),
            result.tier,
            result.completeness,
        )
    if isinstance(result, FilesResult):
        totals = {state: number for state, (number, _) in result.totals.items()}
        base = result.completeness.base
        roots = [os.path.normpath(os.path.join(base, root)) for root in result.roots]
        arguments = {"paths": roots, "under": result.under}
        return Question(
            "audit",
            arguments,
            totals=totals,
            notes=(result.headline(), *result.notes),
            tier=result.tier,
            completeness=result.completeness,
        )
    if isinstance(result, TableResult):
        return Question(
            table.kind,
            result.arguments,
            result.statement,
            totals={"rows": len(table.rows), **result.facts},
            notes=result.notes,
            tier=result.tier,
            completeness=result.completeness,
        )
    if isinstance(result, SourcesAnswer):
        return Question(
            "sources",
            totals={"documents": len(table.rows)},
            tier=result.tier,
            completeness=result.completeness,
        )
    return Question(
        "",
        totals={"rows": len(table.rows)},
        notes=tuple(getattr(result, "notes", ())),
        tier=str(getattr(result, "tier", "")),
        completeness=getattr(result, "completeness", None),
    )


def _enumerate(result: EnumerateResult) -> Question:
    if result.truncated:
        raise ExportError(
            f"this answer holds {len(result.matches):,} of {result.matched:,} documents, and an "
            "export is never a page: ask again without a limit"
        )
    arguments = {
        "query": result.query,
        "sort": result.sort,
        "min_body_matches": result.min_body_matches,
        "under": result.under,
    }
    return Question(
        "enumerate",
        arguments,
        result.query,
        result.compiled,
        {"matched": result.matched},
        result.notes,
        result.tier,
        result.completeness,
    )


def _vocabulary(result: VocabularyResult) -> Question:
    if len(result.words) < result.matched:
        raise ExportError(
            f"this answer holds {len(result.words):,} of {result.matched:,} words, and an export "
            "is never a page: ask again without a limit"
        )
    return Question(
        "vocabulary",
        {"pattern": result.pattern, "prefix": result.prefix},
        totals={"matched": result.matched},
        notes=result.notes,
        tier=result.tier,
        completeness=result.completeness,
    )


def _coverage(result: CoverageResult, table: Table) -> Question:
    arguments: dict[str, Any] = {
        "terms": [[entry.term, entry.label, entry.group] for entry in result.listed],
        "under": result.under,
        "part": table.kind,
    }
    if table.kind == "coverage.by_folder":
        folders = list(table.columns)[1:]
        deepest = max((name.count("/") + 1 for name in folders), default=1)
        arguments["depth"] = deepest
    totals = {
        "documents": result.documents,
        "documents_hit": result.documents_hit,
        "documents_missed": result.documents_missed,
        "terms": len(result.rows),
        "terms_not_answered": len(result.errors),
    }
    return Question(
        "coverage",
        arguments,
        compiled="\n".join(row.compiled for row in result.rows),
        totals=totals,
        notes=result.notes,
        tier=result.tier,
        completeness=result.completeness,
    )
