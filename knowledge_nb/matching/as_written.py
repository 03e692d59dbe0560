"""Where a word stands as it is written, whatever other forms its stem has."""

from __future__ import annotations

import apsw

from knowledge_nb.citation import ORDINAL_BITS, citation
from knowledge_nb.matching.postings import phrase
from knowledge_nb.store.sql import rows

_FIRST = "SELECT rowid FROM chunks_fts_exact WHERE chunks_fts_exact MATCH ? ORDER BY rowid LIMIT 1"
_PATH = "SELECT path FROM documents WHERE id = ?"


def first_as_written(connection: apsw.Connection, word: str) -> str | None:
    """The citation of a chunk that holds a word as written.

    Parameters
    ----------
    connection : apsw.Connection
        In the caller's read transaction.
    word : str
        As `vocabulary` lists it.

    Returns
    -------
    str or None
        The first chunk that has it in its body, else the first below a heading that has it; None
        where it stands nowhere.
    """
    for scope in ("body", ""):
        for (chunk,) in rows(connection, _FIRST, (phrase((word,), scope),)):
            [(path,)] = rows(connection, _PATH, (chunk >> ORDINAL_BITS,))
            return citation(path, chunk & ((1 << ORDINAL_BITS) - 1))
    return None
