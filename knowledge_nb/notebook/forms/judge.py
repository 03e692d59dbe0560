"""Judging a pool of documents: one at a time, saved as it goes, blind to the runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as widgets

from knowledge_nb.errors import EvaluationError, KnowledgeError, NotFoundError
from knowledge_nb.evaluation.docnos import DocnoRule, docnos
from knowledge_nb.evaluation.making import Ranker
from knowledge_nb.evaluation.pooling import Pool, pool
from knowledge_nb.evaluation.trec import read_judgements, write_judgements
from knowledge_nb.notebook.forms.base import Guarded
from knowledge_nb.notebook.forms.parts import full_width, row
from knowledge_nb.notebook.forms.presses import Presses
from knowledge_nb.notebook.html import DIM, LINE, box, element, escape, page, scrolling

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

    A grade is for the document that was shown when it was pressed: one that comes with a double
    click or a key held down, or before the new document could be seen, is not taken.

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
        Qid and docno shown; None where the pool is empty, or nothing could be shown yet.
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
        self.presses = Presses()
        self._queries = chosen.queries
        self._rule = docno
        self._at = -1  # nothing is shown yet
        self._seen: str | None = None  # the text that is shown
        self._given: int | None = None  # the judgement that is shown with it
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
            button.on_click(self._guard(lambda _, grade=grade: self._pressed(grade)))
        self.back.on_click(self._guard(lambda _: self._go(max(self._at - 1, 0))))
        self.skip.on_click(self._guard(lambda _: self._skip()))
        self.children = (
            self._progress,
            self._query,
            row(self.field, *self.buttons.values(), self.back, self.skip),
            self._message,
            self._document,
        )
        if self.items:
            self._guard(lambda: self._go(self._next(-1)))()
        else:
            self._progress.value = page(box("The pool is empty: there is nothing to judge."))

    @property
    def item(self) -> tuple[str, str] | None:
        """What is shown: qid and docno."""
        return self.items[self._at] if self._at >= 0 else None

    @property
    def left(self) -> int:
        """Documents of the pool without a judgement."""
        return sum(item not in self.judgements for item in self.items)

    def judge(self, grade: int) -> None:
        """Give the document shown a grade, save it, and go on to the next one without.

        Raises
        ------
        EvaluationError
            The grade is none of the form's; nothing is shown, or a document that is not in the
            index, or that has changed since; the file has another judgement of it than the one
            shown; or the file cannot be written. Nothing was saved then.
        """
        if not self.items:
            return
        if self.item is None:
            raise EvaluationError("no document is shown, so there is nothing to judge: press Skip")
        if grade not in self.buttons:
            known = ", ".join(map(str, self.buttons))
            raise EvaluationError(f"{grade} is no grade here; grades are {known}")
        text = self._text(self.item[1])
        if text is None:
            raise EvaluationError(
                f"{self.item[1]} is not in this index, so nobody read it here: skip it"
            )
        if text != self._seen:
            self._go(self._at)
            raise EvaluationError(
                f"{self.item[1]} was indexed anew since it was shown, so the grade was not taken: "
                "read it as it is now, then judge"
            )
        self._save(self.item, grade)
        try:
            self._go(self._next(self._at))
        except BaseException:
            self._mark()  # this one stays, with its new judgement
            raise

    def _save(self, item: tuple[str, str], grade: int) -> None:
        # Read again: another form may have written to the same file meanwhile.
        known = self._read()
        there = known.get(item)
        if there not in (self._given, grade):
            self.judgements = known
            self._mark()
            now = "no judgement" if there is None else f"the judgement {there}"
            raise EvaluationError(
                f"{self.path} was written to since: it has {now} of this document, and the grade "
                "was not taken. Press again to replace it."
            )
        known[item] = grade
        try:
            write_judgements(((q, d, g) for (q, d), g in known.items()), self.path)
        except KnowledgeError:
            raise
        except (OSError, ValueError) as error:
            # Told without the name of the file beside it, which is none of the reader's.
            why = getattr(error, "strerror", None) or str(error)
            raise EvaluationError(
                f"{str(self.path)!r} cannot be written ({why}), so the grade was not saved; give "
                "the form another file"
            ) from error
        self.judgements = known

    def _pressed(self, grade: int) -> None:
        if self.presses.repeated():
            self._say(
                "Pressed too soon after this document came up, so no grade was given: read it, "
                "then press."
            )
        else:
            self.judge(grade)

    def _typed(self, change: Any) -> None:
        text = str(change["new"]).strip()
        if not text:
            return
        self.field.value = ""
        if not text.isdecimal():
            known = ", ".join(map(str, self.buttons))
            raise EvaluationError(f"{text!r} is no grade; type one of {known}")
        self._pressed(int(text))

    def _read(self) -> dict[tuple[str, str], int]:
        try:
            if not self.path.exists():
                return {}
        except OSError as error:
            raise EvaluationError(
                f"{str(self.path)!r} cannot be looked at: {error.strerror}"
            ) from error
        return {(qid, docno): grade for qid, docno, grade in read_judgements(self.path)[0]}

    def _next(self, at: int) -> int:
        """The next place without a judgement, round the end; where there is none, the next one."""
        number = len(self.items)
        for step in range(1, number + 1):
            place = (at + step) % number
            if self.items[place] not in self.judgements and place != at:
                return place
        return max(at, 0)

    def _skip(self) -> None:
        self.judgements = self._read()
        self._go(self._next(self._at))

    def _go(self, place: int) -> None:
        """Show another item. All that may fail comes first: no topic is over another's text."""
        if not self.items:
            return
        text = self._text(self.items[place][1])
        self.judgements = self._read()
        self._at, self._seen = place, text
        self._mark()

    def _mark(self) -> None:
        """Draw the item, and what the file has of it."""
        qid, docno = self.items[self._at]
        given = self._given = self.judgements.get((qid, docno))
        self._progress.value = page(element("div", self._done(), role="status"))
        query = scrolling(
            f"Topic {escape(qid)}: <bdi><b>{escape(self._queries.get(qid, ''))}</b></bdi>", 6
        )
        self._query.value = page(element("div", query, "font-size: 1.1em; margin: 6px 0"))
        for grade, button in self.buttons.items():
            button.button_style = "success" if grade == given else ""
        place = f"Document <bdi><b>{escape(docno)}</b></bdi>"
        if given is not None:
            place += f" · judged {given}; another grade replaces it"
        if self._seen is None:
            body = box("This document is not in the index, so it cannot be read here: skip it.")
        else:
            # JupyterLab breaks the words of every `pre`.
            style = (
                "white-space: pre-wrap; word-break: normal; overflow-wrap: break-word;"
                " max-height: 32em; overflow: auto; box-sizing: border-box;"
                f" border: 1px solid {LINE}; padding: 8px; margin: 4px 0"
            )
            body = element(
                "pre",
                escape(self._seen),
                style,
                tabindex="0",
                role="region",
                aria_label=f"Document {docno}",
            )
        self._document.value = page(element("div", place, f"color: {DIM}") + body)
        self.presses.shown()

    def _done(self) -> str:
        left, number = self.left, len(self.items)
        said = (
            f"<b>{number - left:,} of {number:,} judged</b>"
            if left
            else (f"<b>All {number:,} judged</b>")
        )
        if not self.judgements:
            return f"{said}; judgements go to {escape(self.path)}"
        return f"{said}, saved in {escape(self.path)}"

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
