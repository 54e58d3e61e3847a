"""From the two sides to the loss: the secret in between, a point or a window of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.memory.layout import BoolArray, IntArray, Layout

IMPOSSIBLE = -np.inf


@dataclass(frozen=True)
class Worst:
    """The largest log ratio over one window, and the way through it that attains it.

    ``value`` and ``other`` are the states of the window's points under the two hypotheses,
    ``steps`` the steps of the layout between its points, ``label`` the label at its first point.
    """

    log: float
    label: int
    value: tuple[int, ...]
    other: tuple[int, ...]
    steps: tuple[int, ...]


def logarithms(ratios: FloatArray) -> FloatArray:
    """Logs of what sides tell, with that of nothing at all where a label is out of reach."""
    with np.errstate(divide="ignore"):
        return np.log(np.where(np.isnan(ratios), 0.0, ratios))


def together(left: FloatArray, right: FloatArray) -> FloatArray:
    """The sum of logs of two sides; what one of them rules out cannot be."""
    with np.errstate(invalid="ignore"):
        total = left + right
    return np.where(np.isnan(total), IMPOSSIBLE, total)


def worst(
    layout: Layout,
    possible: BoolArray,
    left: FloatArray,
    right: FloatArray,
    present: BoolArray,
    phases: Sequence[int],
) -> Worst:
    """The worst case of a window whose first point has these sides.

    Parameters
    ----------
    layout : Layout
        Labels and steps.
    possible : bool array of shape (2, 2)
        Steps of the chain that can occur.
    left, right : arrays of shape (labels, 2)
        Logs of what the sides tell, by label and direction (1: "1 over 0"); at the window's
        first and last point.
    present : bool array of shape (labels, 2)
        Labels and states that the first point can have.
    phases : sequence of int
        The phases of the window's points after the first.
    """
    total, trail = totals(layout, possible, left, right, present, phases)
    return unwind(total, trail, layout)


def totals(
    layout: Layout,
    possible: BoolArray,
    left: FloatArray,
    right: FloatArray,
    present: BoolArray,
    phases: Sequence[int],
) -> tuple[FloatArray, list[IntArray]]:
    """Log ratios by label at the window's end and the two values there, (labels, 2, 2).

    Windows of two equal values are no secret. The second part is the way to each.
    """
    at = between(left, np.where(present, 0.0, IMPOSSIBLE))
    trail = []
    for phase in phases:
        steps = np.arange(layout.offsets[phase], layout.offsets[phase + 1])
        at, chosen = through(layout, possible, at, steps)
        trail.append(chosen)
    total = together(at, between(right, np.zeros((layout.labels, 2))))
    if not trail:
        total = np.where(np.eye(2, dtype=bool)[None], IMPOSSIBLE, total)
    return total, trail


def between(told: FloatArray, same: FloatArray) -> FloatArray:
    """What a side tells by the window's value a and other value b next to it, (labels, 2, 2)."""
    table = np.empty((len(told), 2, 2))
    table[:, 0, 0], table[:, 1, 1] = same[:, 0], same[:, 1]
    table[:, 1, 0], table[:, 0, 1] = told[:, 1], told[:, 0]
    return table


def through(
    layout: Layout, possible: BoolArray, at: FloatArray, steps: IntArray
) -> tuple[FloatArray, IntArray]:
    """One point on: ``V'(z', a', b') = max V(z, a, b) + log E[a, a'] - log E[b, b']``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(possible, np.log(layout.factor[steps]), np.nan)
        # Axes: step, a, b, a', b'.
        gain = log[:, :, None, :, None] - log[:, None, :, None, :]
        gain = np.where(log[:, :, None, :, None] == IMPOSSIBLE, IMPOSSIBLE, gain)
        table = at[layout.source[steps]][:, :, :, None, None] + gain
    table = np.where(np.isnan(table), IMPOSSIBLE, table)
    flat = table.reshape(len(steps), 4, 2, 2)
    place, top = flat.argmax(axis=1), flat.max(axis=1)
    after = np.full((layout.labels, 2, 2), IMPOSSIBLE)
    chosen = np.zeros((layout.labels, 2, 2, 2), np.int64)
    for number, step in enumerate(steps):
        target = layout.target[step]
        better = top[number] > after[target]
        after[target] = np.where(better, top[number], after[target])
        chosen[target, ..., 0] = np.where(better, step, chosen[target, ..., 0])
        chosen[target, ..., 1] = np.where(better, place[number], chosen[target, ..., 1])
    return after, chosen


def unwind(total: FloatArray, trail: Sequence[IntArray], layout: Layout) -> Worst:
    """The best end and the way back from it."""
    label, a, b = (int(i) for i in np.unravel_index(int(np.argmax(total)), total.shape))
    log = float(total[label, a, b])
    value, other, steps = [a], [b], []
    for chosen in reversed(trail):
        step, place = (int(i) for i in chosen[label, a, b])
        a, b = divmod(place, 2)
        value.append(a)
        other.append(b)
        steps.append(step)
        label = int(layout.source[step])
    return Worst(log, label, tuple(value[::-1]), tuple(other[::-1]), tuple(steps[::-1]))
