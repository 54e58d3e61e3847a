"""Least noise for chains with k states, within a family of channels or of sticky response.

The families are randomized response (one flip probability), ordinal noise (one decay), and
randomized response with a flip probability of its own for each state; sticky response repeats
the last report with some probability and answers afresh by one of these otherwise. The privacy
of the answer is certified. That it is the least of its family is found by search: proved up to the
search's tolerance for randomized response on every point, where more noise is a processing of
less; seen, not proved, for the others.

``quest`` says how the numbers of a family are found.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import NotSupported
from chainveil.noise.base import Noise
from chainveil.noise.channel import Channel
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.letters.loss import Closing
from chainveil.privacy.letters.losses import Losses
from chainveil.privacy.letters.quest import Quest
from chainveil.privacy.letters.rhythms import Rhythms
from chainveil.privacy.letters.shapes import Numbers, Shape
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated

# A plan that leaves less of the budget, as a share of it, has used it up; series of so many points
# are much like those of every length.
USED_UP, LONG = 1e-4, 64
# Probabilities to repeat with which the search for sticky response begins.
REPEATS = (0.5, 0.85)


def _one(level: float) -> list[tuple[float, ...]]:
    """The start of a shape of one number."""
    return [(level,)]


def least_noise(problem: Problem, aim: Aim) -> Calibrated:
    """The channel of least noise in the family within the budget, and its certified loss."""
    return _best_rhythm(problem, aim, False)


def least_sticky(problem: Problem, aim: Aim) -> Calibrated:
    """Sticky response of least noise within the budget, and its certified loss."""
    return _best_rhythm(problem, aim, True)


def _best_rhythm(problem: Problem, aim: Aim, sticky: bool) -> Calibrated:
    _check(problem, aim)
    if aim.every != "auto":
        return _least(problem, aim, int(aim.every), sticky)

    def quest(every: int) -> Quest:
        return Quest(Losses(problem, aim, Closing, every=every))

    quest(1).check_room()
    shapes = partial(family, problem.model.states, aim.shape, sticky=sticky)
    if _never_fades(problem):
        return quest(1).nothing(shapes(1)[0])
    return Rhythms(quest, shapes, problem.length or math.inf).best()


def _check(problem: Problem, aim: Aim) -> None:
    if problem.unit != 1:
        raise NotSupported("unit: with more than two states it is one point")
    if aim.objective == "smoothed":
        raise NotSupported('objective: "smoothed" is offered for two states; use "wrong-reports"')
    kinds = {noise.every for noise in problem.releases}
    if problem.releases and kinds != {aim.every}:
        raise NotSupported(
            "every, earlier: with more than two states all releases report equally often"
        )


def _least(problem: Problem, aim: Aim, every: int, sticky: bool) -> Calibrated:
    quest = Quest(Losses(problem, aim, Closing, every=every))
    quest.check_room()
    shapes = family(problem.model.states, aim.shape, every, sticky)
    if _never_fades(problem):
        return quest.nothing(shapes[0])
    found = quest.best(shapes)
    if problem.length is None:
        return found
    # With several numbers the search may end elsewhere for every length, and better.
    sure = problem.length < LONG or all(shape.size == 1 for shape in shapes)
    if sure and found.loss.epsilon >= aim.epsilon * (1 - USED_UP):
        return found
    # Bounds for series of this length did not come close, and those for every length may have.
    endless = _least(replace(problem, length=None), aim, every, sticky)
    return quest.better(found, endless)


def _never_fades(problem: Problem) -> bool:
    """Whether every report tells something of every point, however far away it is.

    The points of a periodic chain lie in classes that follow each other in turn: the class of one
    gives away that of all others, so that over all lengths no noise that tells anything has a
    finite loss. Only who knows all other points learns nothing from them.
    """
    chain = problem.chain
    if problem.length is not None or chain.initial is not None:
        return False
    return problem.adversary in ("any", "ignorant") and _period(chain.transition > 0) > 1


def _period(step: NDArray[np.bool_]) -> int:
    """Period of an irreducible chain: the greatest common divisor of the lengths of its cycles."""
    depth = np.full(len(step), -1)
    depth[0], front, period = 0, [0], 0
    while front:
        x = front.pop()
        for y in np.flatnonzero(step[x]):
            if depth[y] < 0:
                depth[y] = depth[x] + 1
                front.append(int(y))
            period = math.gcd(period, int(depth[x] + 1 - depth[y]))
    return period


def family(k: int, shape: str, every: int, sticky: bool) -> list[Shape]:
    """What is looked through: channels of a family, or sticky response with them."""
    plain = _shapes(k, shape, every)
    if not sticky:
        return plain
    # Those that repeat with probability zero are never worse than independent noise.
    return [*map(_without_memory, plain), *(_sticky(shape, every) for shape in plain)]


def _shapes(k: int, shape: str, every: int) -> list[Shape]:
    """The channels of a family; per-state holds randomized response as well."""
    most = (k - 1) / k

    def response(numbers: Numbers) -> Noise:
        return Channel.randomized_response(k, most * float(numbers[0])).thinned(every)

    def ordinal(numbers: Numbers) -> Noise:
        return Channel.ordinal(k, float(numbers[0])).thinned(every)

    def by_state(numbers: Numbers) -> Noise:
        return Channel.per_state_response(most * numbers).thinned(every)

    if shape == "ordinal":
        return [Shape(ordinal, 1, _one, 1)]
    found = [Shape(response, 1, _one, 1)]
    if shape == "per-state":
        found.append(Shape(by_state, k, lambda level: [(level,) * k], k))
    return found


def _without_memory(shape: Shape) -> Shape:
    """The channels of a shape as sticky noise that never repeats its last report."""

    def make(numbers: Numbers) -> Noise:
        channel = shape.make(numbers).on_grid()
        law = channel.first_law()
        return StickyNoise(np.tile(law, (channel.outputs, 1, 1)), law, channel.every)

    return Shape(make, shape.size, shape.starts, shape.size)


def _sticky(shape: Shape, every: int) -> Shape:
    """Sticky response whose fresh answers are of a shape; two more numbers.

    They are the probability to repeat, and how much more the first report hides than a
    fresh answer does: at the first report there is nothing to repeat.
    """

    def make(numbers: Numbers) -> Noise:
        answer, first = numbers[: shape.size], numbers[shape.size + 1]
        later = shape.make(answer).thinned(1)
        start = shape.make(answer + (1 - answer) * first).thinned(1)
        return StickyNoise.response(float(numbers[shape.size]), later, start, every)  # type: ignore[arg-type]

    def starts(level: float) -> list[tuple[float, ...]]:
        return [(*start, repeat, 0.8) for start in shape.starts(level) for repeat in REPEATS]

    return Shape(make, shape.size + 2, starts, shape.size)
