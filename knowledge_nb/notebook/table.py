"""The table of a frame as HTML: first rows, long cells cut with the full text in reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from knowledge_nb.notebook.banner import warns
from knowledge_nb.notebook.html import DIM, LINE, MONO, TONES, details, element, escape, prose
from knowledge_nb.notebook.marks import Marks, marks_of
from knowledge_nb.retrieval.excerpt import Excerpt, excerpts

LONG_CELL = 160  # characters of a cell shown before it is cut
DEFAULT_ROWS = 60
_TD = f"padding: 3px 8px; vertical-align: top; border-bottom: 1px solid {LINE}"
_PRE = "white-space: pre-wrap; margin: 4px 0; max-height: 22em; overflow: auto"
# What another column of the same row tells already.
_TOLD = {
    "search": {"path": "citation", "ordinal": "citation"},
    "kwic": {"path": "citation"},
    "show": {"path": "citation", "ordinal": "citation"},
}


def table(frame: pd.DataFrame, kind: str, result: Any) -> str:
    """Render the first rows.

    Parameters
    ----------
    frame : DataFrame
    kind : str
        The verb, a key of `frames.COLUMNS`; "" for a frame of unknown make.
    result
        The record of the frame, for the words to mark; or None.

    Returns
    -------
    str
        HTML. pandas' option `display.max_rows` says how many rows; a line below the table says
        how many there are when some are not shown.
    """
    limit = pd.get_option("display.max_rows")
    shown = frame if limit is None else frame.head(int(limit))
    columns, hidden = _columns(frame, kind)
    marks = marks_of(result)
    rendered = {name: _column(shown[name], str(name), kind, marks, result) for name in columns}
    if kind == "doctor" and {"state", "message"} <= set(shown.columns):
        pairs = zip(shown["state"], shown["message"], strict=True)
        rendered["state"] = [_state(str(state), str(message)) for state, message in pairs]
    numeric = {name: pd.api.types.is_numeric_dtype(frame[name]) for name in columns}
    head = element("th", "", _TD)
    for name in columns:
        side = "right" if numeric[name] or name == "left" else "left"
        shown_name = escape(name).replace("_", "_<wbr>")
        style = f"{_TD}; text-align: {side}; overflow-wrap: normal"
        head += element("th", shown_name, style, scope="col")
    rows = []
    for at, label in enumerate(shown.index):
        style = f"{_TD}; color: {DIM}; font-weight: 400; white-space: nowrap"
        cells = element("th", escape(label), style, scope="row")
        for name in columns:
            cells += element("td", rendered[name][at], _style(str(name), numeric[name], kind))
        rows.append(element("tr", cells))
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    below = []
    if len(shown) < len(frame):
        below.append(f"{len(shown):,} of {len(frame):,} rows are drawn; the frame holds them all.")
    if hidden:
        below.append(f"Also in the frame: {', '.join(hidden)}.")
    foot = element("div", escape(" ".join(below)), f"color: {DIM}; font-size: 0.9em")
    return element(
        "div",
        element("table", body, "border-collapse: collapse; width: auto; max-width: 100%"),
        "overflow-x: auto",
    ) + (foot if below else "")


def _columns(frame: pd.DataFrame, kind: str) -> tuple[list[Any], list[str]]:
    """Columns to draw and names of those left out: told by another, or without any value."""
    told = _TOLD.get(kind, {})
    kept: list[Any] = []
    hidden: list[str] = []
    for name in frame.columns:
        empty = kind == "search" and len(frame) > 0 and frame[name].isna().all()
        if empty or _repeats(frame, kind, name) or (name in told and told[name] in frame.columns):
            hidden.append(str(name))
        else:
            kept.append(name)
    return kept, hidden


def _repeats(frame: pd.DataFrame, kind: str, name: str) -> bool:
    """Whether the one tier of a ranking says again what its rank and score say."""
    twin = {"lexical_rank": "rank", "lexical_score": "score", "vector_rank": "rank"}.get(name)
    if kind != "search" or twin not in frame.columns:
        return False
    return bool((frame[name] == frame[twin]).fillna(False).all())


def _style(name: str, numeric: bool, kind: str) -> str:
    if kind == "kwic" and name in ("left", "match", "right"):
        side = {"left": "right", "match": "center", "right": "left"}[name]
        wrap = "; white-space: nowrap" if name == "match" else ""
        return f"{_TD}; text-align: {side}; font-family: {MONO}; font-size: 0.9em{wrap}"
    if numeric:
        return f"{_TD}; text-align: right; white-space: nowrap"
    least = {"text": 16, "heading": 8, "citation": 9, "message": 14, "check": 7}.get(name, 3)
    wide = f"; min-width: {least}em" + ("" if name == "text" else "; max-width: 28em")
    return f"{_TD}; text-align: left{wide}"


def _column(values: pd.Series, name: str, kind: str, marks: Marks, result: Any) -> Sequence[str]:
    if kind == "doctor":
        return [prose(str(value)) for value in values]
    if name == "text":
        return _texts([str(value) for value in values], marks, result)
    if name in ("heading", "match", "left", "right") and kind in ("search", "kwic", "show"):
        return [f"<bdi>{marks.line(str(value))}</bdi>" for value in values]
    if pd.api.types.is_numeric_dtype(values):
        return [number(value) for value in values]
    if pd.api.types.is_datetime64_any_dtype(values):
        return [_missing() if pd.isna(v) else escape(f"{v:%Y-%m-%d %H:%M}") for v in values]
    return [cell(value) for value in values]


def _state(state: str, message: str) -> str:
    """What a check found, told apart by an edge and by words, not by colour alone."""
    warned = warns(state, message)
    said = escape("pass, with a warning" if warned else state)
    tone = "warn" if warned else "bad" if state == "fail" else ""
    if not tone:
        return said
    return element(
        "b", said, f"display: block; border-left: 4px solid {TONES[tone]}; padding: 0 5px"
    )


def _texts(texts: list[str], marks: Marks, result: Any) -> list[str]:
    """Whole chunks, closed: the lines with the words of the question, to open for all of it."""
    marks.learn(texts)
    query = getattr(result, "query", "") or ""
    cut = excerpts(texts, query, ignore=getattr(result, "common_terms", ()), lines=2, width=140)
    found = []
    for text, lines in zip(texts, cut, strict=True):
        if len(text) <= LONG_CELL:
            found.append(element("div", marks.html(text), "white-space: pre-wrap"))
            continue
        summary = "<br>".join(excerpt_html(line) for line in lines) or "…"
        found.append(details(summary, element("div", marks.html(text), _PRE)))
    return found


def excerpt_html(line: Excerpt) -> str:
    """One line of an excerpt, its words marked."""
    from knowledge_nb.notebook.marks import mark

    return "".join(mark(piece) if marked else escape(piece) for piece, marked in line.pieces)


def number(value: Any) -> str:
    """A number for the eye; the frame has all digits."""
    if pd.isna(value):
        return _missing()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.4g}"
    return f"{value:,.0f}" if not isinstance(value, complex) else escape(value)


def cell(value: Any) -> str:
    """Any other value, cut when long."""
    if not isinstance(value, (str, bytes, list, tuple, dict, set)) and pd.isna(value):
        return _missing()
    text = str(value)
    if len(text) <= LONG_CELL:
        return f"<bdi>{escape(text)}</bdi>"
    return details(f"<bdi>{escape(text[: LONG_CELL - 20])}</bdi>…", escape(text))


def _missing() -> str:
    return '<span title="no value" aria-label="no value">–</span>'
