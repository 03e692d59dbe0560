"""Pairs of nearly equal documents: candidates by MinHash, similarities by counting."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Any

from knowledge_nb.errors import MissingDependencyError
from knowledge_nb.text import index_text

PERMUTATIONS = 128
MISSED = (
    "A pair of exactly that similarity is missed with probability {0:.2g}, a more similar one "
    "less often."
)
_WORD = re.compile(r"\w+")


def near_pairs(
    texts: Sequence[tuple[str, str]], *, threshold: float, words: int
) -> tuple[list[tuple[str, str, float, int, int, int]], float]:
    """Find the pairs.

    Parameters
    ----------
    texts : sequence of (str, str)
        Path and text.
    threshold : float
        Least Jaccard similarity of the sets of runs of `words` words.

    Returns
    -------
    list of (path, other path, similarity, shared runs, runs, other runs)
        Most similar first, then by path; the first path is the smaller. Documents without a word
        are in no pair.
    float
        The chance that a pair of exactly the threshold is not found.

    Raises
    ------
    MissingDependencyError
        datasketch is not installed.
    """
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError as error:
        raise MissingDependencyError(
            "near duplicates need datasketch: `python -m pip install 'knowledge-nb[statistics]'`"
        ) from error
    # Candidates are looked for below the threshold, so that few pairs at it are missed; what is
    # not similar enough is then counted out.
    index: Any = MinHashLSH(threshold=max(0.05, threshold * 0.75), num_perm=PERMUTATIONS)
    runs: dict[int, frozenset[int]] = {}
    pairs: set[tuple[int, int]] = set()
    for number, (_, text) in enumerate(texts):
        held = _runs(text, words)
        if not held:
            continue
        sketch = MinHash(num_perm=PERMUTATIONS, hashfunc=_same)
        sketch.update_batch(list(held))
        pairs.update((other, number) for other in index.query(sketch))
        index.insert(number, sketch, check_duplication=False)
        runs[number] = held
    found = []
    for first, second in pairs:
        a, b = runs[first], runs[second]
        shared = len(a & b)
        similarity = shared / (len(a) + len(b) - shared)
        if similarity >= threshold:
            names = sorted(((texts[first][0], len(a)), (texts[second][0], len(b))))
            (path, size), (other, other_size) = names
            found.append((path, other, similarity, shared, size, other_size))
    found.sort(key=lambda pair: (-pair[2], pair[0], pair[1]))
    missed = (1 - threshold**index.r) ** index.b
    return found, missed


def _runs(text: str, words: int) -> frozenset[int]:
    """Hashes of the runs of words, without regard to case."""
    found = _WORD.findall(index_text(text).casefold())
    if not found:
        return frozenset()
    last = max(len(found) - words, 0)
    return frozenset(
        zlib.crc32(" ".join(found[at : at + words]).encode()) for at in range(last + 1)
    )


def _same(value: int) -> int:
    return value
