"""What the query forms share: fields, busy state, errors, pages, reading, export, the call."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
import traitlets

from knowledge_nb.errors import KnowledgeError
from knowledge_nb.notebook.banner import banner
from knowledge_nb.notebook.forms.export import export_csv
from knowledge_nb.notebook.forms.parts import (
    BUTTON_WIDTH,
    ChunkView,
    Rows,
    alert,
    copyable,
    full_width,
    row,
)
from knowledge_nb.notebook.forms.presses import SAME_PRESS_SECONDS, Presses
from knowledge_nb.notebook.html import DIM, box, details, element, escape, page, prose
from knowledge_nb.notebook.marks import Marks, marks_of
from knowledge_nb.records import Status, counted

if TYPE_CHECKING:
    from knowledge_nb.knowledge_base import KnowledgeBase
    from knowledge_nb.notebook.frames import ResultFrame

# Enter in a field sends "submit" and then, if the field changed, its value: one question.
_CHANGE_FOLLOWS_SECONDS = 0.05
_SLOW_SECONDS = 0.3  # what answers sooner would only make the page flicker


class FrameTrait(traitlets.Any):
    """Holds a frame; a new one is a change, whatever its cells (frames do not compare to bool)."""

    def set(self, obj: Any, value: Any) -> None:
        old = obj._trait_values.get(self.name)
        obj._trait_values[self.name] = value
        if old is not value:
            obj._notify_trait(self.name, old, value)


class Guarded(widgets.VBox):
    """A box whose callbacks show their errors in it; ipywidgets itself would swallow them.

    They run one at a time: JupyterLab sends the first message of a widget to the kernel's main
    thread and later ones to another, so that two presses can meet (measured, ipykernel 7).

    Attributes
    ----------
    error : BaseException or None
        What the last callback raised.
    """

    def __init__(self, children: Sequence[widgets.Widget] = ()) -> None:
        self.error: BaseException | None = None
        self._said = ""  # the message that stood there before
        self._lock = threading.RLock()
        self._message = widgets.HTML(layout=full_width())
        super().__init__(list(children), layout=full_width())

    def _guard(self, function: Callable[..., None]) -> Callable[..., None]:
        shown = self._shown_errors(function)

        def run(*arguments: Any) -> None:
            with self._lock:
                shown(*arguments)

        return run

    def _shown_errors(self, function: Callable[..., None]) -> Callable[..., None]:
        """The function, its errors shown in the box; for a thread of its own, which may be long."""

        def run(*arguments: Any) -> None:
            self._said = self._message.value
            self.error = None
            self._message.value = ""
            try:
                function(*arguments)
            except KnowledgeError as error:
                self._fail(error, prose(str(error)))
            except KeyboardInterrupt as error:
                self._fail(error, prose(str(error) or "interrupted"))
            except Exception as error:  # noqa: BLE001 - shown in the form, with its trace
                said = f"<b>{escape(type(error).__name__)}</b>: {escape(error)}"
                trace = "".join(traceback.format_exception(error))
                whole = element("pre", escape(trace), "white-space: pre-wrap; font-size: 0.85em")
                self._fail(error, said + details("Where it happened", whole))

        return run

    def _fail(self, error: BaseException, said: str) -> None:
        self.error = error
        self._message.value = alert(said)

    def _say(self, said: str) -> None:
        """Show a sentence that is no error."""
        self._message.value = page(box(escape(said), "warn", role="status"))


class Form(Guarded):
    """One question, its answer as pages of rows, and the text behind each.

    Enter in the query field asks, again where the query is the same; so does the button, and so
    does a changed option once there is a query. Show one form in as many cells as you like.

    Parameters
    ----------
    kb : KnowledgeBase
        The corpus to ask.

    Attributes
    ----------
    result : ResultFrame or None
        The last frame that was answered, all rows of it; observe it with
        ``form.observe(handler, "result")``. An error or a status without an answer leaves it.
    query : ipywidgets.Text
        The query field; setting its value asks.
    call : str
        The Python expression that gives the same frame; "" before the first answer.
    """

    result = FrameTrait(None, allow_none=True)

    title = ""
    query_label = "Query"
    placeholder = ""
    export_name = "answer.csv"
    head = "Citation"
    button_width = BUTTON_WIDTH

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__()
        self.kb = kb
        self.call = ""
        self.presses = Presses()
        self._asked: tuple[object, float] | None = None
        self._entered = self._answered = -inf  # Enter, and the last question, as the browser sent
        self._state: object = None  # of the index, when it gave the answer
        self._working = False
        self._fading = threading.Lock()
        self._marks = Marks()
        self.query = widgets.Text(
            description=self.query_label,
            placeholder=self.placeholder,
            continuous_update=False,
            tooltip=f"{self.query_label}; Enter asks",
            style={"description_width": "initial"},
            layout=widgets.Layout(flex="1 1 300px", min_width="200px"),
        )
        self._button = widgets.Button(
            description=self.title,
            tooltip=f"{self.title} (Enter in the field does the same)",
            button_style="primary",
            layout=widgets.Layout(width="auto", min_width="90px"),
        )
        self._status = widgets.HTML()
        self._banner = widgets.HTML(layout=full_width())
        self._view = ChunkView(kb.core, self._aiming, lambda: self._rows.leave())
        self._rows = Rows(
            self._read,
            self.head,
            self._columns(),
            self._shown,
            self._view,
            self.button_width,
        )
        self._rows.opened = self._aiming(self._rows.opened)
        self._rows.turned = self._aiming(self._turn)
        self._file = widgets.Text(
            value=self.export_name,
            description="File",
            continuous_update=False,
            tooltip="File to export to, in the kernel's working directory",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="220px"),
        )
        self._export = widgets.Button(
            description="Export CSV",
            tooltip="Write all rows of this answer to the file",
            layout=widgets.Layout(width="auto"),
        )
        self._exported = widgets.HTML()
        self._call = widgets.HTML(layout=full_width())
        self._answer = widgets.VBox(
            [
                self._banner,
                self._rows,
                self._call,
                row(self._file, self._export, self._exported),
            ],
            layout=full_width(display="none"),
        )
        options = self._options()
        self.query.observe(self._guard(lambda _: self._changed()), "value")
        for option in options:
            option.observe(self._guard(lambda _: self._again()), "value")
        for field in (self.query, *options):
            if isinstance(field, widgets.Text):
                field.on_msg(self._heard)
        self._button.on_click(self._guard(lambda _: self._pressed()))
        self._export.on_click(self._aiming(lambda _: self._write()))
        self.children = (
            row(self.query, self._button, self._status),
            self._message,
            *([row(*options)] if options else []),
            self._answer,
        )

    # -- what each form says -----------------------------------------------------------------

    def _options(self) -> list[widgets.Widget]:
        return []

    def _question(self) -> dict[str, Any]:
        """Arguments of the question, those with their default value left out; the query first."""
        raise NotImplementedError

    def _verb(self) -> str:
        raise NotImplementedError

    def _ask(self, question: dict[str, Any]) -> Any:
        """The record that answers."""
        raise NotImplementedError

    def _frame(self, record: Any) -> ResultFrame:
        raise NotImplementedError

    def _records(self, record: Any) -> Sequence[Any]:
        raise NotImplementedError

    def _columns(self) -> str:
        raise NotImplementedError

    def _shown(self, records: Sequence[Any]) -> list[tuple[str, str]]:
        return [self._row(record) for record in records]

    def _row(self, record: Any) -> tuple[str, str]:
        """The button's text and the HTML of one row."""
        raise NotImplementedError

    def _open(self, record: Any) -> None:
        self._view.show(record.citation, self._marks, self._state)

    def _empty(self) -> bool:
        return not self.query.value.strip()

    # -- what they do ------------------------------------------------------------------------

    def ask(self, query: str | None = None) -> None:
        """Ask as Enter does; the answer is `result`, an error is shown and kept as `error`."""
        if query is not None and query != self.query.value:
            self.query.value = query
        else:
            self._guard(self._run)()

    def _aiming(self, function: Callable[..., None]) -> Callable[..., None]:
        """A guarded callback of a press on the answer: one meant for another answer does nothing.

        The press that takes the focus from a changed field is such a one: the field asks first.
        """

        def run(*arguments: Any) -> None:
            if self.presses.early():
                self._say("The answer changed as you pressed, so nothing was done: press again.")
            else:
                function(*arguments)

        return self._guard(run)

    def _heard(self, field: widgets.Widget, content: dict[str, Any], buffers: Any) -> None:
        """Enter was pressed in a field, which then sends its value if that has changed."""
        if content.get("event") == "submit" and (field is self.query or not self._empty()):
            self._entered = self.presses.now()
            later = threading.Timer(_CHANGE_FOLLOWS_SECONDS, self._enter, (self._entered,))
            later.daemon = True
            later.start()

    def _enter(self, sent: float) -> None:
        """Ask again, unless the change that came right behind Enter has asked."""
        with self._lock:
            if self._answered < sent:
                self._guard(self._run)(sent)

    def _pressed(self) -> None:
        if self._asked is not None and self._asked[0] == self._question():
            soon = abs(self.presses.now() - self._asked[1]) < SAME_PRESS_SECONDS
            if soon or self.presses.early():
                self._message.value = self._said
                return
        self._run()

    def _changed(self) -> None:
        if self.presses.now() - self._entered > SAME_PRESS_SECONDS:  # so it was not by Enter
            self.presses.blurred()
        self._run()

    def _again(self) -> None:
        if not self._empty():
            self._changed()

    def _run(self, sent: float | None = None) -> None:
        question = self._question()
        sent = self.presses.heard() if sent is None else sent
        # The button stays enabled: one that is disabled loses the focus for good.
        self._status.value = page(element("span", "Working…", f"color: {DIM}", role="status"))
        self._exported.value = ""
        took = ""
        self._working = True
        slow = threading.Timer(_SLOW_SECONDS, self._fade)
        slow.daemon = True
        slow.start()
        try:
            started = time.perf_counter()
            record = self._ask(question)
            answered = getattr(record, "status", Status.OK) is Status.OK
            frame = self._frame(record) if answered else None
            took = f"{time.perf_counter() - started:.3f} s"
            self._show(question, record, frame)
        except BaseException:
            self._answer.layout.display = "none"
            raise
        finally:
            slow.cancel()
            with self._fading:
                self._working = False
            if self._answer.layout.visibility:
                self._answer.layout.visibility = None
            self._asked = (question, self.presses.clock() if sent is None else sent)
            self._answered = -inf if sent is None else sent
            self._status.value = page(element("span", took, f"color: {DIM}", role="status"))
            self.presses.shown()

    def _fade(self) -> None:
        """Take the old answer out of sight while the new one is awaited; its room stays."""
        with self._fading:
            if self._working:
                self._answer.layout.visibility = "hidden"

    def _turn(self, step: int) -> None:
        self._rows._turn(step)
        self.presses.shown()

    def _read(self, record: Any) -> None:
        try:
            self._open(record)
        except KnowledgeError as error:
            self._view.refuse(prose(str(error)))
            raise
        except BaseException:
            self._view.hide()  # what stands there is of another row
            raise

    def _show(self, question: dict[str, Any], record: Any, frame: ResultFrame | None) -> None:
        self._view.hide()
        if frame is None:
            self._answer.layout.display = "none"
            self._message.value = page(element("div", banner(record), role="alert"))
            return
        self._marks = marks_of(record)
        self._state = record.completeness.state
        self._banner.value = page(banner(record))
        self._rows.show(self._records(record))
        arguments = [
            repr(question[key]) if key == "query" else f"{key}={question[key]!r}"
            for key in question
        ]
        self.call = f"kb.{self._verb()}({', '.join(arguments)})"
        self._call.value = page("In Python: " + copyable(self.call, "Copy the call"))
        self._answer.layout.display = None
        self.result = frame

    def _write(self) -> None:
        self._exported.value = ""
        if self.result is None:
            return
        try:
            path = export_csv(self.result, self._file.value)
        except KnowledgeError as error:
            self.error = error
            self._exported.value = alert(prose(str(error)))  # here, where the eye is
            return
        said = f"{counted(len(self.result), 'row')} written to {escape(path)}"
        self._exported.value = page(element("span", said, role="status"))
