"""A fixed text whose vector tells whether the same model still answers to a name."""

from __future__ import annotations

from typing import Final

# Several scripts on purpose: variants of one model may agree on English and differ elsewhere.
PROBE_TEXT: Final = (
    "Backups are kept for 90 days. A cópia de segurança fica noventa dias. "
    "Резервные копии хранятся. 備份保存九十天。"
)

# Cosine. The same model differs from itself by 1e-7 between batch sizes (measured, two models),
# by 1e-6 when its vectors are rounded to bfloat16; the rest is room for half-precision layers.
# Two variants of one published model, alike on English text, are at 0.980 here (measured).
SAME_MODEL_COSINE: Final = 0.995


def same_model(pinned: bytes, live: bytes) -> bool:
    """Compare two vectors of `PROBE_TEXT`.

    Parameters
    ----------
    pinned, live : bytes
        Little-endian float32; any length scale.

    Returns
    -------
    bool
        True when the widths agree and the cosine is at least 0.995.
    """
    import numpy as np

    if len(pinned) != len(live) or not pinned:
        return False
    a = np.frombuffer(pinned, dtype="<f4").astype(np.float64)
    b = np.frombuffer(live, dtype="<f4").astype(np.float64)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return lengths > 0 and float(a @ b) / lengths >= SAME_MODEL_COSINE
