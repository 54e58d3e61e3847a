"""How often a report is wrong in the long run, for any noise and any model that is one law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.noise.base import Noise

if TYPE_CHECKING:
    from chainveil.model.base import DataModel


def wrong_share(noise: Noise, model: DataModel) -> float:
    """Share of points that differ from the report that stands for them, in the long run.

    A report on one point in several stands for its block, one that comes late for the point
    that it is about. Noise with k reports; it sees at most its own point, the last report and
    the point before.
    """
    if model.states != noise.states or noise.outputs != noise.states:
        found = f"{model.states} states, {noise.states} in the noise, {noise.outputs} reports"
        raise InvalidInput("chain", found, "as many of each, for a wrong report to mean anything")
    _, transition, value = model.likeliest.hidden_chain()
    law = _law_of_states(transition)
    move = np.linalg.matrix_power(transition, noise.every)
    step = noise.step_law()[:, value[:, None], value[None, :], :]
    weights = np.einsum("xy,zxyw->zxwy", move, step)
    joint = _long_run(weights, law)
    right = sum(
        _right_between(noise, joint, transition, value, state) for state in range(noise.states)
    )
    return float(1 - right / noise.every)


def _law_of_states(transition: FloatArray) -> FloatArray:
    """The stationary law of the hidden states, shape (s,)."""
    size = len(transition)
    # Balance, with the sum beside its equations, which follow from each other.
    system = np.vstack([transition.T - np.eye(size), np.ones((1, size))])
    law, *_ = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)
    return np.asarray(law)


def _long_run(weights: FloatArray, law: FloatArray) -> FloatArray:
    """The stationary law of (report, hidden state), shape (m, s), of a kernel (m, s, m, s).

    Its hidden states have the stationary ``law``, which settles how often each set of them is
    visited where a period of the chain keeps the points that report apart in several sets.
    """
    m, s = weights.shape[:2]
    matrix = weights.reshape(m * s, m * s)
    system = np.vstack([matrix.T - np.eye(m * s), np.tile(np.eye(s), (1, m))])
    joint, *_ = np.linalg.lstsq(system, np.append(np.zeros(m * s), law), rcond=None)
    return np.asarray(joint.reshape(m, s))


def _right_between(
    noise: Noise, joint: FloatArray, transition: FloatArray, value: FloatArray, state: int
) -> float:
    """Expected number of points of a block that are ``state`` and stand under that report."""
    after = noise.every - 1 - noise.first_place
    is_state = np.diag((value == state).astype(float))
    if noise.delay:
        step = noise.step_law()[:, value[:, None], value[None, :], state]
        return float(np.einsum("zx,xy,zxy->", joint @ is_state, transition, step))
    # Points after their report: sum over j = 0 … after of the state, j steps on.
    held = joint[state] @ sum_of_steps(transition, is_state, after + 1)
    # Points before their report lie between the last report and their own.
    move = np.linalg.matrix_power(transition, after + 1)
    before = move @ sum_of_steps(transition, is_state, noise.first_place, towards=True)
    step = noise.step_law()[:, value[:, None], value[None, :], state]
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
