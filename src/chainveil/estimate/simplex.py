"""The nearest valid probabilities."""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray


def project(shares: FloatArray) -> FloatArray:
    """The probability vectors nearest to ``shares`` along the last axis, by least squares.

    All entries are lowered by one number and cut at zero; sorting finds the number.
    """
    shares = np.nan_to_num(np.asarray(shares, dtype=np.float64), nan=0.0)
    ordered = -np.sort(-shares, axis=-1)
    excess = np.cumsum(ordered, axis=-1) - 1.0
    ranks = np.arange(1, shares.shape[-1] + 1)
    kept = (ordered * ranks > excess).sum(axis=-1, keepdims=True)
    level = np.take_along_axis(excess, np.maximum(kept - 1, 0), axis=-1) / np.maximum(kept, 1)
    return np.asarray(np.maximum(shares - level, 0.0))
