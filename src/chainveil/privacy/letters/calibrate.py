"""Least noise for chains with k states, within a family of channels or of sticky response.

The families are randomized response (one flip probability), ordinal noise (one decay), and
randomized response with a flip probability of its own for each state; sticky response repeats
the last report with some probability and answers afresh by one of these otherwise. The privacy
of the answer is certified. That it is the least of its family is found by search: proved up to the
search's tolerance for randomized response on every point, where more noise is a processing of
less; seen, not proved, for the others.

Attacks are collected. A family with one number takes the least noise with which no attack so far
exceeds the budget; the loss of that names a new attack, and so on, until the certified loss is
within the budget. With several numbers the cheapest are chosen in the same way; what is then left
over the budget is taken back by more noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.model.base import DataModel
from chainveil.noise.base import GRID, Noise
from chainveil.noise.channel import Channel
from chainveil.noise.memory import StickyNoise
from chainveil.noise.wrong import mean_distance, wrong_share
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.letters.loss import Closing
from chainveil.privacy.letters.loss import loss as loss_of
from chainveil.privacy.problem import Aim, Effort, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss

# Shares of the budget: how close losses come while noise is looked for, and at the end.
COARSE, LOOKING, CERTIFYING = 0.02, 2e-4, 1e-8
# Nodes that a loss may have while noise is looked for, and more of them to bring bounds together.
LOOKING_NODES, CERTIFYING_NODES = 200_000, 15_000
# How far below the budget attacks and the certified loss shall end, as shares of it, where bounds
# meet; and where they do not.
MARGIN, CLOSE = 3e-4, 1e-2
# Losses that are computed at most, for one number and for several.
MOST_ROUNDS, MOST_ATTACKS = 40, 24
# By how much less the cost of another round must be.
WORTH = 1e-4
# What hides everything, as a move: see Shape.moved.
FURTHEST = 60.0
# Rhythms that are tried for every="best", before those next to the best of them.
RHYTHMS = (1, 2, 3, 5, 7, 11, 15, 21, 31, 45, 63)

# Probabilities to repeat with which the search for sticky response begins.
REPEATS = (0.5, 0.85)

Numbers = FloatArray


@dataclass(frozen=True)
class Shape:
    """A family as numbers between 0 and 1, larger ones hiding more.

    ``make`` turns them into noise; ``starts`` names numbers to begin with, from the solution of the
    first shape of a family, which has one number and begins with 1/2.
    """

    make: Callable[[Numbers], Noise]
    size: int
    starts: Callable[[float], list[tuple[float, ...]]]
    # The first so many numbers, if they are all one, hide everything.
    hides: int

    def moved(self, numbers: Numbers, move: float) -> Numbers:
        """Numbers nearer to hiding everything by the factor exp(-move), or further from it."""
        found = np.array(numbers)
        answer = 1 - (1 - found[: self.hides]) * math.exp(-move)
        found[: self.hides] = np.clip(answer, 1e-9, 1.0)
        return found


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
    # Those that repeat with probability zero are never worse than independent noise.
    return quest.best([*map(_without_memory, plain), *(_sticky(shape, every) for shape in plain)])


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
        return [Shape(ordinal, 1, _one, 1)]
    found = [Shape(response, 1, _one, 1)]
    if family == "per-state":
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
        self.attacks = Attacks(problem.chain, problem.releases)
        self._losses: dict[Noise, PrivacyLoss] = {}

    def _effort(self, share: float, nodes: int | None = None) -> Effort:
        """Bounds within a share of the budget; nodes for all pairs of values at least."""
        most = LOOKING_NODES + 1000 * self.problem.model.states**2
        return Effort(min(max(share * self.aim.epsilon, 1e-9), 1.0), nodes or most)

    def _loss(self, noise: Noise) -> PrivacyLoss:
        """Of this noise and the earlier releases, as closely as the budget makes it matter."""
        if noise in self._losses:
            return self._losses[noise]
        epsilon = self.aim.epsilon
        closing = Closing(self.problem.with_release(noise))
        found = closing.to(self._effort(COARSE), epsilon * (1 + COARSE))
        if found.lower <= epsilon:
            found = closing.to(self._effort(LOOKING), epsilon)
        if found.epsilon <= epsilon:
            found = closing.to(self._effort(CERTIFYING, closing.nodes + CERTIFYING_NODES))
        self.attacks.add(found.witness)
        self._losses[noise] = found
        return found

    def leaves_room(self) -> bool:
        """Whether the earlier releases alone are within the budget."""
        return loss_of(replace(self.problem, effort=self._effort(LOOKING))).lower < self.aim.epsilon

    def best(self, shapes: Sequence[Shape]) -> Calibrated:
        """The best of the best of each shape; the first one is tried as it is."""
        level, found = 0.5, []
        for shape in shapes:
            starts = [np.array(start) for start in shape.starts(level)]
            numbers = starts[0] if shape.size == 1 else self._collected(shape, starts)
            kept, numbers = self._certified(shape, numbers)
            found.append(kept)
            level = float(numbers[0]) if shape is shapes[0] else level
        return min(found, key=lambda one: cost(self.problem.model, one.noise, self.aim))

    def _certified(self, shape: Shape, numbers: Numbers) -> tuple[Calibrated, Numbers]:
        """The least move towards hiding everything with which the certified loss fits."""
        epsilon = self.aim.epsilon
        # What attacks may reach: less of it where the certified loss stays above them.
        target, most, kept = epsilon * (1 - MARGIN), math.inf, None
        for _ in range(MOST_ROUNDS):
            moved = shape.moved(numbers, self._least_move(shape, numbers, target))
            noise = shape.make(moved).on_grid()
            found = self._loss(noise)
            if found.epsilon <= epsilon:
                kept = Calibrated(noise, found), moved
                if found.epsilon >= epsilon * (1 - CLOSE) or most < target * (1 + CLOSE):
                    return kept
                if most == math.inf:
                    # No attack asks for more noise than there is.
                    return kept
                target = (target + most) / 2
            elif found.lower <= epsilon:
                if math.isinf(found.epsilon):
                    break
                most = min(most, target)
                target -= min(1.1 * (found.epsilon - epsilon), 0.7 * target)
                target = max(target, 0.0 if kept is None else kept[0].loss.lower)
        if kept is not None:
            return kept
        nothing = _hiding(self.problem.model.states, shape.make(numbers))
        return Calibrated(nothing, loss_of(self.problem.with_release(nothing))), numbers

    def _least_move(self, shape: Shape, numbers: Numbers, target: float) -> float:
        """The least move after which no attack that is known gains more than the target."""
        if not len(self.attacks):
            return 0.0
        low, high = math.log(float(np.min(1 - numbers[: shape.hides]))), FURTHEST
        while high - low > 1e-6:
            moves = np.linspace(low, high, 10)
            noises = [shape.make(shape.moved(numbers, move)) for move in moves]
            gained = self.attacks.values(noises).max(axis=0)
            above = np.flatnonzero(~(gained <= target))
            if not len(above):
                return low
            if above[-1] == len(moves) - 1:
                return high
            low, high = moves[above[-1]], moves[above[-1] + 1]
        return high

    def _collected(self, shape: Shape, starts: list[Numbers]) -> Numbers:
        """Numbers that keep the budget against the attacks that were found on the way."""
        best, least = starts[0], math.inf
        for start in starts:
            numbers = start
            for _ in range(MOST_ATTACKS):
                numbers = self._against(shape, numbers)
                noise = shape.make(numbers).on_grid()
                value = cost(self.problem.model, noise, self.aim)
                if value > least - WORTH:
                    # More attacks only ask for more noise.
                    break
                found = self._loss(noise)
                if found.lower <= self.aim.epsilon * (1 + MARGIN):
                    best, least = numbers, value
                    break
        return best

    def _against(self, shape: Shape, numbers: Numbers) -> Numbers:
        """The cheapest numbers with which no attack that is known exceeds the budget."""
        from scipy.optimize import minimize

        def goal(x: Numbers) -> float:
            return cost(self.problem.model, shape.make(x), self.aim)

        def room(x: Numbers) -> FloatArray:
            return 1 - MARGIN - self.attacks.values([shape.make(x)])[:, 0] / self.aim.epsilon

        def slopes(x: Numbers) -> FloatArray:
            step = np.where(x < 0.5, 1e-6, -1e-6)
            moved = [shape.make(x + step * unit) for unit in np.eye(len(x))]
            values = self.attacks.values([shape.make(x), *moved])
            return -(values[:, 1:] - values[:, :1]) / step / self.aim.epsilon

        found = minimize(
            goal, numbers, method="SLSQP", bounds=[(1e-6, 1 - 1e-6)] * shape.size,
            constraints=[{"type": "ineq", "fun": room, "jac": slopes}],
            options={"maxiter": 60, "ftol": 1e-8},
        )  # fmt: skip
        return np.asarray(np.clip(found.x, 1e-6, 1 - 1e-6))


def _hiding(k: int, like: Noise) -> Noise:
    """Noise whose reports do not depend on the points at all, on the grid."""
    share = math.floor(GRID / k) / GRID
    row = np.array([1 - (k - 1) * share, *[share] * (k - 1)])
    law = np.tile(row, (k, 1))
    if like.sees == "point":
        return Channel(law, like.every)
    return StickyNoise(np.tile(law, (k, 1, 1)), law, like.every)
