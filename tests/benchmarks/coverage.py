"""Coverage of 500 terms, against asking `enumerate` for each of them."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from knowledge_nb.audit.verbs import coverage_of
from knowledge_nb.core import Core
from tests.benchmarks import corpus
from tests.benchmarks.timing import Spent, spent

TERMS = 500
SAMPLE = 50


def run(store: Path | None = None) -> None:
    """Print the figures; without a store one is made of the seeded corpus."""
    if store is not None:
        _measure(Core(store))
        return
    with tempfile.TemporaryDirectory(prefix="knowledge-benchmark-") as scratch:
        folder = Path(scratch) / "corpus"
        corpus.write_corpus(folder)
        core = Core(Path(scratch) / "store")
        core.index(folder)
        _measure(core)


def term_list(words: list[str], seed: int = 3) -> list[str]:
    """Four fifths single words, common and rare; a tenth of three terms; a tenth phrases."""
    rng = random.Random(seed)
    singles = [words[int(len(words) * rng.random() ** 3)] for _ in range(TERMS * 8 // 10)]
    three = [
        f"{rng.choice(words[:300])} {rng.choice(words[:300])} -{rng.choice(words[:2000])}"
        for _ in range(TERMS // 10)
    ]
    phrases = [f'"{rng.choice(words[:100])} {rng.choice(words[:100])}"' for _ in range(TERMS // 10)]
    return [*singles, *three, *phrases]


def _measure(core: Core) -> None:
    known = core.completeness()
    print(f"{known.documents:,} documents, {known.chunks:,} chunks")
    terms = term_list([word.word for word in core.vocabulary().words])
    cold = Core(core.files.directory)
    first = spent(lambda: coverage_of(cold, terms))
    again = spent(lambda: coverage_of(cold, terms), 3)
    result = coverage_of(cold, terms)
    print(
        f"coverage of {TERMS} terms (bound 20 s of wall time): first {first.wall:.1f} s of wall,"
        f" {first.processor:.1f} s of processor; again {again.wall:.1f} s, {again.processor:.1f} s"
    )
    print(f"  {result.totals()}")
    some = terms[:: TERMS // SAMPLE]

    def one_by_one() -> None:
        for term in some:
            core.enumerate(term)

    one_by_one()
    theirs = spent(one_by_one, 3)
    scale = TERMS / len(some)
    each = Spent(theirs.processor * scale, theirs.wall * scale)
    print(f"against {TERMS} calls of enumerate (bound 1): {again.against(each)}")
    cover = spent(lambda: result.cover(), 3)
    print(f"smallest cover: {cover.processor:.3f} s of processor")
    core.close()
    cold.close()
