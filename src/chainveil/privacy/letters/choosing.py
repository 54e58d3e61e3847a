"""The numbers of a family that keep the budget against all attacks that are known: no bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from chainveil.checks import FloatArray
from chainveil.noise.base import Noise
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.letters.shapes import Numbers, Shape

# How often the cheapest numbers are looked for from another start, and by how much of the budget
# they may exceed it.
MOST_STARTS, ROOM = 3, 1e-4
# What hides everything, as a move: see Shape.moved.
FURTHEST = 60.0
# How close moves are found, and how many are tried at once.
NEAR, AT_ONCE = 1e-8, 10


def least_move(attacks: Attacks, shape: Shape, numbers: Numbers, target: float) -> float:
    """The least move after which no attack gains more than the target."""
    if not len(attacks):
        return 0.0
    low, high = math.log(float(np.min(1 - numbers[: shape.hides]))), FURTHEST
    while high - low > NEAR:
        moves = np.linspace(low, high, AT_ONCE)
        noises = [shape.make(shape.moved(numbers, move)) for move in moves]
        gained = attacks.values(noises).max(axis=0)
        above = np.flatnonzero(~(gained <= target))
        if not len(above):
            return low
        if above[-1] == len(moves) - 1:
            return high
        low, high = moves[above[-1]], moves[above[-1] + 1]
    return high


def cheapest(
    attacks: Attacks,
    shape: Shape,
    numbers: Numbers,
    epsilon: float,
    target: float,
    cost: Callable[[Noise], float],
) -> Numbers:
    """The numbers of least cost with which no attack gains more than a share of the budget.

    ``numbers``: where the search begins; ``target``: the share.
    """
    from scipy.optimize import minimize

    def goal(x: Numbers) -> float:
        return cost(shape.make(x))

    def room(x: Numbers) -> FloatArray:
        return target - attacks.values([shape.make(x)])[:, 0] / epsilon

    def slopes(x: Numbers) -> FloatArray:
        step = np.where(x < 0.5, 1e-6, -1e-6)
        moved = [shape.make(x + step * unit) for unit in np.eye(len(x))]
        values = attacks.values([shape.make(x), *moved])
        return -(values[:, 1:] - values[:, :1]) / step / epsilon

    for _ in range(MOST_STARTS):
        found = minimize(
            goal, numbers, method="SLSQP", bounds=[(1e-6, 1 - 1e-6)] * shape.size,
            constraints=[{"type": "ineq", "fun": room, "jac": slopes}],
            options={"maxiter": 60, "ftol": 1e-8},
        )  # fmt: skip
        numbers = np.asarray(np.clip(found.x, 1e-6, 1 - 1e-6))
        if room(numbers).min(initial=0.0) > -ROOM:
            break
        # It ended outside, and begins again from where all attacks keep below the budget.
        move = least_move(attacks, shape, numbers, target * epsilon)
        numbers = shape.moved(numbers, move)
    return numbers
