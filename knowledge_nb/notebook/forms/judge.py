"""Judging a pool of documents: one at a time, saved as it goes, blind to the runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as widgets

from knowledge_nb.errors import EvaluationError, NotFoundError
from knowledge_nb.evaluation.docnos import DocnoRule, docnos
from knowledge_nb.evaluation.making import Ranker
from knowledge_nb.evaluation.pooling import Pool, pool
from knowledge_nb.evaluation.trec import read_judgements, write_judgements
from knowledge_nb.notebook.forms.base import Guarded
from knowledge_nb.notebook.forms.parts import full_width, row
from knowledge_nb.notebook.html import DIM, LINE, box, element, escape, page

if TYPE_CHECKING:
    from knowledge_nb.knowledge_base import KnowledgeBase

GRADES: Final[Mapping[int, str]] = {
    0: "does not help",
    1: "useful background",
    2: "answers in part",
    3: "answers",
}


class JudgeForm(Guarded):
    """Judge the documents of a pool.

    Type a grade into the field (the cursor stays there), or Tab to a button and press Space. Every
    judgement is written to the TREC qrels file at once; a form made anew with the same file goes on
    where judging stopped. Which run found a document, and at which rank, is neither shown nor told
    by the order.

    Parameters
    ----------
    kb : KnowledgeBase
        Holds the documents.
    pool : Pool or runs
        As from `kb.pool(runs, depth)`; runs are pooled here to depth 10.
    qrels : path
        Written; judgements that are in it already, of any topic, stay.
    grades : mapping of int to str
        Single digits, and what they mean.
    docno : {"path", "stem"} or callable
        How the runs name documents.

    Attributes
    ----------
    field : ipywidgets.Text
        Takes a grade, a digit.
    buttons : dict of int to ipywidgets.Button
        One a grade.
    back, skip : ipywidgets.Button
    item : (str, str) or None
        Qid and docno shown; None where the pool is empty.
    judgements : dict of (str, str) to int
        Of the file, as last read or written.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        pool_or_runs: Pool | Any,
        qrels: str | os.PathLike[str] = "qrels.txt",
        grades: Mapping[int, str] = GRADES,
        docno: DocnoRule = "path",
    ) -> None:
        super().__init__()
        if not grades or not all(0 <= grade <= 9 for grade in grades):
            raise EvaluationError("grades are single digits, 0 to 9, each with its meaning")
        chosen = pool_or_runs if isinstance(pool_or_runs, Pool) else pool(pool_or_runs)
        self.kb = kb
        self.path = Path(qrels)
        self.items: Sequence[tuple[str, str]] = [
            (qid, docno) for qid, found in chosen.documents.items() for docno in found
        ]
        self.judgements = self._read()
        self._queries = chosen.queries
        self._rule = docno
        self._at = self._next(-1)
        self._progress = widgets.HTML(layout=full_width())
        self._query = widgets.HTML(layout=full_width())
        self._document = widgets.HTML(layout=full_width())
        self.field = widgets.Text(
            placeholder="".join(map(str, grades)),
            description="Grade",
            tooltip="Type a grade; the next document follows",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="110px"),
        )
        self.buttons = {
            grade: widgets.Button(
                description=f"{grade} {meaning}",
                tooltip=f"Judge this document {grade}: {meaning}",
                layout=widgets.Layout(width="auto"),
            )
            for grade, meaning in grades.items()
        }
        self.back = widgets.Button(description="‹ Back", tooltip="The document before this one")
        self.skip = widgets.Button(description="Skip ›", tooltip="Go on without a judgement")
        for button in (self.back, self.skip):
            button.layout.width = "auto"
        self.field.observe(self._guard(self._typed), "value")
        for grade, button in self.buttons.items():
            button.on_click(self._guard(lambda _, grade=grade: self.judge(grade)))
        self.back.on_click(self._guard(lambda _: self._go(max(self._at - 1, 0))))
        self.skip.on_click(self._guard(lambda _: self._go(self._next(self._at))))
        self.children = (
            self._progress,
            self._query,
            row(self.field, *self.buttons.values(), self.back, self.skip),
            self._message,
            self._document,
        )
        self._guard(self._draw)()

    @property
    def item(self) -> tuple[str, str] | None:
        """What is shown: qid and docno."""
        return self.items[self._at] if self.items else None

    @property
    def left(self) -> int:
        """Documents of the pool without a judgement."""
        return sum(item not in self.judgements for item in self.items)

    def judge(self, grade: int) -> None:
        """Give the document shown a grade, save it, and go on to the next one without.

        Raises
        ------
        EvaluationError
            The grade is none of the form's, or the document cannot be read here.
        """
        if self.item is None:
            return
        if grade not in self.buttons:
            known = ", ".join(map(str, self.buttons))
            raise EvaluationError(f"{grade} is no grade here; grades are {known}")
        if self._text(self.item[1]) is None:
            raise EvaluationError(
                f"{self.item[1]} is not in this index, so nobody read it here: skip it"
            )
        # Read again: another form may have written to the same file meanwhile.
        self.judgements = {**self._read(), self.item: grade}
        write_judgements(((q, d, g) for (q, d), g in self.judgements.items()), self.path)
        self._go(self._next(self._at))

    def _typed(self, change: Any) -> None:
        text = str(change["new"]).strip()
        if not text:
            return
        self.field.value = ""
        if not text.isdecimal():
            known = ", ".join(map(str, self.buttons))
            raise EvaluationError(f"{text!r} is no grade; type one of {known}")
        self.judge(int(text))

    def _read(self) -> dict[tuple[str, str], int]:
        if not self.path.exists():
            return {}
        return {(qid, docno): grade for qid, docno, grade in read_judgements(self.path)}

    def _next(self, at: int) -> int:
        """The next place without a judgement, round the end; where there is none, the next one."""
        number = len(self.items)
        for step in range(1, number + 1):
            place = (at + step) % number
            if self.items[place] not in self.judgements and place != at:
                return place
        return max(at, 0)

    def _go(self, place: int) -> None:
        self._at = place
        self._draw()

    def _draw(self) -> None:
        if self.item is None:
            self._progress.value = page(box("The pool is empty: there is nothing to judge."))
            return
        qid, docno = self.item
        done = len(self.items) - self.left
        said = f"<b>{done:,} of {len(self.items):,} judged</b>, saved in {escape(self.path)}"
        if not self.left:
            said = f"<b>All {len(self.items):,} judged</b>, saved in {escape(self.path)}"
        self._progress.value = page(element("div", said, role="status"))
        query = self._queries.get(qid, "")
        self._query.value = page(
            element(
                "div",
                f"Topic {escape(qid)}: <bdi><b>{escape(query)}</b></bdi>",
                "font-size: 1.1em; margin: 6px 0",
            )
        )
        given = self.judgements.get(self.item)
        for grade, button in self.buttons.items():
            button.button_style = "success" if grade == given else ""
        text = self._text(docno)
        place = f"Document <bdi><b>{escape(docno)}</b></bdi>"
        if given is not None:
            place += f" · judged {given}; another grade replaces it"
        if text is None:
            body = box("This document is not in the index, so it cannot be read here: skip it.")
        else:
            style = (
                "white-space: pre-wrap; overflow-wrap: anywhere; max-height: 32em; overflow: auto;"
                f" border: 1px solid {LINE}; padding: 8px; margin: 4px 0"
            )
            body = element("pre", escape(text), style, tabindex="0")
        self._document.value = page(element("div", place, f"color: {DIM}") + body)

    def _text(self, docno: str) -> str | None:
        """The document's text, whole; of a chunk, its own."""
        try:
            chunks = self.kb.core.show(self._path(docno))
        except NotFoundError:
            return None
        return "\n\n".join(chunk.text.strip("\n") for chunk in chunks)

    def _path(self, docno: str) -> str:
        if self._rule == "path":
            return docno
        with self.kb.core.reader.snapshot() as connection:
            paths = Ranker(self.kb.core, connection).paths
            names = docnos(paths, self._rule)
        for number, name in names.items():
            if name == docno:
                return paths[number]
        raise NotFoundError(f"no document is named {docno!r}")
