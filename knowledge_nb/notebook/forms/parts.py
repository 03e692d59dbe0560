"""Pieces that every form is made of: rows to press, the chunk being read, texts to copy."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from knowledge_nb.citation import citation, parse_citation
from knowledge_nb.core import Core
from knowledge_nb.notebook.html import (
    DIM,
    FAINT,
    LINE,
    MONO,
    TONES,
    box,
    element,
    escape,
    page,
    scrolling,
    visible,
)
from knowledge_nb.notebook.marks import Marks

PAGE_ROWS = 10
BUTTON_WIDTH = 250  # pixels
_BUTTON_EDGES = 24  # pixels of padding and border, both sides
_LETTER = 7.6  # pixels of a small letter at 13 pixels, in the wider fonts

_CHANGED = (
    "<b>The index changed since this answer.</b> This is what stands here now; it may be another "
    "text than the one that was found. Ask again."
)

# The only script there is: constant, and what it copies comes from an attribute, as text.
_COPY = (
    "(function(b){var t=b.getAttribute('data-copy');"
    "var say=function(ok){b.textContent=ok?'Copied':'Select the text and press Ctrl+C'};"
    "var old=function(){var a=document.createElement('textarea');a.value=t;"
    "b.parentNode.appendChild(a);a.select();var ok=false;"
    "try{ok=document.execCommand('copy')}catch(e){}a.remove();b.focus();say(ok)};"
    "if(navigator.clipboard){navigator.clipboard.writeText(t).then(function(){say(true)},old)}"
    "else{old()}})(this)"
)


def full_width(**more: str) -> widgets.Layout:
    """A layout that never needs more room than there is."""
    # Without the side margins of a widget, which come on top of the whole width.
    whole = {"width": "100%", "max_width": "100%", "min_width": "0", "margin": "2px 0"}
    return widgets.Layout(**{**whole, **more})


def row(*children: widgets.Widget) -> widgets.HBox:
    """Fields side by side; those that do not fit go below."""
    return widgets.HBox(
        children, layout=full_width(flex_flow="row wrap", align_items="center", grid_gap="2px 10px")
    )


def copyable(text: str, name: str) -> str:
    """A text with a button that copies it, as HTML; `name` is what the button says."""
    shown = element(
        "code",
        escape(text),
        f"font-family: {MONO}; background: {FAINT}; padding: 2px 6px; white-space: pre-wrap;"
        " overflow-wrap: anywhere; user-select: all; display: inline-block; vertical-align: middle;"
        " max-width: 100%; max-height: 6em; overflow: auto; box-sizing: border-box",
    )
    raw = html.escape(text.encode(errors="replace").decode(), quote=True).replace("\n", "&#10;")
    style = (
        f"cursor: pointer; color: inherit; background: {FAINT}; border: 1px solid {LINE};"
        " border-radius: 2px; padding: 1px 8px; margin-left: 6px; font-size: 0.9em"
    )
    button = (
        f'<button type="button" data-copy="{raw}" style="{style}" onclick="{escape(_COPY)}">'
        f"{escape(name)}</button>"
    )
    return f"<span>{shown}{button}</span>"


def short(text: str, pixels: int = BUTTON_WIDTH) -> str:
    """A text for a button: its end, which is where a citation differs from its neighbours.

    Cut here, since a browser would cut the end; by widths that no common font goes beyond.
    """
    text = visible(text).replace("\n", "↵")
    room = float(pixels - _BUTTON_EDGES)
    if sum(map(_width, text)) <= room:
        return text
    room -= _width("…")
    kept = len(text)
    while kept and (room := room - _width(text[kept - 1])) >= 0:
        kept -= 1
    return "…" + text[kept:]


def _width(char: str) -> float:
    if unicodedata.east_asian_width(char) in "WF":
        return 2 * _LETTER
    if char in "iljtfrI.,:;!|'()[]/ ":
        return 0.65 * _LETTER
    if char in "mwMW@%":
        return 1.7 * _LETTER
    return 1.35 * _LETTER if char.isupper() else _LETTER


class Rows(widgets.VBox):
    """A page of rows, each a button and a line of HTML; made once, filled again for each page.

    Parameters
    ----------
    read : callable
        Called with the record whose button was pressed.
    head : str
        Title of the button column.
    columns : str
        HTML of the other titles.
    shown : callable
        Gives the button text and the HTML of each record of a page.
    view : ChunkView
        Stands below the row that was pressed.
    wide : int
        Pixels of a button.
    """

    def __init__(
        self,
        read: Callable[[Any], None],
        head: str,
        columns: str,
        shown: Callable[[Sequence[Any]], Sequence[tuple[str, str]]],
        view: ChunkView,
        wide: int = BUTTON_WIDTH,
    ) -> None:
        self._shown = shown
        self._view, self._wide = view, wide
        self._read = read
        self.opened: Callable[[int], None] = self._open  # a form may wrap these two
        self.turned: Callable[[int], None] = self._turn
        self._pressed = 0
        self._records: Sequence[Any] = ()
        self._first = 0
        self._buttons: list[widgets.Button] = []
        self._cells: list[widgets.HTML] = []
        self._lines: list[widgets.HBox] = []
        for number in range(PAGE_ROWS):
            button = widgets.Button(layout=widgets.Layout(flex=f"0 0 {wide}px"))
            button.on_click(lambda _, number=number: self.opened(number))
            cell = widgets.HTML(layout=widgets.Layout(flex="1 1 0", min_width="0"))
            line = widgets.HBox(
                [button, cell], layout=full_width(display="none", order=_place(number))
            )
            self._buttons.append(button)
            self._cells.append(cell)
            self._lines.append(line)
        title = element("b", escape(head))
        style = (
            f"display: grid; grid-template-columns: {wide}px minmax(0, 1fr); gap: 10px;"
            f" padding: 0 2px; border-bottom: 1px solid {LINE}"
        )
        self._head = widgets.HTML(
            page(element("div", f"<div>{title}</div><div>{columns}</div>", style)),
            layout=full_width(),
        )
        self._before = widgets.Button(description="‹ Previous", tooltip="Previous page of results")
        self._after = widgets.Button(description="Next ›", tooltip="Next page of results")
        for pager in (self._before, self._after):
            pager.layout.width = "auto"
        self._place = widgets.HTML()
        self._pager = row(self._before, self._place, self._after)
        self._pager.layout.order = _place(PAGE_ROWS)
        self._before.on_click(lambda _: self.turned(-PAGE_ROWS))
        self._after.on_click(lambda _: self.turned(PAGE_ROWS))
        super().__init__(
            [self._head, *self._lines, view, self._pager], layout=full_width(display="none")
        )

    def show(self, records: Sequence[Any]) -> None:
        """Show the first page of some records; nothing at all for none."""
        self._records = records
        self._draw(0)
        self.layout.display = None if records else "none"

    def leave(self) -> None:
        """Give the focus back to the row that was pressed last."""
        self._press(None)
        self._buttons[self._pressed].focus()

    def _press(self, number: int | None) -> None:
        """Mark the row whose text is shown: the text below it may not be in sight."""
        for place, button in enumerate(self._buttons):
            button.button_style = "info" if place == number else ""

    def _open(self, number: int) -> None:
        if self._first + number < len(self._records):
            self._pressed = number
            # Put in its place by style: a box that gets its children in another order makes them
            # anew, and the row that was pressed would lose the focus.
            self._view.layout.order = _place(number, below=True)
            self._press(number)
            self._read(self._records[self._first + number])

    def _turn(self, step: int) -> None:
        if 0 <= self._first + step < len(self._records):
            self._view.hide()
            self._draw(self._first + step)
        else:
            end = "last" if step > 0 else "first"
            said = element("span", f"That is the {end} page.", role="status")
            self._place.value = page(f"{self._range()}. {said}")

    def _range(self) -> str:
        total = len(self._records)
        last = min(self._first + PAGE_ROWS, total)
        return f"Rows {self._first + 1:,} to {last:,} of {total:,}"

    def _draw(self, first: int) -> None:
        self._first = first
        self._press(None)
        records = self._records[first : first + PAGE_ROWS]
        drawn = self._shown(records)
        for number, line in enumerate(self._lines):
            if number < len(records):
                name, content = drawn[number]
                with self._buttons[number].hold_sync():
                    self._buttons[number].description = short(name, self._wide)
                    self._buttons[number].tooltip = f"Read {visible(name)}"
                self._cells[number].value = page(element("div", content, "padding: 5px 0 2px 6px"))
            line.layout.display = None if number < len(records) else "none"
        # Neither button is ever disabled: the focus would be lost with the one that was pressed.
        self._place.value = page(self._range()) if records else ""
        self._pager.layout.display = None if len(self._records) > PAGE_ROWS else "none"


def _place(number: int, *, below: bool = False) -> str:
    """The place of a row among its siblings, as CSS `order`; the titles have 0."""
    return str(2 * number + 1 + below)


def grid(cells: Sequence[str], widths: str, *, head: bool = False) -> str:
    """One line of a table as HTML, in columns of the given widths."""
    weight = "; font-weight: 600" if head else ""
    style = f"display: grid; grid-template-columns: {widths}; gap: 10px; align-items: start{weight}"
    return element("div", "".join(f"<div>{each}</div>" for each in cells), style)


def figure(number: int | float | str, name: str) -> str:
    """A number of a row, read with the title of its column, which stands in another element."""
    text = f"{number:,}" if not isinstance(number, str) else number
    # A role that may have a name; `img` is the one that every screen reader then reads as text.
    return element("span", text, role="img", aria_label=f"{name} {text}")


class ChunkView(widgets.VBox):
    """One chunk with its neighbours and the words of the question marked.

    Parameters
    ----------
    core : Core
    guard : callable
        Wraps a callback so that its error is shown in the form.
    closed : callable
        Called when a person has closed the view, to put the focus somewhere.
    """

    def __init__(
        self,
        core: Core,
        guard: Callable[..., Callable[..., None]],
        closed: Callable[[], None],
    ) -> None:
        self._core = core
        self._closed = closed
        self._state: object = None
        self._last = True
        self._marks = Marks()
        self._path, self._ordinal = "", 0
        self._note = ""
        self._title = widgets.HTML(layout=full_width())
        self._text = widgets.HTML(layout=full_width())
        self._earlier = widgets.Button(
            description="‹ Earlier chunk", tooltip="Go to the chunk before this one"
        )
        self._later = widgets.Button(
            description="Later chunk ›", tooltip="Go to the chunk after this one"
        )
        self._close = widgets.Button(description="Close", tooltip="Close the text")
        for button in (self._earlier, self._later, self._close):
            button.layout.width = "auto"
        self._earlier.on_click(guard(lambda _: self._go(-1)))
        self._later.on_click(guard(lambda _: self._go(1)))
        self._close.on_click(guard(lambda _: self._leave()))
        self._end = widgets.HTML()
        super().__init__(
            [self._title, row(self._earlier, self._later, self._close, self._end), self._text],
            layout=full_width(display="none"),
        )

    def hide(self) -> None:
        """Show nothing."""
        self.layout.display = "none"

    def _leave(self) -> None:
        self.hide()
        self._closed()

    def refuse(self, content: str) -> None:
        """Show why there is no text, where it would stand; `content` is HTML."""
        self._title.value = page(box(content, "bad"))
        self._text.value = ""
        self._path = ""
        self.layout.display = None

    def show(self, cited: str, marks: Marks, state: object, note: str = "") -> None:
        """Show the chunk that a citation names; `note` is HTML above it.

        A citation is a place. Where the index is no longer in the `state` of the answer (see
        `Completeness.state`) another text may stand in it, and that is said.

        Raises
        ------
        NotFoundError
            The index has changed, and the chunk is gone.
        """
        self._marks, self._note, self._state = marks, note, state
        self._draw(*parse_citation(cited))

    def _go(self, step: int) -> None:
        if not self._path:
            return
        if self._last if step > 0 else not self._ordinal:
            end = "last" if step > 0 else "first"
            self._end.value = page(
                element("span", f"That is the {end} chunk of the document.", role="status")
            )
            return
        self._draw(self._path, self._ordinal + step)

    def _draw(self, path: str, ordinal: int) -> None:
        chunks = self._core.show(citation(path, ordinal), around=1)
        # Asked for after the text: were it the answer's state still, the text is of it too.
        changed = self._core.completeness().state != self._state
        self._path, self._ordinal = path, ordinal
        self._last = not any(chunk.ordinal > ordinal for chunk in chunks)
        cited = next(chunk for chunk in chunks if chunk.ordinal == ordinal)
        lines = f"lines {cited.first_line:,} to {cited.last_line:,}"
        self._end.value = ""
        self._title.value = page(
            (box(_CHANGED, "warn", role="alert") if changed else "")
            + self._note
            + element(
                "div",
                copyable(cited.citation, "Copy citation") + f" {lines}",
                "margin: 4px 0",
                role="status",
            )
        )
        parts = []
        for chunk in chunks:
            here = chunk.ordinal == ordinal
            heading = self._marks.html(chunk.heading) or "<i>no heading</i>"
            body = element(
                "div", self._marks.html(chunk.text), "white-space: pre-wrap; margin-top: 3px"
            )
            style = (
                f"border-left: 4px solid {TONES['good' if here else 'plain']}; padding: 4px 10px;"
                f" margin: 4px 0; max-height: {26 if here else 8}em; overflow: auto;"
                " box-sizing: border-box;"
                + (f" background: {FAINT}" if here else f" color: {DIM}; font-size: 0.93em")
            )
            name = "The chunk" if here else f"Its neighbour, chunk {chunk.ordinal}"
            parts.append(
                element(
                    "div",
                    scrolling(f"<bdi><b>{heading}</b></bdi>", 5) + body,
                    style,
                    role="region",
                    aria_label=name,
                    tabindex="0",
                )
            )
        self._text.value = page("".join(parts))
        self.layout.display = None


def alert(content: str, tone: str = "bad") -> str:
    """A message that a screen reader says at once; `content` is HTML."""
    return page(box(scrolling(content, 14), tone, role="alert"))
