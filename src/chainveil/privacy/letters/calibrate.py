"""Least noise for chains with k states, within a family of channels or of sticky response.

The families are randomized response (one flip probability), ordinal noise (one decay), and
randomized response with a flip probability of its own for each state; sticky response repeats
the last report with some probability and answers afresh by one of these otherwise. The privacy
of the answer is certified. That it is the least of its family is found by search: proved up to the
search's tolerance for randomized response on every point, where more noise is a processing of
less; seen, not proved, for the others.

A family with one number is solved by its root. With several numbers, attacks are collected:
the numbers are chosen so that no attack so far exceeds the budget, the loss of the result names a
new attack, and so on. What is left over the budget at the end is taken back by more noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.model.base import DataModel
from chainveil.noise.base import Noise
from chainveil.noise.channel import Channel
from chainveil.noise.memory import StickyNoise
from chainveil.noise.wrong import mean_distance, wrong_share
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.letters.loss import loss as loss_of
from chainveil.privacy.problem import Aim, Effort, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss

# Shares of the budget: how close losses come while noise is looked for, and at the end.
COARSE, LOOKING, CERTIFYING = 0.02, 2e-4, 1e-8
LOOKING_NODES, CERTIFYING_NODES = 200_000, 60_000
# How far below the budget the certified loss may end, as a share of it, where bounds meet.
CLOSE = 6e-4
# Attacks that are collected at most, and the share of the last gain that is not worth another.
MOST_ATTACKS, WORTH = 24, 1e-4
# Rhythms that are tried for every="best", before those next to the best of them.
RHYTHMS = (1, 2, 3, 5, 7, 11, 15, 21, 31, 45, 63)

Numbers = FloatArray


@dataclass(frozen=True)
class Shape:
    """A family as numbers between 0 and 1, larger ones hiding more.

    ``make`` turns them into noise; ``start`` are numbers to begin with, all of which are raised
    together to hide more.
    """

    make: Callable[[Numbers], Noise]
    size: int
    starts: tuple[tuple[float, ...], ...]


def least_noise(problem: Problem, aim: Aim) -> Calibrated:
    """The channel of least noise in the family within the budget, and its certified loss."""
    return _best_rhythm(problem, aim, False)


def least_sticky(problem: Problem, aim: Aim) -> Calibrated:
    """Sticky response of least noise within the budget, and its certified loss."""
    return _best_rhythm(problem, aim, True)


def _best_rhythm(problem: Problem, aim: Aim, sticky: bool) -> Calibrated:
    _check(problem, aim)
    if aim.every != "best":
        return _least(problem, aim, int(aim.every), sticky)
    limit = problem.length or math.inf
    tried: dict[int, Calibrated] = {}

    def look(every: int) -> float:
        if every not in tried:
            tried[every] = _least(problem, aim, every, sticky)
        return cost(problem.model, tried[every].noise, aim)

    best, worse = math.inf, 0
    for every in (rhythm for rhythm in RHYTHMS if rhythm <= max(1, limit)):
        value = look(every)
        worse = 0 if value < best else worse + 1
        best = min(best, value)
        if worse == 2:
            break
    found = min(tried, key=look)
    for every in (found - 2, found - 1, found + 1, found + 2):
        if 1 <= every <= limit:
            look(every)
    return tried[min(tried, key=look)]


def _check(problem: Problem, aim: Aim) -> None:
    if aim.max_noise != 0.5:
        raise InvalidInput(
            "max_noise", aim.max_noise, "0.5, the default, for more than two states",
            "Noise levels of more than two states have no limit of their own.",
        )  # fmt: skip
    if problem.event != 1 or aim.delay not in (0, "best"):
        raise NotSupported("event, delay: with more than two states a secret is one point, at once")
    if aim.objective == "decoded":
        raise NotSupported('objective: "decoded" is offered for two states; use "flips"')
    kinds = {noise.every for noise in problem.releases}
    if problem.releases and kinds != {aim.every}:
        raise NotSupported(
            "every, spent: with more than two states all releases report equally often"
        )


def _least(problem: Problem, aim: Aim, every: int, sticky: bool) -> Calibrated:
    quest = _Quest(problem, aim)
    if problem.releases and not quest.leaves_room():
        raise UnreachableBudget(
            f"spent: the earlier releases use up epsilon = {aim.epsilon!r}; nothing is left for "
            "another"
        )
    plain = _shapes(problem.model.states, aim.family, every)
    if not sticky:
        return quest.best(plain)
    return quest.best([_sticky(shape, every) for shape in plain])


def _shapes(k: int, family: str, every: int) -> list[Shape]:
    """The channels of a family; per-state holds randomized response as well."""
    most = (k - 1) / k

    def response(numbers: Numbers) -> Noise:
        return Channel.randomized_response(k, most * float(numbers[0])).thinned(every)

    def ordinal(numbers: Numbers) -> Noise:
        return Channel.ordinal(k, float(numbers[0])).thinned(every)

    def by_state(numbers: Numbers) -> Noise:
        return Channel.per_state_response(most * numbers).thinned(every)

    if family == "ordinal":
        return [Shape(ordinal, 1, ((0.5,),))]
    found = [Shape(response, 1, ((0.5,),))]
    if family == "per-state":
        found.append(Shape(by_state, k, ((0.5,) * k,)))
    return found


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

    starts = tuple((*start, repeat, 0.8) for start in shape.starts for repeat in (0.5, 0.85))
    return Shape(make, shape.size + 2, starts)


def cost(model: DataModel, noise: Noise, aim: Aim) -> float:
    """What an objective counts: wrong reports, mean flip probability, or mean distance."""
    if aim.objective == "distance":
        return float(mean_distance(noise, model))
    if aim.objective == "estimate" and noise.sees == "point":
        return float(noise.flip_probabilities.mean())  # type: ignore[attr-defined]
    return float(wrong_share(noise, model))


class _Quest:
    """The search for one family."""

    def __init__(self, problem: Problem, aim: Aim) -> None:
        self.problem, self.aim = problem, aim
        epsilon = aim.epsilon
        self.coarse = Effort(min(max(COARSE * epsilon, 1e-9), 1.0), LOOKING_NODES)
        self.looking = Effort(min(max(LOOKING * epsilon, 1e-9), 1.0), LOOKING_NODES)
        self.certifying = Effort(min(max(CERTIFYING * epsilon, 1e-9), 1.0), CERTIFYING_NODES)

    def loss(self, noise: Noise, effort: Effort) -> PrivacyLoss:
        """Of this noise together with the earlier releases."""
        return loss_of(replace(self.problem.with_release(noise), effort=effort))

    def _near(self, noise: Noise) -> PrivacyLoss:
        """The loss, as closely as it takes to see on which side of the budget it lies."""
        found = self.loss(noise, self.coarse)
        away = max(found.lower / self.aim.epsilon - 1, 1 - found.epsilon / self.aim.epsilon)
        return found if away > 4 * COARSE else self.loss(noise, self.looking)

    def leaves_room(self) -> bool:
        """Whether the earlier releases alone are within the budget."""
        return loss_of(replace(self.problem, effort=self.looking)).lower < self.aim.epsilon

    def best(self, shapes: Sequence[Shape]) -> Calibrated:
        """The best of the best of each shape."""
        found = [
            self._certified(shape, numbers)
            for shape in shapes
            for numbers in self._candidates(shape)
        ]
        return min(found, key=lambda one: cost(self.problem.model, one.noise, self.aim))

    def _candidates(self, shape: Shape) -> list[Numbers]:
        starts = [np.array(start) for start in shape.starts]
        if shape.size == 1:
            return starts
        return [self._collected(shape, starts)]

    def _certified(self, shape: Shape, numbers: Numbers) -> Calibrated:
        """The least move towards hiding everything with which the certified loss fits.

        The move t in (-inf, inf) multiplies what the numbers are short of one by exp(-t).
        """
        epsilon = self.aim.epsilon
        kept: list[Calibrated] = []

        def excess(move: float) -> float:
            noise = shape.make(_moved(numbers, move)).on_grid()
            found = self._near(noise)
            if found.epsilon <= epsilon:
                kept.append(Calibrated(noise, found))
            return math.log(max(found.epsilon / epsilon, 1e-9))

        low, high = _bracket(excess)
        for _ in range(40):
            if -high[1] <= CLOSE or high[0] - low[0] < 1e-9:
                break
            middle = _between(low, high)
            value = excess(middle)
            low, high = ((middle, value), high) if value > 0 else (low, (middle, value))
        best = min(kept, key=lambda one: cost(self.problem.model, one.noise, self.aim))
        sharper = self.loss(best.noise, self.certifying)
        return Calibrated(
            best.noise, sharper if sharper.epsilon <= best.loss.epsilon else best.loss
        )

    def _collected(self, shape: Shape, starts: list[Numbers]) -> Numbers:
        """Numbers that keep the budget against the attacks that were found on the way."""
        attacks = Attacks(self.problem.chain, self.problem.releases)
        best, least = starts[0], math.inf
        for start in starts:
            numbers, before = start, math.inf
            for _ in range(MOST_ATTACKS):
                noise = shape.make(numbers).on_grid()
                found = self.loss(noise, self.looking)
                if found.witness is not None:
                    attacks.add(found.witness)
                fits = found.epsilon <= self.aim.epsilon * (1 + 5 * LOOKING)
                value = cost(self.problem.model, noise, self.aim)
                if fits and value < least:
                    best, least = numbers, value
                if fits and before - value < WORTH:
                    break
                before = value
                numbers = self._against(shape, attacks, numbers)
        return best

    def _against(self, shape: Shape, attacks: Attacks, numbers: Numbers) -> Numbers:
        """The cheapest numbers with which no attack that is known exceeds the budget."""
        from scipy.optimize import minimize

        def goal(x: Numbers) -> float:
            return cost(self.problem.model, shape.make(x), self.aim)

        def room(x: Numbers) -> FloatArray:
            return 1 - attacks.values([shape.make(x)])[:, 0] / self.aim.epsilon

        def slopes(x: Numbers) -> FloatArray:
            step = np.where(x < 0.5, 1e-6, -1e-6)
            moved = [shape.make(x + step * unit) for unit in np.eye(len(x))]
            values = attacks.values([shape.make(x), *moved])
            return -(values[:, 1:] - values[:, :1]) / step / self.aim.epsilon

        found = minimize(
            goal, numbers, method="SLSQP", bounds=[(1e-6, 1 - 1e-6)] * shape.size,
            constraints=[{"type": "ineq", "fun": room, "jac": slopes}],
            options={"maxiter": 60, "ftol": 1e-8},
        )  # fmt: skip
        return np.asarray(np.clip(found.x, 1e-6, 1 - 1e-6))


def _moved(numbers: Numbers, move: float) -> Numbers:
    """All numbers nearer to hiding everything by the factor exp(-move), or further from it."""
    return np.asarray(np.clip(1 - (1 - numbers) * math.exp(-move), 1e-9, 1.0))


def _bracket(excess: Callable[[float], float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Two moves between which the loss crosses the budget: too little, and enough."""
    value = excess(0.0)
    # The loss falls about as what is kept does: the log of its excess is the move to make.
    here, step = (0.0, value), 0.02 + abs(value)
    if value > 0:
        while True:
            there = here[0] + step
            value = excess(there)
            if value <= 0:
                return here, (there, value)
            if there > 60:
                raise UnreachableBudget(
                    "epsilon: no noise of this family could be certified on this chain; the "
                    "search for the worst attack does not close. Try another family."
                )
            here, step = (there, value), 2 * step
    while True:
        there = here[0] - step
        if there < -0.68:
            there = min(here[0] - 0.3 * step, -0.68)
        value = excess(there)
        if value > 0 or there < -30:
            return (there, value), here
        here, step = (there, value), 2 * step


def _between(low: tuple[float, float], high: tuple[float, float]) -> float:
    """Where the straight line meets a little below the budget, kept inside the bracket."""
    width = high[0] - low[0]
    rise = low[1] - high[1]
    share = 0.5 if not math.isfinite(rise) else (low[1] + CLOSE / 2) / max(rise, 1e-12)
    return low[0] + width * min(max(share, 0.05), 0.95)
