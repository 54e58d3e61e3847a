"""The best of all mechanisms for a short series, by linear programming.

A mechanism is any law ``p(z | x)`` of all reports given the whole series, and the programme is

    minimise    the expected share of points whose report is wrong
    subject to  Pr[z | x_i = a, x_K] <= exp(epsilon) Pr[z | x_i = b, x_K]

for every point i, known set K, known values and output z. Reports with the names of the states
are enough: whatever else is published is read as a series of states in the end. The constraints
are linear in p; those that a solution violates are added until it violates none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.model.chain import MarkovChain

IntArray = NDArray[np.int64]
# A constraint that is violated by less, in probability, is not added.
TOLERANCE = 1e-9
# What the solver leaves of each constraint; its own default is 1e-7.
SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class BestMechanism:
    """What the programme found.

    Attributes
    ----------
    limit : float
        Least share of wrong reports: no mechanism has less, but for the solver's rounding.
    attained : float
        Share of wrong reports of ``law``, which keeps the budget.
    law : array of shape (2^n, 2^n)
        ``Pr[z | x]`` at ``[x, z]``, series and reports read as binary numbers.
    loss : float
        Privacy loss of ``law`` against any adversary, straight from the definition.
    """

    limit: float
    attained: float
    law: FloatArray
    loss: float


@dataclass(frozen=True)
class Setting:
    """A short series: every series, its probability, and what is known of it in every case."""

    series: IntArray
    prior: FloatArray
    # Pr[x | what is known], shape (3, …, 3, 2^n): 0 and 1 known values, 2 an unknown point.
    given: FloatArray
    # Numbers of the series after each symmetry of the prior, the first one does nothing.
    symmetries: list[IntArray]

    @property
    def length(self) -> int:
        """Number of points."""
        return int(self.series.shape[1])


def best_mechanism(
    chain: MarkovChain,
    epsilon: float,
    length: int,
    ahead: int | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> BestMechanism:
    """The least share of wrong reports at a budget over all mechanisms.

    For chains of two states in which every step is possible. ``ahead``: only mechanisms that
    publish in turn, each report knowing all points up to so many after its own.
    """
    setting = read_setting(chain, length, backwards=ahead is None)
    programme = Programme(setting, epsilon, ahead)
    while True:
        value, law = programme.solve()
        added = programme.add_violated(law)
        tell(f"n = {length}, round {programme.rounds}: at least {value:.6f}, {added} to add")
        if not added:
            break
    law = within_budget(setting, law, epsilon)
    return BestMechanism(value, wrong_share(setting, law), law, law_loss(setting, law))


def read_setting(chain: MarkovChain, length: int, backwards: bool = True) -> Setting:
    """Everything about a series of a two-state chain that does not depend on the budget.

    ``backwards``: whether reading it backwards counts as a symmetry.
    """
    series = np.array(list(product(range(2), repeat=length)))
    steps = chain.transition[series[:, :-1], series[:, 1:]].prod(axis=1)
    prior = chain.start[series[:, 0]] * steps
    given = np.diag(prior).reshape((2,) * length + (-1,))
    for axis in range(length):
        given = np.concatenate([given, given.sum(axis=axis, keepdims=True)], axis=axis)
    given = given / given.sum(axis=-1, keepdims=True)
    return Setting(series, prior, given, _symmetries(series, prior, backwards))


def _symmetries(series: IntArray, prior: FloatArray, backwards: bool) -> list[IntArray]:
    """Of reading backwards and swapping the states, what keeps the law of the series.

    The average of a best mechanism over them is a best mechanism, so one that has them is
    enough: error and constraints are linear.
    """
    images = [series, 1 - series]
    if backwards:
        images += [image[:, ::-1] for image in images]
    numbers = [image @ (2 ** np.arange(series.shape[1])[::-1]) for image in images]
    return [number for number in numbers if np.allclose(prior[number], prior, rtol=1e-12, atol=0)]


def wrong_share(setting: Setting, law: FloatArray) -> float:
    """Expected share of points whose report is not their state."""
    return float((setting.prior[:, None] * law * _wrong(setting)).sum())


def _wrong(setting: Setting) -> FloatArray:
    """Share of points at which series and reports differ, shape (2^n, 2^n)."""
    return np.asarray((setting.series[:, None, :] != setting.series[None, :, :]).mean(axis=2))


def law_loss(setting: Setting, law: FloatArray) -> float:
    """Largest log ratio over every point, known set, known values and output."""
    told = setting.given @ law
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(told)
        gaps = [
            np.abs(np.take(logs, 0, axis=i) - np.take(logs, 1, axis=i))
            for i in range(setting.length)
        ]
    # An output that is impossible either way tells nothing: -inf minus -inf.
    return max(float(np.nanmax(gap)) for gap in gaps)


def within_budget(setting: Setting, law: FloatArray, epsilon: float) -> FloatArray:
    """The law mixed with pure chance, just enough to keep every constraint."""
    over = float((_comparisons(setting, epsilon) @ law).max())
    # Chance keeps each constraint with this much to spare.
    spare = (math.exp(epsilon) - 1) / len(law)
    share = max(over, 0.0) / (max(over, 0.0) + spare)
    return np.asarray((1 - share) * law + share / len(law))


def _comparisons(setting: Setting, epsilon: float) -> Any:
    """Rows r with the constraint ``r @ law <= 0`` for each output, sparse, (rows, 2^n)."""
    from scipy.sparse import csr_matrix

    size, factor, rows = len(setting.series), math.exp(epsilon), []
    for i in range(setting.length):
        zero, one = (np.take(setting.given, a, axis=i).reshape(-1, size) for a in (0, 1))
        rows += [zero - factor * one, one - factor * zero]
    return csr_matrix(np.concatenate(rows))


class Programme:
    """The linear programme, one variable for all ``p(z | x)`` that a symmetry makes equal."""

    def __init__(self, setting: Setting, epsilon: float, ahead: int | None = None) -> None:
        size = len(setting.series)
        images = [g[:, None] * size + g[None, :] for g in setting.symmetries]
        found, place = np.unique(np.min(images, axis=0), return_inverse=True)
        # variable[x, z]: the number of the variable that is p(z | x).
        self.variable = np.asarray(place).reshape(size, size)
        self.variables = len(found)
        # Outputs, and series, that stand for their images.
        self.outputs = np.unique(np.min(setting.symmetries, axis=0))
        self.comparisons = _comparisons(setting, epsilon)
        self.cost = self._sum_up((setting.prior[:, None] * _wrong(setting)).ravel())
        self.rounds = 0
        self._blocks: list[Any] = []
        self._added = np.zeros((self.comparisons.shape[0], len(self.outputs)), dtype=bool)
        self._add_informed()
        self._equal = self._sums() if ahead is None else self._sums_in_turn(setting.length, ahead)

    def _sum_up(self, weights: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.variable.ravel(), weights, self.variables), float)

    def _sums(self) -> FloatArray:
        """Rows whose products with the variables are one: each series has some output."""
        rows = [np.bincount(self.variable[x], minlength=self.variables) for x in self.outputs]
        return np.array(rows, dtype=np.float64)

    def _sums_in_turn(self, length: int, ahead: int) -> FloatArray:
        """The same, and rows whose products are zero: early reports know no late point.

        The law of the first t reports is that with the point after all they may know changed.
        Points beyond are 0 in both: what is asked of t + 1 reports sees to those.
        """
        rows = []
        for t in range(1, length - ahead):
            later = length - t - ahead
            blocks = np.arange(2**length).reshape(2**t, -1)
            for x, outputs in product(np.arange(2 ** (t + ahead)) << later, blocks):
                row = np.bincount(self.variable[x, outputs], minlength=self.variables)
                other = self.variable[x | 1 << (later - 1), outputs]
                rows.append(row - np.bincount(other, minlength=self.variables))
        return np.concatenate([self._sums(), np.array(rows).reshape(-1, self.variables)])

    def _add_informed(self) -> None:
        """Begin with those who know every other point: rows with two series."""
        rows = np.flatnonzero(np.diff(self.comparisons.indptr) == 2)
        chosen = np.zeros_like(self._added)
        chosen[rows] = True
        self._add(chosen)

    def _add(self, chosen: NDArray[np.bool_]) -> None:
        from scipy.sparse import csr_matrix

        rows, outputs = np.nonzero(chosen)
        entries = self.comparisons[rows].tocoo()
        columns = self.variable[entries.col, self.outputs[outputs][entries.row]]
        shape = (len(rows), self.variables)
        self._blocks.append(csr_matrix((entries.data, (entries.row, columns)), shape=shape))
        self._added |= chosen

    def add_violated(self, law: FloatArray) -> int:
        """Add the constraints that a law violates; their number."""
        over = self.comparisons @ law[:, self.outputs]
        chosen = (over > TOLERANCE) & ~self._added
        if chosen.any():
            self._add(chosen)
        return int(chosen.sum())

    def solve(self) -> tuple[float, FloatArray]:
        """The least share of wrong reports under the constraints so far, and a law with it."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, vstack

        self.rounds += 1
        bounds = vstack(self._blocks)
        totals = np.zeros(len(self._equal))
        totals[: len(self.outputs)] = 1.0
        found = linprog(
            self.cost, bounds, np.zeros(bounds.shape[0]), csr_matrix(self._equal), totals,
            bounds=(0, 1), method="highs-ds", options=SOLVER,
        )  # fmt: skip
        if found.status != 0:
            raise ArithmeticError(f"the linear programme was not solved: {found.message}")
        return float(found.fun), np.asarray(found.x[self.variable])
