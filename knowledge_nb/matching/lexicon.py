"""The words of the corpus: their stems, families and counts, kept until the index changes.

The words alone (all that `enumerate` needs) take 0.4 s for 212,000 words; the counts, which only
the vocabulary needs, are read when they are first asked for.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

import apsw

from knowledge_nb.records import Completeness, Word
from knowledge_nb.store.sql import rows, value
from knowledge_nb.store.tokenizers import Analyzer
from knowledge_nb.text import LEVEL_MARK

# A token holds no white space. One string crosses into Python faster than 200,000 rows.
_WORDS = (
    "SELECT CAST(group_concat(term, char(10)) AS BLOB) FROM (SELECT DISTINCT term FROM words_exact)"
)
# The rows of an instance table come in term order, so that SQLite sorts nothing: 1.6 s for nine
# million places. What fts5vocab counts itself is chunks, not documents.
_COUNTS = (
    "SELECT CAST(term AS BLOB), count(DISTINCT doc >> 20), count(CASE WHEN col = 'body' THEN 1 END)"
    " FROM terms_exact GROUP BY term"
)
_DOCUMENTS_BY_STEM = (
    "SELECT CAST(term AS BLOB), count(DISTINCT doc >> 20) FROM terms_porter GROUP BY term"
)
_OPENED = "SELECT opens, coalesce(heading_terms, heading) FROM chunks WHERE opens > 0"

_HEADINGS_A_CALL = 20_000


class Lexicon:
    """Every real word of one committed state of the index; threads may share it.

    Every method takes a connection, which it uses at most once in the lexicon's life, on a
    transaction that sees that state. The mark between the levels of a breadcrumb is no word.
    """

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._words: list[str] | None = None
        self._stems: list[str] = []
        self._families: defaultdict[str, list[str]] | None = None
        self._counted: tuple[Word, ...] | None = None

    def words(self, connection: apsw.Connection) -> list[str]:
        """Return the words as written, case folded, in the index's order (not to be changed)."""
        with self._guard:
            if self._words is None:
                joined = value(connection, _WORDS)
                self._take(connection, _decode(joined).split("\n") if joined else [])
            return self._words or []

    def _take(self, connection: apsw.Connection, found: Sequence[str]) -> None:
        words = [word for word in found if word != LEVEL_MARK]
        stems = stems_of(connection, words)
        self._words, self._stems = words, stems

    def families(
        self, connection: apsw.Connection, stems: Collection[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the words of each stem that has any, in the index's order."""
        words = self.words(connection)
        with self._guard:
            if self._families is None:
                # Scanning 211,000 words costs 19 ms a query, sorting them by stem 60 ms once.
                self._families = defaultdict(list)
                for word, stem in zip(words, self._stems, strict=True):
                    self._families[stem].append(word)
            known = self._families
        return {stem: tuple(known[stem]) for stem in stems if stem in known}

    def counted(self, connection: apsw.Connection) -> tuple[Word, ...]:
        """Return all words with their counts, by documents (most first), then word."""
        with self._guard:
            if self._counted is None:
                self._counted = self._count(connection)
            return self._counted

    def _count(self, connection: apsw.Connection) -> tuple[Word, ...]:
        counts = [(_decode(term), *numbers) for term, *numbers in rows(connection, _COUNTS)]
        any_form = {_decode(stem): n for stem, n in rows(connection, _DOCUMENTS_BY_STEM)}
        in_headings = heading_occurrences(connection)
        if self._words is None:
            self._take(connection, [term for term, _, _ in counts])
        counts = [row for row in counts if row[0] != LEVEL_MARK]
        counted = [
            Word(
                word,
                stem,
                documents,
                any_form.get(stem, documents),
                bodies + in_headings.get(word, 0),
            )
            for (word, documents, bodies), stem in zip(counts, self._stems, strict=True)
        ]
        counted.sort(key=lambda word: (-word.documents, word.word))
        return tuple(counted)


def _decode(term: bytes) -> str:
    # FTS5 cuts a token at 32,768 bytes, in the middle of a letter where that is the place.
    return term.decode(errors="ignore")


def stems_of(connection: apsw.Connection, words: Sequence[str]) -> list[str]:
    """Stem words of the index in one call of SQLite's own tokenizer, in their order."""
    porter = Analyzer(connection).porter
    stems = porter("\n".join(words))
    if len(stems) != len(words):
        # Never seen: both tokenizers cut at the same characters. Slow, and right.
        stems = [" ".join(porter(word)) for word in words]
    return stems


def heading_occurrences(connection: apsw.Connection) -> Counter[str]:
    """Count the words of every heading once: the breadcrumb repeats it in each chunk below."""
    opened: list[str] = []
    for opens, breadcrumb in rows(connection, _OPENED):
        opened += breadcrumb.split(LEVEL_MARK)[-opens:]
    exact = Analyzer(connection).exact
    occurrences: Counter[str] = Counter()
    for start in range(0, len(opened), _HEADINGS_A_CALL):
        occurrences.update(exact("\n".join(opened[start : start + _HEADINGS_A_CALL])))
    return occurrences


class LexiconCache:
    """The lexicon of the newest state that was asked for; threads may share it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._state: Sequence[object] = ()
        self._lexicon: Lexicon | None = None

    def get(self, completeness: Completeness) -> Lexicon:
        """Return the lexicon of a committed state; reads no word yet.

        Parameters
        ----------
        completeness : Completeness
            Read in the caller's read transaction.
        """
        with self._guard:
            if self._lexicon is None or self._state != completeness.state:
                self._lexicon = Lexicon()
                self._state = completeness.state
            return self._lexicon
