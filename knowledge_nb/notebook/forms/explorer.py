"""`Explorer`: every form in tabs, with the state of the index and the doctor's report."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from knowledge_nb.notebook.forms.base import FrameTrait, Guarded
from knowledge_nb.notebook.forms.enumerate import EnumerateForm, KwicForm
from knowledge_nb.notebook.forms.parts import full_width, row
from knowledge_nb.notebook.forms.presses import Presses
from knowledge_nb.notebook.forms.search import SearchForm
from knowledge_nb.notebook.forms.vocabulary import VocabularyForm
from knowledge_nb.notebook.html import LINE, box, element, escape, page, prose
from knowledge_nb.notebook.progress import INTERRUPTED
from knowledge_nb.records import IndexReport, counted

if TYPE_CHECKING:
    from knowledge_nb.knowledge_base import KnowledgeBase


class IndexPane(Guarded):
    """The state of the index, and a button that brings it up to date.

    Parameters
    ----------
    kb : KnowledgeBase

    Attributes
    ----------
    folder : ipywidgets.Text
        What to index; empty: the folders of the settings, else of earlier passes.
    worker : threading.Thread or None
        The last pass begun here.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__()
        self.kb = kb
        self._state = widgets.HTML(layout=full_width())
        self._report = widgets.HTML(layout=full_width())
        self._bar = widgets.IntProgress(
            min=0, max=1, description="Files", layout=full_width(display="none")
        )
        self._refresh = widgets.Button(
            description="Look again",
            tooltip="Read the state of the index again",
            layout=widgets.Layout(width="auto"),
        )
        self.folder = widgets.Text(
            description="Folder",
            placeholder="those of the settings or of earlier passes",
            continuous_update=False,
            tooltip="A folder to index; empty: those of the settings or of earlier passes",
            style={"description_width": "initial"},
            layout=widgets.Layout(flex="1 1 300px", min_width="200px"),
        )
        self._index = widgets.Button(
            description="Bring up to date",
            tooltip="Index the folder, or those of the settings or of earlier passes",
            layout=widgets.Layout(width="auto"),
        )
        self._stop = widgets.Button(
            description="Stop",
            tooltip="Stop indexing; what was written so far is sound",
            layout=widgets.Layout(width="auto"),
        )
        self._folders: tuple[Path, ...] = ()
        self._stopping = threading.Event()
        self.worker: threading.Thread | None = None
        self._refresh.on_click(self._guard(lambda _: self.refresh()))
        self._index.on_click(self._guard(lambda _: self._start()))
        self._stop.on_click(lambda _: self._stopped())
        self.children = (
            row(self.folder, self._index, self._stop, self._refresh),
            self._message,
            self._bar,
            self._report,
            self._state,
        )
        self._guard(self.refresh)()

    def refresh(self) -> None:
        """Read the state again; where it cannot be read none is shown."""
        try:
            stats = self.kb.core.stats()
        except BaseException:
            self._state.value = page("The state of the index could not be read.")
            raise
        known = stats.completeness
        sound = known.built and not known.unfinished_since
        pairs = [
            ("Store", stats.store),
            ("Corpus base", stats.base or "none yet"),
            ("Documents", f"{stats.documents:,}"),
            ("Chunks", f"{stats.chunks:,}"),
            ("Size of the files", f"{stats.bytes / 1e6:,.1f} MB"),
            ("Size of the index", f"{(stats.database_bytes + stats.log_bytes) / 1e6:,.1f} MB"),
            ("Search", stats.tier),
            ("Generation", f"{known.generation:,}"),
        ]
        pairs += [(f"Skipped: {reason}", f"{count:,}") for reason, count in known.skipped.items()]
        style = f"padding: 2px 12px 2px 0; border-bottom: 1px solid {LINE}; text-align: left"
        lines = "".join(
            element(
                "tr",
                element("th", escape(name), f"{style}; font-weight: 600", scope="row")
                + element("td", f"<bdi>{escape(value)}</bdi>", style),
            )
            for name, value in pairs
        )
        self._state.value = page(
            box(prose(known.statement()), "plain" if sound else "warn")
            + element("table", f"<tbody>{lines}</tbody>", "border-collapse: collapse")
        )

    def _progress(self, files: int, done: int, all_files: int, total: int) -> None:
        if self._stopping.is_set():
            raise KeyboardInterrupt(INTERRUPTED)
        # Every tenth of a per cent is a message to the browser; more would slow the pass.
        if files == all_files or files * 1000 // all_files > self._bar.value * 1000 // all_files:
            with self._bar.hold_sync():
                self._bar.max, self._bar.value = all_files, files

    def _start(self) -> None:
        # In a thread, so that the stop button is heard: the kernel's own does not reach a callback.
        # No button is disabled meanwhile: the one that was pressed would lose the focus.
        if self.running:
            self._say("A pass is running here already.")
            return
        folder = self.folder.value.strip()
        self._folders = (Path(folder).expanduser(),) if folder else ()
        self._stopping.clear()
        self._report.value = ""
        self._bar.value = 0
        self._bar.layout.display = None
        self.worker = threading.Thread(
            target=self._shown_errors(self._pass), name="knowledge-index", daemon=True
        )
        self.worker.start()

    @property
    def running(self) -> bool:
        """Whether a pass that was begun here goes on."""
        return self.worker is not None and self.worker.is_alive()

    def _stopped(self) -> None:
        # Without the lock and the guard: it must be heard whatever else is going on.
        self._stopping.set()
        if not self.running:
            self._report.value = page(element("span", "No pass is running here.", role="status"))

    def _pass(self) -> None:
        try:
            report = self.kb.core.index(*self._folders, progress=self._progress)
        except BaseException:
            self._bar.layout.display = "none"
            # What became of the pass is the error to tell; the state says itself that it is unread.
            with suppress(Exception):
                self.refresh()
            raise
        self._bar.layout.display = "none"
        self._tell(report)
        self.refresh()

    def _tell(self, report: IndexReport) -> None:
        done = (
            f"{counted(report.seen, 'file')} read in {report.seconds:.1f} s: "
            f"{report.added:,} added, {report.replaced:,} replaced, "
            f"{report.unchanged:,} unchanged, {report.removed:,} removed, "
            f"{sum(report.skipped.values()):,} skipped."
        )
        notes = "".join(element("div", prose(note)) for note in report.notes)
        self._report.value = page(
            box(element("div", escape(done)) + notes, "good" if report.ok else "warn", "status")
        )


