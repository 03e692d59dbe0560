"""`VocabularyForm`: the words of the corpus, and the documents behind each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from knowledge_nb.notebook.banner import banner
from knowledge_nb.notebook.forms.base import Form
from knowledge_nb.notebook.forms.parts import copyable, grid
from knowledge_nb.notebook.frames import ResultFrame, vocabulary_frame
from knowledge_nb.notebook.html import element, escape
from knowledge_nb.notebook.marks import Marks
from knowledge_nb.records import Status, VocabularyResult, Word

_WIDTHS = "minmax(0, 1fr) 6em 6em 6em"


class VocabularyForm(Form):
    """List the words of the corpus; see `Form` and `KnowledgeBase.vocabulary`.

    A press on a word reads the first chunk that holds it, in any form of its stem.
    """

    title = "List words"
    query_label = "Pattern"
    placeholder = "a regular expression; blank with no beginning: every word"
    export_name = "words.csv"
    head = "Word"

    def _options(self) -> list[widgets.Widget]:
        self.prefix = widgets.Text(
            description="Begins with",
            continuous_update=False,
            tooltip="Only words that begin so",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="260px"),
        )
        return [self.prefix]

    def _empty(self) -> bool:
        return False

    def _question(self) -> dict[str, Any]:
        asked: dict[str, Any] = {}
        if self.query.value:
            asked["pattern"] = self.query.value
        if self.prefix.value:
            asked["prefix"] = self.prefix.value
        return asked

    def _verb(self) -> str:
        return "vocabulary"

    def _ask(self, question: dict[str, Any]) -> VocabularyResult:
        return self.kb.core.vocabulary(**question)

    def _frame(self, record: VocabularyResult) -> ResultFrame:
        return vocabulary_frame(record)

    def _records(self, record: VocabularyResult) -> Sequence[Word]:
        return record.words

    def _columns(self) -> str:
        return grid(("Stem", "Documents", "Any form", "Occurs"), _WIDTHS, head=True)

    def _row(self, record: Word) -> tuple[str, str]:
        cells = (
            f"<bdi>{escape(record.stem)}</bdi>",
            f"{record.documents:,}",
            f"{record.documents_any_form:,}",
            f"{record.occurrences:,}",
        )
        return record.word, grid(cells, _WIDTHS)

    def _open(self, record: Word) -> None:
        query = f'"{record.word}"'
        found = self.kb.core.enumerate(query)
        if found.status is not Status.OK or not found.matches:
            self._view.hide()
            self._message.value = element("div", banner(found), role="alert")
            return
        note = element(
            "div",
            f"{found.matched:,} documents hold <b>{escape(record.word)}</b> in any form; all of "
            "them: " + copyable(f"kb.enumerate({query!r})", "Copy the call"),
        )
        self._view.show(found.matches[0].citation, Marks([record.word]), note)
