"""Whether what a side tells grows or shrinks all through a leap, by bounds on its growth."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.memory.pairs import multiply, plus, power, product, times
from chainveil.privacy.memory.policies import cycle_of

# What rounding may do to a growth, relatively, and to the log of a ratio.
ROUNDING, LOG_ROUNDING = 1e-12, 4e-15


@compiled(error_model="numpy")
def _log_growth(matrix: Any, odds: float) -> float:
    """``log(image / odds)``, to full relative accuracy also close to a fixed point."""
    square = product(odds, odds)
    top = times(matrix[2, 0], matrix[2, 1], square[0], square[1])
    up = plus(matrix[3, 0], matrix[3, 1], -matrix[0, 0], -matrix[0, 1])
    up = times(up[0], up[1], odds, 0.0)
    top = plus(up[0], up[1], -top[0], -top[1])
    top = plus(top[0], top[1], matrix[1, 0], matrix[1, 1])
    return float(np.log1p(top[0] / ((matrix[0, 0] + matrix[2, 0] * odds) * odds)))


@compiled(error_model="numpy")
def _growth(matrix: Any, least: float, most: float) -> Any:
    """Range of the log of ``image / odds``, which falls in the odds."""
    low, high = _log_growth(matrix, most), _log_growth(matrix, least)
    return low - ROUNDING * abs(low), high + ROUNDING * abs(high)


@compiled(error_model="numpy")
def _pull(m: Any, least: float, most: float) -> Any:
    """Range of the elasticity ``d log image / d log odds`` over odds in a range."""
    det = m[0, 0] * m[3, 0] - m[1, 0] * m[2, 0]
    small = least * abs(det) / ((m[1, 0] + most * m[3, 0]) * (m[0, 0] + most * m[2, 0]))
    large = most * abs(det) / ((m[1, 0] + least * m[3, 0]) * (m[0, 0] + least * m[2, 0]))
    small, large = small * (1 - ROUNDING), min(large * (1 + ROUNDING), 1.0)
    return (small, large) if det > 0 else (-large, -small)


@compiled(error_model="numpy")
def _mixed(a: Any, b: Any) -> Any:
    """Range of a product of two ranges."""
    low = min(min(a[0] * b[0], a[0] * b[1]), min(a[1] * b[0], a[1] * b[1]))
    high = max(max(a[0] * b[0], a[0] * b[1]), max(a[1] * b[0], a[1] * b[1]))
    return low, high


@compiled(error_model="numpy")
def _joint_growth(cycle: Any, twice: Any, told_range: Any, prior: Any) -> Any:
    """Range of the log by which ``T = odds / prior`` grows in two steps, over T and prior.

    ``T' / T`` is a product of two functions that are monotone in T and in the prior odds, so
    each has its extremes at corners.
    """
    low, high, least, most = np.inf, -np.inf, np.inf, -np.inf
    for one in range(2):
        ratio = told_range[one]
        for other in range(2):
            odds = prior[other]
            first = cycle[1, 0] / ratio + cycle[3, 0] * odds
            first /= twice[1, 0] + twice[3, 0] * odds
            second = twice[0, 0] + twice[2, 0] * odds
            second /= cycle[0, 0] + cycle[2, 0] * odds * ratio
            low, high = min(low, first), max(high, first)
            least, most = min(least, second), max(most, second)
    return np.log(low) + np.log(least) - LOG_ROUNDING, np.log(high) + np.log(most) + LOG_ROUNDING


@compiled(error_model="numpy")
def _lean(p: float, s: float, m: float, n: float, ratios: Any, prior: Any) -> Any:
    """Range of ``p / (p + s o) - m / (m + n o T)`` over prior odds o and ratios T.

    It is ``o (p n T - m s) / ((p + s o) (m + n o T))``, whose sign is that of the bracket.
    """
    low = p * n * ratios[0] * (1 - 1e-15) - m * s * (1 + 1e-15)
    high = p * n * ratios[1] * (1 + 1e-15) - m * s * (1 - 1e-15)
    wide = prior[1] / ((p + s * prior[0]) * (m + n * prior[0] * ratios[0])) * (1 + 1e-14)
    narrow = prior[0] / ((p + s * prior[1]) * (m + n * prior[1] * ratios[1])) * (1 - 1e-14)
    return _mixed((low, high), (narrow, wide))


@compiled(error_model="numpy")
def _followed(chain: Any, plain: Any, ratios: Any, prior: Any, grown: Any, growth: Any) -> Any:
    """Range of the growth of a node that follows a root, by the mean value theorem.

    ``grown`` is the range of the root's own growth over the prior's, ``growth`` the prior's,
    ``ratios`` that of the root's odds over the prior.
    """
    first = _lean(plain[1, 0], plain[3, 0], chain[1, 0], chain[3, 0], ratios, prior)
    second = _lean(plain[0, 0], plain[2, 0], chain[0, 0], chain[2, 0], ratios, prior)
    by_prior = _mixed((first[0] - second[1], first[1] - second[0]), growth)
    pull = _pull(chain, ratios[0] * prior[0], ratios[1] * prior[1])
    by_root = _mixed(pull, grown)
    return by_prior[0] + by_root[0], by_prior[1] + by_root[1]


@compiled(error_model="numpy")
def settled(
    pairs: Any, plain: Any, policy: Any, order: Any, roots: Any, chains: Any, least: Any,
    most: Any, ratios: Any, prior: Any, best: Any, tolerance: float,
) -> bool:  # fmt: skip
    """Whether what was told inside a leap was no more than at its ends, or than the best.

    ``prior`` holds least and most odds of the prior in the leap, ``ratios`` (nodes, 2) least
    and most of odds over prior at its ends. If these ratios grow wherever they lie between
    the ones at the ends, they never leave that range: steps keep the order of ratios, so what
    once is beyond the upper end stays there, and likewise below if they shrink. One chain only.
    """
    cycle, twice, spare = np.empty((4, 2)), np.empty((4, 2)), np.empty((4, 2))
    multiply(plain[0], plain[0], twice)
    growth = _growth(twice, prior[0], prior[1])
    for label in range(best.shape[1]):
        for direction in range(2):
            node = 2 * label + direction
            if policy[node, 0] < 0:
                continue
            bound = most[node] / prior[0] if direction == 1 else prior[1] / least[node]
            top = 0.0
            for kind in range(3):
                top = max(top, best[0, label, direction, kind])
            if bound <= top * (1 + tolerance):
                continue
            root = roots[node]
            cycle_of(pairs, policy, root, cycle)
            odds = (least[root], most[root])
            own = _growth(cycle, odds[0], odds[1])
            grown = _joint_growth(cycle, twice, ratios[root], prior)
            apart = (max(grown[0], own[0] - growth[1]), min(grown[1], own[1] - growth[0]))
            if order[node] > 0:
                power(plain[0], order[node], spare)
                pull = _mixed(_pull(chains[node], odds[0], odds[1]), own)
                # The prior is as late as the root is.
                one = (pull[0] - growth[1], pull[1] - growth[0])
                other = _followed(chains[node], spare, ratios[root], prior, apart, growth)
                apart = (max(one[0], other[0]), min(one[1], other[1]))
            if apart[0] < 0 < apart[1]:
                return False
    return True
