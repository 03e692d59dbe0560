"""`SearchForm`: a ranking of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from knowledge_nb.notebook.forms.base import Form
from knowledge_nb.notebook.forms.parts import figure, grid
from knowledge_nb.notebook.frames import ResultFrame, search_frame
from knowledge_nb.notebook.html import DIM, element
from knowledge_nb.notebook.table import excerpt_html, number
from knowledge_nb.records import Hit, SearchResult
from knowledge_nb.retrieval.excerpt import excerpts

_WIDTHS = "3.2em 4em minmax(0, 1fr)"
_MODES = {"the best there is": "", "lexical": "lexical", "vector": "vector", "fused": "fused"}


def folder_field() -> widgets.Text:
    """The field that restricts a question to a folder."""
    return widgets.Text(
        description="Folder",
        placeholder="all",
        continuous_update=False,
        tooltip="Only documents below this folder, relative to the corpus base",
        style={"description_width": "initial"},
        layout=widgets.Layout(width="200px"),
    )


class SearchForm(Form):
    """Rank chunks for a free text; see `Form` and `KnowledgeBase.search`."""

    title = "Search"
    placeholder = "free text"
    export_name = "search.csv"

    def _options(self) -> list[widgets.Widget]:
        self.k = widgets.BoundedIntText(
            20,
            min=1,
            max=10_000,
            description="Hits",
            tooltip="Hits wanted",
            continuous_update=False,
            style={"description_width": "initial"},
            layout=widgets.Layout(width="110px"),
        )
        self.mode = widgets.Dropdown(
            options=_MODES,
            value="",
            description="Ranked by",
            tooltip="What to rank by: words, vectors, or both fused",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="220px"),
        )
        self.under = folder_field()
        return [self.k, self.mode, self.under]

    def _question(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"query": self.query.value, "k": self.k.value}
        if self.mode.value:
            asked["mode"] = self.mode.value
        if self.under.value:
            asked["under"] = self.under.value
        return asked

    def _verb(self) -> str:
        return "search"

    def _ask(self, question: dict[str, Any]) -> SearchResult:
        return self.kb.core.search(**question)

    def _frame(self, record: SearchResult) -> ResultFrame:
        return search_frame(record)

    def _records(self, record: SearchResult) -> Sequence[Hit]:
        self._asked_for = record
        return record.hits

    def _columns(self) -> str:
        return grid(("Rank", "Score", "Heading and text"), _WIDTHS, head=True)

    def _shown(self, records: Sequence[Hit]) -> list[tuple[str, str]]:
        asked = self._asked_for
        texts = [record.text for record in records]
        cut = excerpts(texts, asked.query, ignore=asked.common_terms, lines=2)
        self._marks.learn([record.heading for record in records])
        found = []
        for record, lines in zip(records, cut, strict=True):
            text = "<br>".join(excerpt_html(line) for line in lines)
            heading = element("div", self._marks.line(record.heading), f"color: {DIM}")
            cells = (
                figure(record.rank, "rank"),
                figure(number(record.score), "score"),
                f"<bdi>{heading}{text}</bdi>",
            )
            found.append((record.citation, grid(cells, _WIDTHS)))
        return found
