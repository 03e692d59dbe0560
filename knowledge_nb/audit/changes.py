"""What became of some documents since they were noted down, and why a set of them differs now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from knowledge_nb.store.sql import rows, value

_DOCUMENTS = "SELECT path, id, sha256, indexed_at FROM documents"
_LAST = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'documents'"

ADDED, REMOVED, KEPT = "added", "removed", "kept"


@dataclass(frozen=True, slots=True)
class Noted:
    """One document as it was: its id and the hash of its file."""

    id: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Every document of one committed state.

    Attributes
    ----------
    documents : dict of str to Noted
        By path.
    last_id : int
        The highest id ever given; ids are not reused, so a higher one is a newer document.
    store_id : str
        Ids of two stores, or of one before and after a reset, say nothing of each other.
    """

    documents: Mapping[str, Noted]
    last_id: int
    store_id: str = ""

    def noted(self, paths: Iterable[str]) -> dict[str, list[object]]:
        """The documents at some paths as plain data, for `from_plain`."""
        found = {}
        for path in paths:
            held = self.documents.get(path)
            if held is not None:
                found[path] = [held.id, held.sha256]
        return found


def read_corpus(connection: apsw.Connection, store_id: str) -> Corpus:
    """Read every document's id and hash, in the caller's read transaction."""
    found = {path: Noted(number, sha) for path, number, sha, _ in rows(connection, _DOCUMENTS)}
    return Corpus(found, int(value(connection, _LAST) or 0), store_id)


def from_plain(noted: Mapping[str, object]) -> dict[str, Noted]:
    """The documents that `Corpus.noted` gave, after a round trip through JSON.

    Raises
    ------
    ValueError
        It is not that.
    """
    found = {}
    for path, held in noted.items():
        if not isinstance(held, list) or len(held) != 2:
            raise ValueError(f"{path!r} is not noted with an id and a hash")
        found[path] = Noted(int(held[0]), str(held[1]))
    return found


@dataclass(frozen=True, slots=True)
class Then:
    """What was noted of some documents with an answer, for comparing with now."""

    documents: Mapping[str, Noted]
    last_id: int
    store_id: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Then:
        """From the plain data of a side file or a saved set.

        Raises
        ------
        ValueError, KeyError, TypeError
            It is not that.
        """
        return cls(
            from_plain(record["documents"]),
            int(record["last_document_id"]),
            str(record["store_id"]),
        )

    def cause(self, path: str, change: str, now: Corpus) -> str:
        """Say in words why a document joined a set, left it or stayed.

        Parameters
        ----------
        change : {"added", "removed", "kept"}
        now : Corpus
        """
        before, after = self.documents.get(path), now.documents.get(path)
        if after is None:
            return "document gone from the index"
        if before is None:
            if self.store_id != now.store_id:
                return "document new or changed: the index was made anew since"
            if after.id > self.last_id:
                return "document new in the index"
            return "document was there and was not in the set: its text, or the answer, changed"
        if before.sha256 != after.sha256:
            return "document changed, and is still in it" if change == KEPT else "document changed"
        if change == KEPT:
            return "unchanged"
        return "document unchanged: the question is answered otherwise now"
