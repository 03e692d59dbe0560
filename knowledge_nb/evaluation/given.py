"""What researchers hand over, cell by cell: names, numbers, and cells that hold nothing."""

from __future__ import annotations

import numbers
from typing import Any

from knowledge_nb.errors import EvaluationError


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, and the NA and NaT of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True  # NA is neither equal to itself nor unequal
    except ValueError:
        return False  # an array, which is another fault


def name_of(value: Any, what: str) -> str:
    """A qid or docno as text.

    Parameters
    ----------
    value : str, int or what else has a text
    what : str
        "the qid of row 3", for the message.

    Raises
    ------
    EvaluationError
        It is missing, empty, or a container.
    """
    if is_missing(value):
        raise EvaluationError(f"{what} is missing ({value!r}); name it, or drop the row")
    if isinstance(value, str):
        if not value:
            raise EvaluationError(f"{what} is empty; name it, or drop the row")
        return value
    if isinstance(value, list | tuple | dict | set | bytes):
        raise EvaluationError(f"{what} is {type(value).__name__} {value!r}, not text")
    return str(value)


def number_of(value: Any, what: str) -> float:
    """A finite number.

    Raises
    ------
    EvaluationError
        It is none: text, missing, infinite.
    """
    if isinstance(value, numbers.Real):
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if abs(number) < float("inf"):
            return number
    raise EvaluationError(f"{what} {_shown(value)}; it has to be a finite number")


def whole_of(value: Any, what: str) -> int:
    """A whole number, also where it comes as 2.0.

    Raises
    ------
    EvaluationError
    """
    number = number_of(value, what)
    if number != int(number):
        raise EvaluationError(f"{what} {number!r}; it has to be a whole number, without a fraction")
    return int(value)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"{value[:40]!r} (text)"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{type(value).__name__} {shown[:40]}..."
