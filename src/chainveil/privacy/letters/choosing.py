"""The numbers of a family that keep the budget against all attacks that are known: no bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from chainveil.checks import FloatArray
from chainveil.noise.base import Noise
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.letters.shapes import Numbers, Shape
from chainveil.privacy.roots import close_bracket, straight

# How often the cheapest numbers are looked for from another start, and by how much of the budget
# they may exceed it.
MOST_STARTS, ROOM = 3, 1e-4
# How many times as much as before a number leaves open at most.
REACH = 3.0
# What a number leaves open at least, as a share of what they would together; how far numbers are
# moved to see what that changes; how closely the least cost is found, as a share of the gain, and
# in how many rounds: where it takes more, they only change last digits.
LEAST_OPEN, STEP, CLOSE, ROUNDS = 1e-4, 1e-5, 1e-6, 12
# What hides everything, as a move: see Shape.moved.
FURTHEST = 60.0
# Moves are multiples of one over this.
GRID = 2**26
# How close moves are found, what all gains below are taken for, how many moves are tried at once,
# and how far these reach.
NEAR, TINY, AT_ONCE, FIRST_MOVES = 1e-8, 1e-300, 8, 8.0


def least_move(attacks: Attacks, shape: Shape, numbers: Numbers, target: float) -> float:
    """The least move after which no attack gains more than the target."""
    if not len(attacks):
        return 0.0

    def excess(*moves: float) -> FloatArray:
        gained = attacks.values([shape.make(shape.moved(numbers, move)) for move in moves])
        return np.asarray(np.log(np.maximum(gained.max(axis=0), TINY) / target))

    low = math.log(float(np.min(1 - numbers[: shape.hides])))
    moves = np.concatenate([np.linspace(low, low + FIRST_MOVES, AT_ONCE), [FURTHEST]])
    above = excess(*moves)
    is_above = np.flatnonzero(~(above <= 0.0))
    if not len(is_above):
        return low
    last = int(is_above[-1])
    if last == len(moves) - 1:
        return FURTHEST
    # Moves that fit are larger, so that the bracket is turned round.
    fits, fails = ((-float(moves[i]), float(above[i])) for i in (last + 1, last))
    move = -close_bracket(lambda x: float(excess(-x)[0]), fits, fails, _is_close, straight)
    # On a grid, so that it does not depend on how a machine adds up.
    return math.ceil(move * GRID) / GRID


def _is_close(fits: tuple[float, float], fails: tuple[float, float]) -> bool:
    return fails[0] - fits[0] <= NEAR or fits[1] >= -NEAR


def cheapest(
    attacks: Attacks,
    shape: Shape,
    numbers: Numbers,
    epsilon: float,
    target: float,
    cost: Callable[[Noise], float],
    reach: float = REACH,
) -> Numbers:
    """The numbers of least cost with which no attack gains more than a share of the budget.

    ``numbers``: where the search begins; ``target``: the share; ``reach``: how many times as much
    as there a number may leave open, or as little.
    """
    # What all numbers that hide would be together: others are looked for on its scale.
    even = np.array(numbers)
    even[: shape.hides] = 0.5
    even = shape.moved(even, least_move(attacks, shape, even, target * epsilon))
    search = _Search(attacks, shape, epsilon, target, cost, even, reach)
    found = search.from_numbers(numbers)
    if cost(shape.make(found)) < cost(shape.make(even)):
        return found
    return search.from_numbers(even)


class _Search:
    """The cheapest numbers, as shares of what they leave open to an attacker.

    ``even``: numbers that keep the budget, those that hide all alike.
    """

    def __init__(
        self,
        attacks: Attacks,
        shape: Shape,
        epsilon: float,
        target: float,
        cost: Callable[[Noise], float],
        even: Numbers,
        reach: float,
    ) -> None:
        self._attacks, self._shape, self._cost = attacks, shape, cost
        self._epsilon, self._target, self._reach = epsilon, target, reach
        self._scale = np.ones(shape.size)
        self._scale[: shape.hides] = 1 - even[0]
        least = np.where(np.arange(shape.size) < shape.hides, LEAST_OPEN, 1e-6)
        self._bounds = np.column_stack([least, (1 - 1e-6) / self._scale])
        hides_all = shape.moved(even, FURTHEST)
        self._gain = max(cost(shape.make(hides_all)) - cost(shape.make(even)), TINY)
        # Noise that was made last, by its numbers.
        self._made: dict[bytes, Noise] = {}
        self._made_around: dict[bytes, list[Noise]] = {}

    def from_numbers(self, numbers: Numbers) -> Numbers:
        """The numbers that are found from these."""
        from scipy.optimize import minimize

        for _ in range(MOST_STARTS):
            start = np.clip((1 - numbers) / self._scale, *self._bounds.T)
            found = minimize(
                self._goal, start, method="SLSQP", jac=self._rise, bounds=self._around(start),
                constraints=[{"type": "ineq", "fun": self._room, "jac": self._slopes}],
                options={"maxiter": ROUNDS, "ftol": CLOSE},
            )  # fmt: skip
            x = np.clip(found.x, *self._bounds.T)
            numbers = 1 - self._scale * x
            if self._room(x).min(initial=0.0) > -ROOM:
                break
            # It ended outside, and begins again from where all attacks keep below the budget.
            move = least_move(self._attacks, self._shape, numbers, self._target * self._epsilon)
            numbers = self._shape.moved(numbers, move)
        return numbers

    def _around(self, x: Numbers) -> FloatArray:
        """Numbers that are not too far away: of those that are, no attack is known yet."""
        reach = np.where(np.arange(len(x)) < self._shape.hides, self._reach, np.inf)
        low, high = self._bounds.T
        return np.column_stack([np.maximum(low, x / reach), np.minimum(high, x * reach)])

    def _noise(self, x: Numbers) -> Noise:
        """Noise with these numbers: its cost and what attacks gain are asked for in turn."""
        at = x.tobytes()
        if at not in self._made:
            self._made = {at: self._shape.make(1 - self._scale * x)}
        return self._made[at]

    def _moved(self, x: Numbers) -> list[Noise]:
        """Noise here, and a step away in each number."""
        at = x.tobytes()
        if at not in self._made_around:
            steps = [x, *(x + STEP * unit for unit in self._inwards(x))]
            self._made_around = {at: [self._shape.make(1 - self._scale * step) for step in steps]}
        return self._made_around[at]

    def _inwards(self, x: Numbers) -> FloatArray:
        """Steps that leave no bound behind."""
        return np.diag(np.where(x + STEP > self._bounds[:, 1], -1.0, 1.0))

    def _goal(self, x: Numbers) -> float:
        return self._cost(self._noise(x)) / self._gain

    def _rise(self, x: Numbers) -> FloatArray:
        here, *others = map(self._cost, self._moved(x))
        rise = (np.array(others) - here) / (STEP * self._gain)
        return np.asarray(rise * np.diag(self._inwards(x)))

    def _room(self, x: Numbers) -> FloatArray:
        return self._target - self._attacks.values([self._noise(x)])[:, 0] / self._epsilon

    def _slopes(self, x: Numbers) -> FloatArray:
        values = self._attacks.values(self._moved(x))
        rise = (values[:, 1:] - values[:, :1]) / (STEP * self._epsilon)
        return np.asarray(-rise * np.diag(self._inwards(x)))
