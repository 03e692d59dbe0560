"""Citations: `path#ordinal`, made in one place and parsed back from the right."""

from __future__ import annotations

from knowledge_nb.errors import NotFoundError

ORDINAL_BITS = 20  # chunk id = document id * 2^20 + ordinal


def citation(path: str, ordinal: int) -> str:
    """The citation of a chunk: relative POSIX path, `#`, ordinal from 0."""
    return f"{path}#{ordinal}"


def parse_citation(text: str) -> tuple[str, int]:
    """Split a citation into path and ordinal.

    Parsed from the right, so that `#`, spaces, newlines and any Unicode in a path come back.

    Raises
    ------
    NotFoundError
        When there is no `#` followed by a whole number.
    """
    path, mark, ordinal = text.rpartition("#")
    number = ordinal.isascii() and ordinal.isdecimal() and len(ordinal) <= 7
    if not mark or not path or not number:
        raise NotFoundError(
            f"{text!r} is not a citation: expected PATH#NUMBER, such as policies/backup.md#3"
        )
    return path, int(ordinal)
