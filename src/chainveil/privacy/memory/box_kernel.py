"""Compiled scan of one side of the target over a box of chains: odds, prior odds and their ratio.

As in ``kernel``, with messages given the state of the nearer point on both sides (a stationary
chain of two states reads the same backwards), whose steps are

    odds' = (r f01 + (1 - r) f11 odds) / ((1 - q) f00 + q f10 odds),

with the factors f of what is published. What a side tells is the odds over the prior odds, which
move by the same step without the factors. Bounded each for itself, the odds would follow one
chain of the box and the prior odds another, and most of what the bound loses is lost there. So
the ratio has an interval of its own.

For given odds and prior odds the ratio one step on is monotone in q and in r, so its extremes lie
at corners of the box. For a given ratio R it is ``M(R k) / P(k)`` in the prior odds k, the
quotient of two Möbius maps with non-negative coefficients. Its logarithm is a sum of four terms
``± log(a + b exp(s))`` in ``s = log k``, two of each sign, whose second derivatives lie between 0
and 1/4; so that of the sum lies within ± 1/2, and over an interval of width w the logarithm is at
most w² / 16 above its larger end, and as far below its smaller one.

Rounding: as in ``kernel``; a quotient of two images is off by less than 64 units of 2^-53, and is
moved outwards by ``1 ± 2^-46``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.memory.kernel import DOWN, UP, image

# Prior odds with ends further apart than this, as a ratio, say nothing about the ratio.
WIDE = 4.0


@compiled(error_model="numpy")
def scan_box(
    mats: Any,
    plain: Any,
    source: Any,
    target: Any,
    offsets: Any,
    stride: int,
    phases: Any,
    low: Any,
    high: Any,
    prior: Any,
    limit: int,
    tolerance: float,
    told: Any,
) -> bool:
    """All families side by side, until what lies further out cannot tell more.

    Arguments are those of ``kernel.scan``; the last family, ANY, begins with all odds and all
    prior odds. ``told``, of shape (period, labels, 2), is no less than what any family tells.
    Returns whether the limit was kept.
    """
    period, labels, families = len(offsets) - 1, low.shape[1], low.shape[0]
    to = np.empty((4, labels))
    least, most = np.zeros((families, labels)), np.full((families, labels), np.inf)
    tails = np.full((period, labels, 2), np.inf)
    for depth in range(limit + 1):
        for family in range(families):
            if depth > 0:
                phase = phases[family]
                begin, end = offsets[phase], offsets[phase + 1]
                _advance(mats, plain, source, target, begin, end, low[family], high[family],
                         prior[family], least[family], most[family], to)  # fmt: skip
                phases[family] = (phase + stride) % period
            # The phase of the point that the family has come to.
            here = (phases[family] - stride) % period if stride > 0 else phases[family]
            for label in range(labels):
                for direction in range(2):
                    found = _told(low[family, label], high[family, label], prior[family],
                                  least[family, label], most[family, label],
                                  direction)  # fmt: skip
                    if family == families - 1:
                        tails[here, label, direction] = found
                    elif found > told[here, label, direction]:
                        told[here, label, direction] = found
        if depth % (4 * period) == 0 and depth > period and _met(told, tails, tolerance):
            for here in range(period):
                for label in range(labels):
                    for direction in range(2):
                        if tails[here, label, direction] > told[here, label, direction]:
                            told[here, label, direction] = tails[here, label, direction]
            return True
    return False


@compiled(error_model="numpy")
def _told(low: float, high: float, prior: Any, least: float, most: float, direction: int) -> float:
    """Upper end of what a side tells; direction 1 is "1 over 0". 0 where it tells nothing."""
    if high < 0 or prior[1] <= 0 or prior[0] == np.inf:
        return 0.0
    if direction == 1:
        return float(most if prior[0] <= 0 else min(most, high / prior[0] * UP))
    bound = np.inf if least <= 0 else 1 / least * UP
    return float(bound if low <= 0 else min(bound, prior[1] / low * UP))


@compiled(error_model="numpy")
def _met(told: Any, tails: Any, tolerance: float) -> bool:
    """Whether the tails lie within the tolerance of what was found."""
    for here in range(told.shape[0]):
        for label in range(told.shape[1]):
            for direction in range(2):
                if tails[here, label, direction] > told[here, label, direction] * (1 + tolerance):
                    return False
    return True


@compiled(error_model="numpy")
def _advance(
    mats: Any,
    plain: Any,
    source: Any,
    target: Any,
    begin: int,
    end: int,
    low: Any,
    high: Any,
    prior: Any,
    least: Any,
    most: Any,
    to: Any,
) -> None:
    """One step of one family: odds, prior odds, and ``least`` and ``most`` of their ratio.

    All but ``prior``, of shape (2,), have the shape (labels,); ``to`` is work space of shape
    (4, labels).
    """
    labels = len(low)
    for label in range(labels):
        to[0, label], to[1, label], to[2, label], to[3, label] = np.inf, -1.0, np.inf, -1.0
    narrow = prior[0] > 0 and prior[1] <= prior[0] * WIDE
    bulge = math.exp(math.log(prior[1] / prior[0]) ** 2 / 16) * UP if narrow else np.inf
    first, last = np.inf, -1.0
    for corner in range(mats.shape[0]):
        p = plain[corner]
        slow = image(p[0], p[1], p[2], p[3], prior[0])
        fast = image(p[0], p[1], p[2], p[3], prior[1])
        first, last = min(first, slow, fast), max(last, slow, fast)
        for step in range(begin, end):
            before, after = source[step], target[step]
            if high[before] < 0:
                continue
            m = mats[corner, step]
            rising = m[0] * m[3] >= m[1] * m[2]
            for side in range(2):
                upper = side == 1
                given = high[before] if upper == rising else low[before]
                ratio = most[before] if upper == rising else least[before]
                odds = image(m[0], m[1], m[2], m[3], given)
                # NaN: no such report at these odds; comparisons with it are false.
                if odds < to[2, after]:
                    to[2, after] = odds
                if odds > to[3, after]:
                    to[3, after] = odds
                found = odds / slow if upper else odds / fast
                if narrow and ratio < np.inf:
                    one = image(m[0], m[1], m[2], m[3], ratio * prior[0]) / slow
                    two = image(m[0], m[1], m[2], m[3], ratio * prior[1]) / fast
                    if upper:
                        found = min(found, max(one, two) * bulge)
                    else:
                        found = max(found, min(one, two) / bulge)
                if found < to[0, after]:
                    to[0, after] = found
                if found > to[1, after]:
                    to[1, after] = found
    for label in range(labels):
        least[label], most[label] = to[0, label] * DOWN * DOWN, to[1, label] * UP * UP
        low[label], high[label] = to[2, label] * DOWN, to[3, label] * UP
    prior[0], prior[1] = first * DOWN, last * UP