class DoctorPane(Guarded):
    """The doctor's report, run when asked.

    Parameters
    ----------
    kb : KnowledgeBase
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__()
        self.kb = kb
        self.presses = Presses()
        self._button = widgets.Button(
            description="Run the checks",
            tooltip="Run the doctor's checks; nothing is changed",
            layout=widgets.Layout(width="auto"),
        )
        self.integrity = widgets.Checkbox(
            False,
            description="with the integrity check (reads the whole index)",
            tooltip="Also compare both text indexes, all rows and the stored text",
            indent=False,
            layout=widgets.Layout(width="auto"),
        )
        self._report = widgets.HTML(
            page("Not run yet: nothing is known of the store's soundness."), layout=full_width()
        )
        self._button.on_click(self._guard(lambda _: self._run()))
        self.children = (row(self._button, self.integrity), self._message, self._report)

    def _run(self) -> None:
        if self.presses.early():  # the second press of a double click, or one on "Checking…"
            return
        self._report.value = page(element("span", "Checking…", role="status"))
        try:
            self._report.value = self.kb.doctor(integrity=self.integrity.value)._repr_html_()
        except BaseException:
            self._report.value = page("The checks did not finish.")
            raise
        finally:
            self.presses.shown()


class Explorer(widgets.VBox):
    """All forms in tabs.

    Parameters
    ----------
    kb : KnowledgeBase
        The corpus to ask.

    Attributes
    ----------
    result : ResultFrame or None
        The last frame of any tab; observe it with ``explorer.observe(handler, "result")``.
    search, enumerate, kwic, vocabulary, index, doctor
        The tabs.
    """

    result = FrameTrait(None, allow_none=True)

    def __init__(self, kb: KnowledgeBase) -> None:
        self.search = SearchForm(kb)
        self.enumerate = EnumerateForm(kb)
        self.kwic = KwicForm(kb)
        self.vocabulary = VocabularyForm(kb)
        self.index = IndexPane(kb)
        self.doctor = DoctorPane(kb)
        for form in (self.search, self.enumerate, self.kwic, self.vocabulary):
            form.observe(self._take, "result")
        self._tabs = widgets.Tab(
            [self.search, self.enumerate, self.kwic, self.vocabulary, self.index, self.doctor],
            titles=["Search", "Match", "In context", "Words", "Index", "Doctor"],
            layout=full_width(),
        )
        super().__init__([self._tabs], layout=full_width())

    def _take(self, change: dict[str, Any]) -> None:
        self.result = change["new"]
