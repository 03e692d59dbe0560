"""SQLite's own porter tokenizer on a scratch in-memory database, for what needs no store."""

from __future__ import annotations

import re
from typing import Any

import apsw

from knowledge_nb.text import PORTER_TOKENIZER


def porter_stems(text: str) -> list[str]:
    """Stem a text as the porter-stemmed table does.

    Parameters
    ----------
    text : str
        In the form of `text.index_text`.

    Returns
    -------
    list of str
        Its tokens in order; the very ones of the index, since one tokenizer makes both.
    """
    connection = apsw.Connection(":memory:")
    try:
        name, *arguments = [
            quoted or bare for quoted, bare in re.findall(r"'([^']*)'|(\S+)", PORTER_TOKENIZER)
        ]
        found: Any = connection.fts5_tokenizer(name, arguments)(
            text.encode(),
            apsw.FTS5_TOKENIZE_DOCUMENT,
            None,
            include_offsets=False,
            include_colocated=False,
        )
        return list(found)
    finally:
        connection.close()
