"""Loss over a box of two-state chains, certified by branch and bound over the box.

Over a box each step is bounded by the corner that leads furthest, so one scan bounds all chains
of the box at once. Small boxes are bounded tightly; boxes whose bound exceeds
the largest loss found are cut in two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
from chainveil.privacy.memory.sides import Side
from chainveil.privacy.memory.window import logarithms, together
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss

# How many boxes may be looked at.
MAX_BOXES = 3_000
# Steps that one box may take: a large one that does not settle is cut in two.
MOST_STEPS = 10_000_000
# How close the bound on what was not walked must come, as a ratio.
TAILS_WITHIN = 1e-9


def loss(problem: Problem) -> PrivacyLoss:
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
    return float(box_bounds([box], labels, problem)[0])


def box_bounds(
    boxes: Sequence[Box], labels: Layout, problem: Problem, within: float = TAILS_WITHIN
) -> FloatArray:
    """As :func:`box_bound` of each box, shape (boxes,); infinite where none is found.

    ``within``: how close the bound on what was not walked must come, as a ratio.
    """
    q_low, q_high, r_low, r_high = np.array(boxes).T
    corners = np.array([[q_low, q_low, q_high, q_high], [r_low, r_high, r_low, r_high]]).T
    kinds = KINDS[str(problem.adversary)]
    past, future = (_told(labels, corners, left, kinds, within) for left in (True, False))
    # What was not found is NaN, and what is impossible zero.
    missing = np.isnan(past).any(axis=(1, 2, 3)) | np.isnan(future).any(axis=(1, 2, 3))
    worst = together(logarithms(past), logarithms(future)).max(axis=(1, 2, 3))
    rounded = [rounded_up(log, 1) for log in worst.tolist()]
    return np.where(missing, math.inf, rounded)


def _told(
    labels: Layout, corners: FloatArray, left: bool, kinds: tuple[int, ...], within: float
) -> FloatArray:
    """No less than what one side tells, shape (boxes, period, labels, 2); NaN where not found.

    ``corners``: q and r of each box, shape (boxes, 4, 2). Messages are given the state of the
    nearer point, so the series begins with even odds, in all boxes alike.
    """
    q, r = corners[..., 0], corners[..., 1]
    side = Side(labels, ((q[0, 0], r[0, 0]),), (0.5, 0.5), left)
    begins = side.begins(kinds)
    low, high, prior = (np.array(part) for part in zip(*(b.interval for b in begins), strict=True))
    prior[-1] = 0.0, np.inf
    phases = np.array([side.first_phase(begin.time) for begin in begins])
    plain = np.stack([1 - q, r, q, 1 - r], axis=-1)
    factor = labels.factor if left else labels.factor.swapaxes(1, 2)
    steps = np.ascontiguousarray(plain[:, :, None] * factor.reshape(-1, 4))
    work = len(begins) * max(1, len(labels.source) // labels.period)
    told = np.zeros((len(corners), labels.period, labels.labels, 2))
    for box in range(len(corners)):
        met = scan_box(
            steps[box], plain[box], *side.ways, labels.offsets, side.stride, phases.copy(),
            low.copy(), high.copy(), prior.copy(), MOST_STEPS // work, within, told[box],
        )  # fmt: skip
        if not met:
            told[box] = np.nan
    return told
