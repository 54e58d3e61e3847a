"""Loss over a box of two-state chains, certified by branch and bound over the box.

Over a box each step of the odds is bounded by the corner that leads furthest, so one scan
bounds all chains of the box at once. Small boxes are bounded tightly; boxes whose bound exceeds
the largest loss found are cut in two.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import replace

from chainveil.errors import NotSupported
from chainveil.model.chain import MarkovChain
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.memory.layout import Layout, layout
from chainveil.privacy.memory.loss import KINDS, rounded_up
from chainveil.privacy.memory.loss import loss as chain_loss
from chainveil.privacy.memory.sides import Side
from chainveil.privacy.memory.window import logarithms, together
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss, RegionLoss

# How far the bounds may be apart, and how many boxes may be looked at.
TOLERANCE = 5e-7
MAX_BOXES = 3_000

# A box: least and largest q, least and largest r.
Box = tuple[float, float, float, float]


def loss(problem: Problem) -> RegionLoss:
    """The largest loss of any chain in the region, from above and from below.

    For a given length the upper bound is that of all lengths.
    """
    region = problem.region
    _check(problem)
    labels = layout(problem.releases, problem.gaps)
    corner = MarkovChain.binary(*region.slowest)
    best, chain = chain_loss(problem.on(corner)), corner
    heap: list[tuple[float, Box]] = []
    _push(heap, (*region.q, *region.r), labels, problem)
    for _ in range(MAX_BOXES):
        bound, box = heap[0]
        if -bound <= best.epsilon + TOLERANCE or math.isinf(best.epsilon):
            break
        heapq.heappop(heap)
        for half in _halves(box):
            _push(heap, half, labels, problem)
        here = MarkovChain.binary(box[0], box[2])
        found = chain_loss(replace(problem.on(here), length=problem.length))
        if found.lower > best.lower:
            best, chain = found, here
    return _result(best, max(best.epsilon, -heap[0][0]), chain)


def _result(best: PrivacyLoss, epsilon: float, chain: MarkovChain) -> RegionLoss:
    return RegionLoss(epsilon, best.lower, best.witness, best.adversary, best.length, chain)


def _check(problem: Problem) -> None:
    region = problem.region
    if region.q[1] + region.r[1] >= 1:
        raise NotSupported(
            f"region: found q up to {region.q[1]:g} and r up to {region.r[1]:g}; regions are "
            "offered where q + r stays below 1."
        )
    if isinstance(problem.adversary, Adversary) or problem.adversary == "informed":
        raise NotSupported('adversary: over a region "any" and "ignorant" are offered here.')
    if problem.event != 1:
        raise NotSupported("event: over a region a secret of one point is offered.")


def _push(heap: list[tuple[float, Box]], box: Box, labels: Layout, problem: Problem) -> None:
    heapq.heappush(heap, (-box_bound(box, labels, problem), box))


def box_bound(box: Box, labels: Layout, problem: Problem) -> float:
    """Upper bound on the loss of every chain of the box, for every length."""
    q_low, q_high, r_low, r_high = box
    corners = ((q_low, r_low), (q_low, r_high), (q_high, r_low), (q_high, r_high))
    kinds = KINDS[str(problem.adversary)]
    sides = (Side(labels, corners, (0.5, 0.5), left).scan(kinds) for left in (True, False))
    reaches = list(sides)
    if not all(reach.met for reach in reaches):
        return math.inf
    past, future = (logarithms(reach.upper) for reach in reaches)
    return rounded_up(float(together(past, future).max()), 1)


def _halves(box: Box) -> tuple[Box, Box]:
    """Cut where the box is longest, in proportion."""
    q_low, q_high, r_low, r_high = box
    if q_high / q_low >= r_high / r_low:
        middle = math.sqrt(q_low * q_high)
        return (q_low, middle, r_low, r_high), (middle, q_high, r_low, r_high)
    middle = math.sqrt(r_low * r_high)
    return (q_low, q_high, r_low, middle), (q_low, q_high, middle, r_high)
