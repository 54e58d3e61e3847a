"""Steps of a chain as a matrix: what they reach, where they lead in the long run, and powers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput


def reached(matrix: FloatArray) -> NDArray[np.bool_]:
    """Which states are reached from which, in any number of steps, (k, k)."""
    k = len(matrix)
    reach = (matrix > 0) | np.eye(k, dtype=bool)
    for _ in range(max(1, (k - 1).bit_length())):
        reach = reach @ reach
    return np.asarray(reach)


def check_irreducible(matrix: FloatArray) -> None:
    """An error where some state is never reached from another."""
    k = len(matrix)
    if matrix.shape != (k, k) or k < 2:
        raise InvalidInput(
            "transition",
            f"a matrix of shape {matrix.shape}",
            "a square matrix of at least two states",
        )
    reach = reached(matrix)
    if not reach.all():
        origin, goal = (int(index) for index in np.argwhere(~reach)[0])
        raise InvalidInput(
            "transition",
            f"a chain that never gets from state {origin} to state {goal}",
            "an irreducible chain, in which every state can be reached from every other",
            "Drop the states that cannot recur, or treat the closed classes as separate chains.",
        )


def finite_stationary(matrix: FloatArray) -> FloatArray:
    """The stationary law of an irreducible chain; an error where doubles cannot hold it."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = _stationary(matrix)
    if not np.all(np.isfinite(result)):
        raise InvalidInput(
            "transition",
            "a state that is left more than 1e308 times as rarely as another",
            "a chain whose stationary law doubles can hold",
        )
    return result


def _stationary(matrix: FloatArray) -> FloatArray:
    """Grassmann-Taksar-Heyman elimination: no subtraction, so small entries keep their digits."""
    reduced = np.array(matrix)
    np.fill_diagonal(reduced, 0.0)
    k = len(reduced)
    for last in range(k - 1, 0, -1):
        reduced[:last, last] /= reduced[last, :last].sum()
        reduced[:last, :last] += np.outer(reduced[:last, last], reduced[last, :last])
    weights = np.zeros(k)
    weights[0] = 1.0
    for state in range(1, k):
        weights[state] = (weights[:state] * reduced[:state, state]).sum()
    return np.asarray(weights / weights.sum())


def two_state_power(q: float, r: float, t: int) -> FloatArray:
    """P^t by its eigenvalue ``1-q-r``, without cancellation where the chain mixes slowly."""
    if t == 0:
        return np.eye(2)
    second = (1 - q) - r
    if abs(second) >= 1 and second < 0:
        mixed = float(1 - second**t)
    elif second > 0:
        mixed = float(-np.expm1(t * np.log1p(-(q + r))))
    else:
        mixed = 1 - second**t
    moved0, moved1 = q / (q + r) * mixed, r / (q + r) * mixed
    return np.array([[1 - moved0, moved0], [moved1, 1 - moved1]])
