"""The parts of a coverage report as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from knowledge_nb.audit.coverage import CoverageResult, CoverageTerm
from knowledge_nb.audit.table import Table, Type
from knowledge_nb.audit.universe import places
from knowledge_nb.errors import ConfigurationError

TERM_COLUMNS: dict[str, Type] = {
    "term": "text",
    "label": "text",
    "group": "text",
    "documents": "integer",
    "unique_documents": "integer",
    "new_documents": "integer",
    "documents_as_written": "integer",
    "chunks": "integer",
    "body_matches": "integer",
    "heading_matches": "integer",
    "share": "number",
    "overlap_term": "text",
    "overlap_documents": "integer",
    "duplicate_of": "text",
    "error": "text",
    "notes": "text",
}
GROUP_COLUMNS: dict[str, Type] = {
    "group": "text",
    "terms": "integer",
    "terms_not_answered": "integer",
    "documents": "integer",
    "unique_documents": "integer",
    "new_documents": "integer",
    "share": "number",
    "overlap_group": "text",
    "overlap_documents": "integer",
}
UNCOVERED_COLUMNS: dict[str, Type] = {"path": "text", "chunks": "integer", "bytes": "integer"}
COVER_COLUMNS: dict[str, Type] = {
    "step": "integer",
    "term": "text",
    "label": "text",
    "added_documents": "integer",
    "covered_documents": "integer",
    "share_of_hit": "number",
}
STEM_COLUMNS: dict[str, Type] = {
    "term": "text",
    "label": "text",
    "documents": "integer",
    "documents_as_written": "integer",
    "documents_by_relatives": "integer",
    "only_by_relatives": "boolean",
    "relatives": "text",
}


def terms_table(result: CoverageResult) -> Table:
    """A row per listed term, in list order; of one that was not answered, no number is known."""
    rows = tuple(
        tuple(
            None if row.error and kind in ("integer", "number") else getattr(row, name)
            for name, kind in TERM_COLUMNS.items()
        )
        for row in result.rows
    )
    return Table("coverage", dict(TERM_COLUMNS), rows)


def groups_table(result: CoverageResult) -> Table:
    """A row per group, in order of mention: its terms together; no numbers where none was answered.

    What a group's unanswered terms would hit is not in its numbers.
    """
    rows = tuple(
        (group.group, group.members, group.unanswered, *_numbers(group))
        for group in result.groups()
    )
    return Table("coverage.groups", dict(GROUP_COLUMNS), rows)


def _numbers(group: CoverageTerm) -> tuple[int | float | str | None, ...]:
    if group.error:
        return (None, None, None, None, "", None)
    return (
        group.documents,
        group.unique_documents,
        group.new_documents,
        group.share,
        group.overlap_term,
        group.overlap_documents,
    )


def uncovered_table(result: CoverageResult) -> Table:
    """The documents that no term hits, in path order; empty where every one is hit."""
    missed = result.universe.of(result.universe.everything & ~result.hit)
    rows = tuple((member.path, member.chunks, member.bytes) for member in missed)
    return Table("coverage.uncovered", dict(UNCOVERED_COLUMNS), rows)


def cover_table(result: CoverageResult) -> tuple[Table, bool]:
    """Few terms that hit all that is hit, in the order chosen; and whether no fewer can."""
    chosen, proven = result.cover()
    rows, covered = [], 0
    for step, (term, added) in enumerate(chosen, start=1):
        covered += added
        share = covered / result.documents_hit if result.documents_hit else 0.0
        rows.append((step, term.term, term.label, added, covered, share))
    return Table("coverage.smallest_cover", dict(COVER_COLUMNS), tuple(rows)), proven


def stem_table(result: CoverageResult) -> Table:
    """Terms with documents that hold a related form only, most such documents first."""
    gained = [row for row in result.answered() if row.documents > row.documents_as_written]
    gained.sort(key=lambda row: -(row.documents - row.documents_as_written))
    rows = tuple(
        (
            row.term,
            row.label,
            row.documents,
            row.documents_as_written,
            row.documents - row.documents_as_written,
            row.documents_as_written == 0,
            ", ".join(f"{form} {count:,}" for form, count in row.relatives),
        )
        for row in gained
    )
    return Table("coverage.stem_gain", dict(STEM_COLUMNS), rows)


def overlap_table(result: CoverageResult) -> Table:
    """Documents that two terms share, a row and a column per term; the diagonal is its own."""
    terms = result.answered()
    rows = [
        (row.term, *((row.bits & column.bits).bit_count() for column in terms)) for row in terms
    ]
    columns = _grid([term.term for term in terms])
    return Table("coverage.overlap", columns, tuple(rows))


def folders_table(result: CoverageResult, depth: int = 1) -> Table:
    """Documents of each term in each folder, zeros written out; rows are the terms.

    Parameters
    ----------
    depth : int
        Parts of a folder's path that count; "." holds the documents that lie in no folder.
    """
    masks = folder_masks(result, depth)
    columns = _grid(masks)
    rows = tuple(
        (term.term, *((term.bits & mask).bit_count() for mask in masks.values()))
        for term in result.answered()
    )
    return Table("coverage.by_folder", columns, rows)


def folder_masks(result: CoverageResult, depth: int = 1) -> dict[str, int]:
    """The documents below each folder, as sets; in path order, the top one first."""
    held: dict[str, list[int]] = {}
    for place, member in enumerate(result.universe.members):
        parts = member.path.split("/")[:-1][:depth]
        held.setdefault("/".join(parts) or ".", []).append(place)
    masks = {}
    for folder in sorted(held, key=lambda name: (name != ".", name)):
        bits = bytearray(len(result.universe) // 8 + 1)
        for place in held[folder]:
            bits[place >> 3] |= 1 << (place & 7)
        masks[folder] = int.from_bytes(bits, "little")
    return masks


def matrix_columns(result: CoverageResult) -> dict[str, list[int]]:
    """For each term the places of its documents in `result.universe`, rising."""
    return {term.term: list(places(term.bits)) for term in _distinct(result.answered())}


def _distinct(terms: Sequence[CoverageTerm]) -> list[CoverageTerm]:
    return list({term.term: term for term in terms}.values())


def _grid(names: Iterable[str]) -> dict[str, Type]:
    """Columns of a grid: the terms of its rows, then a number for each name."""
    names = list(names)
    first = "term"
    while first in names:  # a term, or a folder, may well be called "term"
        first += "_"
    columns: dict[str, Type] = {first: "text"}
    for name in names:
        columns[name] = "integer"
    return columns


def part(result: CoverageResult, kind: str, depth: int = 1) -> Table:
    """A part of the report by the kind of its table.

    Raises
    ------
    ConfigurationError
        There is no such part.
    """
    if kind == "coverage.by_folder":
        return folders_table(result, depth)
    if kind == "coverage.smallest_cover":
        return cover_table(result)[0]
    made = {
        "coverage": terms_table,
        "coverage.groups": groups_table,
        "coverage.uncovered": uncovered_table,
        "coverage.stem_gain": stem_table,
        "coverage.overlap": overlap_table,
    }.get(kind)
    if made is None:
        raise ConfigurationError(f"a coverage report has no part {kind!r}")
    return made(result)
