"""Upper bounds on the losses of many boxes of two-state chains under noise that remembers.

Each box is bounded by one scan (``box.box_bounds``), without looking for the chain that attains
it: for narrow boxes the bound is above the largest loss by little more than their width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.boxes import Box
from chainveil.privacy.memory import box
from chainveil.privacy.memory.layout import layout
from chainveil.privacy.memory.loss import KINDS
from chainveil.privacy.problem import Problem

# How close bounds on what was not walked must come, as a ratio: far less than boxes are wide.
TAILS_WITHIN = 1e-4


def offered(problem: Problem) -> bool:
    """Whether boxes are bounded: a secret of one point, adversaries that are a model."""
    return problem.event == 1 and problem.adversary in KINDS and problem.model.states == 2


def box_bounds(boxes: Sequence[Box], problem: Problem) -> FloatArray:
    """A bound for every chain of each box and every length; infinite where q + r reaches 1."""
    labels = layout(problem.releases, problem.gaps)
    found = np.full(len(boxes), math.inf)
    some = [place for place, (_, q, _, r) in enumerate(boxes) if q + r < 1]
    if some:
        found[some] = box.box_bounds([boxes[at] for at in some], labels, problem, TAILS_WITHIN)
    return found
