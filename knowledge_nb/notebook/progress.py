"""The bar of an indexing pass in a notebook: files, MB/s, time left, what was skipped."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from knowledge_nb.records import IndexReport

INTERRUPTED = "interrupted: what was written so far is sound; index again to go on"


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel, which can show widgets."""
    return running_kernel() is not None


def running_kernel() -> Any:
    """The Jupyter kernel that this process is; None elsewhere."""
    # Asked of the modules that are loaded: importing IPython to ask would cost 0.3 s.
    ipython = sys.modules.get("IPython")
    if ipython is None or "ipykernel" not in sys.modules:
        return None
    return getattr(ipython.get_ipython(), "kernel", None)


class IndexBar:
    """One bar, drawn by `tqdm.auto`; call it as the progress of a pass."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        class Bar(tqdm):  # type: ignore[misc]
            monitor_interval = 0  # tqdm's watching thread would outlive the pass

        self._make = Bar
        self._bar: Any = None

    def __call__(self, files: int, done: int, all_files: int, total: int) -> None:
        """Show files and bytes done, of all."""
        if self._bar is None:
            self._bar = self._make(
                total=total, unit="B", unit_scale=True, desc="Indexing", mininterval=0.1
            )
        self._bar.set_postfix_str(f"{files:,} of {all_files:,} files", refresh=False)
        self._bar.update(done - self._bar.n)

    def finish(self, report: IndexReport) -> None:
        """Say what the pass did and what it skipped."""
        if self._bar is None:
            return
        done = {
            "added": report.added,
            "replaced": report.replaced,
            "unchanged": report.unchanged,
            "removed": report.removed,
        }
        said = [f"{count:,} {name}" for name, count in done.items() if count]
        said.append(f"{sum(report.skipped.values()):,} skipped")
        self._bar.set_description("Indexed", refresh=False)
        self._bar.set_postfix_str(f"{report.seen:,} files: {', '.join(said)}", refresh=False)
        self._close()

    def stop(self, text: str) -> None:
        """Leave the bar where it stands, with a word why."""
        if self._bar is None:
            return
        self._bar.set_description(text, refresh=False)
        self._close()

    def _close(self) -> None:
        self._bar.refresh()
        self._bar.close()


def run_with_bar(
    index: Callable[[Callable[[int, int, int, int], None]], IndexReport],
) -> IndexReport:
    """Run a pass under a bar.

    Parameters
    ----------
    index : callable
        Runs the pass with the progress that it is given.

    Raises
    ------
    KeyboardInterrupt
        The stop button was pressed; its text says that the index is sound.
    """
    bar = IndexBar()
    try:
        report = index(bar)
    except KeyboardInterrupt:
        bar.stop("interrupted")
        raise KeyboardInterrupt(INTERRUPTED) from None
    except BaseException:
        bar.stop("failed")
        raise
    bar.finish(report)
    return report
