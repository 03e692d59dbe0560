"""Reading answers: never half, never in the wrong place."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_nb.embedding.responses import (
    EXCERPT,
    AnswerError,
    excerpt,
    read_vectors,
    retry_after,
    server_message,
)
from knowledge_nb.embedding.vectors import unit_vector
from tests.embedding.answers import ANSWERS, TOLERATED

THREE = [[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]
UNIT = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]


def _bytes(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


@pytest.mark.parametrize("name", sorted(TOLERATED))
def test_unusual_answers_are_mapped(name: str) -> None:
    """An index in any order, in strings, or none gives each text its own vector (E01, E02)."""
    read = read_vectors(_bytes(ANSWERS[name](THREE)), 3)
    assert [vector.tolist() for vector in read.vectors] == UNIT
    assert all(vector.dtype == np.float32 for vector in read.vectors)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", sorted(set(ANSWERS) - TOLERATED))
def test_wrong_answers_are_refused_whole(name: str, count: int) -> None:
    """Every malformed answer is an error, whatever the number of inputs (E02, E03, E08, E14)."""
    with pytest.raises(AnswerError):
        read_vectors(_bytes(ANSWERS[name](THREE[:count])), count)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("duplicate-index", "index 0 came twice"),
        ("out-of-range", "index 7 is out of range for 3 inputs"),
        ("mixed-index", "item 2 has no usable index"),
        ("gap", "2 vectors for 3 inputs"),
        ("short", "2 vectors for 3 inputs"),
        ("empty-vectors", "embedding of item 0 is empty"),
        ("null-number", "embedding of item 1 holds null"),
        ("nan-string", "embedding of item 1 holds string"),
        ("nan-token", "embedding of item 1 holds NaN"),
        ("zeros", "embedding of item 1 is all zeros"),
        ("error", "model not found, pull it first"),
        ("native", "no list 'data' (keys: embedding)"),
        ("html", "not JSON"),
        ("empty", "an empty body"),
        ("nested", "a top-level list"),
        ("nested-in-data", "embedding of item 0 holds list"),
    ],
)
def test_the_error_names_what_is_wrong(name: str, said: str) -> None:
    """The reason names the item and both counts where there are any."""
    with pytest.raises(AnswerError) as caught:
        read_vectors(_bytes(ANSWERS[name](THREE)), 3)
    assert said in str(caught.value)


@given(st.permutations(range(8)))
def test_any_order_is_mapped_by_index(order: list[int]) -> None:
    """A vector never lands on the wrong text, in whatever order the items come."""
    data = [{"index": place, "embedding": [1.0 + place, 1.0]} for place in order]
    read = read_vectors(_bytes({"data": data}), 8)
    ratios = [float(vector[0] / vector[1]) for vector in read.vectors]
    assert ratios == pytest.approx([1.0 + place for place in range(8)], rel=1e-6)


@given(st.lists(st.one_of(st.none(), st.integers(-2, 5), st.booleans(), st.text(max_size=2))))
def test_any_index_list_is_mapped_or_refused(indices: list[Any]) -> None:
    """Accepted are exactly: no index at all, or each place once."""
    data = [{"index": index, "embedding": [1.0, float(i)]} for i, index in enumerate(indices)]
    whole = [
        int(index)
        for index in indices
        if type(index) is int or (type(index) is str and index.isascii() and index.isdigit())
    ]
    fine = all(index is None for index in indices) or (
        len(whole) == len(indices) and sorted(whole) == list(range(len(indices)))
    )
    try:
        read = read_vectors(_bytes({"data": data}), len(indices))
    except AnswerError:
        assert not fine
    else:
        assert fine
        assert len(read.vectors) == len(indices)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=6))
def test_any_embedding_is_a_unit_vector_or_refused(embedding: Any) -> None:
    """No value that is not a finite number becomes one."""
    try:
        read = read_vectors(_bytes({"data": [{"index": 0, "embedding": embedding}]}), 1)
    except AnswerError:
        return
    assert np.linalg.norm(read.vectors[0].astype(np.float64)) == pytest.approx(1, abs=1e-6)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_unit_vector_of_any_finite_numbers(values: list[float]) -> None:
    """Numbers near either end of a float neither overflow nor vanish; only zeros are refused."""
    if not any(values):
        with pytest.raises(ValueError, match="zeros"):
            unit_vector(values)
        return
    vector, _ = unit_vector(values)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(1, abs=1e-6)


def test_normalised_flag_tells_what_came() -> None:
    """The flag is about the server's vectors, not about ours."""
    ones = {"data": [{"index": 0, "embedding": [0.6, 0.8]}]}
    twos = {"data": [{"index": 0, "embedding": [1.2, 1.6]}]}
    assert read_vectors(_bytes(ones), 1).normalised
    assert not read_vectors(_bytes(twos), 1).normalised


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "too  long\\n", "code": 1}}', "too long"),
        (b'{"error": "no such model"}', "no such model"),
        (b'{"message": "slow down"}', "slow down"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"detail": [{"loc": ["input"]}]}', '{"detail": [{"loc": ["input"]}]}'),
        (b"<h1>Bad gateway</h1>", "<h1>Bad gateway</h1>"),
        (b"", ""),
        (b"\x1b[31mred\x00", "[31mred"),
    ],
)
def test_server_message(body: bytes, said: str) -> None:
    """The server's own words are found, on one line, without control characters (E13)."""
    assert server_message(body) == said


def test_excerpt_is_bounded() -> None:
    """However long a body is, a message stays short."""
    assert len(excerpt("x" * 100_000)) == EXCERPT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 12 ", 12.0),
        ("1.5", 1.5),
        ("-1", None),
        ("soon", None),
        ("nan", None),
        ("Wed, 21 Oct 2015 07:28:10 GMT", 10.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:10", 10.0),
        ("Wed, 99 Oct 2015 07:28:10 GMT", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    """Seconds and HTTP dates are understood, everything else is no answer."""
    now = datetime(2015, 10, 21, 7, 28, tzinfo=UTC)
    assert retry_after(value, now) == seconds
