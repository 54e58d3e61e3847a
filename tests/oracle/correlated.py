"""The loss of correlated noise straight from the definition, by enumeration.

Nothing is shared with the package: every series x and every output z is written down, the
noise is y = x XOR z, and likelihoods are sums of joint probabilities.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Adversaries = dict[tuple[int, frozenset[int]], float]


def _series_probabilities(stay_or_go: FloatArray, n: int) -> FloatArray:
    """Probability of every series of a stationary two-state chain, shape (2,) * n."""
    q, r = stay_or_go[0, 1], stay_or_go[1, 0]
    probabilities: FloatArray = np.array([r, q]) / (q + r)
    for _ in range(n - 1):
        probabilities = probabilities[..., :, None] * stay_or_go
    return np.asarray(probabilities)


def enumerate_losses(q: float, r: float, rho0: float, rho1: float, n: int) -> Adversaries:
    """``ln BDPL`` of every adversary ``(target, known)`` for a series of ``n`` points.

    The supremum runs over the two values of the target in both orders, every value of the
    known points and every output.
    """
    size = 2**n
    data = _series_probabilities(np.array([[1 - q, q], [r, 1 - r]]), n)
    noise = _series_probabilities(np.array([[1 - rho0, rho0], [rho1, 1 - rho1]]), n).ravel()
    codes = np.arange(size)
    joint = data.ravel()[:, None] * noise[codes[:, None] ^ codes]
    joint = joint.reshape((2,) * n + (size,))
    losses: Adversaries = {}
    for count in range(1, n + 1):
        for fixed in combinations(range(n), count):
            free = tuple(t for t in range(n) if t not in fixed)
            likelihood = joint.sum(axis=free) / data.sum(axis=free)[..., None]
            for axis, target in enumerate(fixed):
                losses[target, frozenset(fixed) - {target}] = _worst_ratio(likelihood, axis)
    return losses


def _worst_ratio(likelihood: FloatArray, axis: int) -> float:
    zero, one = np.take(likelihood, 0, axis=axis), np.take(likelihood, 1, axis=axis)
    possible = (zero > 0) | (one > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(zero[possible]) - np.log(one[possible])).max())


def any_adversary(losses: Adversaries) -> float:
    """The supremum over all adversaries."""
    return max(losses.values())


def ignorant(losses: Adversaries) -> float:
    """The supremum over targets, nothing known."""
    return max(loss for (_, known), loss in losses.items() if not known)


def informed(losses: Adversaries, n: int) -> float:
    """The supremum over targets, all other points known."""
    return max(loss for (_, known), loss in losses.items() if len(known) == n - 1)
