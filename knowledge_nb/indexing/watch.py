"""Keep an index fresh: a thread drains events, another runs the same pass as `index` does.

The first never waits for the second, so the kernel's queue does not overflow during a long pass;
changes that arrive meanwhile make exactly one follow-up. Events can be lost all the same (the
queue overflows in silence; a file written straight into a new folder makes none), so a whole pass
runs at the start and every few minutes. The writer's lock is held for a pass only.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from knowledge_nb.errors import ConfigurationError, KnowledgeError, RootError, StoreLockedError
from knowledge_nb.indexing.hints import EventFilter, Losses
from knowledge_nb.records import IndexReport
from knowledge_nb.store.files import StoreFiles
from knowledge_nb.store.mounts import network_mount
from knowledge_nb.store.status import utc_now

MINIMUM_DEBOUNCE = 0.1
TICK = 0.25  # seconds between looks at the roots themselves
MOST_DEBOUNCES = 10  # a folder that never rests is indexed all the same
WALK_WITHOUT_EVENTS = 30.0
LONGEST_RETRY = 60.0
_DRAIN_MILLISECONDS = 100

logger = logging.getLogger("knowledge_nb.watch")

Mode = Literal["events", "polling", "walking"]
Vanished = Callable[[Path, Sequence[str]], Collection[str]]
RunPass = Callable[[Vanished], IndexReport]
Documents = Callable[[], tuple[Path, Sequence[str]]]

EXHAUSTED = (
    "the kernel's watch limit is reached (fs.inotify.max_user_watches, max_user_instances), so "
    "changes are found by a walk every {0:.0f} s. Raise the limit, as in `sysctl "
    "fs.inotify.max_user_watches=524288`, or poll: kb.watch(poll=True), `knowledge watch --poll`."
)


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """What a watcher is doing.

    Attributes
    ----------
    state : {"idle", "waiting", "indexing", "retrying", "stopped", "failed"}
        "waiting" for the folder to rest, "retrying" after `problem`.
    mode : {"events", "polling", "walking"}
        How changes are noticed; "walking" where the kernel has no watches left.
    passes : int
        Completed since the start.
    changed : int
        Documents added, replaced and removed by them.
    last_pass : str
        UTC, ISO 8601; "" before the first.
    problem : str
        Why the last pass did not complete; "" when it did.
    warnings : tuple of str
    """

    state: str
    mode: Mode
    roots: tuple[str, ...]
    passes: int = 0
    changed: int = 0
    last_pass: str = ""
    problem: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Pending:
    """Changes that no pass has taken up yet."""

    dirty: bool = False
    hints: set[str] = field(default_factory=set)
    first: float = 0.0
    last: float = 0.0


class Watcher:
    """Watches folders in the background, from `start` to `stop`; also a context manager.

    Parameters
    ----------
    run : callable
        Runs one pass; it is given a function that tells deletions from other losses.
    documents : callable
        The corpus base, and the paths of documents that are not stale.
    roots : sequence of str
        Absolute folders and files.
    include : sequence of str
        Suffixes that a pass takes.
    store : StoreFiles
        Events below it are ignored: a pass makes them itself.
    debounce : float
        Seconds for which the folders must rest before a pass; at least 0.1.
    full_every : float
        Seconds between passes that need no event.
    poll : bool, optional
        Look at every file in turn in place of events; None: where no events come.
    on_pass : callable, optional
        Called with each report, on the indexing thread.

    Raises
    ------
    ConfigurationError
        A number is out of range.
    """

    def __init__(
        self,
        run: RunPass,
        documents: Documents,
        roots: Sequence[str],
        include: Sequence[str],
        store: StoreFiles,
        *,
        debounce: float = 2.0,
        full_every: float = 300.0,
        poll: bool | None = None,
        on_pass: Callable[[IndexReport], None] | None = None,
    ) -> None:
        if not debounce >= MINIMUM_DEBOUNCE:
            raise ConfigurationError(f"debounce is {debounce:g} s; at least {MINIMUM_DEBOUNCE} s")
        if not full_every > 0:
            raise ConfigurationError(f"full_every is {full_every:g} s; above 0")
        self._run, self._documents, self._on_pass = run, documents, on_pass
        self._debounce, self._full_every, self._poll = debounce, full_every, poll
        self._filter = EventFilter(roots, include, store)
        self._losses = Losses()
        self._changed = threading.Condition()
        self._pending = _Pending()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        polls = any(network_mount(Path(root)) is not None for root in roots)
        mode: Mode = "polling" if poll or (poll is None and polls) else "events"
        self._status = WatchStatus("stopped", mode, tuple(roots))

    # -- what users call ---------------------------------------------------------------------

    @property
    def status(self) -> WatchStatus:
        """What the watcher is doing now."""
        return self._status

    def start(self) -> Watcher:
        """Start watching, with a whole pass first; a second call does nothing."""
        if self._threads:
            return self
        self._stop.clear()
        self._set(state="idle", problem="")
        for work in (self._drain, self._index):
            thread = threading.Thread(target=work, name=f"knowledge-watch{work.__name__}")
            thread.daemon = True
            self._threads.append(thread)
            thread.start()
        atexit.register(self.stop)
        return self

    def stop(self) -> None:
        """Stop; a pass that is running is completed first. A second call does nothing."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._threads.clear()
        atexit.unregister(self.stop)
        if self._status.state != "failed":
            self._set(state="stopped")

    def __enter__(self) -> Watcher:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        now = self._status
        problem = f", problem: {now.problem}" if now.problem else ""
        return (
            f"<Watcher {now.state}, {now.mode}, {now.passes:,} passes, {now.changed:,} changed"
            f" documents, of {', '.join(now.roots)}{problem}>"
        )

    # -- shared by both threads ----------------------------------------------------------------

    def _set(self, **changes: object) -> None:
        self._status = replace(self._status, **changes)  # type: ignore[arg-type]

    def _mark(
        self, paths: Iterable[str], *, at_once: bool = False, exchanged: bool = False
    ) -> None:
        now = time.monotonic()
        with self._changed:
            pending = self._pending
            if exchanged:
                # A root that went or came back says nothing of each file that was below it.
                pending.hints.clear()
            if not pending.dirty:
                pending.first = now
            pending.dirty = True
            pending.hints.update(paths)
            pending.last = now - self._debounce if at_once else now
            self._changed.notify_all()

    def _warn(self, text: str) -> None:
        if text not in self._status.warnings:
            self._set(warnings=(*self._status.warnings, text))
            logger.warning("%s", text)

    # -- the thread that drains events -----------------------------------------------------------

    def _drain(self) -> None:
        looks = _Looks(self._status.roots)
        begun = False
        while not self._stop.is_set():
            folders = [root for root in self._status.roots if os.path.isdir(root)]
            if self._status.mode == "walking" or not folders:
                if looks.differ() or not begun:
                    self._mark((), at_once=not begun, exchanged=True)
                begun = True
                self._stop.wait(TICK)
                continue
            try:
                self._drain_folders(folders, looks)
            except FileNotFoundError:
                continue  # a folder went away between the look and now
            except Exception as error:  # noqa: BLE001 - its limits have no type of their own
                self._without_events(error)

    def _drain_folders(self, folders: list[str], looks: _Looks) -> None:
        # Imported here: it starts no thread before it is used.
        from watchfiles._rust_notify import RustNotify

        polling = self._status.mode == "polling"
        # Its own grouping is kept short: draining must not wait. The debounce is ours.
        with RustNotify(folders, False, polling, 300, True, True) as notify:
            # Only now is a pass whole: what changed before the watch was set makes no event.
            self._mark((), at_once=True)
            while True:
                found = notify.watch(_DRAIN_MILLISECONDS, 50, int(TICK * 1000), self._stop)
                if found == "stop":
                    return
                if isinstance(found, set):
                    paths = [path for _, path in found if self._filter.matters(path)]
                    if paths:
                        self._mark(path for path in paths if path not in self._status.roots)
                if looks.differ():
                    # A folder was exchanged or came back: the old watch is of no use.
                    self._mark((), exchanged=True)
                    return

    def _without_events(self, error: Exception) -> None:
        said = str(error)
        limits = ("watch limit", "Too many open files", "os error 28", "os error 24", "No space")
        if any(words in said for words in limits):
            self._warn(EXHAUSTED.format(WALK_WITHOUT_EVENTS))
        else:
            every = f"changes are found by a walk every {WALK_WITHOUT_EVENTS:.0f} s"
            self._warn(f"events cannot be had ({said}), so {every}; kb.watch(poll=True) polls.")
        self._full_every = min(self._full_every, WALK_WITHOUT_EVENTS)
        self._set(mode="walking")
        with self._changed:
            self._changed.notify_all()

    # -- the thread that indexes -------------------------------------------------------------------

    def _index(self) -> None:
        retry = 0.0
        try:
            while (hints := self._next(retry)) is not None:
                self._set(state="indexing")
                retry = self._pass(hints, retry)
                if self._status.state == "indexing":
                    self._set(state="idle")
        except BaseException as error:
            logger.exception("watching ended")
            self._set(state="failed", problem=f"{type(error).__name__}: {error}")
            self._stop.set()

    def _next(self, retry: float) -> set[str] | None:
        """Wait for the next pass to be due; its hints, or None when it is time to stop."""
        with self._changed:
            if retry:
                self._changed.wait_for(self._stop.is_set, timeout=retry)
            due = time.monotonic() + self._full_every
            while not self._stop.is_set():
                now = time.monotonic()
                pending = self._pending
                due = min(due, now + self._full_every)
                if pending.dirty:
                    rested = pending.last + self._debounce
                    ready = min(rested, pending.first + MOST_DEBOUNCES * self._debounce)
                else:
                    ready = due
                if now >= ready:
                    self._pending = _Pending()
                    return pending.hints
                if pending.dirty and self._status.state == "idle":
                    self._set(state="waiting")
                self._changed.wait(ready - now)
        return None

    def _pass(self, hints: set[str], retry: float) -> float:
        """Run a pass; seconds after which to try again, 0 when it completed."""

        def vanished(base: Path, paths: Sequence[str]) -> Collection[str]:
            return self._losses.vanished(base, paths, hints)

        try:
            report = self._run(vanished)
        except RootError as error:
            self._set(state="retrying", problem=str(error))
            self._mark((), exchanged=True)
        except StoreLockedError as error:
            self._set(state="retrying", problem=str(error))
            self._mark(hints)
            return self._debounce
        except KnowledgeError as error:
            logger.warning("a pass did not complete: %s", error)
            self._set(state="retrying", problem=str(error))
            self._mark(hints)
        else:
            self._filter.folders = self._losses.saw(*self._documents())
            self._set(
                passes=self._status.passes + 1,
                changed=self._status.changed + report.added + report.replaced + report.removed,
                last_pass=utc_now(),
                problem="",
            )
            if self._on_pass is not None:
                self._on_pass(report)
            return 0.0
        return min(max(2 * retry, self._debounce), LONGEST_RETRY)


class _Looks:
    """Tells that a root was exchanged, went or came back; and that a root which is a file changed.

    A watch follows the folder it was set on, not its name, and an atomic save exchanges a file.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._last = self._look()

    def _look(self) -> list[tuple[int, ...] | None]:
        looks: list[tuple[int, ...] | None] = []
        for root in self._roots:
            try:
                found = os.stat(root)
            except OSError:
                looks.append(None)
                continue
            file = not os.path.isdir(root)
            state = (found.st_mtime_ns, found.st_size) if file else ()
            looks.append((found.st_dev, found.st_ino, *state))
        return looks

    def differ(self) -> bool:
        """Whether anything changed since the last look."""
        now = self._look()
        changed, self._last = now != self._last, now
        return changed
