"""Least noise that holds for every chain of a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chainveil.errors import UnreachableBudget
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import Adversary, Model
from chainveil.privacy.closed_form import HalfPlanes
from chainveil.privacy.two_state.calibrate import least_noise
from chainveil.privacy.two_state.region import TOLERANCE, RegionLoss, region_loss

# What is kept back of the budget, step by step, until the certified loss meets it.
RESERVES = (2 * TOLERANCE, 10 * TOLERANCE, 1e-4, 1e-2)


@dataclass(frozen=True)
class RegionCalibrated:
    """A channel within budget on all chains of a region, and its certified loss."""

    channel: Channel
    loss: RegionLoss
    region: HalfPlanes | None


def least_noise_region(
    region: ChainRegion,
    epsilon: float,
    length: int | None,
    adversary: Model | Adversary,
    weights: tuple[float, float],
    max_noise: float,
    spent: Sequence[Channel] = (),
) -> RegionCalibrated:
    """Calibrate on the slowest chain, then certify the whole region.

    The slowest chain has always been the worst one where this was tried; the certificate
    does not lean on that.
    """
    # Against any adversary the certificate is for all lengths, and so is the noise.
    points = None if adversary == "any" else length
    corner = MarkovChain.binary(*region.slowest)
    for reserve in RESERVES:
        budget = epsilon - min(reserve, epsilon / 2)
        found = least_noise(corner, budget, points, adversary, weights, max_noise, spent)
        loss = region_loss(region, Channel.joint(*spent, found.channel), length, adversary)
        if loss.epsilon <= epsilon:
            return RegionCalibrated(found.channel, loss, found.region)
    raise UnreachableBudget(f"epsilon = {epsilon!r} could not be certified on the whole region")
