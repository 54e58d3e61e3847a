"""Points that are missing from a release: masked, and still counted as time that passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_GAPS = np.empty(0, np.bool_)


def split_masks(z: Any) -> tuple[Any, NDArray[np.bool_]]:
    """``z`` with state 0 at masked points, and which these are, laid end to end.

    The second is empty where nothing is masked.
    """
    if isinstance(z, np.ma.MaskedArray):
        return _settled(z.filled(0), np.ma.getmaskarray(z).reshape(-1))
    if isinstance(z, list | tuple) and any(isinstance(part, np.ma.MaskedArray) for part in z):
        filled = [np.ma.filled(part, 0) for part in z]
        return _settled(filled, np.concatenate([np.ma.getmaskarray(part) for part in z]))
    return z, NO_GAPS


def _settled(filled: Any, mask: NDArray[np.bool_]) -> tuple[Any, NDArray[np.bool_]]:
    return filled, (mask if mask.any() else NO_GAPS)


def runs_between(masked: np.ma.MaskedArray[Any, Any]) -> list[slice]:
    """The stretches of one series without a masked point."""
    there = np.concatenate([[False], ~np.ma.getmaskarray(masked), [False]])
    edges = np.flatnonzero(np.diff(there.astype(np.int8)))
    return [slice(begin, end) for begin, end in edges.reshape(-1, 2)]
