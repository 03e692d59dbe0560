"""`under=`: restricting an answer to one folder, exactly and before any ranking is cut."""

from __future__ import annotations

import json
import posixpath
import unicodedata
from dataclasses import dataclass

import apsw

from knowledge_nb.store.sql import rows

# Below "a/b" lies every path from "a/b/" up to, not including, "a/b0": "0" follows "/" in the
# binary order of paths. No pattern is involved, so no character of a name is a wildcard.
_DOCUMENTS = (
    "SELECT id FROM documents WHERE path >= :folder || '/' AND path < :folder || '0'"
    " OR path = :file ORDER BY id"
)


@dataclass(frozen=True, slots=True)
class Under:
    """The documents that an answer is restricted to.

    Attributes
    ----------
    folder : str
        As asked for, normalised; "" for the whole corpus.
    documents : tuple of int or None
        Ids, rising; None for the whole corpus, empty where no indexed document lies there.
    """

    folder: str = ""
    documents: tuple[int, ...] | None = None

    @property
    def unknown(self) -> bool:
        """Whether a folder was named in which no indexed document lies."""
        return self.documents is not None and not self.documents

    def as_json(self) -> str:
        """The ids for `json_each`."""
        return json.dumps(self.documents or ())

    def note(self) -> str:
        """What to say of an unknown folder; "" of a known one."""
        if not self.unknown:
            return ""
        return (
            f"No indexed document lies under {self.folder!r}; paths are relative to the corpus "
            "base, and `knowledge sources` lists them."
        )


WHOLE = Under()


def resolve(connection: apsw.Connection, under: str) -> Under:
    """Find the documents below a folder.

    Parameters
    ----------
    connection : apsw.Connection
        In a read transaction.
    under : str
        A POSIX path relative to the corpus base, with or without a final "/"; "" or "." is the
        whole corpus. Without the final "/" it may also name one file. "policies" never takes
        "policies-old/". Where nothing has that very name, its NFC and NFD forms are tried.

    Returns
    -------
    Under
    """
    folder = posixpath.normpath(under) if under else "."
    if folder == ".":
        return WHOLE
    for form in dict.fromkeys(
        (folder, unicodedata.normalize("NFC", folder), unicodedata.normalize("NFD", folder))
    ):
        file = None if under.endswith("/") else form
        found = rows(connection, _DOCUMENTS, {"folder": form, "file": file})
        if found:
            return Under(folder, tuple(number for (number,) in found))
    return Under(folder, ())
