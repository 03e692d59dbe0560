"""Writes the whole of a frame to a file named in a form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_nb.errors import ConfigurationError

if TYPE_CHECKING:
    from knowledge_nb.notebook.frames import ResultFrame


def export_csv(frame: ResultFrame, name: str) -> Path:
    """Write all rows, never a page of them.

    Parameters
    ----------
    frame : ResultFrame
    name : str
        A file, relative to the kernel's working directory; ".csv" is added where it has no
        suffix, and another suffix of `ResultFrame.export` gives its format. A file of that name
        is replaced, whole or not at all.

    Returns
    -------
    Path
        What was written, absolute; its side file lies beside it.

    Raises
    ------
    ConfigurationError
        The name is empty, or cannot be one.
    ExportError, ExportTargetError
        As of `ResultFrame.export`.
    """
    if not name.strip():
        raise ConfigurationError("name a file to export to, such as `answer.csv`")
    try:
        path = Path(name.strip()).expanduser()
        path = (path if path.suffix or path.is_dir() else path.with_suffix(".csv")).absolute()
        os.fsencode(path)
        impossible = "\0" in name
    except (ValueError, RuntimeError, OSError):  # no character of a name, no such home, too long
        impossible = True
    if impossible:
        raise ConfigurationError(f"{name.strip()[:200]!r} cannot be the name of a file")
    frame.export(path)
    return path
