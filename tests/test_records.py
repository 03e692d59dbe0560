"""What the records say of themselves, to the letter where it is a command."""

from __future__ import annotations

import pytest

from knowledge_nb.records import Completeness


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (Completeness(), "Run `knowledge index FOLDER`."),
        (Completeness(unfinished_since="2001-02-03T04:05:06Z"), "Run `knowledge index` again."),
    ],
)
def test_the_command_in_quotes_is_the_one_to_type(known: Completeness, told: str) -> None:
    """No word of the sentence is within the quotes, where it would be taken for a folder."""
    assert known.emptiness().endswith(told)
