"""Enumerate against the plain join, ranked search against plain MATCH, the vocabulary."""

from __future__ import annotations

from pathlib import Path

from knowledge_nb.core import Core
from knowledge_nb.store.sql import rows, value
from tests.benchmarks.timing import spent

_JOIN = (
    "SELECT DISTINCT chunks.document_id FROM chunks_fts JOIN chunks ON chunks.id = chunks_fts.rowid"
    " WHERE chunks_fts MATCH ?"
)
_RANK = (
    "SELECT rowid, bm25(chunks_fts, 2.0, 1.0) FROM chunks_fts WHERE chunks_fts MATCH ?"
    " ORDER BY 2, 1 LIMIT 50"
)


def run(store: Path) -> None:
    """Print the ratios."""
    core = Core(store)
    found = []
    first = spent(lambda: found.append(core.vocabulary()))
    words = found[0].words
    again = spent(core.vocabulary, 3)
    print(
        f"vocabulary (bound 5 s): {len(words):,} words in {first.processor:.2f} s"
        f" (wall {first.wall:.2f} s), asked again {again.processor:.3f} s"
    )
    plain = [word.word for word in words if len(word.word) > 2 and word.word.isascii()]
    one, two, three = plain[10], plain[25], plain[60]

    def join() -> set[int]:
        with core.reader.snapshot() as connection:
            sets = [{d for (d,) in rows(connection, _JOIN, (f'"{t}"',))} for t in (one, two, three)]
        return (sets[0] & sets[1]) - sets[2]

    query = f"{one} {two} -{three}"
    core.enumerate(query)
    ours, theirs = spent(lambda: core.enumerate(query), 7), spent(join, 7)
    if core.enumerate(query).matched != len(join()):
        raise SystemExit("enumerate and the plain join differ")
    ratio = ours.against(theirs)
    print(f"enumerate of 2 common words and an exclusion / plain join (bound 1): {ratio}")
    free = [plain[0], plain[3], plain[700], plain[5000]]
    expression = " OR ".join(f'"{word}"' for word in free)

    def match() -> None:
        with core.reader.snapshot() as connection:
            rows(connection, _RANK, (expression,))

    ours, theirs = spent(lambda: core.search(" ".join(free), k=10), 7), spent(match, 7)
    print(f"ranked search of 4 words, 2 of them common / plain MATCH: {ours.against(theirs)}")
    with core.reader.snapshot() as connection:
        print(f"chunks {value(connection, 'SELECT count(*) FROM chunks'):,}")
    core.close()
