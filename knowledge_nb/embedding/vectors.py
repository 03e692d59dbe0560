"""Numbers into unit vectors, or a reason why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .protocol import Vector

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def unit_vector(values: Sequence[float] | npt.NDArray[np.floating]) -> tuple[Vector, float]:
    """Scale to unit length.

    Parameters
    ----------
    values : sequence of float or array
        One vector; must not be empty.

    Returns
    -------
    vector : numpy.ndarray
        float32, unit length.
    length : float
        The length it had (inf where it is beyond a float).

    Raises
    ------
    ValueError
        A value is not finite, or all are zero.
    """
    import numpy as np

    try:
        wide = np.asarray(values, dtype=np.float64)
    except OverflowError:
        raise ValueError("holds a number beyond any float") from None
    largest = float(np.max(np.abs(wide)))
    if not np.isfinite(largest):
        raise ValueError("holds NaN or infinity")
    if largest == 0:
        raise ValueError("is all zeros")
    # Scaled first, so that squares of very large or very small numbers neither overflow nor vanish.
    scaled = wide / largest
    norm = float(np.linalg.norm(scaled))
    return (scaled / norm).astype(np.float32), largest * norm
