"""Every word of the corpus as rows of a table, for statistics."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from knowledge_nb.matching.lexicon import heading_occurrences, stems_of
from knowledge_nb.store.sql import rows
from knowledge_nb.text import LEVEL_MARK

# Rows of an instance table come in term order, so that SQLite sorts nothing.
_WORDS = (
    "SELECT CAST(term AS BLOB), count(DISTINCT doc >> 20), count(DISTINCT doc),"
    " count(CASE WHEN col = 'body' THEN 1 END), min(CASE WHEN col = 'body' THEN doc >> 20 END)"
    " FROM terms_exact GROUP BY term"
)


def word_table(
    connection: apsw.Connection,
) -> Iterator[tuple[str, str, int, int, int, int | None]]:
    """Give each word with stem, documents, chunks, occurrences and its first document.

    Parameters
    ----------
    connection : apsw.Connection
        In a read transaction.

    Yields
    ------
    tuple
        As in `vocabulary`: documents and chunks that hold the very word in body or heading,
        occurrences in bodies and in each heading once. The last is the lowest id of a document
        whose body holds it, None for a word of headings only. None for an empty corpus.
    """
    # FTS5 cuts a token at 32,768 bytes, in the middle of a letter where that is the place.
    found = [
        (term.decode(errors="ignore"), *numbers) for term, *numbers in rows(connection, _WORDS)
    ]
    found = [row for row in found if row[0] != LEVEL_MARK]
    in_headings = heading_occurrences(connection)
    stems = stems_of(connection, [row[0] for row in found])
    for (word, documents, chunks, bodies, first), stem in zip(found, stems, strict=True):
        yield word, stem, documents, chunks, bodies + in_headings.get(word, 0), first
