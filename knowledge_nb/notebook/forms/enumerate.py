"""`EnumerateForm`: the complete set of documents; `KwicForm`: every place of the words in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from knowledge_nb.matching.kwic import KwicLine, KwicResult
from knowledge_nb.notebook.forms.base import Form
from knowledge_nb.notebook.forms.parts import figure, grid
from knowledge_nb.notebook.forms.search import folder_field
from knowledge_nb.notebook.frames import ResultFrame, enumerate_frame, kwic_frame
from knowledge_nb.notebook.html import MONO, element, escape
from knowledge_nb.notebook.marks import mark
from knowledge_nb.records import DocumentMatch, EnumerateResult

_WIDTHS = "minmax(0, 1fr) 3.5em 4.5em 4.5em"
_LINE_WIDTHS = "2.6em minmax(0, 1fr) 6em minmax(0, 1fr)"
_ONE_LINE = (
    f"font-family: {MONO}; font-size: 0.85em; white-space: pre; overflow: hidden;"
    " text-overflow: ellipsis"
)
_PLACEHOLDER = 'words and "quoted phrases"; -without heading:word body:word'


class EnumerateForm(Form):
    """List every document that holds some words; see `Form` and `KnowledgeBase.enumerate`."""

    title = "Match"
    placeholder = _PLACEHOLDER
    export_name = "documents.csv"

    def _options(self) -> list[widgets.Widget]:
        self.sort = widgets.Dropdown(
            options={"most matches first": "matches", "path": "path"},
            value="matches",
            description="Order",
            tooltip="Order of the documents",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="220px"),
        )
        self.min_body_matches = widgets.BoundedIntText(
            0,
            min=0,
            max=1_000_000,
            description="Least body matches",
            tooltip="Leave out documents with fewer chunks whose body matches",
            continuous_update=False,
            style={"description_width": "initial"},
            layout=widgets.Layout(width="210px"),
        )
        self.under = folder_field()
        return [self.sort, self.min_body_matches, self.under]

    def _question(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"query": self.query.value}
        if self.sort.value != "matches":
            asked["sort"] = self.sort.value
        if self.min_body_matches.value:
            asked["min_body_matches"] = self.min_body_matches.value
        if self.under.value:
            asked["under"] = self.under.value
        return asked

    def _verb(self) -> str:
        return "enumerate"

    def _ask(self, question: dict[str, Any]) -> EnumerateResult:
        return self.kb.core.enumerate(**question)

    def _frame(self, record: EnumerateResult) -> ResultFrame:
        return enumerate_frame(record)

    def _records(self, record: EnumerateResult) -> Sequence[DocumentMatch]:
        return record.matches

    def _columns(self) -> str:
        return grid(("Document", "Body", "Heading", "Chunks"), _WIDTHS, head=True)

    def _row(self, record: DocumentMatch) -> tuple[str, str]:
        cells = (
            f"<bdi>{escape(record.path)}</bdi>",
            figure(record.body_matches, "body matches"),
            figure(record.heading_matches, "heading matches"),
            figure(record.chunks, "chunks"),
        )
        return record.citation, grid(cells, _WIDTHS)


class KwicForm(Form):
    """Show every place of some words with its context; see `Form` and `KnowledgeBase.kwic`."""

    title = "Show in context"
    placeholder = _PLACEHOLDER
    export_name = "places.csv"
    button_width = 150  # the context is what is read here, and needs the room

    def _options(self) -> list[widgets.Widget]:
        self.width = widgets.BoundedIntText(
            60,
            min=0,
            max=1_000,
            description="Characters each side",
            tooltip="Characters of context on each side",
            continuous_update=False,
            style={"description_width": "initial"},
            layout=widgets.Layout(width="210px"),
        )
        self.under = folder_field()
        return [self.width, self.under]

    def _question(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"query": self.query.value}
        if self.width.value != 60:
            asked["width"] = self.width.value
        if self.under.value:
            asked["under"] = self.under.value
        return asked

    def _verb(self) -> str:
        return "kwic"

    def _ask(self, question: dict[str, Any]) -> KwicResult:
        return self.kb.core.kwic(**question)

    def _frame(self, record: KwicResult) -> ResultFrame:
        return kwic_frame(record)

    def _records(self, record: KwicResult) -> Sequence[KwicLine]:
        return record.lines

    def _columns(self) -> str:
        left = element("div", "Left", "text-align: right")
        match = element("div", "Match", "text-align: center")
        return grid(("Line", left, match, "Right"), _LINE_WIDTHS, head=True)

    def _row(self, record: KwicLine) -> tuple[str, str]:
        # A line that runs to the left is cut, with "…", at its left: its end is what is seen. What
        # is in `bdi` keeps its own direction.
        left = f"{_ONE_LINE}; direction: rtl; text-align: right"
        cells = (
            figure(record.line, "line"),
            element("div", f"<bdi>{escape(record.left)}</bdi>", left, title=record.left),
            element(
                "div",
                f"<bdi>{mark(record.match)}</bdi>",
                f"{_ONE_LINE}; text-align: center",
                title=record.match,
            ),
            element("div", f"<bdi>{escape(record.right)}</bdi>", _ONE_LINE, title=record.right),
        )
        return record.citation, grid(cells, _LINE_WIDTHS)
