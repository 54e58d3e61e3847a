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
# What hides everything, as a move: see Shape.moved.
FURTHEST = 60.0
# How close moves are found, what all gains below are taken for, how many moves are tried at once,
# and how far these reach.
NEAR, TINY, AT_ONCE, FIRST_MOVES = 1e-8, 1e-300, 8, 8.0


def least_move(attacks: Attacks, shape: Shape, numbers: Numbers, target: float) -> float:
    """The least move after which no attack gains more than the target."""
    if not len(attacks):
        return 0.0

    def excess(*moves: float) -> FloatArray:
        gained = attacks.values([shape.make(shape.moved(numbers, move)) for move in moves])
        return np.log(np.maximum(gained.max(axis=0), TINY) / target)

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
    return -close_bracket(lambda x: float(excess(-x)[0]), fits, fails, _is_close, straight)


def _is_close(fits: tuple[float, float], fails: tuple[float, float]) -> bool:
    return fails[0] - fits[0] <= NEAR or fits[1] >= -NEAR


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
