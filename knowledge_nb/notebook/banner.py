"""What is said above an answer: totals, tier, status, notes, and what the answer covers.

It asks a record only for what it has, so that it serves the results of every verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knowledge_nb.notebook.html import DIM, LINE, box, details, element, escape, prose
from knowledge_nb.records import Completeness, SearchResult, Status, TermReport

FORMS_SHOWN = 6
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
    parts = [element("div", _headline(result, answered))]
    parts += [element("div", prose(note)) for note in getattr(result, "notes", ())]
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
    completeness = getattr(result, "completeness", None)
    if answered and isinstance(completeness, Completeness):
        parts.append(coverage(completeness, result))
    warned = not answered or getattr(result, "degraded", False)
    return box("".join(parts), "warn" if warned else "plain")


def _headline(result: Any, answered: bool) -> str:
    query = getattr(result, "query", None)
    asked = f" for <bdi><b>{escape(query)}</b></bdi>" if isinstance(query, str) and query else ""
    folder = getattr(result, "under", "")
    if folder:
        asked += f" under <bdi>{escape(folder)}</bdi>"
    if not answered:
        status = str(result.status).replace("_", " ")
        return f"<b>No answer</b>{asked}: {escape(status)}."
    tier = getattr(result, "tier", "")
    line = f"<b>{_total(result)}</b>{asked}"
    if isinstance(result, SearchResult):
        line += element("span", " · a ranking, which never proves that something is absent", _SMALL)
    return line + (element("div", escape(tier), _SMALL) if tier else "")


def _total(result: Any) -> str:
    headline = getattr(result, "headline", None)
    if callable(headline):  # a record that knows best what it is about
        return escape(headline())
    headline = getattr(result, "headline", None)
    if callable(headline):
        return prose(str(headline()))
    matched = getattr(result, "matched", None)
    documents = getattr(result, "documents", None)
    held = _held(result)
    if isinstance(result, SearchResult):
        return _counted(len(result.hits), "hit")
    if hasattr(result, "lines") and matched is not None:
        return f"{_counted(matched, 'place')} in {_counted(int(documents or 0), 'document')}"
    if hasattr(result, "words") and matched is not None:
        return _counted(matched, "word")
    if matched is not None:
        return _counted(matched, "document")
    return _counted(held, "row") if held is not None else "Answer"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


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
    shown = escape(", ".join(forms[:FORMS_SHOWN]) or "none")
    if len(forms) > FORMS_SHOWN:
        more = f" and {len(forms) - FORMS_SHOWN:,} more"
        shown = details(shown + more, escape(", ".join(forms[FORMS_SHOWN:])))
    cells = (
        f"<bdi>{escape(sign + scope + term.term)}</bdi>",
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
        f"Covers {_counted(completeness.documents, 'document')} as of {completeness.last_completed}"
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
        line.append(f"{_counted(completeness.removed_by_hand, 'document')} taken out")
    whole = element("div", prose(completeness.statement()), "margin: 2px 0 2px 14px")
    compiled = getattr(result, "compiled", "")
    if compiled:
        whole += element(
            "div",
            f"Read as: {prose('`' + compiled.replace('`', ' ') + '`')}",
            "margin: 2px 0 2px 14px",
        )
    return element("div", details(escape("; ".join(line)), whole), _SMALL)
