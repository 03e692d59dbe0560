"""Regular expressions from users, run on words so that none can run for ever."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from itertools import pairwise
from math import factorial
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any
from unicodedata import normalize

from knowledge_nb.errors import QueryError
from knowledge_nb.records import Word

MAX_SECONDS = 5.0
MAX_STEPS = 2_000_000_000  # of backtracking in one word, at worst; some ten seconds
_WORDS_BETWEEN_LOOKS = 64
_SHORT = 32  # characters
_MAX_WAYS = 3_000_000  # to divide a short word among the repeats; six `.*` have 2,760,681
_MANY_WAYS = 10_000  # from here on, the time is looked at after every word
_OFTEN = 8  # a repeat up to this often multiplies the time, it does not blow it up

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
_NO_WAY_BACK = (sre.ATOMIC_GROUP, sre.POSSESSIVE_REPEAT)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for words, which are case folded and in NFC.

    Raises
    ------
    QueryError
        It is no regular expression (the message says where); or it repeats something that repeats
        or has alternatives that begin alike, or has too many repeats or alternatives in a row:
        Python's `re` can take time exponential in the length of a word for those, and cannot be
        stopped.
    """
    pattern = normalize("NFC", pattern)
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
        parsed = sre_parser.parse(pattern, re.IGNORECASE)
    except re.error as error:
        place = "" if error.pos is None else f" at character {error.pos + 1}"
        raise QueryError(
            f"{pattern!r} is no regular expression: {error.msg}{place}. To find the text itself, "
            f"escape it: {re.escape(pattern)!r}."
        ) from error
    except (OverflowError, RecursionError) as error:
        raise QueryError(f"the regular expression {pattern[:80]!r} is too large") from error
    if _can_explode(parsed, repeated=False):
        raise QueryError(
            f"{pattern!r} repeats something that itself repeats or has alternatives that begin "
            "alike, which can take for ever. Write one repeat, such as [a-z]+ for ([a-z]+)+, or a "
            "possessive one, such as ([a-z]++)+."
        )
    if sum(_ways(parsed)) > _MAX_WAYS:
        raise QueryError(
            f"{pattern[:80]!r} has too many repeats or alternatives in a row, which can take for "
            "ever. Write at most six such as .* in a row, or possessive ones such as [a-z]++."
        )
    return compiled


def matching(pattern: re.Pattern[str], words: Iterable[Word]) -> list[Word]:
    """Return the words that hold a match, in the order given.

    Raises
    ------
    QueryError
        It took longer than five seconds.
    """
    search, listed = pattern.search, list(words)
    # Short words first: a pattern that is slow for its length is stopped before the long ones.
    order = [at for at, word in enumerate(listed) if len(word.word) <= _SHORT]
    long = [at for at, word in enumerate(listed) if len(word.word) > _SHORT]
    long.sort(key=lambda at: len(listed[at].word))
    parsed = sre_parser.parse(pattern.pattern, re.IGNORECASE)
    between = _WORDS_BETWEEN_LOOKS if sum(_ways(parsed)) < _MANY_WAYS else 1
    looks = [*range(0, len(order), between), *range(len(order), len(listed))]
    order += long
    repeats = _repeats(parsed) if long else 0
    found: list[int] = []
    end = time.monotonic() + MAX_SECONDS
    for start, stop in pairwise([*looks, len(order)]):
        length = len(listed[order[start]].word)
        if length > _SHORT and length ** (repeats + 1) > MAX_STEPS * factorial(repeats + 1):
            raise QueryError(
                f"{pattern.pattern!r} has too many repeats for a word of {length:,} characters "
                "that the corpus holds. Write fewer repeats, or possessive ones such as [a-z]++."
            )
        found += [at for at in order[start:stop] if search(listed[at].word)]
        if time.monotonic() > end:
            raise QueryError(
                f"{pattern.pattern!r} was stopped after {MAX_SECONDS:.0f} seconds and "
                f"{stop:,} of {len(order):,} words. Write fewer repeats in a row."
            )
    return [listed[at] for at in sorted(found)]


def _ways(node: Any) -> list[int]:
    """In how many ways backtracking may take 0, 1, ... `_SHORT` more characters than it must."""
    ways = [1] + [0] * _SHORT
    for kind, value in node:
        if ways[-1] > _MAX_WAYS:
            break
        if kind in _REPEATS:
            low, high, inner = value
            extra = min(int(high) - int(low), _SHORT)
            ways = _times(ways, [int(more <= extra) for more in range(_SHORT + 1)])
            if high <= _OFTEN:  # else `_can_explode` saw to it that there is one way inside
                within = _ways(inner)
                for _ in range(int(high)):
                    ways = _times(ways, within)
        elif kind is sre.BRANCH:
            ways = _times(ways, _sums(value[1]))
        elif kind is sre.SUBPATTERN:
            ways = _times(ways, _ways(value[3]))
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            ways = _times(ways, _ways(value[1]))
        elif kind is sre.ATOMIC_GROUP:
            ways = _times(ways, _ways(value))
        elif kind is sre.POSSESSIVE_REPEAT:
            ways = _times(ways, _ways(value[2]))
        elif kind is sre.GROUPREF_EXISTS:
            ways = _times(ways, _sums([part for part in value[1:] if part is not None]))
    return ways


def _times(first: list[int], second: list[int]) -> list[int]:
    if not any(second[1:]):
        return first if second[0] == 1 else [min(one * second[0], _MAX_WAYS + 1) for one in first]
    return [
        min(sum(first[at] * second[total - at] for at in range(total + 1)), _MAX_WAYS + 1)
        for total in range(_SHORT + 1)
    ]


def _sums(branches: Any) -> list[int]:
    return [sum(each) for each in zip(*map(_ways, branches), strict=True)]


def _repeats(node: Any) -> int:
    """How many variable repeats backtracking may have to try together."""
    count = 0
    for kind, value in node:
        if kind in _REPEATS:
            low, high, inner = value
            count += (low != high) + min(int(high), _OFTEN) * _repeats(inner)
        elif kind is sre.BRANCH:
            count += max(map(_repeats, value[1]))
        elif kind is sre.SUBPATTERN:
            count += _repeats(value[3])
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            count += _repeats(value[1])
    return count


def _can_explode(node: Any, *, repeated: bool) -> bool:
    """Whether a repeat holds a choice that backtracking may take in more than one way."""
    for kind, value in node:
        if kind in _REPEATS:
            low, high, inner = value
            if repeated and low != high:
                return True
            if _can_explode(inner, repeated=repeated or high > _OFTEN):
                return True
        elif kind is sre.BRANCH:
            branches = value[1]
            if repeated and not _begin_apart(branches):
                return True
            if any(_can_explode(branch, repeated=repeated) for branch in branches):
                return True
        elif kind in _NO_WAY_BACK:
            inner = value[2] if kind is sre.POSSESSIVE_REPEAT else value
            if _can_explode(inner, repeated=False):
                return True
        elif repeated and kind in (sre.GROUPREF, sre.GROUPREF_EXISTS):
            return True
        elif kind is sre.SUBPATTERN:
            if _can_explode(value[3], repeated=repeated):
                return True
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            if _can_explode(value[1], repeated=repeated):
                return True
        elif kind is sre.GROUPREF_EXISTS and any(
            _can_explode(part, repeated=repeated) for part in value[1:] if part is not None
        ):
            return True
    return False


def _begin_apart(branches: Any) -> bool:
    first = [branch[0] if len(branch) else None for branch in branches]
    letters = [chr(item[1]).casefold() for item in first if item and item[0] is sre.LITERAL]
    return len(letters) == len(branches) == len(set(letters))
