"""The default model: static token vectors from the files that the `wordllama` wheel ships.

Only its files are used. Its own loader asks the network when a file is missing, imports far more
than this needs, and answers an empty text with NaN.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_nb.telemetry import span

from .errors import BlankTextError, EmbedderPackageMissing
from .probe import PROBE_TEXT
from .protocol import (
    BLANK,
    DocumentText,
    Embedded,
    EmbedderIdentity,
    EmbeddingTally,
    Refused,
    Vector,
)
from .texts import is_blank, prepare_document, prepare_query
from .vectors import unit_vector

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MODEL: Final = "wordllama-l2_supercat_256"
DIMENSION: Final = 256
INSTALL: Final = "pip install 'knowledge-nb[local]'"

_WEIGHTS: Final = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER: Final = Path("tokenizers", "l2_supercat_tokenizer_config.json")
# Token vectors of one slice are in memory together; 64 chunks of 2,000 characters are 40 MB.
_SLICE: Final = 64


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Any
    weights: npt.NDArray[np.float32]
    sha256: str


class LocalEmbedder:
    """Mean of a text's token vectors, at unit length; no server, no download.

    Loads at the first use (0.15 s) and may be shared between threads.

    Parameters
    ----------
    query_prefix, document_prefix : str
        Written before every text; see `Embedder`. The model was trained without any.
    """

    provider: Final = "local"
    model: Final = MODEL

    def __init__(self, *, query_prefix: str = "", document_prefix: str = "") -> None:
        self.query_prefix = query_prefix
        self.document_prefix = document_prefix
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def __repr__(self) -> str:
        return f"LocalEmbedder(model={self.model!r})"

    def identity(self) -> EmbedderIdentity:
        """Load the model and name it by its file's SHA-256.

        Raises
        ------
        EmbedderPackageMissing
        """
        (probe,) = self._embed([PROBE_TEXT])
        assert not isinstance(probe, Refused)
        return EmbedderIdentity(
            provider=self.provider,
            model=self.model,
            dimension=DIMENSION,
            model_hash=self._ready().sha256,
            query_prefix=self.query_prefix,
            document_prefix=self.document_prefix,
            normalised=True,
            probe_vector=probe.astype("<f4").tobytes(),
        )

    def embed_query(
        self, text: str, *, timeout: float | None = None, tally: EmbeddingTally | None = None
    ) -> Vector:
        """Embed one query; see `Embedder`. `timeout` is not needed: this takes well under 0.1 s."""
        if is_blank(text):
            raise BlankTextError("The query holds nothing that could be embedded.")
        prepared = prepare_query(text, self.query_prefix)
        if tally is not None:
            tally.query_characters_cut += prepared.cut
        (vector,) = self._embed([prepared.text])
        if isinstance(vector, Refused):
            raise BlankTextError(f"The query cannot be embedded: {vector.message}.")
        return vector

    def embed_documents(
        self,
        texts: Sequence[DocumentText],
        *,
        tally: EmbeddingTally | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Embedded]:
        """Embed chunks; see `Embedder`."""
        done: list[Embedded] = []
        for start in range(0, len(texts), _SLICE):
            prepared = [
                prepare_document(text, self.document_prefix)
                for text in texts[start : start + _SLICE]
            ]
            vectors = iter(self._embed([each.text for each in prepared if each is not None]))
            done.extend(BLANK if each is None else next(vectors) for each in prepared)
            if tally is not None:
                tally.cut += sum(each is not None and each.cut > 0 for each in prepared)
            if on_progress is not None:
                on_progress(len(prepared))
        return done

    def close(self) -> None:
        """Nothing is held open."""

    def _embed(self, texts: list[str]) -> list[Vector | Refused]:
        with span("knowledge.embed") as told:
            told.set(provider=self.provider, model=self.model, inputs=len(texts))
            told.set(dimension=DIMENSION)
            told.content(texts=texts)
            model = self._ready()
            return [_pool(model.weights, encoding.ids) for encoding in _encode(model, texts)]

    def _ready(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(_package_folder())
            return self._loaded


def _encode(model: _Model, texts: list[str]) -> list[Any]:
    if not texts:
        return []
    encoded: list[Any] = model.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    return encoded


def _pool(weights: npt.NDArray[np.float32], ids: list[int]) -> Vector | Refused:
    import numpy as np

    if not ids:
        return Refused("the model's tokenizer finds no token in it")
    mean = weights[np.minimum(ids, len(weights) - 1)].mean(axis=0)
    try:
        return unit_vector(mean)[0]
    except ValueError as error:
        return Refused(f"its vector {error}")


def _package_folder() -> Path:
    # find_spec of a top-level name imports nothing.
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderPackageMissing(
            f"The local embedding model comes with the package wordllama, which is not installed: "
            f"{INSTALL}"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _load(folder: Path) -> _Model:
    try:
        import numpy as np
        from safetensors.numpy import load
        from tokenizers import Tokenizer
    except ImportError as error:
        raise EmbedderPackageMissing(
            f"The local embedding model needs {error.name}, which is not installed: {INSTALL}"
        ) from error
    try:
        raw = (folder / _WEIGHTS).read_bytes()
        tokenizer = Tokenizer.from_str((folder / _TOKENIZER).read_text("utf-8"))
    except FileNotFoundError as error:
        raise EmbedderPackageMissing(
            f"The installed wordllama does not hold {error.filename}; nothing is downloaded. "
            f"Install a release that does: {INSTALL}"
        ) from error
    # What is hashed is what is used: one reading of the file serves both.
    weights = load(raw)["embedding.weight"].astype(np.float32)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _Model(tokenizer, weights, hashlib.sha256(raw).hexdigest())
