"""SQLite's own tokenizers, as the two FTS5 tables use them: one set of stems, never a second."""

from __future__ import annotations

import re
from typing import cast

import apsw

from knowledge_nb.text import EXACT_TOKENIZER, PORTER_TOKENIZER


class Analyzer:
    """Both tokenizers, on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._porter = _tokenizer(connection, PORTER_TOKENIZER)
        self._exact = _tokenizer(connection, EXACT_TOKENIZER)

    def porter(self, text: str) -> list[str]:
        """Stems, in the order of a text that went through `index_text`."""
        return _tokens(self._porter, text)

    def exact(self, text: str) -> list[str]:
        """Words as written, case folded, in the order of such a text."""
        return _tokens(self._exact, text)


def porter_stems(text: str) -> list[str]:
    """Stem a text on a scratch in-memory database, where no store is at hand."""
    connection = apsw.Connection(":memory:")
    try:
        return Analyzer(connection).porter(text)
    finally:
        connection.close()


def _tokenizer(connection: apsw.Connection, declaration: str) -> apsw.FTS5Tokenizer:
    name, *arguments = [a or b for a, b in re.findall(r"'([^']*)'|(\S+)", declaration)]
    return connection.fts5_tokenizer(name, arguments)


def _tokens(tokenizer: apsw.FTS5Tokenizer, text: str) -> list[str]:
    found = tokenizer(
        text.encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return cast("list[str]", found)
