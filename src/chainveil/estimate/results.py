"""What an estimate says: a value, how uncertain it is, and what the interval covers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

import numpy as np

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.likelihood.fit_test import FitTest
from chainveil.estimate.simplex import project
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain

Covers = Literal["noise", "sampling"]
Method = Literal["counts", "likelihood"]

MEANING = {
    "noise": "the series as it was: only the noise of the release is uncertain",
    "sampling": "the chain behind the series: noise, and the drawing of the series from it",
}
# The same where an answer leans on the series being a chain.
MODEL_BASED = {
    "noise": "the series as it was, if it is a chain of order 1",
    "sampling": "the chain behind the series, if it is one of order 1: noise, and the drawing of "
    "the series from it",
}


@dataclass(frozen=True)
class Estimate:
    """An answer from a release.

    All arrays have the shape of ``value``; its first axis is that of ``groups`` where there
    are groups.

    Attributes
    ----------
    value : array
        The estimate.
    standard_error : array
    low, high : array
        The interval at ``level``.
    effective_size : array
        How many independent points without noise would leave the same standard error.
    level : float
    covers : "noise" or "sampling"
        What the interval covers; ``meaning`` says it in words.
    points : array of shape (groups,) or ()
        How many released points, or pairs of points, were looked at.
    groups : tuple or None
        Names of the groups, in order; None where there is one answer.
    fit : FitTest or None
        Where the answer leans on a chain that was fitted to the release: whether the release
        looks like one of it.
    """

    value: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    effective_size: FloatArray
    level: float
    covers: Covers
    points: FloatArray
    groups: tuple[Any, ...] | None
    fit: FitTest | None = field(default=None, kw_only=True)

    @property
    def misfit(self) -> bool:
        """Whether the release contradicts the chain that the answer leans on."""
        return self.fit is not None and self.fit.misfit

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """``(low, high)``."""
        return self.low, self.high

    @property
    def meaning(self) -> str:
        """What the interval covers, in words."""
        if self.fit is None:
            return MEANING[self.covers]
        mark = "MISFITTING: " if self.misfit else ""
        return f"{mark}{MODEL_BASED[self.covers]}; {self.fit}"


@dataclass(frozen=True)
class Frequency(Estimate):
    """Share of each state; arrays of shape (k,), or (groups, k)."""


@dataclass(frozen=True)
class Pairs(Estimate):
    """Share of each pair of states ``lag`` points apart; shape (k, k), or (groups, k, k)."""

    lag: int


@dataclass(frozen=True)
class Transitions(Estimate):
    """Probability of each next state; arrays of shape (k, k), or (groups, k, k).

    Attributes
    ----------
    pairs : array
        Share of each pair of neighbours, of the shape of ``value``. From counts it is
        unbiased; the transitions, being ratios of such shares, are so for long series only.
    method : "counts" or "likelihood"
    log_likelihood : float or None
        Of the release under the estimate, for the method "likelihood".
    """

    pairs: FloatArray
    method: Method
    log_likelihood: float | None

    @property
    def chain(self) -> MarkovChain:
        """The estimate as a chain: the nearest valid one where it is not valid itself."""
        if self.value.ndim != 2:
            raise InvalidInput("chain", "an estimate by group", "one answer about everything")
        return valid_chain(self.value)


@dataclass(frozen=True)
class Durations(Estimate):
    """Mean number of points that a spell of each state lasts; shape (k,), or (groups, k).

    Under a chain spells are geometric with mean ``1 / (1 - P(a, a))``. For the series as it
    was it is points over exits: a spell that the end of the series cuts has no exit yet.
    """


@dataclass(frozen=True)
class Autocorrelation(Estimate):
    """Correlation of being in a state now and ``lag`` points later.

    Arrays of shape (lags, k), or (groups, lags, k). With two states both columns agree.
    """

    lags: tuple[int, ...]


def settled(arrays: Iterable[FloatArray], groups: tuple[Any, ...] | None) -> list[FloatArray]:
    """Arrays of an answer, not to be changed; without the axis of groups where there are none."""
    kept = [np.array(array[0] if groups is None else array) for array in arrays]
    for array in kept:
        array.setflags(write=False)
    return kept


def valid_chain(transition: FloatArray, least: float = 1e-9) -> MarkovChain:
    """The nearest chain in which every step is possible."""
    matrix = np.maximum(project(transition), least)
    return MarkovChain(matrix / matrix.sum(axis=-1, keepdims=True))


def read_chain(chain: Any, states: int) -> MarkovChain | None:
    """``chain`` if it is one of that many states, or None."""
    if chain is None:
        return None
    known = isinstance(chain, DataModel)
    if not known or chain.states != states:
        found = f"{chain.states} states" if known else chain
        raise InvalidInput("chain", found, f"a MarkovChain of {states} states, as the noise has")
    return cast(MarkovChain, chain)


def read_covers(covers: str) -> Covers:
    """``covers`` if it is one of the two."""
    checks.one_of("covers", covers, get_args(Covers))
    return cast(Covers, covers)
