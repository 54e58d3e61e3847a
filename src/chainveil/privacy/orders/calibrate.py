"""Least noise for chains of order 2 or more, within a family of channels or of sticky response.

The families are those of ``letters.calibrate``, and so is the search, also that for the best rhythm
of reports. The loss of the answer is certified. That it is the least of its family is found by
search, up to the tolerance of the losses: for randomized response more noise is a processing of
less and the loss falls in its level; for the others that is seen, not proved.
"""

from __future__ import annotations

import math
from functools import partial

from chainveil.errors import InvalidInput, NotSupported
from chainveil.privacy.letters.calibrate import family
from chainveil.privacy.letters.losses import Losses
from chainveil.privacy.letters.quest import Quest
from chainveil.privacy.letters.rhythms import Rhythms
from chainveil.privacy.orders.loss import Closing
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated

# How close losses come, as a share of the budget, and nodes at which they are given up: with sticky
# noise more of them are computed. For order 2, whose bounds mostly meet, order 3, and higher ones.
TOLERANCE = 5e-4, 3.5e-3, 3.5e-3
NODES, NODES_OF_STICKY = (130_000, 100_000, 150_000), (60_000, 60_000, 60_000)
# The longest rhythm that is tried: each place of a block has letters of its own.
LONGEST_RHYTHM = 511


def least_noise(problem: Problem, aim: Aim) -> Calibrated:
    """The channel of least noise in the family within the budget, and its certified loss."""
    return _least(problem, aim, False)


def least_sticky(problem: Problem, aim: Aim) -> Calibrated:
    """Sticky response of least noise within the budget, and its certified loss."""
    if problem.releases:
        raise NotSupported(
            "earlier: sticky noise after earlier releases is offered for order 1 alone"
        )
    return _least(problem, aim, True)


def _least(problem: Problem, aim: Aim, sticky: bool) -> Calibrated:
    _check(problem, aim)
    which = min(problem.model.order or 2, 4) - 2
    within, nodes = TOLERANCE[which], (NODES_OF_STICKY if sticky else NODES)[which]

    def quest(every: int) -> Quest:
        losses = Losses(problem, aim, _Closings(), within, nodes, every, rough=which > 0)
        return Quest(losses, within)

    shapes = partial(family, problem.model.states, aim.shape, sticky=sticky)
    quest(1).check_room()
    if aim.every == "auto":
        return Rhythms(quest, shapes, min(LONGEST_RHYTHM, problem.length or math.inf)).best()
    return quest(int(aim.every)).best(shapes(int(aim.every)))


class _Closings:
    """Losses of noise of one kind, one after the other."""

    def __init__(self) -> None:
        self._last: Closing | None = None

    def __call__(self, problem: Problem) -> Closing:
        self._last = Closing(problem, self._last)
        return self._last


def _check(problem: Problem, aim: Aim) -> None:
    if aim.objective != "wrong-reports":
        raise InvalidInput("objective", aim.objective, '"wrong-reports", for this model')
    if aim.every != 1 and problem.releases:
        raise NotSupported(
            "every, earlier: rare reports after earlier releases are for order 1 alone"
        )
