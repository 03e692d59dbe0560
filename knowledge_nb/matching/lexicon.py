"""The words of the corpus: their stems, families and counts, kept until the index changes.

The words alone (all that `enumerate` needs) take 0.4 s for 220,000; the counts, which only the
vocabulary needs, are read when they are first asked for.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

import apsw

from knowledge_nb.matching.postings import Analyzer
from knowledge_nb.records import Completeness, Word
from knowledge_nb.store.sql import rows, value
from knowledge_nb.text import LEVEL_MARK

# A token holds no white space. One string crosses into Python faster than 200,000 rows.
_WORDS = "SELECT group_concat(term, char(10)) FROM (SELECT DISTINCT term FROM words_exact)"
# Of rows in term order, so that SQLite sorts nothing. fts5vocab's own counts are of chunks.
_DOCUMENTS = "SELECT term, count(DISTINCT doc >> 20) FROM terms_exact GROUP BY term"
_DOCUMENTS_BY_STEM = "SELECT term, count(DISTINCT doc >> 20) FROM terms_porter GROUP BY term"
_BODY_OCCURRENCES = "SELECT term, cnt FROM words_exact WHERE col = 'body'"
_OPENED = "SELECT opens, coalesce(heading_terms, heading) FROM chunks WHERE opens > 0"

_HEADINGS_A_CALL = 20_000


class Lexicon:
    """Every real word of one committed state of the index.

    Attributes
    ----------
    words : list of str
        As written, case folded, in the index's order; the mark between headings is not one.
    stems : list of str
        Of each word, in the same order.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self.words, self.stems = read_words(connection)
        self._guard = threading.Lock()
        self._counted: tuple[Word, ...] | None = None

    def families(self, stems: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the words of each stem that has any, in the index's order."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        wanted = frozenset(stems)
        for word, stem in zip(self.words, self.stems, strict=True):
            if stem in wanted:
                found[stem].append(word)
        return {stem: tuple(words) for stem, words in found.items()}

    def counted(self, connection: apsw.Connection) -> tuple[Word, ...]:
        """Return all words with their counts, by documents (most first), then word.

        Parameters
        ----------
        connection : apsw.Connection
            On a transaction that sees the state that this lexicon was read from.
        """
        with self._guard:
            if self._counted is None:
                self._counted = self._count(connection)
            return self._counted

    def _count(self, connection: apsw.Connection) -> tuple[Word, ...]:
        documents = dict(rows(connection, _DOCUMENTS))
        any_form = dict(rows(connection, _DOCUMENTS_BY_STEM))
        occurrences: Counter[str] = Counter(dict(rows(connection, _BODY_OCCURRENCES)))
        count_headings(connection, occurrences)
        counted = [
            Word(word, stem, documents[word], any_form[stem], occurrences[word])
            for word, stem in zip(self.words, self.stems, strict=True)
        ]
        counted.sort(key=lambda word: (-word.documents, word.word))
        return tuple(counted)


def read_words(connection: apsw.Connection) -> tuple[list[str], list[str]]:
    """Read all words, and stem them in one call of SQLite's own tokenizer."""
    joined = value(connection, _WORDS)
    words = [word for word in joined.split("\n") if word != LEVEL_MARK] if joined else []
    stems = Analyzer(connection).porter("\n".join(words))
    if len(stems) != len(words):
        # Never seen: both tokenizers cut at the same characters. Slow, and right.
        porter = Analyzer(connection).porter
        stems = [" ".join(porter(word)) for word in words]
    return words, stems


def count_headings(connection: apsw.Connection, occurrences: Counter[str]) -> None:
    """Count the words of every heading once: the breadcrumb repeats it in each chunk below."""
    opened: list[str] = []
    for opens, breadcrumb in rows(connection, _OPENED):
        opened += breadcrumb.split(LEVEL_MARK)[-opens:]
    exact = Analyzer(connection).exact
    for start in range(0, len(opened), _HEADINGS_A_CALL):
        occurrences.update(exact("\n".join(opened[start : start + _HEADINGS_A_CALL])))


class LexiconCache:
    """The lexicon of the newest state that was asked for; threads may share it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._state: Sequence[object] = ()
        self._lexicon: Lexicon | None = None

    def get(self, connection: apsw.Connection, completeness: Completeness) -> Lexicon:
        """Return the lexicon of the state that `connection`'s transaction sees.

        Parameters
        ----------
        connection : apsw.Connection
            In a read transaction.
        completeness : Completeness
            Read in the same transaction.
        """
        # A reset starts the generations again, so the number alone is not the state.
        state = (
            completeness.generation,
            completeness.documents,
            completeness.chunks,
            completeness.last_completed,
            completeness.unfinished_since,
            connection.pragma("schema_version"),
        )
        with self._guard:
            if self._lexicon is None or self._state != state:
                self._lexicon = Lexicon(connection)
                self._state = state
            return self._lexicon
