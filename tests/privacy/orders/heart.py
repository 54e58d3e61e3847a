"""Chains of order 3 and 4 of a heart rate, 1 above its mean: Pr[1] behind the last values."""

from __future__ import annotations

import chainveil as cv
from chainveil.model.higher_order import HigherOrderChain


def _chain(ones: list[float], order: int) -> HigherOrderChain:
    return HigherOrderChain([[1 - one, one] for one in ones], order=order)


THREE = _chain([0.2919, 0.5510, 0.0287, 0.3713, 0.2538, 0.8095, 0.1551, 0.7925], 3)
FOUR = _chain(
    [0.1901, 0.4819, 0.0220, 0.3230, 0.1121, 0.7000, 0.0812, 0.5198,
     0.5388, 0.7540, 0.1667, 0.6618, 0.3730, 0.8243, 0.2806, 0.8639], 4
)  # fmt: skip
# The noise of order 1 at epsilon 2.
NOISE = cv.Channel.binary(0.29385, 0.25238)
