"""What an estimate says: a value, how uncertain it is, and what the interval covers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate import answer_table
from chainveil.estimate.answer_table import Kind
from chainveil.estimate.simplex import project
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain

Covers = Literal["noise", "sampling"]

MEANING = {
    "noise": "the series as it was: only the noise of the release is uncertain",
    "sampling": "the chain behind the series: noise, and the drawing of the series from it",
}


def noise_part(standard_error: FloatArray, sampling_error: FloatArray | None) -> FloatArray:
    """What is left of standard errors without the part of points that do not report."""
    if sampling_error is None:
        return standard_error
    return np.asarray(np.sqrt(np.maximum(standard_error**2 - sampling_error**2, 0.0)))


@dataclass(frozen=True, repr=False)
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
    shared : bool
        Whether groups have noise in common.
    sampling_error : array of the shape of ``value``, or None
        Where one point in several reports: the part of the standard error that is due to the
        points that do not, estimated on the safe side; ``noise_error`` is the rest.
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
    shared: bool = field(default=False, kw_only=True)
    sampling_error: FloatArray | None = field(default=None, kw_only=True)

    @property
    def noise_error(self) -> FloatArray:
        """The part of the standard error that is due to the noise."""
        return noise_part(self.standard_error, self.sampling_error)

    # Whether values are sums over points, for which a standard error says all.
    summed: ClassVar[bool] = False
    # The scale of the numbers, and what they are counted in.
    scale: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = "share"

    @property
    def states(self) -> int:
        """Number of states k."""
        return int(self.value.shape[-1])

    @property
    def about(self) -> str:
        """What the numbers are, for the head of a text."""
        return self.unit

    def places(self, labels: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """What each number of one answer is about, in the order of the flat array."""
        return [{"state": label} for label in self.named(labels)]

    def named(self, labels: Sequence[Any] | None) -> list[Any]:
        """The states by their labels; by default their numbers."""
        return list(range(self.states)) if labels is None else list(labels)

    def tells(self, place: int) -> bool:
        """Whether a number says something that another one does not say already."""
        return self.states != 2 or place % 2 == 1

    def to_frame(self, kind: Kind | None = None, labels: Sequence[Any] | None = None) -> Any:
        """A row a number: ``state``, ``estimate``, ``low``, ``high``, ``unit``, ``points``, ….

        ``kind`` is "pandas", "polars" or "arrow"; by default pandas where it is installed.
        Values and limits are kept within their scale (``estimate.answer_table``).
        """
        return answer_table.framed(answer_table.columns(self, labels), kind)

    def place_of(self, group: Any) -> tuple[str, Any]:
        """In a figure: the panel of a group, and where it stands in it."""
        if not isinstance(group, tuple):
            return "", group
        *outer, last = group
        return ", ".join(map(str, outer)), last

    def plot(self, labels: Sequence[Any] | None = None, **words: Any) -> Any:
        """A figure of the values with their intervals; ``words`` as in ``plot.intervals``.

        ``by`` says what the groups are, ``about`` is a second line of the title.
        """
        from chainveil.plot.answers import draw

        return draw(self, labels, **words)

    def __repr__(self) -> str:
        return answer_table.text(self)

    def _repr_html_(self) -> str:
        return answer_table.html(self)

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """``(low, high)``."""
        return self.low, self.high

    @property
    def meaning(self) -> str:
        """What the interval covers, in words."""
        if self.sampling_error is not None:
            return (
                "the whole series: the noise of the reports (standard error up to "
                f"{np.nanmax(self.noise_error):.2g}), and the points that do not report (up to "
                f"{np.nanmax(self.sampling_error):.2g}, on the safe side)"
            )
        return MEANING[self.covers]


@dataclass(frozen=True, repr=False)
class Frequency(Estimate):
    """Share of each state; arrays of shape (k,), or (groups, k)."""

    summed: ClassVar[bool] = True


@dataclass(frozen=True, repr=False)
class Pairs(Estimate):
    """Share of each pair of states ``lag`` points apart; shape (k, k), or (groups, k, k)."""

    lag: int

    summed: ClassVar[bool] = True

    def places(self, labels: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """The two states."""
        return _pairs_of(self.named(labels))

    def tells(self, place: int) -> bool:
        """Every pair does."""
        return True


@dataclass(frozen=True, repr=False)
class Transitions(Estimate):
    """Probability of each next state; arrays of shape (k, k), or (groups, k, k).

    Attributes
    ----------
    pairs : array
        Share of each pair of neighbours, of the shape of ``value``. It is unbiased; the
        transitions, being ratios of such shares, are so for long series only.
    """

    pairs: FloatArray

    unit: ClassVar[str] = "probability"

    def places(self, labels: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """The state, and the next."""
        return _pairs_of(self.named(labels))

    def tells(self, place: int) -> bool:
        """Of two states the moves to the other one do."""
        return self.states != 2 or place in (1, 2)

    @property
    def chain(self) -> MarkovChain:
        """The estimate as a chain: the nearest valid one where it is not valid itself."""
        if self.value.ndim != 2:
            raise InvalidInput("chain", "an estimate by group", "one answer about everything")
        return valid_chain(self.value)


@dataclass(frozen=True, repr=False)
class Durations(Estimate):
    """Mean number of points that a spell of each state lasts; shape (k,), or (groups, k).

    Under a chain spells are geometric with mean ``1 / (1 - P(a, a))``. For the series as it
    was it is points over exits: a spell that the end of the series cuts has no exit yet.
    """

    scale: ClassVar[tuple[float, float]] = (1.0, np.inf)
    unit: ClassVar[str] = "points"

    def tells(self, place: int) -> bool:
        """Every state does."""
        return True


@dataclass(frozen=True, repr=False)
class Autocorrelation(Estimate):
    """Correlation of being in a state now and ``lag`` points later.

    Arrays of shape (lags, k), or (groups, lags, k). With two states both columns agree.
    """

    lags: tuple[int, ...]

    scale: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    unit: ClassVar[str] = "correlation"

    def places(self, labels: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """How many points later, and the state."""
        states = self.named(labels)
        return [{"lag": lag, "state": state} for lag in self.lags for state in states]


def _pairs_of(states: list[Any]) -> list[dict[str, Any]]:
    return [{"state": a, "next": b} for a in states for b in states]


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


def read_chain(chain: Any, states: int, argument: str = "chain") -> DataModel | None:
    """``chain`` if it is one of that many states, or None."""
    if chain is None:
        return None
    known = isinstance(chain, DataModel)
    if not known or chain.states != states:
        found = f"{chain.states} states" if known else chain
        raise InvalidInput(argument, found, f"a MarkovChain of {states} states, as the noise has")
    return cast(DataModel, chain)


def read_covers(covers: str) -> Covers:
    """``covers`` if it is one of the two."""
    checks.one_of("covers", covers, get_args(Covers))
    return cast(Covers, covers)
