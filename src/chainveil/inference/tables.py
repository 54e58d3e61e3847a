"""The numbers that the kernels look up: a model and a noise, made ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.inference.hidden import check_states, hidden_model, step_weights
from chainveil.inference.labels import report_labels
from chainveil.inference.observations import Observations, is_masked, read, with_marks
from chainveil.noise.base import Noise

# Bounds within which the odds recursions of inference.two_state neither overflow nor vanish:
# odds stay below CERTAIN / LEAST_MOVE^2 * LARGEST_RATIO, and products of two below 1e300.
LEAST_MOVE = 1e-12
LARGEST_RATIO = 1e60
# Stands for infinite odds: one step later nothing is left of the difference in a double.
CERTAIN = 1e100


@dataclass(frozen=True)
class Tables:
    """A hidden model as the kernels take it.

    A point's symbol says what was reported there, or its label, and whether its state is known
    (see ``inference.observations``). Steps between points are looked up by the labels of both;
    where steps do not depend on reports there is one label, L = 1.

    Attributes
    ----------
    start : array of shape (L, s)
        Weights of the hidden states at a first point with that label.
    moves : array of shape (L * L, s, s)
        Weights of a step at ``[label * L + next label, hidden state, next hidden state]``.
    labels : int64 array of shape (symbols,)
        The label of each symbol.
    emission : array of shape (symbols, s)
        What a symbol adds to the weight of each hidden state: ``Pr[report | state]`` where
        steps do not hold it already, and 0 for the states that a known value excludes.
    value : integer array of shape (s,)
        The state of the series, 0 … k-1, that a hidden state stands for.
    outputs, values : int
        Number of symbols where nothing is known, and of states of the series.
    """

    start: FloatArray
    moves: FloatArray
    labels: NDArray[np.int64]
    emission: FloatArray
    value: NDArray[np.int64]
    outputs: int
    values: int

    @property
    def states(self) -> int:
        """Number of hidden states."""
        return len(self.value)

    @property
    def numbers(self) -> tuple[NDArray[np.int64], FloatArray, FloatArray, FloatArray]:
        """Labels, emission, start and moves: what every kernel takes."""
        return self.labels, self.emission, self.start, self.moves

    @property
    def back(self) -> FloatArray:
        """The moves with their last two axes swapped."""
        return np.ascontiguousarray(np.swapaxes(self.moves, 1, 2))

    @property
    def plain(self) -> bool:
        """Whether the hidden states are the states themselves."""
        return self.states == self.values

    def by_value(self, found: FloatArray) -> FloatArray:
        """Probabilities of hidden states, shape (n, s), as those of the series' states, (n, k)."""
        if self.plain:
            return found
        summed = np.zeros((len(found), self.values))
        for hidden, value in enumerate(self.value):
            summed[:, value] += found[:, hidden]
        return summed

    def at_first(self, symbols: NDArray[Any]) -> FloatArray:
        """Weights of the hidden states at first points, shape (points, s)."""
        return np.asarray(self.start[self.labels[symbols]] * self.emission[symbols])


@dataclass(frozen=True)
class Odds:
    """Two states as odds of state 1; ``ratio`` has shape (symbols,)."""

    ratio: FloatArray
    start: float
    q: float
    r: float


def tables(model: Any, noise: Noise, gaps: bool = False) -> Tables:
    """The tables of a data model and a noise; ``gaps`` where points are missing.

    Noise that looks back has weights of steps; beneath gaps where it runs on unseen, hidden
    pairs of report and state.
    """
    check_states(model, noise)
    silent = report_labels(noise, gaps).silent
    if noise.ordered and (noise.holds or not silent):
        weights, value = step_weights(model, noise, gaps), model.hidden_chain()[2]
        count, size = weights.first.shape
        moves, seen = weights.step.reshape(-1, size, size), np.ones((count, size))
        return _with_known(weights.first, moves, np.arange(count), seen, value, model.states)
    hidden = hidden_model(model, noise, gaps)
    one = np.zeros(hidden.outputs, np.int64)
    start, move = hidden.start[None, :], hidden.transition[None]
    return _with_known(start, move, one, hidden.emission.T, hidden.value, hidden.states)


def _with_known(
    start: FloatArray,
    moves: FloatArray,
    labels: NDArray[np.int64],
    seen: FloatArray,
    value: NDArray[np.int64],
    states: int,
) -> Tables:
    """The tables with symbols for known points; ``seen`` is the emission of the others."""
    outputs, size = seen.shape
    emission = np.zeros((outputs * (states + 1), size))
    emission[:outputs] = seen
    known = emission[outputs:].reshape(outputs, states, size)
    # A known value leaves only the hidden states that stand for it.
    known[:] = seen[:, None, :] * (value[None, None, :] == np.arange(states)[:, None])
    every = np.concatenate([labels, np.repeat(labels, states)])
    return Tables(start, np.ascontiguousarray(moves), every, emission, value, outputs, states)


def odds(model: Tables) -> Odds | None:
    """Two states as odds, or None where there are more or the odds could leave the doubles."""
    if model.states != 2 or len(model.start) > 1 or model.moves.min() < LEAST_MOVE:
        return None
    first, transition = model.start[0], model.moves[0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        ratio = model.emission[:, 1] / model.emission[:, 0]
        start = first[1] / first[0]
    possible = ratio[model.emission.min(axis=1) > 0]
    if np.any(possible > LARGEST_RATIO) or np.any(possible < 1 / LARGEST_RATIO):
        return None
    if first[1] > 0 and not (1 / LARGEST_RATIO <= start <= LARGEST_RATIO):
        # A first point that is certain, or nearly so, is left to the general kernels.
        return None
    ratio = np.where(np.isposinf(ratio), CERTAIN, np.nan_to_num(ratio, nan=1.0))
    q, r = float(transition[0, 1]), float(transition[1, 0])
    return Odds(ratio, float(start), q, r)


def read_release(
    model: Any, noise: Noise, z: Any, known: Any = None
) -> tuple[Tables, Observations]:
    """A release and what is known beside it, with the tables to look it up in."""
    gaps = is_masked(z)
    found = tables(model, noise, gaps)
    reports = noise.outputs + gaps
    seen = read(
        with_marks(z, noise.outputs), found.values, reports, known, report_labels(noise, gaps)
    )
    check_possible(found, seen)
    return found, seen


def check_possible(model: Tables, seen: Observations) -> None:
    """Error if a symbol cannot be emitted by any state, as far as one point can tell."""
    impossible = model.emission.max(axis=1) <= 0
    first = seen.offsets[:-1][np.diff(seen.offsets) > 0]
    if impossible.any():
        wrong = np.flatnonzero(impossible[seen.symbols])
        if len(wrong):
            raise impossible_at(model, seen, int(wrong[0]))
    if model.start.min() <= 0:
        mass = model.at_first(seen.symbols[first]).sum(axis=1)
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
