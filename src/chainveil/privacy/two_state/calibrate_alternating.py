"""Least noise for chains whose neighbours tend to differ (q + r > 1).

Here each direction of the loss depends on both likelihood ratios of the channel, so the
feasible noise is not bounded by straight lines. The search runs over the mix of the two
ratios. The privacy of the answer is certified; that no other mix needs less noise is
found numerically, on a grid that is then refined, and not proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from chainveil.errors import UnreachableBudget
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import Adversary, Model
from chainveil.privacy.loss import privacy_loss
from chainveil.privacy.two_state.calibrate import RETREATS, Calibrated, largest_within

MIXES = 17
REFINEMENTS = 24

Noise = tuple[float, float]


def least_noise_alternating(
    chain: MarkovChain,
    epsilon: float,
    length: int | None,
    adversary: Model | Adversary,
    weights: tuple[float, float],
    max_noise: float,
    spent: Sequence[Channel] = (),
) -> Calibrated:
    """The channel with least weighted noise within the budget, for q + r > 1."""

    def loss(noise: Noise) -> float:
        return privacy_loss(chain, [*spent, Channel.binary(*noise)], length, adversary).epsilon

    def cost(noise: Noise) -> float:
        return weights[0] * noise[0] + weights[1] * noise[1]

    def along(mix: float) -> Noise:
        """The least noise whose two log ratios stand in the proportion ``mix``."""
        shares = min(1.0, 1 - mix), min(1.0, 1 + mix)

        def total(scale: float) -> float:
            return loss(_noise(scale * shares[0], scale * shares[1]))

        scale = largest_within(total, epsilon, epsilon / 2, 2 * epsilon)
        return _noise(scale * shares[0], scale * shares[1])

    if spent and loss((0.5, 0.5)) >= epsilon:
        raise UnreachableBudget(
            f"spent: the earlier releases use up epsilon = {epsilon!r}; nothing is left for another"
        )
    inside = _best_mix(along, cost, max_noise)
    candidates = inside + _on_the_edge(loss, epsilon, max_noise)
    if not candidates:
        raise UnreachableBudget(
            f"max_noise = {max_noise!r} is too small for epsilon = {epsilon!r} on this chain"
        )
    for retreat in RETREATS:
        rho0, rho1 = min(candidates, key=cost)
        more = (rho + retreat * (0.5 - rho) for rho in (rho0, rho1))
        channel = Channel.binary(*more).on_grid()
        certified = privacy_loss(chain, [*spent, channel], length, adversary)
        if certified.epsilon <= epsilon:
            return Calibrated(channel, certified, None)
    raise UnreachableBudget(f"epsilon = {epsilon!r} cannot be met on this chain")


def _noise(log_u: float, log_w: float) -> Noise:
    """Noise levels from ``log_u = ln (1-rho0)/rho1`` and ``log_w = ln (1-rho1)/rho0``."""
    outside = -math.expm1(-(log_u + log_w))
    rho0 = math.exp(-log_w) * -math.expm1(-log_u) / outside
    return rho0, math.exp(-log_u) * -math.expm1(-log_w) / outside


def _best_mix(
    along: Callable[[float], Noise], cost: Callable[[Noise], float], max_noise: float
) -> list[Noise]:
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


def _on_the_edge(loss: Callable[[Noise], float], epsilon: float, max_noise: float) -> list[Noise]:
    """Feasible noise with one level at ``max_noise`` and the other as low as it may be."""
    found: list[Noise] = []
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
