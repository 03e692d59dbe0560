"""`VocabularyForm`: the words of the corpus, and the documents behind each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from knowledge_nb.matching.as_written import first_as_written
from knowledge_nb.notebook.banner import banner
from knowledge_nb.notebook.forms.base import Form
from knowledge_nb.notebook.forms.parts import copyable, figure, grid
from knowledge_nb.notebook.frames import ResultFrame, vocabulary_frame
from knowledge_nb.notebook.html import cut, element, page
from knowledge_nb.notebook.marks import Marks
from knowledge_nb.records import Status, VocabularyResult, Word, counted

LONG_WORD = 60  # characters of a word or stem that are shown
_WIDTHS = "minmax(0, 1fr) 6em 6em 6em"


class VocabularyForm(Form):
    """List the words of the corpus; see `Form` and `KnowledgeBase.vocabulary`.

    A press on a word reads the first chunk that holds this very word.
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
            f"<bdi>{cut(record.stem, LONG_WORD)}</bdi>",
            figure(record.documents, "documents"),
            figure(record.documents_any_form, "documents, any form"),
            figure(record.occurrences, "occurs"),
        )
        return record.word, grid(cells, _WIDTHS)

    def _open(self, record: Word) -> None:
        query = f'"{record.word}"'
        found = self.kb.core.enumerate(query)
        if found.status is not Status.OK or not found.matches:
            self._view.hide()
            self._message.value = page(element("div", banner(found), role="alert"))
            return
        with self.kb.core.snapshot() as (connection, _, _):
            cited = first_as_written(connection, record.word)
        note = element(
            "div",
            f"<b>{cut(record.word, LONG_WORD)}</b> stands in "
            f"{counted(record.documents, 'document')}, in any form in "
            f"{counted(found.matched, 'document')}; all of those: "
            + copyable(f"kb.enumerate({query!r})", "Copy the call"),
        )
        self._view.show(cited or found.matches[0].citation, Marks([record.word]), self._state, note)
