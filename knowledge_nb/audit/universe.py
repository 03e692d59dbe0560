"""Sets of documents of one committed state, as bits of one whole number.

A set over 40,000 documents is 5 kB; intersecting two and counting the result takes microseconds,
so 500 terms by 500 terms cost less than reading the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apsw

from knowledge_nb.retrieval.under import resolve
from knowledge_nb.store.sql import rows

_DOCUMENTS = "SELECT path, id, chunks, bytes FROM documents ORDER BY path"


@dataclass(frozen=True, slots=True)
class Member:
    """One document of a universe."""

    path: str
    id: int
    chunks: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Universe:
    """The documents that sets are of, in path order; the bit of each is its place here.

    Attributes
    ----------
    members : tuple of Member
    under : str
        The folder asked for; "" for the whole corpus.
    known : bool
        False where no indexed document lies under that folder.
    """

    members: tuple[Member, ...]
    under: str = ""
    known: bool = True

    def __len__(self) -> int:
        return len(self.members)

    @property
    def everything(self) -> int:
        """The set of all."""
        return (1 << len(self.members)) - 1

    def places(self) -> dict[int, int]:
        """The bit of each document id."""
        return {member.id: place for place, member in enumerate(self.members)}

    def of(self, bits: int) -> list[Member]:
        """The documents of a set, in path order."""
        return [self.members[place] for place in places(bits)]


def read_universe(connection: apsw.Connection, under: str) -> Universe:
    """Read the documents below a folder, in the caller's read transaction."""
    scope = resolve(connection, under)
    allowed = None if scope.documents is None else frozenset(scope.documents)
    members = tuple(
        Member(*row) for row in rows(connection, _DOCUMENTS) if allowed is None or row[1] in allowed
    )
    return Universe(members, scope.folder, not scope.unknown)


def to_bits(documents: Iterable[int], places: dict[int, int]) -> int:
    """The set of some document ids."""
    held = bytearray(len(places) // 8 + 1)
    for document in documents:
        place = places[document]
        held[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(held, "little")


def places(bits: int) -> Iterator[int]:
    """The bits that are set, rising."""
    shown = bin(bits)[:1:-1]
    at = shown.find("1")
    while at >= 0:
        yield at
        at = shown.find("1", at + 1)


def smallest_cover(sets: list[int]) -> tuple[list[tuple[int, int]], bool]:
    """Choose few sets whose union is the union of all.

    Sets that alone hold some document come first, since every cover needs them; then, greedily,
    the one that adds most, ties by place in the list. Greedy is at worst ln(n) + 1 times the
    smallest (V. Chvatal, A greedy heuristic for the set-covering problem, 1979).

    Returns
    -------
    list of (int, int)
        Place in `sets` and documents added, in the order chosen; empty where all sets are.
    bool
        Whether no smaller cover exists: shown where at most one set was chosen greedily.
    """
    once = more = 0
    for held in sets:
        more |= once & held
        once |= held
    every, once = once, once & ~more
    needed = [place for place, held in enumerate(sets) if held & once]
    needed.sort(key=lambda place: (-sets[place].bit_count(), place))
    chosen: list[tuple[int, int]] = []
    covered = 0
    for place in needed:
        chosen.append((place, (sets[place] & ~covered).bit_count()))
        covered |= sets[place]
    greedy = 0
    left = {place: held & ~covered for place, held in enumerate(sets)}
    while covered != every:
        best = max(left, key=lambda place: (left[place].bit_count(), -place))
        chosen.append((best, left[best].bit_count()))
        greedy += 1
        covered |= sets[best]
        left = {place: held & ~covered for place, held in left.items() if held & ~covered}
    return chosen, greedy <= 1
