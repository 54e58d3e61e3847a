"""Least noise for chains whose neighbours tend to differ (q + r > 1).

Here each direction of the loss depends on both likelihood ratios of the channel, so the
feasible noise is not bounded by straight lines. The search runs over the mix of the two
ratios. The privacy of the answer is certified; that no other mix needs less noise is
found numerically, on a grid that is then refined, and not proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from chainveil.errors import UnreachableBudget
from chainveil.noise.channel import Channel
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated
from chainveil.privacy.roots import largest_within, retreat
from chainveil.privacy.two_state.calibrate import RETREATS
from chainveil.privacy.two_state.loss import loss as loss_of

MIXES = 17
REFINEMENTS = 24

Levels = tuple[float, float]


def least_noise_alternating(problem: Problem, aim: Aim, weights: tuple[float, float]) -> Calibrated:
    """The channel with least weighted noise within the budget, for q + r > 1."""
    epsilon, max_noise = aim.epsilon, aim.max_noise

    def loss(noise: Levels) -> float:
        return loss_of(problem.with_release(Channel.binary(*noise))).epsilon

    def cost(noise: Levels) -> float:
        return weights[0] * noise[0] + weights[1] * noise[1]

    def along(mix: float) -> Levels:
        """The least noise whose two log ratios stand in the proportion ``mix``."""
        shares = min(1.0, 1 - mix), min(1.0, 1 + mix)

        def total(scale: float) -> float:
            return loss(_noise(scale * shares[0], scale * shares[1]))

        scale = largest_within(total, epsilon, epsilon / 2, 2 * epsilon)
        return _noise(scale * shares[0], scale * shares[1])

    if problem.releases and loss((0.5, 0.5)) >= epsilon:
        raise UnreachableBudget(
            f"spent: the earlier releases use up epsilon = {epsilon!r}; nothing is left for another"
        )
    inside = _best_mix(along, cost, max_noise)
    candidates = inside + _on_the_edge(loss, epsilon, max_noise)
    if not candidates:
        raise UnreachableBudget(
            f"max_noise = {max_noise!r} is too small for epsilon = {epsilon!r} on this chain"
        )
    rho0, rho1 = min(candidates, key=cost)

    def attempt(added: float) -> Calibrated:
        more = (rho + added * (0.5 - rho) for rho in (rho0, rho1))
        channel = Channel.binary(*more).on_grid()
        return Calibrated(channel, loss_of(problem.with_release(channel)))

    found = retreat(RETREATS, attempt, epsilon)
    if found is None:
        raise UnreachableBudget(f"epsilon = {epsilon!r} cannot be met on this chain")
    return found


def _noise(log_u: float, log_w: float) -> Levels:
    """Noise levels from ``log_u = ln (1-rho0)/rho1`` and ``log_w = ln (1-rho1)/rho0``."""
    outside = -math.expm1(-(log_u + log_w))
    rho0 = math.exp(-log_w) * -math.expm1(-log_u) / outside
    return rho0, math.exp(-log_u) * -math.expm1(-log_w) / outside


def _best_mix(
    along: Callable[[float], Levels], cost: Callable[[Levels], float], max_noise: float
) -> list[Levels]:
    """Grid over the mixes, then golden-section search around the best; feasible ones only."""

    def price(mix: float) -> float:
        noise = along(mix)
        return cost(noise) if max(noise) <= max_noise else math.inf

    mixes = [-0.95 + 1.9 * j / (MIXES - 1) for j in range(MIXES)]
    prices = [price(mix) for mix in mixes]
    best = min(range(MIXES), key=lambda j: prices[j])
    if math.isinf(prices[best]):
        return []
    low, high = mixes[max(best - 1, 0)], mixes[min(best + 1, MIXES - 1)]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(REFINEMENTS):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if price(a) <= price(b) else (a, high)
    found = [along(mix) for mix in (mixes[best], (low + high) / 2)]
    return [noise for noise in found if max(noise) <= max_noise]


def _on_the_edge(loss: Callable[[Levels], float], epsilon: float, max_noise: float) -> list[Levels]:
    """Feasible noise with one level at ``max_noise`` and the other as low as it may be."""
    found: list[Levels] = []
    for place in (lambda rho: (max_noise, rho), lambda rho: (rho, max_noise)):
        most = min(max_noise, 1 - max_noise)
        if loss(place(most)) > epsilon:
            continue
        low, high = 0.0, most
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if loss(place(middle)) <= epsilon else (middle, high)
        found.append(place(high))
    return found
