"""The numbers that the kernels look up: a hidden model, made ready."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.inference.hidden import HiddenModel
from chainveil.inference.observations import Observations

# Bounds within which the odds recursions of inference.two_state neither overflow nor vanish:
# odds stay below CERTAIN / LEAST_MOVE^2 * LARGEST_RATIO, and products of two below 1e300.
LEAST_MOVE = 1e-12
LARGEST_RATIO = 1e60
# Stands for infinite odds: one step later nothing is left of the difference in a double.
CERTAIN = 1e100


@dataclass(frozen=True)
class Tables:
    """A hidden model as the kernels take it.

    Attributes
    ----------
    start : array of shape (k,)
    transition : array of shape (k, k)
    emission : array of shape (symbols, k)
        ``emission[s, x] = Pr[symbol s | X = x]``, known points included
        (see ``inference.observations``).
    outputs, values : int
        Number of reports, and of values of the series.
    """

    start: FloatArray
    transition: FloatArray
    emission: FloatArray
    outputs: int
    values: int

    @property
    def states(self) -> int:
        """Number of hidden states."""
        return len(self.start)


@dataclass(frozen=True)
class Odds:
    """Two states as odds of state 1; ``ratio`` has shape (symbols,)."""

    ratio: FloatArray
    start: float
    q: float
    r: float


def tables(hidden: HiddenModel) -> Tables:
    """The tables of a hidden model."""
    size, outputs, values = len(hidden.start), hidden.outputs, hidden.states
    reports = hidden.emission.T
    emission = np.zeros((outputs * (values + 1), size))
    emission[:outputs] = reports
    known = emission[outputs:].reshape(outputs, values, size)
    # A known value leaves only the hidden states that stand for it.
    known[:] = reports[:, None, :] * (hidden.value[None, None, :] == np.arange(values)[:, None])
    return Tables(hidden.start, hidden.transition, emission, outputs, values)


def odds(model: Tables) -> Odds | None:
    """Two states as odds, or None where there are more or the odds could leave the doubles."""
    if model.states != 2 or model.transition.min() < LEAST_MOVE:
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        ratio = model.emission[:, 1] / model.emission[:, 0]
        start = model.start[1] / model.start[0]
    possible = ratio[model.emission.min(axis=1) > 0]
    if np.any(possible > LARGEST_RATIO) or np.any(possible < 1 / LARGEST_RATIO):
        return None
    if model.start[1] > 0 and not (1 / LARGEST_RATIO <= start <= LARGEST_RATIO):
        # A first point that is certain, or nearly so, is left to the general kernels.
        return None
    ratio = np.where(np.isposinf(ratio), CERTAIN, np.nan_to_num(ratio, nan=1.0))
    q, r = float(model.transition[0, 1]), float(model.transition[1, 0])
    return Odds(ratio, float(start), q, r)


def check_possible(model: Tables, seen: Observations) -> None:
    """Error if a symbol cannot be emitted by any state, as far as one point can tell."""
    impossible = model.emission.max(axis=1) <= 0
    first = seen.offsets[:-1][np.diff(seen.offsets) > 0]
    if impossible.any():
        wrong = np.flatnonzero(impossible[seen.symbols])
        if len(wrong):
            raise impossible_at(model, seen, int(wrong[0]))
    if model.start.min() <= 0:
        mass = model.emission[seen.symbols[first]] @ model.start
        if np.any(mass <= 0):
            raise impossible_at(model, seen, int(first[np.argmax(mass <= 0)]))


def impossible_at(model: Tables, seen: Observations, point: int) -> InvalidInput:
    """The error for a point at which the probability of all so far becomes zero."""
    symbol = int(seen.symbols[point])
    place = seen.place(point)
    if symbol < model.outputs:
        return InvalidInput(
            "z",
            f"output {symbol} at {place}, which has probability zero after what came before",
            "series that the chain and the channel can produce",
            "Check the chain, the channel and the known points.",
        )
    return InvalidInput(
        "known",
        f"a state at {place} that has probability zero with the output there",
        "known states that the chain and the channel allow together with z",
    )


def logarithms(array: FloatArray) -> NDArray[np.float64]:
    """``log`` with ``-inf`` for zero, contiguous."""
    with np.errstate(divide="ignore"):
        return np.ascontiguousarray(np.log(array))
