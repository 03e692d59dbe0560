"""Tokens tied to their places in the text as stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_nb.matching.occurrences import Occurrences, located, merged
from knowledge_nb.store.tokenizers import porter_stems
from knowledge_nb.text import index_text, tokens

ALPHABET = st.characters(exclude_categories=["Cs"])
MIXED = st.text(
    alphabet=st.sampled_from("ab é\u0301ßİ1²½①ﬁ天気がไม่ក្ខ्कषि\u200d\u200b\xad.,'’-_#&م€")
)


@given(st.one_of(st.text(alphabet=ALPHABET, max_size=40), MIXED))
def test_tokens_are_those_of_the_index(text: str) -> None:
    """Located tokens are the tokens of the text, in order, with rising places inside it."""
    found = located(text)
    assert [token for token, _, _ in found] == tokens(text)
    assert all(0 <= start < end <= len(text) for _, start, end in found)
    assert [start for _, start, _ in found] == sorted(start for _, start, _ in found)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The “backup” policy", ["The", "backup", "policy"]),
        ("a 天気です.", ["a", "天", "気", "で", "す"]),
        ("Straße, café", ["Straße", "café"]),
        ("cafe\u0301s", ["cafe\u0301s"]),
        ("don't", ["don", "t"]),
        ("soft\xadhyphen", ["soft\xadhyphen"]),
        ("wait…now", ["wait", "now"]),
    ],
)
def test_places_are_what_a_reader_would_point_at(text: str, parts: list[str]) -> None:
    """A token's place is its letters, without quotes and dots beside them."""
    assert [text[start:end] for _, start, end in located(text)] == parts


def find(terms: list[str], text: str, searched: str | None = None) -> list[str]:
    """The texts of all places of some terms."""
    stems = [porter_stems(index_text(term)) for term in terms]
    places = Occurrences(stems, porter_stems).find(text, searched)
    return [text[start:end] for start, end, _ in places]


def test_any_form_and_phrases() -> None:
    """Words match in any form of their stem; several are a phrase, across line ends too."""
    assert find(["policy"], "Policies and a policy.") == ["Policies", "policy"]
    assert find(["ice core"], "Ice\ncores, ice; core of ice") == ["Ice\ncores", "ice; core"]
    assert find(["天気"], "今日の天気予報") == ["天気"]


def test_what_the_index_read_decides() -> None:
    """A word that the index made out of mark-up has the place of that mark-up."""
    assert find(["lantern"], "a **lan**tern", "a lantern") == ["lan**tern"]
    assert find(["lan"], "a **lan**tern", "a lantern") == []


def test_overlaps_merge() -> None:
    """Ranges to mark never overlap."""
    assert merged([(0, 8, 0), (4, 8, 1), (9, 10, 0)]) == [(0, 8), (9, 10)]


@given(MIXED)
def test_nothing_raises(text: str) -> None:
    """Any text can be looked through for any of its own words."""
    find([text, "a"], text)
