"""When a press was sent, against when its sender could see what a form shows now."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from math import inf

from knowledge_nb.notebook.progress import running_kernel

# A press on a button also takes the focus from a field, which sends the field's new value first:
# what comes this soon behind it is one gesture with it.
SAME_PRESS_SECONDS = 0.4
# Held down, a key repeats from half a second on (the default of most systems), then ever faster.
SAME_KEY_SECONDS = 0.7
_CLOCK_SET_BACK_SECONDS = 60.0


def sent() -> float | None:
    """When the browser sent what is being handled, by its clock; None where no widget did."""
    kernel = running_kernel()
    if kernel is None:
        return None
    header = kernel.get_parent("shell").get("header", {})
    date = header.get("date")
    if header.get("msg_type") != "comm_msg" or not isinstance(date, datetime):
        return None  # a cell that calls the form, or no message at all
    return date.timestamp()


class Presses:
    """Tells a press on what is shown from one on what was shown before.

    The browser's clock need not be the kernel's. What lies between them is at most the shortest
    time that one of the last messages seemed to take. A call from Python is never too early.

    Parameters
    ----------
    when : callable
        Gives the time of sending, as `sent` does.
    clock : callable
        Gives the kernel's time.
    """

    def __init__(
        self,
        when: Callable[[], float | None] = sent,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.when, self.clock = when, clock
        self._lags: deque[float] = deque(maxlen=8)
        self._shown = -inf  # by the kernel's clock; the others are the browser's
        self._aimed = self._graded = self._latest = -inf

    def now(self) -> float:
        """When what is being handled was sent; the present where no browser sent it."""
        at = self.heard()
        return self.clock() if at is None else at

    def heard(self) -> float | None:
        """When the browser sent what is being handled; None for a call from Python."""
        at = self.when()
        if at is None:
            return None
        if at < self._latest - _CLOCK_SET_BACK_SECONDS:
            self._lags.clear()
            self._shown = self._aimed = self._graded = self._latest = -inf
        self._latest = max(self._latest, at)
        self._lags.append(self.clock() - at)
        return at

    def shown(self) -> None:
        """Note that what is shown has changed just now."""
        self._shown = self.clock()

    def blurred(self) -> None:
        """Note that a field lost the focus, perhaps to a press on what was shown before."""
        at = self.heard()
        if at is not None:
            self._aimed = at + SAME_PRESS_SECONDS

    def early(self) -> bool:
        """Whether the press was meant for what was shown before."""
        at = self.heard()
        return at is not None and at < max(self._seen(), self._aimed)

    def repeated(self) -> bool:
        """Whether the press goes on with one before it: a double click, a key held, "23".

        So does one that comes too soon after the change of what is shown to be about it.
        """
        at = self.heard()
        if at is None:
            return False
        before, self._graded = max(self._graded, self._seen()), max(self._graded, at)
        return at < before + SAME_KEY_SECONDS

    def _seen(self) -> float:
        """When the browser can have shown at the earliest what is shown now, by its clock."""
        return self._shown - min(self._lags)
