"""How much of an answer may reach an agent.

The budget is the configured token count times four characters; a set gets a quarter of it, since it
is looked at before the retrieval that follows. An answer travels twice, as text and as JSON, and a
client shows its model one of them, so the longer of the two is what counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic import BaseModel

CHARACTERS_A_TOKEN: Final = 4
SHARE_OF_A_SET: Final = 4  # one part in four
SLACK: Final = 100  # a frame is measured before the numbers that it will name are known


@dataclass(frozen=True, slots=True)
class Size:
    """Characters of a part of an answer, in each of its two forms."""

    text: int
    json: int

    @classmethod
    def of(cls, text: str, model: BaseModel) -> Size:
        """Measure a part by its text and its record, each with what parts it from the next."""
        record = json.dumps(model.model_dump(mode="json"), ensure_ascii=False)
        return cls(len(text) + 1, len(record) + 2)

    @property
    def longer(self) -> int:
        """The longer of the two forms."""
        return max(self.text, self.json)


def search_budget(tokens: int) -> int:
    """Characters that a ranking may take."""
    return tokens * CHARACTERS_A_TOKEN


def set_budget(tokens: int) -> int:
    """Characters that a set may take."""
    return tokens * CHARACTERS_A_TOKEN // SHARE_OF_A_SET


def fitting(frame: Size, parts: Sequence[Size], budget: int) -> int:
    """How many of the first parts fit beside the frame.

    Parameters
    ----------
    frame : Size
        Of what the answer holds besides: status, notes, terms.
    parts : sequence of Size
        In their order; one that does not fit ends the answer, whatever comes after it.
    budget : int
        Characters for the whole.

    Returns
    -------
    int
        At least 1 where there is a part: a first one that is too large is given all the same, since
        an answer rounded down to nothing would read as absence.
    """
    text, record = frame.text + SLACK, frame.json + SLACK
    for number, part in enumerate(parts):
        text += part.text
        record += part.json
        if max(text, record) > budget:
            return max(number, 1)
    return len(parts)
