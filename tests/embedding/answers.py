"""Two hundreds that are not what they should be, each with the name of its fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _indexed(indices: Callable[[int], list[Any]]) -> Callable[[list[Any]], Any]:
    def answer(vectors: list[Any]) -> Any:
        return {
            "data": [
                {"index": index, "embedding": vector}
                for index, vector in zip(indices(len(vectors)), vectors, strict=False)
            ]
        }

    return answer


def _each(change: Callable[[list[float]], Any]) -> Callable[[list[Any]], Any]:
    return lambda vectors: {
        "data": [
            {"index": i, "embedding": change(vector) if i == len(vectors) // 2 else vector}
            for i, vector in enumerate(vectors)
        ]
    }


def _reordered(vectors: list[Any]) -> Any:
    items = [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return {"data": items[-1:] + items[:-1]}


# name -> what is sent instead of the right answer; bytes go as they are.
ANSWERS: dict[str, Callable[[list[Any]], Any]] = {
    # right, though unusual
    "reordered": _reordered,
    "no-index": lambda vectors: {"data": [{"embedding": v} for v in vectors]},
    "null-index": _indexed(lambda n: [None] * n),
    "string-index": _indexed(lambda n: [str(i) for i in range(n)]),
    "reordered-string-index": lambda vectors: {
        "data": [{"index": str(i), "embedding": v} for i, v in reversed(list(enumerate(vectors)))]
    },
    # wrong
    "duplicate-index": _indexed(lambda n: [0, *range(n - 1)] if n > 1 else [1]),
    "out-of-range": _indexed(lambda n: [*range(n - 1), n + 4]),
    "negative-index": _indexed(lambda n: [*range(n - 1), -1]),
    "mixed-index": _indexed(lambda n: [*range(n - 1), None] if n > 1 else [True]),
    "word-index": _indexed(lambda n: ["first"] * n),
    "gap": lambda vectors: {
        "data": [
            {"index": i, "embedding": v} for i, v in enumerate(vectors) if i != len(vectors) // 2
        ]
    },
    "short": lambda vectors: {"data": [{"embedding": v} for v in vectors[1:]]},
    "too-many": lambda vectors: {"data": [{"embedding": v} for v in [*vectors, vectors[0]]]},
    "empty-vectors": lambda vectors: {
        "data": [{"index": i, "embedding": []} for i in range(len(vectors))]
    },
    "null-embedding": _each(lambda v: None),
    "base64": _each(lambda v: "AACAPwAAgD8="),
    "null-number": _each(lambda v: [None, *v[1:]]),
    "true-number": _each(lambda v: [True, *v[1:]]),
    "nan-string": _each(lambda v: ["NaN", *v[1:]]),
    "nan-token": _each(lambda v: [float("nan"), *v[1:]]),
    "infinity-token": _each(lambda v: [float("inf"), *v[1:]]),
    "overflow": _each(lambda v: [10**400, *v[1:]]),
    "zeros": _each(lambda v: [0.0] * len(v)),
    "error": lambda vectors: {"error": {"message": "model not found, pull it first"}},
    "error-and-data": lambda vectors: {
        "error": {"message": "half of the work"},
        "data": [{"index": i, "embedding": v} for i, v in enumerate(vectors)],
    },
    "native": lambda vectors: {"embedding": vectors[0]},
    "data-object": lambda vectors: {"data": {"embedding": vectors[0]}},
    "nested": lambda vectors: [{"index": i, "embedding": [v]} for i, v in enumerate(vectors)],
    "nested-in-data": lambda vectors: {
        "data": [{"index": i, "embedding": [v]} for i, v in enumerate(vectors)]
    },
    "items-are-lists": lambda vectors: {"data": vectors},
    "html": lambda vectors: b"<html><title>Welcome to the proxy</title></html>",
    "empty": lambda vectors: b"",
    "null": lambda vectors: b"null",
    "cut-json": lambda vectors: b'{"data": [{"index": 0, "embedding": [0.1, 0.2',
    "deep": lambda vectors: b"[" * 100_000,
    "not-utf8": lambda vectors: b'{"data": "\xff\xfe"}',
}

TOLERATED = frozenset(
    {"reordered", "no-index", "null-index", "string-index", "reordered-string-index"}
)
