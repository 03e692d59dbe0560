"""Writes the whole of a frame to a CSV file from a form."""

from __future__ import annotations

import os
import tempfile
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
        suffix. A file of that name is replaced, whole or not at all.

    Returns
    -------
    Path
        What was written.

    Raises
    ------
    ConfigurationError
        The name is empty or names a directory.
    OSError
        The file cannot be written.
    """
    if not name.strip():
        raise ConfigurationError("name a file to export to, such as `answer.csv`")
    path = Path(name.strip()).expanduser()
    if path.is_dir():
        raise ConfigurationError(f"{path} is a directory; name a file in it")
    if not path.suffix:
        path = path.with_suffix(".csv")
    path = path.absolute()
    export = getattr(type(frame), "export", None)
    if export is not None:
        export(frame, path)
        return path
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    try:
        frame.to_csv(made, index=False, encoding="utf-8", lineterminator="\n")
        os.replace(made, path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
    return path
