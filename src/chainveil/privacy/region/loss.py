"""Loss over a box of two-state chains, certified by branch and bound over the box.

Over a box each step of the odds is bounded by a Möbius map that takes every entry at its
worst end, so a track (``tracks``) whose posterior runs high and whose prior runs low bounds
all chains of the box at once. Small boxes are bounded tightly; boxes whose bound exceeds
the largest loss found are cut in two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, ctx

from chainveil.errors import NotSupported
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.boxes import TOLERANCE, Box, result, search
from chainveil.privacy.precision import PrecisionExhausted, with_enough_bits
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.rounding import up
from chainveil.privacy.two_state import search as track_search
from chainveil.privacy.two_state.loss import loss as chain_loss
from chainveil.privacy.two_state.moebius import Moebius, Orbit
from chainveil.privacy.two_state.search import Pair, horizon
from chainveil.privacy.two_state.setting import read_setting
from chainveil.privacy.two_state.tracks import Track, ball, larger, largest

# How many boxes may be looked at.
MAX_BOXES = 5_000
# The scale of the search along a track: a tenth of the tolerance of the boxes.
SCALE = TOLERANCE / 10 / track_search.TOLERANCE

FractionBox = tuple[Fraction, Fraction, Fraction, Fraction]


def solves(problem: Problem) -> bool:
    """A box of two-state chains, every report on its own."""
    two_states = not problem.model.single and problem.model.states == 2
    return two_states and not problem.ordered and problem.plain


def loss(problem: Problem) -> PrivacyLoss:
    """The largest loss of any chain in the region, from above and from below.

    Against any adversary and for a given length, the upper bound is that of all lengths.
    """
    region, adversary = problem.region, problem.adversary
    _check(region, adversary)
    corner = MarkovChain.binary(*region.slowest)
    slowest = chain_loss(problem.on(corner))
    if adversary != "any" or slowest.epsilon in (0.0, float("inf")):
        # One point alone, or nothing known, where the loss falls in q and in r
        # (docs/uncertain-chains.md): the slowest chain is the worst.
        return result(slowest, slowest.epsilon, corner)
    if problem.length is not None:
        everywhere = loss(replace(problem, length=None))
        return result(slowest, everywhere.epsilon, corner)

    def bound(box: Box, best: float) -> float:
        found: float = with_enough_bits(lambda: box_bound(box, problem.channel, best))
        return found

    return search(region, slowest, corner, bound, lambda at: chain_loss(problem.on(at)), MAX_BOXES)


def _check(region: ChainRegion, adversary: AdversaryName | Adversary) -> None:
    if Fraction(region.q[1]) + Fraction(region.r[1]) >= 1:
        raise NotSupported(
            f"region: found q up to {region.q[1]:g} and r up to {region.r[1]:g}; regions are "
            "offered where q + r stays below 1."
        )
    if isinstance(adversary, Adversary):
        raise NotSupported("adversary: over a region only the models are offered, not a named one.")


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
    return float(up(larger(*directions)))


def _direction_bound(box: FractionBox, ratio: arb, best: float) -> arb:
    """Bound on the log of 0 over 1, where ``ratio`` is the largest of one output."""
    emission = larger(ratio.log(), arb(0))
    if not ratio > 1:
        return emission
    q_low, q_high, r_low, r_high = (ball(number) for number in box)
    ends = _Ends(q_low, q_high, r_low, r_high, ratio)
    floor = (best - float(emission)) / 2
    sides = [ends.slowest.attractor.log(), _agreeing(ends, floor), _contradicting(ends, floor)]
    return emission + 2 * largest(sides)


@dataclass(frozen=True)
class _Ends:
    """The ends of a box as balls, and the steps of the odds there.

    phi(t) = ((1-q) t + q) / (r t + 1 - r) falls in q and in r where t > 1 and rises where
    t < 1, so one corner of the box bounds it on either side of 1.
    """

    q_low: arb
    q_high: arb
    r_low: arb
    r_high: arb
    ratio: arb

    @property
    def slow(self) -> Moebius:
        """One step of prior odds at the corner of the least q and r."""
        return Moebius(1 - self.q_low, self.q_low, self.r_low, 1 - self.r_low)

    @property
    def fast(self) -> Moebius:
        """One step of prior odds at the corner of the largest q and r."""
        return Moebius(1 - self.q_high, self.q_high, self.r_high, 1 - self.r_high)

    @property
    def slowest(self) -> Moebius:
        """One step of posterior odds at the corner of the least q and r."""
        return self.slow.after_factor(self.ratio)


def _agreeing(ends: _Ends, floor: float) -> arb:
    """A known 0: all odds are above 1; the posterior is highest where the chain is slow."""
    odds = Orbit(ends.slowest, (1 - ends.q_low) / ends.r_low)
    prior = Orbit(ends.fast, (1 - ends.q_high) / ends.r_high)
    return _highest(Track(0, 1, 1, odds, prior, turns_once=False), floor)


def _contradicting(ends: _Ends, floor: float) -> arb:
    """A known 1: the prior stays below 1; the posterior passes 1 and changes corners there."""
    start = ends.q_high / (1 - ends.r_high)
    odds = Orbit(ends.fast.after_factor(ends.ratio), start)
    prior = Orbit(ends.slow, ends.q_low / (1 - ends.r_low))
    below = _steps_below_one(odds, ends.ratio)
    values = []
    if below > 0:
        track = Track(1, 1, 1, odds, prior, turns_once=False)
        values.append(Pair(track, None, below).maximum(0, below, arb(SCALE), max(floor, 0.0)).upper)
    value, k = odds(below), below
    # Around 1 a step that takes every entry at its worst end holds on both sides.
    worst = Moebius(1 - ends.q_low, ends.q_high, ends.r_low, 1 - ends.r_high)
    while not ends.ratio * value >= 1:
        value, k = worst(ends.ratio * value), k + 1
        values.append((value / prior(k)).log())
        if k > below + 64:
            raise PrecisionExhausted
    later = Track(1, 1, 1, Orbit(ends.slowest, value), Orbit(ends.slow, prior(k)), turns_once=False)
    return largest([*values, _highest(later, floor)])


def _steps_below_one(odds: Orbit, ratio: arb) -> int:
    """How many steps certainly begin with ``ratio * odds`` up to 1; the odds rise."""

    def stays(k: int) -> bool:
        return bool(ratio * odds(k) <= 1)

    if not stays(0):
        return 0
    low, high = 0, 1
    while stays(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if stays(middle) else (low, middle)
    return low + 1


def _highest(track: Track, floor: float) -> arb:
    """Upper bound on a track at every distance; its odds and prior are monotone.

    Where the track stays below ``floor``, that is all that is found out.
    """
    end = horizon(track, ctx.prec / 3)
    peak = Pair(track, None, end).maximum(0, end, arb(SCALE), max(floor, 0.0))
    return larger(peak.upper, track.tail_bound(end))
