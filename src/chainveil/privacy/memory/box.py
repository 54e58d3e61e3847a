"""Loss over a box of two-state chains, certified by branch and bound over the box.

Over a box each step is bounded by the corner that leads furthest, so one scan bounds all chains
of the box at once. Small boxes are bounded tightly; boxes whose bound exceeds
the largest loss found are cut in two.
"""

from __future__ import annotations

import math

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.model.chain import MarkovChain
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.boxes import TOLERANCE, Box, result, search
from chainveil.privacy.memory.box_kernel import scan_box
from chainveil.privacy.memory.layout import Layout, layout
from chainveil.privacy.memory.loss import KINDS, rounded_up
from chainveil.privacy.memory.loss import loss as chain_loss
from chainveil.privacy.memory.sides import Corner, Side
from chainveil.privacy.memory.window import logarithms, together
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import RegionLoss

# How many boxes may be looked at.
MAX_BOXES = 3_000
# Steps that one box may take: a large one that does not settle is cut in two.
MOST_STEPS = 10_000_000
# How close the bound on what was not walked must come, as a ratio.
TAILS_WITHIN = 1e-9


def loss(problem: Problem) -> RegionLoss:
    """The largest loss of any chain in the region, from above and from below.

    For a given length the upper bound is that of all lengths.
    """
    region = problem.region
    _check(problem)
    labels = layout(problem.releases, problem.gaps)
    corner = MarkovChain.binary(*region.slowest)
    best = chain_loss(problem.on(corner))
    if math.isinf(best.epsilon):
        return result(best, best.epsilon, corner)
    return search(
        region, best, corner, lambda box, _: box_bound(box, labels, problem),
        lambda at: chain_loss(problem.on(at)), MAX_BOXES,
        max(TOLERANCE, problem.effort.tolerance / 2),
    )  # fmt: skip


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


def box_bound(box: Box, labels: Layout, problem: Problem) -> float:
    """Upper bound on the loss of every chain of the box, for every length."""
    q_low, q_high, r_low, r_high = box
    corners = ((q_low, r_low), (q_low, r_high), (q_high, r_low), (q_high, r_high))
    kinds = KINDS[str(problem.adversary)]
    sides = [_told(labels, corners, left, kinds) for left in (True, False)]
    if any(told is None for told in sides):
        return math.inf
    past, future = (logarithms(told) for told in sides if told is not None)
    return rounded_up(float(together(past, future).max()), 1)


def _told(
    labels: Layout, corners: tuple[Corner, ...], left: bool, kinds: tuple[int, ...]
) -> FloatArray | None:
    """No less than what one side tells, shape (period, labels, 2); None where that is not found.

    Messages are given the state of the nearer point, so the series begins with even odds.
    """
    side = Side(labels, corners[:1], (0.5, 0.5), left)
    begins = side.begins(kinds)
    low, high, prior = (np.array(part) for part in zip(*(b.interval for b in begins), strict=True))
    prior[-1] = 0.0, np.inf
    phases = np.array([side.first_phase(begin.time) for begin in begins])
    plain = np.array([[1 - q, r, q, 1 - r] for q, r in corners])
    factor = labels.factor if left else labels.factor.swapaxes(1, 2)
    steps = np.ascontiguousarray(plain[:, None] * factor.reshape(-1, 4))
    work = len(begins) * max(1, len(labels.source) // labels.period)
    told = np.zeros((labels.period, labels.labels, 2))
    met = scan_box(
        steps, plain, *side.ways, labels.offsets, side.stride, phases, low, high, prior,
        MOST_STEPS // work, TAILS_WITHIN, told,
    )  # fmt: skip
    return told if met else None
