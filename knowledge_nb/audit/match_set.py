"""Sets of documents with `|`, `&`, `-` and `~`: what the closed query language leaves out.

    alarms = kb.match_set("alarm") | kb.match_set("klaxon")
    print(alarms - kb.match_set("drill"))

The sets are of one committed state of the index; two of different states are not mixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from knowledge_nb.audit.table import Table, Type
from knowledge_nb.audit.universe import Universe
from knowledge_nb.errors import QueryError
from knowledge_nb.records import Completeness, Status

COLUMNS: dict[str, Type] = {"path": "text", "chunks": "integer", "bytes": "integer"}
_WORDS = {"|": "or", "&": "and", "-": "without", "~": "not"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatchSet:
    """A set of documents; `str()` shows its expression with the count at every node.

    Attributes
    ----------
    operator : {"", "|", "&", "-", "~"}
        "" is a query.
    parts : tuple of MatchSet
        What the operator joins; empty for a query.
    query : str
        Of a leaf.
    """

    universe: Universe
    bits: int
    operator: str = ""
    parts: tuple[MatchSet, ...] = ()
    query: str = ""
    compiled: str = ""
    notes: tuple[str, ...] = ()
    tier: str = ""
    completeness: Completeness = field(default_factory=Completeness)
    status: Status = Status.OK
    core: Any = field(default=None, repr=False)  # whom an export asks what became of documents

    @property
    def under(self) -> str:
        """The folder whose documents it is of; "" for the whole corpus."""
        return self.universe.under

    @property
    def matched(self) -> int:
        """Number of documents."""
        return self.bits.bit_count()

    def __len__(self) -> int:
        return self.matched

    def __bool__(self) -> bool:
        # `a or b` would be `a`, and `not a` no complement: neither is what it reads like.
        raise TypeError(
            "a set of documents has no truth value: join sets with | & - ~, and ask `.matched` "
            "whether one is empty"
        )

    def __iter__(self) -> Iterator[str]:
        """Paths, in order."""
        return (member.path for member in self.universe.of(self.bits))

    def __contains__(self, path: object) -> bool:
        return any(path == held for held in self)

    def __or__(self, other: MatchSet) -> Self:
        if not isinstance(other, MatchSet):
            return NotImplemented
        return self._join("|", other, self.bits | other.bits)

    def __and__(self, other: MatchSet) -> Self:
        if not isinstance(other, MatchSet):
            return NotImplemented
        return self._join("&", other, self.bits & other.bits)

    def __sub__(self, other: MatchSet) -> Self:
        if not isinstance(other, MatchSet):
            return NotImplemented
        return self._join("-", other, self.bits & ~other.bits)

    def __invert__(self) -> Self:
        return self._node("~", (self,), self.universe.everything & ~self.bits)

    def _join(self, operator: str, other: MatchSet, bits: int) -> Self:
        mine, theirs = self.universe, other.universe
        if self.completeness.state != other.completeness.state:
            raise QueryError(
                "these sets are of different states of the index (generation "
                f"{self.completeness.generation} and {other.completeness.generation}); ask for "
                "both again"
            )
        if mine.under != theirs.under or len(mine) != len(theirs):
            raise QueryError(
                f"these sets are of different folders ({mine.under or 'the whole corpus'} and "
                f"{theirs.under or 'the whole corpus'}); give both the same `under`"
            )
        return self._node(operator, (self, other), bits)

    def _node(self, operator: str, parts: tuple[MatchSet, ...], bits: int) -> Self:
        notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
        return type(self)(
            self.universe,
            bits,
            operator,
            parts,
            notes=notes,
            tier=self.tier,
            completeness=self.completeness,
            core=self.core,
        )

    @property
    def expression(self) -> str:
        """The expression on one line, without counts."""
        return self._on_one_line("query")

    @property
    def compiled_expression(self) -> str:
        """The same with every query as it was read."""
        return self._on_one_line("compiled")

    def _on_one_line(self, leaf: str) -> str:
        if not self.operator:
            return f"[{getattr(self, leaf)}]"
        shown = [
            f"({part._on_one_line(leaf)})" if part._joins else part._on_one_line(leaf)
            for part in self.parts
        ]
        if self.operator == "~":
            return f"~{shown[0]}"
        return f" {self.operator} ".join(shown)

    @property
    def _joins(self) -> bool:
        return self.operator not in ("", "~")

    def tree(self) -> str:
        """The expression, a node a line, each with its number of documents."""
        lines: list[tuple[int, str]] = []
        self._lines("", "", lines)
        width = max(len(f"{count:,}") for count, _ in lines)
        return "\n".join(f"{count:>{width},}  {text}" for count, text in lines)

    def _lines(self, first: str, rest: str, lines: list[tuple[int, str]]) -> None:
        name = f"{self.operator} {_WORDS[self.operator]}" if self.operator else f"[{self.query}]"
        lines.append((self.matched, first + name))
        for number, part in enumerate(self.parts, start=1):
            last = number == len(self.parts)
            part._lines(rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), lines)

    def __str__(self) -> str:
        of = f"{self.matched:,} of {len(self.universe):,} documents"
        where = f" under {self.under}" if self.under else ""
        return f"{self.expression}: {of}{where}\n{self.tree()}"

    __repr__ = __str__

    def headline(self) -> str:
        """What a banner begins with."""
        return f"{self.matched:,} of {len(self.universe):,} documents: {self.expression}"

    def question(self) -> dict[str, Any]:
        """The expression as plain data, for asking again."""
        if not self.operator:
            return {"query": self.query}
        return {"operator": self.operator, "parts": [part.question() for part in self.parts]}

    def table(self) -> Table:
        """`path chunks bytes`, in path order; empty where no document is in the set."""
        members = self.universe.of(self.bits)
        rows = tuple((member.path, member.chunks, member.bytes) for member in members)
        return Table("match_set", dict(COLUMNS), rows)
