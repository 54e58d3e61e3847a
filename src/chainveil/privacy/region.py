"""Loss over a box of two-state chains, certified by branch and bound over the box.

Over a box each step of the odds is bounded by a Möbius map that takes every entry at its
worst end, so a track (``tracks``) whose posterior runs high and whose prior runs low bounds
all chains of the box at once. Small boxes are bounded tightly; boxes whose bound exceeds
the largest loss found are cut in two.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from chainveil.chain import MarkovChain
from chainveil.channel import Channel
from chainveil.errors import NotSupported
from chainveil.privacy.adversary import Adversary, Model
from chainveil.privacy.loss import PrivacyLoss, privacy_loss, with_enough_bits
from chainveil.privacy.moebius import Moebius, Orbit
from chainveil.privacy.rounding import up
from chainveil.privacy.search import Pair, horizon
from chainveil.privacy.setting import read_setting
from chainveil.privacy.tracks import Track, ball, larger, largest
from chainveil.region import ChainRegion

# How far the bounds may be apart, and how many boxes may be looked at.
TOLERANCE = 5e-7
MAX_BOXES = 20_000

# A box: least and largest q, least and largest r.
Box = tuple[float, float, float, float]
FractionBox = tuple[Fraction, Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class RegionLoss(PrivacyLoss):
    """Loss that no chain of a region exceeds; ``chain`` is the one that attains ``lower``."""

    chain: MarkovChain
    region: ChainRegion


def region_loss(
    region: ChainRegion,
    channel: Channel,
    length: int | None,
    adversary: Model | Adversary,
) -> RegionLoss:
    """The largest loss of any chain in the region, from above and from below.

    Against any adversary and for a given length, the upper bound is that of all lengths.
    """
    _check(region, adversary)
    slowest = privacy_loss(region.slowest, channel, length, adversary)
    if adversary != "any" or slowest.epsilon in (0.0, float("inf")):
        # One point alone, or nothing known, where the loss falls in q and in r
        # (docs/uncertain-chains.md): the slowest chain is the worst.
        return _result(region, slowest, slowest.epsilon, region.slowest)
    if length is not None:
        everywhere = region_loss(region, channel, None, adversary)
        return _result(region, slowest, everywhere.epsilon, region.slowest)
    best, chain = slowest, region.slowest
    heap: list[tuple[float, Box]] = []
    _push(heap, (*region.q, *region.r), channel, best.lower)
    for _ in range(MAX_BOXES):
        bound, box = heap[0]
        if -bound <= best.epsilon + TOLERANCE:
            break
        heapq.heappop(heap)
        for half in _halves(box):
            _push(heap, half, channel, best.lower)
        here = MarkovChain.binary(box[0], box[2])
        found = privacy_loss(here, channel, length, adversary)
        if found.lower > best.lower:
            best, chain = found, here
    return _result(region, best, max(best.epsilon, -heap[0][0]), chain)


def _result(
    region: ChainRegion, best: PrivacyLoss, epsilon: float, chain: MarkovChain
) -> RegionLoss:
    return RegionLoss(epsilon, best.lower, best.witness, best.adversary, best.length, chain, region)


def _check(region: ChainRegion, adversary: Model | Adversary) -> None:
    if Fraction(region.q[1]) + Fraction(region.r[1]) >= 1:
        raise NotSupported(
            f"region: found q up to {region.q[1]:g} and r up to {region.r[1]:g}; regions are "
            "offered where q + r stays below 1."
        )
    if isinstance(adversary, Adversary):
        raise NotSupported("adversary: over a region only the models are offered, not a named one.")


def _push(heap: list[tuple[float, Box]], box: Box, channel: Channel, best: float) -> None:
    heapq.heappush(heap, (-with_enough_bits(lambda: box_bound(box, channel, best)), box))


def _halves(box: Box) -> tuple[Box, Box]:
    """Cut where the box is longest, in proportion; towards the low end, where losses are high."""
    q_low, q_high, r_low, r_high = box
    if q_high / q_low >= r_high / r_low:
        middle = _middle(q_low, q_high)
        return (q_low, middle, r_low, r_high), (middle, q_high, r_low, r_high)
    middle = _middle(r_low, r_high)
    return (q_low, q_high, r_low, middle), (q_low, q_high, middle, r_high)


def _middle(low: float, high: float) -> float:
    return min(max((low * high) ** 0.5, low), high)


def box_bound(box: Box, channel: Channel, best: float) -> float:
    """Upper bound on the loss against any adversary, for every length and chain of the box.

    Losses below ``best`` are not told apart.
    """
    setting = read_setting(MarkovChain.binary(box[0], box[2]), channel)
    (high, _), (low, _) = setting.high, setting.low
    assert high is not None
    assert low
    q_low, q_high, r_low, r_high = (Fraction(number) for number in box)
    directions = (
        _direction_bound((q_low, q_high, r_low, r_high), ball(high), best),
        _direction_bound((r_low, r_high, q_low, q_high), ball(1 / low), best),
    )
    bound: float = up(larger(*directions))
    return bound


def _direction_bound(box: FractionBox, ratio: arb, best: float) -> arb:
    """Bound on the log of 0 over 1, where ``ratio`` is the largest of one output."""
    emission = larger(ratio.log(), arb(0))
    if not ratio > 1:
        return emission
    q_low, q_high, r_low, r_high = (ball(number) for number in box)
    high = Moebius(1 - q_low, q_high, r_low, 1 - r_high).after_factor(ratio)
    low = Moebius(1 - q_high, q_low, r_high, 1 - r_low)
    slowest = Moebius(1 - q_low, q_low, r_low, 1 - r_low).after_factor(ratio)
    sides = [slowest.attractor.log()]
    starts = (
        ((1 - q_low) / r_low, (1 - q_high) / r_high),
        (q_high / (1 - r_high), q_low / (1 - r_low)),
    )
    for value, (odds, prior) in enumerate(starts):
        track = Track(value, 1, 1, Orbit(high, odds), Orbit(low, prior), turns_once=False)
        sides.append(_highest(track, (best - float(emission)) / 2))
    return emission + 2 * largest(sides)


def _highest(track: Track, floor: float) -> arb:
    """Upper bound on a track at every distance; its odds and prior are monotone.

    Where the track stays below ``floor``, that is all that is found out.
    """
    end = horizon(track, ctx.prec / 3)
    # The scale of what is searched for: a tenth of the tolerance of the boxes.
    scale = arb(TOLERANCE / 10 / 1e-11)
    peak = Pair(track, None, end).maximum(0, end, scale, max(floor, 0.0))
    return larger(peak.upper, track.tail_bound(end))
