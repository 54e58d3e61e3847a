"""The worst output of a window, for whoever knows no point: where attacks begin to climb."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from chainveil.attack.outputs import Messages, Outputs, meet
from chainveil.checks import FloatArray
from chainveil.noise.base import Noise


@dataclass(frozen=True)
class WorstOutput:
    """The largest log ratio over every output of a window, and where it occurs.

    ``target`` is a point of the window; ``output`` holds its reports, one for each point that
    makes one.
    """

    loss: float
    target: int
    value: int
    other: int
    output: tuple[int, ...]


def _stands_for(model: Any, value: int) -> FloatArray:
    return np.asarray(model.hidden_chain()[2] == value, dtype=float)


def _given(before: Messages, after: Messages, pinned: FloatArray) -> FloatArray:
    law = meet(before, after, pinned)
    return np.asarray(law / law.sum())


def worst_output(model: Any, noise: Noise, window: int) -> WorstOutput:
    """Largest ``log Pr[z | X_i = a] / Pr[z | X_i = b]`` over i, a, b and every z of a window.

    The window has ``window`` reports, from the first of a series on. The adversary knows no
    point. This is what one window gives away; a longer one, or an adversary who knows points,
    can only get more.
    """
    points = window * noise.every
    outputs = Outputs.of(model, noise, points)
    sides = zip(outputs.before(points - 1), outputs.after(0), strict=True)
    pinned = [_stands_for(model, value) for value in range(model.states)]
    worst = WorstOutput(-np.inf, 0, 0, 1, ())
    for target, (before, after) in enumerate(sides):
        with np.errstate(divide="ignore", invalid="ignore"):
            laws = np.log([_given(before, after, pin) for pin in pinned])
            for value, other in permutations(range(model.states), 2):
                ratio = np.nan_to_num(laws[value] - laws[other], nan=-np.inf, posinf=np.inf)
                peak = int(np.argmax(ratio))
                if ratio[peak] > worst.loss:
                    digits = _digits(peak, noise.outputs, window)
                    worst = WorstOutput(float(ratio[peak]), target, value, other, digits)
    return worst


def _digits(number: int, base: int, count: int) -> tuple[int, ...]:
    return tuple(number // base**place % base for place in range(count - 1, -1, -1))
