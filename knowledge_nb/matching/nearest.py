"""Words of the corpus that lie near a word that it does not hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from knowledge_nb.text import has_unspaced


def distance(first: str, second: str, most: int) -> int:
    """Edit distance with neighbouring letters swapped as one edit, or `most + 1` when above.

    References
    ----------
    Optimal string alignment: L. Boytsov, "Indexing methods for approximate dictionary searching"
    (2011), section 2.
    """
    if abs(len(first) - len(second)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        last, before, row = before, row, [i]
        for j, b in enumerate(second, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and b == first[i - 2]:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1] if row[-1] <= most else most + 1


def nearest(word: str, vocabulary: Iterable[str], limit: int = 5) -> list[str]:
    """Return the words nearest to one, nearest first.

    Parameters
    ----------
    word : str
        One word as written, case folded.
    vocabulary : iterable of str
        Words of the same kind; 220,000 take about 0.1 s.
    limit : int
        Words to return at most.

    Returns
    -------
    list of str
        By distance, then those that begin with the same letter, then in order; empty when none is
        within one edit (words of up to four letters), two (up to nine) or three, and for scripts
        without spaces, whose words are listed by character.
    """
    if has_unspaced(word) or len(word) > 64:
        return []
    most = 1 if len(word) <= 4 else 2 if len(word) <= 9 else 3
    shortest, longest = max(2, len(word) - most), len(word) + most
    letters, holds = frozenset(word), _pieces(word, most).search
    # An edit changes at most two letters of the set; this leaves few words to compare in full.
    candidates = (
        other
        for other in vocabulary
        if shortest <= len(other) <= longest
        and holds(other)
        and len(letters.symmetric_difference(other)) <= 2 * most
    )
    found = []
    for other in candidates:
        edits = distance(word, other, most)
        if edits <= most and other != word:
            found.append((edits, other[0] != word[0], other))
    return [other for _, _, other in sorted(found)[:limit]]


def _pieces(word: str, most: int) -> re.Pattern[str]:
    """A pattern for words that share one of most + 1 pieces, as all within `most` edits do.

    Save that two swapped letters may touch two pieces, which a short word cannot spare.
    """
    if most == 1:
        return re.compile("")
    size = len(word) / (most + 1)
    ends = [round(size * number) for number in range(most + 2)]
    return re.compile("|".join(re.escape(word[a:b]) for a, b in pairwise(ends)))
