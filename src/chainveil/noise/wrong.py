"""How wrong a report is in the long run, for any noise and any model that is one law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.steps import finite_stationary, reached
from chainveil.noise.base import Noise

if TYPE_CHECKING:
    from chainveil.model.base import DataModel

IntArray = NDArray[np.int64]

# Pairs of a report and a hidden state: up to so many their long-run law is accurate entry by
# entry, and beyond so many the equations for it are too large.
FEW_PAIRS, MOST_PAIRS = 600, 8192
# Up to so many what reaches what is found by squaring.
FEW_STATES = 64


def wrong_share(noise: Noise, model: DataModel) -> float:
    """Share of points that differ from the report that stands for them, in the long run.

    A report on one point in several stands for its block. Noise with k reports; it sees at most
    its own point, the last report and the point before.
    """
    return _mean_cost(noise, model, 1 - np.eye(noise.states))


def mean_distance(noise: Noise, model: DataModel) -> float:
    """Mean distance between a point and the report that stands for it, for ordered states.

    States are the numbers 0 … k-1; else as :func:`wrong_share`.
    """
    places = np.arange(noise.states, dtype=np.float64)
    return _mean_cost(noise, model, np.abs(places[:, None] - places[None, :]))


def _mean_cost(noise: Noise, model: DataModel, cost: FloatArray) -> float:
    """Mean of ``cost[state, report]`` over all points, shape (k, k), in the long run."""
    if model.states != noise.states or noise.outputs != noise.states:
        found = f"{model.states} states, {noise.states} in the noise, {noise.outputs} reports"
        raise InvalidInput("chain", found, "as many of each, for a wrong report to mean anything")
    if noise.sees == "point" and noise.every == 1:
        # Not a dot product, whose last digit depends on the machine: certificates hold this.
        return float((model.stationary * (noise.first_law() * cost).sum(axis=1)).sum())
    start, transition, value = model.likeliest.hidden_chain()
    if noise.outputs * len(value) > MOST_PAIRS:
        raise NotSupported(
            f"how wrong reports are in the long run: {noise.outputs} reports and {len(value)} "
            f"hidden states are more than {MOST_PAIRS} pairs"
        )
    joint = _long_run(noise, start, transition, value)
    if noise.every == 1:
        return float((joint * cost[value].T).sum())
    total = sum(
        _cost_of_block(noise, joint, transition, value, cost[value, report], report)
        for report in range(noise.states)
    )
    return float(total / noise.every)


def _long_run(
    noise: Noise, start: FloatArray, transition: FloatArray, value: IntArray
) -> FloatArray:
    """The law of a report and the hidden state at it in the long run, shape (m, s)."""
    move = np.linalg.matrix_power(transition, noise.every)
    before = start @ np.linalg.matrix_power(transition, noise.first_place)
    if noise.sees == "point":
        # Reports follow the points, whatever was reported before.
        points = long_run_law(move, before)
        return np.asarray((points[:, None] * noise.first_law()[value]).T)
    step = noise.step_law()[:, value[:, None], value[None, :], :]
    m, s = noise.outputs, len(value)
    steps = np.einsum("xy,zxyw->zxwy", move, step).reshape(m * s, m * s)
    first = (before[:, None] * noise.first_law()[value]).T.ravel()
    return long_run_law(steps, first).reshape(m, s)


def long_run_law(steps: FloatArray, start: FloatArray) -> FloatArray:
    """Where a chain that begins by the law ``start`` is in the long run, on average, shape (n,).

    It need not be irreducible: what it ends in may depend on where it began.
    """
    # Most are irreducible, and what finds the parts of others takes long to import.
    if np.all(steps > 0) or (len(steps) <= FEW_STATES and reached(steps).all()):
        return _stationary(steps)
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(steps > 0, directed=True, connection="strong")
    leaves = steps @ np.eye(count)[label] > 0
    leaves[np.arange(len(label)), label] = False
    closed = [one for one in range(count) if not leaves[label == one].any()]
    law = np.zeros(len(steps))
    for one, weight in zip(closed, _ends(steps, start, label, closed), strict=True):
        members = label == one
        law[members] = weight * _stationary(steps[np.ix_(members, members)])
    return law


def _ends(steps: FloatArray, start: FloatArray, label: IntArray, closed: list[int]) -> FloatArray:
    """The chance to end in each of the closed sets of states, shape (sets,)."""
    if len(closed) == 1:
        return np.ones(1)
    inside = label[:, None] == np.array(closed)
    passing = ~inside.any(axis=1)
    visits = np.linalg.solve(
        np.eye(int(passing.sum())) - steps[np.ix_(passing, passing)].T, start[passing]
    )
    return np.asarray((start + visits @ steps[passing]) @ inside)


def _stationary(steps: FloatArray) -> FloatArray:
    """The stationary law of an irreducible chain, shape (n,)."""
    if len(steps) <= FEW_PAIRS:
        return finite_stationary(steps)
    system = steps.T - np.eye(len(steps))
    # Balance, with the sum in place of one of its equations, which follow from each other.
    system[-1] = 1.0
    law = np.maximum(np.linalg.solve(system, np.eye(len(steps))[-1]), 0.0)
    return np.asarray(law / law.sum())


def _cost_of_block(
    noise: Noise,
    joint: FloatArray,
    transition: FloatArray,
    value: IntArray,
    cost: FloatArray,
    report: int,
) -> float:
    """Expected cost of the points of a block that stand under ``report``; ``cost`` : (s,)."""
    after = noise.every - 1 - noise.first_place
    weighed = np.diag(cost)
    step = noise.step_law()[:, value[:, None], value[None, :], report]
    # Points after their report: sum over j = 0 … after of the cost, j steps on.
    held = joint[report] @ sum_of_steps(transition, weighed, after + 1)
    # Points before their report lie between the last report and their own.
    move = np.linalg.matrix_power(transition, after + 1)
    before = move @ sum_of_steps(transition, weighed, noise.first_place, towards=True)
    return float(held.sum() + np.einsum("zx,xy,zxy->", joint, before, step))


def sum_of_steps(
    transition: FloatArray, middle: FloatArray, terms: int, towards: bool = False
) -> FloatArray:
    """``sum_j P^j D`` for j below ``terms``; ``towards``: ``sum_j P^j D P^(terms - j)``.

    Both are a corner of the power of one block matrix.
    """
    s = len(transition)
    last = transition if towards else np.eye(s)
    block = np.block([[transition, middle], [np.zeros((s, s)), last]])
    total = np.linalg.matrix_power(block, terms)[:s, s:]
    return np.asarray(total @ transition if towards else total)
