"""The room that turns texts into vectors, and says so when it could not.

Nothing heavy is imported here: httpx comes with `openai`, tokenizers and safetensors with the first
text given to `local`, numpy with the first vector.
"""

from __future__ import annotations

from .errors import (
    BlankTextError,
    DimensionMismatch,
    EmbedderBusy,
    EmbedderDropped,
    EmbedderKeyMissing,
    EmbedderPackageMissing,
    EmbedderProtocolError,
    EmbedderRefused,
    EmbedderTimeout,
    EmbedderUnavailable,
    EmbedderUnreachable,
    EmbeddingError,
)
from .factory import open_embedder
from .probe import PROBE_TEXT, same_model
from .protocol import (
    BLANK,
    Blank,
    DocumentText,
    Embedded,
    Embedder,
    EmbedderIdentity,
    EmbeddingTally,
    Refused,
    Vector,
)

__all__ = [
    "BLANK",
    "PROBE_TEXT",
    "Blank",
    "BlankTextError",
    "DimensionMismatch",
    "DocumentText",
    "Embedded",
    "Embedder",
    "EmbedderBusy",
    "EmbedderDropped",
    "EmbedderIdentity",
    "EmbedderKeyMissing",
    "EmbedderPackageMissing",
    "EmbedderProtocolError",
    "EmbedderRefused",
    "EmbedderTimeout",
    "EmbedderUnavailable",
    "EmbedderUnreachable",
    "EmbeddingError",
    "EmbeddingTally",
    "Refused",
    "Vector",
    "open_embedder",
    "same_model",
]
