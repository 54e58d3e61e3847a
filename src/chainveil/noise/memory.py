"""Noise that remembers what it said: a report leans on the last one.

``docs/memory.md`` explains why that tells more at the same privacy loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.noise.automaton import Automaton
from chainveil.noise.base import Noise, Sees, read_noise, register, require_channel
from chainveil.noise.channel import Channel, mixed
from chainveil.noise.parametrization import Parametrization, probabilities, repeating

# Within this, a kernel is described as one that repeats its last report or answers afresh.
ALIKE = 1e-9


@dataclass(frozen=True, eq=False, repr=False, init=False)
class RememberingNoise(Noise):
    """What :class:`StickyNoise` and :class:`TrackingNoise` have in common.

    Both hold their last report over missing points, and both are a first law and kernels
    whose rows are probabilities.
    """

    holds: ClassVar[bool] = True

    kernel: FloatArray
    first: FloatArray

    def first_law(self) -> FloatArray:
        """``first``, shape (k, m)."""
        return self.first

    def to_matrix(self) -> list[list[float]]:
        """The rows of the first law, then those of the kernels."""
        rows = np.vstack([law.reshape(-1, self.outputs) for law in self._laws()])
        return list(rows.tolist())

    def _laws(self) -> tuple[FloatArray, ...]:
        return self.first, self.kernel

    def __reduce__(self) -> tuple[Any, ...]:
        return read_noise, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and self.every == other.every
            and all(map(np.array_equal, self._laws(), other._laws()))
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.every, *(law.tobytes() for law in self._laws())))


@register
@dataclass(frozen=True, eq=False, repr=False, init=False)
class StickyNoise(RememberingNoise):
    """A report depends on its own point and on the last report that was published.

    Nobody needs to know another's value: owners of single points can apply it in turn.

    Parameters
    ----------
    kernel : array of shape (m, k, m)
        ``kernel[z, x', z'] = Pr[Z_t = z' | Z_{t-1} = z, X_t = x']``; the last report is the
        last one that was made, whatever lies between.
    first : array of shape (k, m)
        ``Pr[Z_1 = z | X_1 = x]``. It is chosen with the kernel; a careless one costs privacy.
    every : int
        Report one point in so many, the middle of each block.

    Examples
    --------
    >>> import chainveil as cv
    >>> noise = cv.StickyNoise.binary([[0.1, 0.3], [0.7, 0.9]], first=[0.3, 0.7])
    >>> noise.kernel[1, 0]                          # after a report 1, at a point 0
    array([0.3, 0.7])
    """

    kind: ClassVar[str] = "sticky"
    sees: ClassVar[Sees] = "last report"
    finite = "sticky response"

    every: int

    def __init__(self, kernel: ArrayLike, first: ArrayLike, every: int = 1) -> None:
        start = law("first", first, 2)
        object.__setattr__(self, "first", start)
        m, k = start.shape[1], len(start)
        object.__setattr__(self, "kernel", law("kernel", kernel, 3, (m, k, m)))
        object.__setattr__(self, "every", checks.whole("every", every, 1))

    @classmethod
    def binary(cls, kernel: ArrayLike, first: ArrayLike, every: int = 1) -> StickyNoise:
        """Two states from probabilities to report 1.

        ``kernel[z][x']`` after the report z at a point in state x', shape (2, 2), and
        ``first[x]`` at the first point, shape (2,).
        """
        return cls(ones("kernel", kernel, 2), ones("first", first, 1), every)

    @classmethod
    def response(
        cls, repeat: ArrayLike, answer: Channel, first: Channel, every: int = 1
    ) -> StickyNoise:
        """Sticky response: repeat the last report, or answer afresh; any number of states.

        Parameters
        ----------
        repeat : float, or array of shape (k,) or (m, k)
            How often the last report is repeated: always the same, by the state, or by the
            last report and the state.
        answer : Channel
            What is reported else, for instance ``Channel.randomized_response(k, rho)``,
            ``Channel.ordinal(k, decay)`` or ``Channel.per_state_response(levels)``.
        first : Channel
            What is reported at the first point, where there is nothing to repeat.
        every : int
            Report one point in so many, the middle of each block.
        """
        require_channel(answer, "answer")
        require_channel(first, "first")
        k, m = answer.states, answer.outputs
        if (first.states, first.outputs) != (k, m):
            found = f"{first.states} states and {first.outputs} reports"
            raise InvalidInput("first", found, f"{k} states and {m} reports, as answer has")
        share = np.asarray(repeat, dtype=np.float64)
        fits = share.shape in ((), (k,), (m, k)) and bool(np.all((share >= 0) & (share <= 1)))
        if not fits:
            raise InvalidInput("repeat", repeat, f"a probability, {k} of them, or {m} by {k}")
        again = np.broadcast_to(share, (m, k))[:, :, None]
        kernel = again * np.eye(m)[:, None, :] + (1 - again) * answer.first_law()
        return cls(kernel, first.first_law(), every)

    @classmethod
    def parametrization(
        cls, transition: FloatArray, every: int = 1, gaps: bool = False, max_noise: float = 0.5
    ) -> Parametrization:
        """By the logits to report 1 after either report and in either state."""
        return _Sticky(transition, every, gaps, max_noise)

    def step_law(self) -> FloatArray:
        """The kernel, whatever the point before, shape (m, k, k, m)."""
        m, k = self.outputs, self.states
        return np.broadcast_to(self.kernel[:, None, :, :], (m, k, k, m))

    def after_gap_law(self) -> FloatArray:
        """The kernel itself: missing points leave the last report as it is."""
        return self.kernel

    def thinned(self, every: int) -> StickyNoise:
        """The same kernel on one point in ``every``."""
        return self if every == self.every else StickyNoise(self.kernel, self.first, every)

    def quieter(self, share: float, weights: FloatArray) -> StickyNoise:
        """Changes of the report depend less and less on the state."""
        silent = np.einsum("x,zxy->zy", weights, self.kernel)
        return StickyNoise(
            hushed(self.kernel, silent, share), mixed(self.first, share, weights), self.every
        )

    @classmethod
    def from_matrix(cls, rows: Any) -> StickyNoise:
        """The noise that :meth:`to_matrix` wrote down: k rows first, then m times k."""
        table = numbers(rows)
        m = table.shape[1]
        k, left = divmod(len(table), m + 1)
        if left or k < 2:
            raise InvalidInput("noise.matrix", table.shape, "rows of a first law and of a kernel")
        return cls(table[k:].reshape(m, k, m), table[:k])

    def describe(self) -> str:
        """How often the last report is repeated, and what follows it."""
        often = f" on one point in {self.every}" if self.every != 1 else ""
        if (self.states, self.outputs) != (2, 2):
            return f"{self._in_words()}{often}"
        (a, b), (c, d) = self.kernel[:, :, 1].tolist()
        return (
            f"report 1 with {a:.6f} or {b:.6f} (point 0 or 1) after a 0, "
            f"with {c:.6f} or {d:.6f} after a 1{often}"
        )

    def _in_words(self) -> str:
        """More than two states or reports; the numbers of a sticky response are told."""
        found = _repeated(self.kernel) if self.states == self.outputs else None
        if found is None:
            return f"report by the point and the last report, {self.outputs} reports"
        repeat, answer = found
        shares, levels = _listed(repeat), _listed(1 - np.diag(answer))
        return f"repeat the last report with {shares}, else report another state with {levels}"

    def __repr__(self) -> str:
        every = f", every={self.every}" if self.every != 1 else ""
        return f"StickyNoise({self.kernel.tolist()!r}, {self.first.tolist()!r}{every})"


@register
@dataclass(frozen=True, eq=False, repr=False, init=False)
class TrackingNoise(RememberingNoise):
    """A report depends on its own point, on the point before it and on the last report.

    It can follow a change when it happens. One holder of the whole series applies it.

    Parameters
    ----------
    kernel : array of shape (m, k, k, m)
        ``kernel[z, x, x', z'] = Pr[Z_t = z' | Z_{t-1} = z, X_{t-1} = x, X_t = x']``.
    first : array of shape (k, m)
        ``Pr[Z_1 = z | X_1 = x]``.
    after_gap : array of shape (m, k, m), optional
        ``Pr[Z_t = z' | last report z, X_t = x']`` where the point before is missing. Without
        it, the kernel with equal weights of the two values of the missing point.

    Examples
    --------
    >>> import chainveil as cv
    >>> by_last_report = [[[0.1, 0.6], [0.2, 0.5]], [[0.4, 0.8], [0.3, 0.9]]]
    >>> noise = cv.TrackingNoise.binary(by_last_report, first=[0.3, 0.7])
    >>> noise.kernel.shape                          # last report, point before, point, report
    (2, 2, 2, 2)
    """

    kind: ClassVar[str] = "tracking"
    sees: ClassVar[Sees] = "series"

    after_gap: FloatArray

    def __init__(
        self, kernel: ArrayLike, first: ArrayLike, after_gap: ArrayLike | None = None
    ) -> None:
        start = law("first", first, 2)
        m, k = start.shape[1], len(start)
        tensor = law("kernel", kernel, 4, (m, k, k, m))
        gap = tensor.mean(axis=1) if after_gap is None else after_gap
        object.__setattr__(self, "first", start)
        object.__setattr__(self, "kernel", tensor)
        object.__setattr__(self, "after_gap", law("after_gap", gap, 3, (m, k, m)))

    @classmethod
    def binary(
        cls, kernel: ArrayLike, first: ArrayLike, after_gap: ArrayLike | None = None
    ) -> TrackingNoise:
        """Two states from probabilities to report 1: ``kernel[z][x][x']``, ``first[x]``.

        ``after_gap[z][x']`` where the point before is missing.
        """
        gap = None if after_gap is None else ones("after_gap", after_gap, 2)
        return cls(ones("kernel", kernel, 3), ones("first", first, 1), gap)

    @classmethod
    def parametrization(
        cls, transition: FloatArray, every: int = 1, gaps: bool = False, max_noise: float = 0.5
    ) -> Parametrization:
        """By the logits to report 1, by the last report, the state before and the state."""
        return _Tracking(transition, every, gaps, max_noise)

    def step_law(self) -> FloatArray:
        """The kernel, shape (m, k, k, m)."""
        return self.kernel

    def after_gap_law(self) -> FloatArray:
        """``after_gap``, shape (m, k, m)."""
        return self.after_gap

    def quieter(self, share: float, weights: FloatArray) -> TrackingNoise:
        """Changes of the report depend less and less on the states."""
        silent = np.einsum("x,zxxy->zy", weights, self.kernel)
        kernel, gap = (hushed(law, silent, share) for law in (self.kernel, self.after_gap))
        return TrackingNoise(kernel, mixed(self.first, share, weights), gap)

    def _laws(self) -> tuple[FloatArray, ...]:
        return self.first, self.kernel, self.after_gap

    @classmethod
    def from_matrix(cls, rows: Any) -> TrackingNoise:
        """The noise that :meth:`to_matrix` wrote down: k rows, then m k^2, then m k."""
        table = numbers(rows)
        m, count = table.shape[1], len(table)
        k = next((k for k in range(2, count) if k + m * k * k + m * k >= count), 2)
        if k + m * k * k + m * k != count:
            raise InvalidInput("noise.matrix", table.shape, "rows of a first law and two kernels")
        kernel, gap = table[k : k + m * k * k], table[k + m * k * k :]
        return cls(kernel.reshape(m, k, k, m), table[:k], gap.reshape(m, k, m))

    def describe(self) -> str:
        """How a report follows the changes of the series."""
        if (self.states, self.outputs) != (2, 2):
            return f"follow the changes with {self.outputs} reports"
        stay, leave = self.kernel[:, :, :, 1].tolist()
        odds = ", ".join(f"{x:.4f}" for row in (*stay, *leave) for x in row)
        return f"report 1 with {odds} by the last report, the point before and the point"

    def __repr__(self) -> str:
        laws = ", ".join(repr(part.tolist()) for part in (self.kernel, self.first, self.after_gap))
        return f"TrackingNoise({laws})"


@dataclass(frozen=True, eq=False)
class _Remembering(Parametrization):
    """What the logits of sticky and of tracking noise have in common: the first half of them is
    for the last report 0.
    """

    def slowed(self, logits: FloatArray, rate: float) -> FloatArray:
        # Reports turn as much more rarely as the chain does. A report that turns at every point
        # gains, in each pair of turns, the difference between what a turn to 1 and a turn back say
        # of a state that stays; it can do so for as long as the state stays.
        by_label = logits.reshape(2, -1) + np.log(rate) * np.array([[1.0], [-1.0]])
        zero, one = by_label[:, 0], by_label[:, -1]
        unequal = (1 - rate) * ((one - zero) - (one - zero).mean()) / 2
        by_label[:, 0], by_label[:, -1] = zero + unequal, one - unequal
        return np.asarray(by_label.ravel())

    def quiet(self, logits: FloatArray) -> FloatArray:
        return np.repeat(logits.reshape(2, -1).mean(axis=1), logits.size // 2)


@dataclass(frozen=True, eq=False)
class _Sticky(_Remembering):
    """Four logits: ``[last report, state]``."""

    objectives = ("wrong-reports", "distance", "share", "smoothed")
    thins = True
    simpler = "independent"

    def kernel(self, logits: FloatArray) -> FloatArray:
        law = probabilities(logits.reshape(*logits.shape[:-1], 2, 1, 2))
        return np.broadcast_to(law, (*law.shape[:-4], 2, 2, 2, 2))

    def noise(self, kernel: FloatArray, first: FloatArray, after_gap: FloatArray) -> StickyNoise:
        return StickyNoise(kernel[:, 0], first, self.every)

    def automaton(self, kernel: FloatArray, first: FloatArray, after_gap: FloatArray) -> Automaton:
        return super().automaton(kernel, first, kernel[:, 0])

    def embedded(self, logits: FloatArray) -> FloatArray:
        return np.tile(logits, 2)

    def starts(self, epsilon: float) -> list[FloatArray]:
        return [logits[:, 0].ravel() for logits in repeating(self, epsilon, (0.0,))]


@dataclass(frozen=True, eq=False)
class _Tracking(_Remembering):
    """Eight logits: ``[last report, state before, state]``."""

    simpler = "sticky"

    def kernel(self, logits: FloatArray) -> FloatArray:
        return probabilities(logits.reshape(*logits.shape[:-1], 2, 2, 2))

    def noise(self, kernel: FloatArray, first: FloatArray, after_gap: FloatArray) -> TrackingNoise:
        return TrackingNoise(kernel, first, after_gap)

    def embedded(self, logits: FloatArray) -> FloatArray:
        return np.repeat(logits.reshape(2, 1, 2), 2, axis=1).ravel()

    def starts(self, epsilon: float) -> list[FloatArray]:
        # There are two branches, which lean on the state before with different signs.
        return [logits.ravel() for logits in repeating(self, epsilon, (1.0, -1.0, 0.0))]


def hushed(kernel: FloatArray, silent: FloatArray, share: float) -> FloatArray:
    """A kernel, shape (m, …, m), a share of the way to one, shape (m, m), that sees no state.

    Chances to change the report are mixed as logarithms and staying gets the rest: where a
    report that turns over and back again says nothing at all, that stays so.
    """
    m = len(silent)
    goal = silent.reshape(m, *(1,) * (kernel.ndim - 2), m)
    mixed = kernel ** (1 - share) * goal**share
    for report in range(m):
        mixed[report, ..., report] = 0.0
        mixed[report, ..., report] = np.maximum(1 - mixed[report].sum(axis=-1), 0.0)
    return np.asarray(mixed / mixed.sum(axis=-1, keepdims=True))


def law(
    argument: str, value: ArrayLike, axes: int, shape: tuple[int, ...] | None = None
) -> FloatArray:
    """Probabilities over the last axis, checked and frozen; two states or more."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != axes or (shape is not None and array.shape != shape) or array.shape[0] < 2:
        wanted = f"shape {shape}" if shape is not None else "a row of probabilities for each state"
        raise InvalidInput(argument, f"shape {array.shape}", wanted)
    flat = checks.stochastic_matrix(argument, array.reshape(-1, array.shape[-1]))
    frozen = np.array(flat).reshape(array.shape)
    frozen.setflags(write=False)
    return frozen


def ones(argument: str, value: ArrayLike, axes: int) -> FloatArray:
    """Probabilities of reporting 1 as rows of two, shape (2,) * axes + (2,)."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (2,) * axes or not np.all((array >= 0) & (array <= 1)):
        raise InvalidInput(argument, value, f"probabilities in the shape {(2,) * axes}")
    return np.stack([1 - array, array], axis=-1)


def _repeated(kernel: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """A kernel as a sticky response: how often each state repeats (k,), and the answer (k, m).

    None where it is none: what follows a report other than itself must be the same after all.
    """
    m, k = kernel.shape[:2]
    other = ~np.eye(m, dtype=bool)[:, None, :]
    counted = np.where(other, kernel, 0.0)
    fresh = counted.sum(axis=0) / (m - 1)
    repeat = 1 - fresh.sum(axis=1)
    made = fresh + repeat[:, None] * np.eye(m)[:, None, :]
    if np.abs(made - kernel).max() > ALIKE or repeat.min() < -ALIKE:
        return None
    answers = np.full((k, m), 1.0 / m)
    said = repeat < 1 - ALIKE
    answers[said] = fresh[said] / (1 - repeat[said, None])
    return repeat, answers


def _listed(shares: FloatArray) -> str:
    """One number where all are the same, else each, state by state."""
    alike = float(np.ptp(shares)) <= ALIKE
    return ", ".join(f"{share:.4f}" for share in (shares[:1] if alike else shares))


def numbers(rows: Any) -> FloatArray:
    """Rows of numbers as they were written down."""
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 1:
        raise InvalidInput("noise.matrix", table.shape, "rows of probabilities")
    return table
