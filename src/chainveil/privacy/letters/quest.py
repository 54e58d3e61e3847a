"""The least noise of a family: its numbers are chosen by attacks, and what they give is certified.

Attacks are collected. A family with one number takes the least noise with which no attack so far
exceeds the budget; the loss of that names a new attack, and so on, until the certified loss is
within the budget. With several numbers the cheapest are chosen in the same way; what is then left
over the budget is taken back by more noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import UnreachableBudget
from chainveil.model.base import DataModel
from chainveil.noise.base import GRID, Noise
from chainveil.noise.channel import Channel
from chainveil.noise.memory import StickyNoise
from chainveil.noise.wrong import mean_distance, wrong_share
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.problem import Aim, Effort, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss

# How close losses come at first, as a share of the budget.
COARSE = 0.02
# Nodes that a loss may have while noise is looked for, and more of them to bring bounds together.
# With more than four states each of them takes longer, and there are fewer.
LOOKING_NODES, CERTIFYING_NODES = 200_000, 15_000
# How far below the budget the certified loss may end, as a share of it, where bounds do not meet.
CLOSE = 1e-2
# The same where they meet: one more loss is computed for it.
SHARP = 1e-6
# Losses that are computed at most, for one number and for several.
MOST_ROUNDS, MOST_ATTACKS = 40, 24
# By how much less the cost of another round must be.
WORTH = 1e-4
# What hides everything, as a move: see Shape.moved.
FURTHEST = 60.0

Numbers = FloatArray


class Closing(Protocol):
    """A loss whose bounds are brought together step by step."""

    @property
    def nodes(self) -> int:
        """Words that got a node so far."""

    def to(self, effort: Effort, enough: float = ...) -> PrivacyLoss:
        """Both bounds as close as the effort allows, unless the lower one is above ``enough``."""


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


def cost(model: DataModel, noise: Noise, aim: Aim) -> float:
    """What an objective counts: wrong reports, mean flip probability, or mean distance."""
    if aim.objective == "distance":
        return float(mean_distance(noise, model))
    if aim.objective == "estimate" and noise.sees == "point":
        return float(noise.flip_probabilities.mean())  # type: ignore[attr-defined]
    return float(wrong_share(noise, model))


@dataclass
class Quest:
    """The search for one family.

    Attributes
    ----------
    problem : Problem
        Its releases are earlier ones.
    aim : Aim
    closing : callable
        The loss of a problem, to be brought closer step by step.
    looking, certifying : float
        Shares of the budget: how close losses come while noise is looked for, and at the end.
    nodes : int or None
        At most, for each loss; None: the usual number.
    """

    problem: Problem
    aim: Aim
    closing: Callable[[Problem], Closing]
    looking: float = 2e-4
    certifying: float = 1e-8
    nodes: int | None = None

    def __post_init__(self) -> None:
        self.attacks = Attacks(self.problem.model, self.problem.releases)
        self._losses: dict[Noise, PrivacyLoss] = {}

    @property
    def _target(self) -> float:
        """What attacks may gain, so that bounds that meet lie within the budget."""
        return self.aim.epsilon * (1 - 1.5 * self.looking)

    def _effort(self, share: float, nodes: int | None = None) -> Effort:
        """Bounds within a share of the budget; nodes for all pairs of values at least."""
        k = self.problem.model.states
        most = self.nodes or int(LOOKING_NODES * min(1.0, (4 / k) ** 2)) + 1000 * k**2
        within = min(max(share * self.aim.epsilon, 1e-9), 1.0)
        return Effort(within, nodes or most)

    def _loss(self, noise: Noise) -> PrivacyLoss:
        """Of this noise and the earlier releases, as closely as the budget makes it matter."""
        if noise in self._losses:
            return self._losses[noise]
        epsilon = self.aim.epsilon
        closing = self.closing(self.problem.with_release(noise))
        found = closing.to(self._effort(COARSE), epsilon * (1 + COARSE))
        if found.lower <= epsilon:
            found = closing.to(self._effort(self.looking), epsilon)
        if found.epsilon <= epsilon and self.certifying < self.looking:
            more = closing.nodes + CERTIFYING_NODES
            found = closing.to(self._effort(self.certifying, more))
        self.attacks.add(found.witness, noise)
        self._losses[noise] = found
        return found

    def check_room(self) -> None:
        """An error where the earlier releases alone use up the budget."""
        if not self.problem.releases:
            return
        spent = self.closing(self.problem).to(self._effort(self.looking))
        if spent.lower >= self.aim.epsilon:
            raise UnreachableBudget(
                f"spent: the earlier releases use up epsilon = {self.aim.epsilon!r}; nothing is "
                "left for another"
            )

    def best(self, shapes: Sequence[Shape]) -> Calibrated:
        """The best of the best of each shape; the first one is tried as it is."""
        best, level = self._certified(shapes[0], np.array(shapes[0].starts(0.5)[0]), math.inf)
        for shape in shapes[1:]:
            starts = [np.array(start) for start in shape.starts(float(level[0]))]
            numbers = starts[0] if shape.size == 1 else self._collected(shape, starts)
            found, _ = self._certified(shape, numbers, self._cost(best.noise))
            if self._cost(found.noise) < self._cost(best.noise):
                best = found
        return best

    def _cost(self, noise: Noise) -> float:
        return cost(self.problem.model, noise, self.aim)

    def _certified(
        self, shape: Shape, numbers: Numbers, worth: float
    ) -> tuple[Calibrated, Numbers]:
        """The least move towards hiding everything with which the certified loss fits.

        It is given up where the noise costs as much as another does that is known to fit.
        """
        epsilon = self.aim.epsilon
        if not len(self.attacks):
            self._loss(shape.make(numbers).on_grid())
        # What attacks may reach: less of it where the certified loss stays above them.
        target, fits, fails, kept = self._target, 0.0, math.inf, None
        before: tuple[float, float] | None = None
        for _ in range(MOST_ROUNDS):
            moved = shape.moved(numbers, self._least_move(shape, numbers, target))
            noise = shape.make(moved).on_grid()
            if self._cost(noise) >= worth:
                break
            found = self._loss(noise)
            if found.epsilon <= epsilon:
                kept, fits = (Calibrated(noise, found), moved), target
                # Without a failure no attack asks for more noise than there is.
                if found.epsilon >= epsilon * (1 - CLOSE) or fails in (math.inf, target):
                    return self._sharpened(shape, numbers, kept)
            elif found.lower <= epsilon:
                fails = min(fails, target)
            if found.lower <= epsilon:
                if math.isinf(found.epsilon) or fails - fits < CLOSE / 2 * epsilon:
                    break
                before, target = (target, found.epsilon), self._next_target(target, found, before)
                if not fits < target < fails:
                    target = (fits + fails) / 2
        if kept is not None:
            return kept
        return self.nothing(shape), numbers

    def _next_target(
        self, target: float, found: PrivacyLoss, before: tuple[float, float] | None
    ) -> float:
        """What attacks may reach so that the certified loss just fits.

        The bounds of nearby noise are about as far apart, as a share or in nats: where the
        certified loss falls more slowly than the target did, it goes on at that slope.
        """
        goal = self.aim.epsilon * (1 - CLOSE / 4)
        share = target * goal / found.epsilon
        if before is None or not (before[0] > target and before[1] > found.epsilon > goal):
            return share
        slope = (before[1] - found.epsilon) / (before[0] - target)
        return min(share, max(target - (found.epsilon - goal) / slope, target / 4))

    def _sharpened(
        self, shape: Shape, numbers: Numbers, kept: tuple[Calibrated, Numbers]
    ) -> tuple[Calibrated, Numbers]:
        """The same with next to no room below the budget, where the bounds meet."""
        epsilon = self.aim.epsilon
        if kept[0].loss.gap > SHARP / 10 * epsilon or kept[0].loss.epsilon == 0.0:
            return kept
        moved = shape.moved(numbers, self._least_move(shape, numbers, epsilon * (1 - SHARP)))
        noise = shape.make(moved).on_grid()
        closing = self.closing(self.problem.with_release(noise))
        found = closing.to(self._effort(self.certifying), epsilon)
        return (Calibrated(noise, found), moved) if found.epsilon <= epsilon else kept

    def nothing(self, shape: Shape) -> Calibrated:
        """Noise of the kind of a shape whose reports do not depend on the points at all."""
        noise = _hiding(self.problem.model.states, shape.make(np.full(shape.size, 0.5)))
        found = self.closing(self.problem.with_release(noise)).to(self._effort(self.looking))
        return Calibrated(noise, found)

    def _least_move(self, shape: Shape, numbers: Numbers, target: float) -> float:
        """The least move after which no attack that is known gains more than the target."""
        if not len(self.attacks):
            return 0.0
        low, high = math.log(float(np.min(1 - numbers[: shape.hides]))), FURTHEST
        while high - low > 1e-8:
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
                value = self._cost(noise)
                if value > least - WORTH:
                    # More attacks only ask for more noise.
                    break
                found = self._loss(noise)
                if found.lower <= self.aim.epsilon:
                    best, least = numbers, value
                    break
        return best

    def _against(self, shape: Shape, numbers: Numbers) -> Numbers:
        """The cheapest numbers with which no attack that is known exceeds the budget."""
        from scipy.optimize import minimize

        def goal(x: Numbers) -> float:
            return self._cost(shape.make(x))

        def room(x: Numbers) -> FloatArray:
            gained = self.attacks.values([shape.make(x)])[:, 0]
            return (self._target - gained) / self.aim.epsilon

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
