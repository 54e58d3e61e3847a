"""Upper bounds on the losses of many boxes of two-state chains under noise that remembers.

Each box is bounded by one scan (``box.box_bound``), without looking for the chain that attains
it: for narrow boxes the bound is above the largest loss by little more than their width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.boxes import Box
from chainveil.privacy.memory.box import box_bound
from chainveil.privacy.memory.layout import layout
from chainveil.privacy.memory.loss import KINDS
from chainveil.privacy.problem import Problem


def offered(problem: Problem) -> bool:
    """Whether boxes are bounded: a secret of one point, adversaries that are a model."""
    return problem.event == 1 and problem.adversary in KINDS and problem.model.states == 2


def box_bounds(boxes: Iterable[Box], problem: Problem) -> FloatArray:
    """A bound for every chain of each box and every length; infinite where q + r reaches 1."""
    labels = layout(problem.releases, problem.gaps)
    return np.array([
        box_bound(box, labels, problem) if box[1] + box[3] < 1 else math.inf for box in boxes
    ])  # fmt: skip
