"""The error tree: one root, foreign errors translated in one place and none missed."""

from __future__ import annotations

import inspect

import apsw
import pytest

from knowledge_nb import errors
from knowledge_nb.errors import KnowledgeError
from knowledge_nb.store.connection import translated

OURS = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, BaseException)
]


@pytest.mark.parametrize("kind", OURS)
def test_every_error_has_the_root_and_stands_in_the_drawing(kind: type[BaseException]) -> None:
    """One `except KnowledgeError` takes all of them, and the module docstring draws each."""
    assert issubclass(kind, KnowledgeError)
    assert kind.__name__ in (errors.__doc__ or "")
    assert kind.__doc__


FOREIGN = [
    each for _, each in inspect.getmembers(apsw, inspect.isclass) if issubclass(each, apsw.Error)
]


@pytest.mark.parametrize("kind", FOREIGN)
def test_every_apsw_error_is_translated(kind: type[apsw.Error]) -> None:
    """No apsw exception leaves the store untranslated, and the cause is kept."""
    with pytest.raises(KnowledgeError) as caught, translated("a.db"):
        raise kind("boom")
    assert isinstance(caught.value.__cause__, kind)


def test_other_errors_pass_through() -> None:
    """What is no SQLite error is left alone."""
    with pytest.raises(KeyboardInterrupt), translated("a.db"):
        raise KeyboardInterrupt
