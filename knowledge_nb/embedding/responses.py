"""Reading a server's answer. Nothing in it is trusted; a vector never lands on the wrong text."""

from __future__ import annotations

import email.utils
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from .protocol import Vector
from .vectors import unit_vector

EXCERPT: Final = 300
# What a server that does not divide its floats to the last bit may still call normalised.
_UNIT_TOLERANCE: Final = 1e-3
_NUMBERS: Final = frozenset({int, float})


class AnswerError(ValueError):
    """A body that cannot be mapped onto the inputs; the text says why."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one answer, in the order of the inputs.

    Parameters
    ----------
    vectors : list of numpy.ndarray
        float32, unit length; widths are not compared here.
    normalised : bool
        Whether they had unit length when they came.
    """

    vectors: list[Vector]
    normalised: bool


def read_vectors(body: bytes, count: int) -> Vectors:
    """Map an answer of ``/embeddings`` onto `count` inputs.

    Items are placed by their own ``index``. Where not one item has an index (absent or null),
    their order counts, if their number is right. Digits in a string are read as a number, since to
    ignore them could swap vectors. Everything else fails the whole answer: a gap, a duplicate, an
    index out of range, a mixture, another number of items, an error object, an empty vector, a
    value that is no finite number, a vector of zeros.

    Raises
    ------
    AnswerError
    """
    items = _items(body)
    if len(items) != count:
        raise AnswerError(f"{len(items)} vectors for {count} inputs")
    places = _places(items)
    vectors: list[Vector | None] = [None] * count
    normalised = True
    for position, (place, item) in enumerate(zip(places, items, strict=True)):
        vector, length = _vector(item.get("embedding"), position)
        vectors[place] = vector
        normalised = normalised and abs(length - 1) <= _UNIT_TOLERANCE
    return Vectors([vector for vector in vectors if vector is not None], normalised)


def _items(body: bytes) -> list[dict[str, Any]]:
    if not body.strip():
        raise AnswerError("an empty body")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise AnswerError("a body that is not JSON") from None
    if not isinstance(answer, dict):
        raise AnswerError(f"a top-level {_kind(answer)} where an object with 'data' is expected")
    if answer.get("error"):
        raise AnswerError(f"an error inside a success: {server_message(body)}")
    items = answer.get("data")
    if not isinstance(items, list):
        keys = ", ".join(sorted(map(str, answer))[:8]) or "none"
        raise AnswerError(f"no list 'data' (keys: {keys[:EXCERPT]})")
    for position, item in enumerate(items):
        if not isinstance(item, dict):
            raise AnswerError(f"item {position} is {_kind(item)}, not an object")
    return items


def _places(items: list[dict[str, Any]]) -> list[int]:
    given = [item.get("index") for item in items]
    if all(index is None for index in given):
        return list(range(len(items)))
    seen: set[int] = set()
    places = []
    for position, index in enumerate(given):
        place = _whole_number(index)
        if place is None:
            raise AnswerError(f"item {position} has no usable index ({index!r:.40}), others have")
        if not 0 <= place < len(items):
            raise AnswerError(f"index {place} is out of range for {len(items)} inputs")
        if place in seen:
            raise AnswerError(f"index {place} came twice")
        seen.add(place)
        places.append(place)
    return places


def _whole_number(index: object) -> int | None:
    if isinstance(index, bool):
        return None
    if isinstance(index, int):
        return index
    if isinstance(index, float) and index.is_integer():
        return int(index)
    if isinstance(index, str) and re.fullmatch(r"[0-9]{1,9}", index):
        return int(index)
    return None


def _vector(values: object, position: int) -> tuple[Vector, float]:
    if not isinstance(values, list):
        raise AnswerError(f"the embedding of item {position} is {_kind(values)}, not a list")
    if not values:
        raise AnswerError(f"the embedding of item {position} is empty")
    strange = set(map(type, values)) - _NUMBERS
    if strange:
        first = next(value for value in values if type(value) not in _NUMBERS)
        raise AnswerError(f"the embedding of item {position} holds {_kind(first)}, not a number")
    try:
        return unit_vector(values)
    except ValueError as error:
        raise AnswerError(f"the embedding of item {position} {error}") from None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "object", list: "list", str: "string", bool: "boolean"}
    return names.get(type(value), "number")


def server_message(body: bytes) -> str:
    """Find the server's own words in an error body, on one line and bounded.

    Knows ``{"error": {"message"}}``, ``{"error": text}``, ``{"message"}`` and ``{"detail"}``; of
    anything else the beginning is quoted.
    """
    text = body[: 16 * EXCERPT].decode("utf-8", "replace")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return excerpt(text)
    found = answer
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    if isinstance(found, str):
        return excerpt(found)
    return excerpt(text)


def excerpt(text: str) -> str:
    """Bring a foreign text onto one line of printable characters, at most 300 of them."""
    line = "".join(c if c.isprintable() else " " for c in text[: 16 * EXCERPT])
    line = " ".join(line.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1] + "…"


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Read a Retry-After header (RFC 9110, 10.2.3).

    Returns
    -------
    float or None
        Seconds to wait, never negative; None where there is no usable value.
    """
    if value is None:
        return None
    value = value.strip()
    # Fractions are not in the RFC, but servers send them.
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
