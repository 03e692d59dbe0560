"""What is said above an answer: totals, tier, status, notes, and what the answer covers.

It asks a record only for what it has, so that it serves the results of every verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knowledge_nb.notebook.html import (
    DIM,
    LINE,
    box,
    cut,
    details,
    element,
    escape,
    prose,
    scrolling,
)
from knowledge_nb.records import Completeness, SearchResult, Status, TermReport, counted

FORMS_SHOWN = 6
LONG_TERM = 60  # characters of a term in a table
_INDENTED = "margin: 2px 0 2px 14px"
_SMALL = f"color: {DIM}; font-size: 0.92em"
_CELL = f"padding: 1px 10px 1px 0; text-align: left; border-bottom: 1px solid {LINE}"


def banner(result: Any, rows: int | None = None) -> str:
    """The banner over a table.

    Parameters
    ----------
    result
        A record, or None for a frame without one.
    rows : int, optional
        Rows of the frame, to say when they are no longer those of the answer.

    Returns
    -------
    str
        HTML; empty without a record.
    """
    if result is None:
        return ""
    answered = getattr(result, "status", Status.OK) is Status.OK
    completeness = getattr(result, "completeness", None)
    known = completeness if isinstance(completeness, Completeness) else Completeness()
    parts = [_unfinished(known)] if answered and known.unfinished_since else []
    parts.append(_headline(result, answered))
    # A note that quotes a word of ten thousand letters is no reason to push the rows out of sight.
    parts += [scrolling(prose(note), 6) for note in getattr(result, "notes", ())]
    if not answered and known.status is not Status.OK:
        parts.append(element("div", prose("In Python: `kb.index('FOLDER')`.")))
    held = _held(result)
    if rows is not None and held is not None and rows != held:
        parts.append(
            element(
                "div",
                f"<b>This frame was changed after the answer:</b> {rows:,} rows are left of "
                f"{held:,}. The totals above are those of the answer.",
            )
        )
    terms = getattr(result, "terms", ())
    if isinstance(terms, tuple) and all(isinstance(term, TermReport) for term in terms):
        parts.append(terms_table(terms))
    if answered and known is completeness:
        parts.append(coverage(known, result))
    return box("".join(parts), _tone(result, answered, known))


def _tone(result: Any, answered: bool, known: Completeness) -> str:
    if getattr(result, "failed", ()):  # a doctor's report
        return "bad"
    checks = getattr(result, "checks", ())
    warned = any(warns(check.state, check.message) for check in checks)
    incomplete = getattr(result, "degraded", False) or bool(known.unfinished_since)
    return "warn" if warned or incomplete or not answered else "plain"


def warns(state: str, message: str) -> bool:
    """Whether a check of the doctor passed with a warning."""
    return state == "pass" and "WARNING:" in message


def _unfinished(known: Completeness) -> str:
    return element(
        "div",
        f"<b>A pass is running or did not finish</b> (begun {escape(known.unfinished_since)}): "
        "files may be missing here, and nothing is shown to be absent. "
        + prose("If none is running, index again: `kb.index()` or `knowledge index`."),
    )


def _headline(result: Any, answered: bool) -> str:
    query = getattr(result, "query", None)
    asked = ""
    if isinstance(query, str) and query:
        asked = f" for <bdi><b>{cut(query)}</b></bdi>" if query.strip() else " for a blank query"
    folder = getattr(result, "under", "")
    if folder:
        asked += f" under <bdi>{escape(folder)}</bdi>"
    if not answered:
        status = str(result.status).replace("_", " ")
        return element("div", f"<b>No answer</b>{asked}: {escape(status)}.")
    tier = getattr(result, "tier", "")
    line = f"<b>{_total(result)}</b>{asked}"
    if isinstance(result, SearchResult):
        line += element("span", " · a ranking, which never proves that something is absent", _SMALL)
    # Said by a screen reader when a form shows it; in a frame nothing changes, so nothing is said.
    said = element("div", line, role="status")
    return said + (element("div", escape(tier), _SMALL) if tier else "")


def _total(result: Any) -> str:
    headline = getattr(result, "headline", None)
    if callable(headline):  # a record that knows best what it is about
        return escape(headline())
    matched = getattr(result, "matched", None)
    documents = getattr(result, "documents", None)
    held = _held(result)
    if isinstance(result, SearchResult):
        return counted(len(result.hits), "hit")
    if hasattr(result, "lines") and matched is not None:
        return f"{counted(matched, 'place')} in {counted(int(documents or 0), 'document')}"
    if hasattr(result, "words") and matched is not None:
        return counted(matched, "word")
    if matched is not None:
        return counted(matched, "document")
    return counted(held, "row") if held is not None else "Answer"


def _held(result: Any) -> int | None:
    """Rows that the record itself has; None where it keeps none."""
    for name in ("hits", "matches", "words", "lines", "events", "checks"):
        found = getattr(result, name, None)
        if isinstance(found, tuple):
            return len(found)
    return None


def terms_table(terms: Sequence[TermReport]) -> str:
    """The report of each term as a small table; empty for none."""
    if not terms:
        return ""
    names = ("term", "documents, any form", "as written", "other forms found")
    head = "".join(element("th", name, _CELL + "; font-weight: 600", scope="col") for name in names)
    body = "".join(element("tr", _term(term)) for term in terms)
    style = "border-collapse: collapse; font-size: 0.92em; margin: 4px 0; width: auto"
    return element("table", f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>", style)


def _term(term: TermReport) -> str:
    sign = "−" if term.excluded else ""
    scope = f"{term.scope}:" if term.scope else ""
    forms = [f"{form} ({count:,})" for form, count in term.related]
    shown = cut(", ".join(forms[:FORMS_SHOWN]) or "none")
    if len(forms) > FORMS_SHOWN:
        more = f" and {len(forms) - FORMS_SHOWN:,} more"
        shown = details(shown + more, scrolling(escape(", ".join(forms[FORMS_SHOWN:])), 8))
    cells = (
        f"<bdi>{cut(sign + scope + term.term, LONG_TERM)}</bdi>",
        f"{term.documents:,}",
        f"{term.documents_as_written:,}",
        f"<bdi>{shown}</bdi>",
    )
    return "".join(element("td", cell, _CELL) for cell in cells)


def coverage(completeness: Completeness, result: Any = None) -> str:
    """The completeness statement in one line, to open for all of it and the question as read."""
    skipped = sum(completeness.skipped.values())
    other = sum(completeness.other_types.values())
    line = [
        f"Covers {counted(completeness.documents, 'document')} as of {completeness.last_completed}"
    ]
    if skipped:
        line.append(f"{skipped:,} skipped")
    if other:
        line.append(f"{other:,} of other types")
    if completeness.stale:
        line.append(f"{completeness.stale:,} maybe out of date")
    if completeness.without_vector:
        line.append(f"{completeness.without_vector:,} chunks without a vector")
    if completeness.unfinished_since:
        line.append("a pass did not finish")
    if completeness.older_passes:
        line.append("parts looked at earlier")
    if completeness.removed_by_hand:
        line.append(f"{counted(completeness.removed_by_hand, 'document')} taken out")
    whole = element("div", prose(completeness.statement()), _INDENTED)
    compiled = getattr(result, "compiled", "")
    if compiled:
        whole += element(
            "div",
            f"Read as: {scrolling(prose('`' + compiled.replace('`', ' ') + '`'), 8)}",
            _INDENTED,
        )
    return element("div", details(escape("; ".join(line)), whole), _SMALL)
