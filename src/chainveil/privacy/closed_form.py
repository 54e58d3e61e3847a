"""The paper's formulas, one function each, in plain floats; no search.

These are the closed forms of "Optimal Local Bayesian Differential Privacy over Markov
Chains" (Chakrabarti, Gao, Saraf, Schoenebeck, Yu), with its errors named where they
stand. They concern the *ignorant* adversary, who knows no other point. The paper's
Theorem 2 claims that this one is the hardest; that is false, so none of these formulas
by itself gives Bayesian differential privacy. ``privacy_loss`` and ``calibrate`` do.

The results are rounded to nearest, not upwards: they are for study and comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from chainveil import checks
from chainveil.errors import InvalidInput


@dataclass(frozen=True)
class HalfPlanes:
    """The noise levels that meet a budget: ``rho1 >= u (1 - rho0)`` and ``rho0 >= w (1 - rho1)``.

    For chains with q + r <= 1 each direction of the loss depends on the noise through one
    number only, ``rho1 / (1 - rho0)`` or ``rho0 / (1 - rho1)``, whatever the adversary
    and the length. So each constraint is a half-plane.

    Attributes
    ----------
    u : float
        Least ``rho1 / (1 - rho0)`` for the ratio of 0 over 1.
    w : float
        Least ``rho0 / (1 - rho1)`` for the ratio of 1 over 0.
    """

    u: float
    w: float

    def contains(self, rho0: float, rho1: float) -> bool:
        """Whether a pair of noise levels lies in both half-planes."""
        return rho1 >= self.u * (1 - rho0) and rho0 >= self.w * (1 - rho1)

    @property
    def corner(self) -> tuple[float, float]:
        """(rho0, rho1) where the two lines meet."""
        outside = 1 - self.u * self.w
        if outside == 0:
            return 0.5, 0.5
        return self.w * (1 - self.u) / outside, self.u * (1 - self.w) / outside


def theorem1(q: float, r: float, rho0: float, rho1: float) -> tuple[float, float]:
    """Theorem 1: log of the bounds on 0 over 1 and on 1 over 0 for the ignorant adversary.

    ``a^2 / (c d)`` with ``c = 2 r rho1`` and ``d = 2 r (1 - rho0)``; the second by swapping
    q with r and rho0 with rho1. Tight as the length grows. Holds for q + r < 1 and
    rho0 + rho1 < 1, which is wider than the paper's "each below 1/2".
    """
    _check_regime(q, r)
    rho0 = checks.probability("rho0", rho0, zero=False)
    rho1 = checks.probability("rho1", rho1, zero=False)
    if rho0 + rho1 >= 1:
        raise InvalidInput("rho0 + rho1", rho0 + rho1, "below 1")
    return _theorem1(q, r, rho0, rho1), _theorem1(r, q, rho1, rho0)


def _theorem1(q: float, r: float, rho0: float, rho1: float) -> float:
    x, y = (1 - rho0) * (1 - q), rho1 * (1 - r)
    # The paper's square root of a sum of three terms, written without their cancellation.
    a = math.hypot(x - y, 2 * math.sqrt(q * r * (1 - rho0) * rho1)) + (x - y)
    return 2 * math.log(a) - math.log(2 * r * rho1) - math.log(2 * r * (1 - rho0))


def least_ratio(q: float, r: float, epsilon: float) -> float:
    """Least ``u = rho1 / (1 - rho0)`` that keeps Theorem 1's ratio of 0 over 1 within e^epsilon.

    Exact, where the paper has only a loose form for symmetric chains: with
    ``(1-q) R^2 + (q - r e^epsilon) R - (1-r) e^epsilon = 0`` and R its positive root,
    ``u = e^epsilon / R^2``. For the ratio of 1 over 0 swap q and r.
    """
    _check_regime(q, r)
    epsilon = budget(epsilon)
    # Divide the quadratic by e^epsilon so that large budgets do not overflow: with
    # s = R e^(-epsilon/2), (1-q) s^2 + (q e^(-epsilon/2) - r e^(epsilon/2)) s - (1-r) = 0.
    half = epsilon / 2
    linear = q * math.exp(-half) - r * math.exp(half)
    root = math.sqrt(linear * linear + 4 * (1 - q) * (1 - r))
    s = (root - linear) / (2 * (1 - q)) if linear <= 0 else 2 * (1 - r) / (root + linear)
    return 1 / (s * s)


def half_planes(q: float, r: float, epsilon: float) -> HalfPlanes:
    """The feasible noise of Figure 1: both constraints of Theorem 1 for a budget."""
    return HalfPlanes(least_ratio(q, r, epsilon), least_ratio(r, q, epsilon))


def corollary2(theta: float, rho: float) -> float:
    """Corollary 2: log of the bound for a symmetric chain with equal noise.

    ``(1 - rho)/rho (a/c)^2`` with ``c = 2 theta (1 - rho)``. The paper's appendix prints
    the eigenvalues with ``(1-theta)^2 - (1-2 theta)(1-2 rho)^2`` under the root; it is
    ``theta^2 + (1-2 theta)(1-2 rho)^2``, as in the corollary itself.
    """
    return theorem1(theta, theta, rho, rho)[0]


def corollary2_noise(theta: float, epsilon: float) -> float:
    """Corollary 2's printed noise level: a sufficient one for the ignorant adversary, loose."""
    _check_regime(theta, theta)
    growth = math.exp(-budget(epsilon))
    # The printed fraction divided by e^epsilon above and below, against overflow.
    above = 4 * growth + theta * (theta - 2 * growth)
    above -= theta * math.sqrt(4 * growth + theta * (theta - 4 * growth))
    return above / (8 * growth + 2 * theta * (theta + (theta - 4) * growth))


def symmetric_noise(theta: float, epsilon: float) -> float:
    """Exact least noise of a symmetric chain against the ignorant adversary.

    ``rho = e^epsilon / (e^epsilon + R^2)`` with R as in :func:`least_ratio`.
    """
    u = least_ratio(theta, theta, epsilon)
    return u / (1 + u)


def most_exposed(length: int) -> tuple[int, ...]:
    """Indices, from 0, of the points most exposed to the ignorant adversary: the middle.

    Exactly (n+1)/2 in the paper's count from 1, for every stationary chain: its gamma
    equals its sigma, so its "n/2 plus O(1)" is exactly n/2 + 1/2. For even lengths the
    two points beside the middle are equally exposed.
    """
    length = checks.whole("length", length, 1)
    return ((length - 1) // 2,) if length % 2 else (length // 2 - 1, length // 2)


def budget(epsilon: float) -> float:
    """``epsilon`` if it is a usable privacy budget."""
    allowed = "a finite number above 0 and up to 700"
    number = checks.real("epsilon", epsilon, allowed)
    if not 0 < number <= 700:
        raise InvalidInput("epsilon", epsilon, allowed)
    return number


def _check_regime(q: float, r: float) -> None:
    q = checks.probability("q", q, zero=False, one=False)
    r = checks.probability("r", r, zero=False, one=False)
    if q + r >= 1:
        raise InvalidInput(
            "q + r", q + r, "below 1 for the paper's closed forms", "Use privacy_loss instead."
        )
