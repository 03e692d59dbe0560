"""A fixed text whose vector tells whether the same model still answers to a name."""

from __future__ import annotations

from typing import Final

# Several scripts on purpose: variants of one model may agree on English and differ elsewhere.
PROBE_TEXT: Final = (
    "Backups are kept for 90 days. A cópia de segurança fica noventa dias. "
    "Резервные копии хранятся. 備份保存九十天。"
)

# Cosine. Noise of one model: 1e-7 between batch sizes on a CPU (measured, two models), near 1e-4
# for half-precision arithmetic on other hardware. Another model: 0.97 is the nearest measured.
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
