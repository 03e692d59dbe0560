"""What a doctor asks of a live embedder: small functions, one answer each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from .errors import EmbeddingError
from .probe import SAME_MODEL_COSINE
from .protocol import DocumentText, Embedder, Vector

# Different in length, so that padding inside a batch shows, and in meaning, so that a swap does.
_SAMPLES: Final = (
    "Loans are approved by the registrar.",
    "Temperature and humidity of the stores are logged every hour; a reading outside the limits is "
    "reported to the conservator on duty, who decides whether the objects are moved.",
    "Zinc",
    "La politique de conservation s'applique à toutes les archives.",
    "Backups are restored once a quarter to prove that they can be.",
)
_UNIT_TOLERANCE: Final = 1e-3
# Distance of unit vectors: far above float32 rounding, and far below what 15 other characters at
# the end of 100,000 do to a mean of token vectors (5e-4, measured).
_ROUNDING: Final = 1e-5


@dataclass(frozen=True, slots=True)
class EmbeddingCheck:
    """The answer of one check.

    Parameters
    ----------
    name : str
        What was checked.
    outcome : {"passed", "failed", "not run"}
        "not run" where the embedder gave no vectors to judge by.
    message : str
        What was seen, and what to do about it.
    """

    name: str
    outcome: Literal["passed", "failed", "not run"]
    message: str


def check_batch_equals_single(embedder: Embedder) -> EmbeddingCheck:
    """Whether a text gets the same vector in a batch as alone.

    Fails for a server that mixes up the order without saying so by ``index``, or whose padding
    leaks into the vectors.
    """
    return _answered("batch equals single", _batch_equals_single, embedder)


def check_truncation(embedder: Embedder, *, characters: int = 4_000) -> EmbeddingCheck:
    """Whether the end of a long text reaches the model.

    Parameters
    ----------
    embedder : Embedder
    characters : int
        Length of the text, best that of the longest chunk.
    """
    return _answered("whole text embedded", lambda each: _whole_text(each, characters), embedder)


def check_normalised(embedder: Embedder) -> EmbeddingCheck:
    """Whether the vectors handed out are float32, finite, of one width and of unit length."""
    return _answered("unit length", _unit_length, embedder)


def _answered(
    name: str, check: Callable[[Embedder], tuple[bool, str]], embedder: Embedder
) -> EmbeddingCheck:
    try:
        passed, message = check(embedder)
    except _NoVectorError as error:
        return EmbeddingCheck(name, "not run", str(error))
    except EmbeddingError as error:
        return EmbeddingCheck(name, "not run", str(error))
    return EmbeddingCheck(name, "passed" if passed else "failed", message)


class _NoVectorError(Exception):
    """The embedder refused a text of the check itself."""


def _vectors(embedder: Embedder, texts: list[str]) -> list[Vector]:
    import numpy as np

    found: list[Vector] = []
    for each in embedder.embed_documents([DocumentText("", text) for text in texts]):
        if not isinstance(each, np.ndarray):
            raise _NoVectorError(getattr(each, "message", "a text of the check was called blank"))
        found.append(each)
    if len(found) != len(texts):
        raise _NoVectorError(f"{len(found)} vectors for {len(texts)} texts")
    return found


def _cosine(a: Vector, b: Vector) -> float:
    import numpy as np

    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def _distance(a: Vector, b: Vector) -> float:
    import numpy as np

    return float(np.linalg.norm(a.astype(np.float64) - b.astype(np.float64)))


def _batch_equals_single(embedder: Embedder) -> tuple[bool, str]:
    batch = _vectors(embedder, list(_SAMPLES))
    alone = [_vectors(embedder, [text])[0] for text in _SAMPLES]
    cosines = [_cosine(a, b) for a, b in zip(batch, alone, strict=True)]
    worst = min(range(len(cosines)), key=cosines.__getitem__)
    if cosines[worst] >= SAME_MODEL_COSINE:
        return (
            True,
            f"lowest cosine between a text's vectors in a batch and alone: {min(cosines):.6f}",
        )
    likeness = [_cosine(batch[worst], each) for each in alone]
    nearest = max(range(len(likeness)), key=likeness.__getitem__)
    what = (
        f"text {worst} of a batch got the vector of text {nearest}"
        if nearest != worst
        else f"text {worst} gets another vector in a batch than alone (cosine {cosines[worst]:.4f})"
    )
    return False, f"{what}; set single_input = true and run: knowledge index --reindex"


def _whole_text(embedder: Embedder, characters: int) -> tuple[bool, str]:
    body = ("The reading room is open on weekdays. " * (characters // 38 + 1))[:characters]
    ends = ("Zinc corrodes.", "Owls hunt at night.")
    room = max(0, characters - max(map(len, ends)) - 1)
    one, other = (f"{body[:room]} {end}" for end in ends)
    first, again, changed = (_vectors(embedder, [text])[0] for text in (one, one, other))
    if _distance(first, changed) > max(_ROUNDING, 4 * _distance(first, again)):
        return True, f"the end of a text of {characters} characters changes its vector"
    return False, (
        f"two texts of {characters} characters that differ at their end get the same vector: "
        "the model cuts its input; index smaller chunks or use a model with a longer context"
    )


def _unit_length(embedder: Embedder) -> tuple[bool, str]:
    import numpy as np

    vectors = [*_vectors(embedder, list(_SAMPLES)), embedder.embed_query(_SAMPLES[0])]
    widths = sorted({vector.shape for vector in vectors})
    if len(widths) != 1 or len(widths[0]) != 1:
        return False, f"vectors of different shapes: {widths}"
    if any(vector.dtype != np.float32 for vector in vectors):
        return False, f"vectors are {vectors[0].dtype}, not float32"
    lengths = [float(np.linalg.norm(vector.astype(np.float64))) for vector in vectors]
    if all(abs(length - 1) <= _UNIT_TOLERANCE for length in lengths):
        return True, f"{len(vectors)} vectors of {widths[0][0]} numbers, all of length 1"
    return False, f"lengths from {min(lengths):.4f} to {max(lengths):.4f} where 1 is expected"
