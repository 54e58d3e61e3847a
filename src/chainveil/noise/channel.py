"""A noise matrix: what each state turns into. Knows nothing of the chain's dependence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.noise.automaton import Automaton, independent
from chainveil.noise.base import GRID, Noise, Sees, register, require_channel
from chainveil.noise.parametrization import (
    FARTHEST,
    Parametrization,
    logits_of,
    probabilities,
)


@register
@dataclass(frozen=True, eq=False, repr=False)
class Channel(Noise):
    """A memoryless noise channel with k input states and m outputs.

    Parameters
    ----------
    matrix : array of shape (k, m)
        ``matrix[x, z] = Pr[Z = z | X = x]``, the matrix B of the paper's Algorithm 1.
    every : int
        Report one point in so many, the middle of each block.

    Notes
    -----
    A channel with two states and two outputs *is* its two off-diagonal numbers:
    ``rho0 = matrix[0, 1]`` and ``rho1 = matrix[1, 0]``. The diagonal is read as
    exactly ``1 - rho``, so rounding in it never enters a privacy figure.

    Examples
    --------
    >>> import chainveil as cv
    >>> cv.Channel.binary(rho0=0.25, rho1=0.125).matrix
    array([[0.75 , 0.25 ],
           [0.125, 0.875]])
    """

    kind: ClassVar[str] = "independent"
    sees: ClassVar[Sees] = "point"
    finite = "response"

    matrix: FloatArray
    parts: tuple[Noise, ...]
    every: int

    def __init__(self, matrix: ArrayLike, every: int = 1) -> None:
        checked = checks.stochastic_matrix("matrix", matrix)
        if checked.shape[0] < 2:
            raise InvalidInput("matrix", matrix, "at least two rows, one a state")
        object.__setattr__(self, "matrix", checked)
        object.__setattr__(self, "parts", ())
        object.__setattr__(self, "every", checks.whole("every", every, 1))

    @classmethod
    def binary(cls, rho0: float, rho1: float) -> Channel:
        """Two states: 0 is reported as 1 with probability ``rho0``, 1 as 0 with ``rho1``."""
        rho0 = checks.probability("rho0", rho0)
        rho1 = checks.probability("rho1", rho1)
        return cls([[1 - rho0, rho0], [rho1, 1 - rho1]])

    @classmethod
    def randomized_response(cls, states: int, rho: float) -> Channel:
        """Keep a state with probability ``1 - rho``, else report one of the others, all alike.

        ``rho`` is the probability that the report differs from the truth.
        """
        states, rho = checks.whole("states", states, 2), checks.probability("rho", rho)
        return cls.per_state_response(np.full(states, rho))

    @classmethod
    def ordinal(cls, states: int, decay: float) -> Channel:
        """Noise for ordered states: a report d states away is ``decay^d`` times as likely.

        Row x is proportional to ``decay ** |x - z|``: near states are reported more often
        than far ones. ``decay = 0`` is no noise, ``decay = 1`` hides the state altogether.
        """
        states = checks.whole("states", states, 2)
        decay = checks.probability("decay", decay)
        places = np.arange(states)
        matrix = np.power(decay, np.abs(places[:, None] - places[None, :]).astype(float))
        return cls(matrix / matrix.sum(axis=1, keepdims=True))

    @classmethod
    def per_state_response(cls, rho: ArrayLike) -> Channel:
        """Randomized response with a flip probability of its own for each state, shape (k,).

        State x is kept with probability ``1 - rho[x]``, else one of the others is reported,
        all alike.
        """
        levels = np.asarray(rho, dtype=np.float64)
        if levels.ndim != 1 or len(levels) < 2 or np.any(~((levels >= 0) & (levels <= 1))):
            raise InvalidInput("rho", rho, "at least two probabilities, one a state")
        matrix = np.repeat(levels[:, None] / (len(levels) - 1), len(levels), axis=1)
        np.fill_diagonal(matrix, 1 - levels)
        return cls(matrix)

    @classmethod
    def joint(cls, *channels: Noise) -> Channel:
        """Several releases of the same series, each with independent noise, seen together.

        Output ``z`` stands for one output of each channel, counted like the digits of a
        number: the last channel's output runs fastest.
        """
        for number, channel in enumerate(channels):
            require_channel(channel, f"channels[{number}]")
            if channel.every != 1:
                raise InvalidInput(f"channels[{number}]", channel, "a Channel on every point")
            if channel.states != channels[0].states:
                raise InvalidInput(
                    f"channels[{number}]",
                    f"{channel.states} states",
                    f"{channels[0].states} states, as the first channel has",
                )
        if not channels:
            raise InvalidInput("channels", "none", "at least one channel")
        parts = tuple(part for channel in channels for part in (channel.parts or (channel,)))
        matrix = parts[0].first_law()
        if len(parts) == 1:
            return cls(matrix)
        for part in parts[1:]:
            law = part.first_law()
            matrix = (matrix[:, :, None] * law[:, None, :]).reshape(len(matrix), -1)
        result = cls(matrix / matrix.sum(axis=1, keepdims=True))
        object.__setattr__(result, "parts", parts)
        return result

    def on_grid(self) -> Channel:
        """The nearest channel whose probabilities are multiples of 2^-53, rounded to more noise.

        Every entry of the result is an exact double that a sampler can realise without error,
        and every row sums to exactly one. What leads away from a state's own report is rounded
        up, by less than 2^-53, and the report of the state itself gets the rest; the likeliest
        report does where there are more outputs than states, or where a state's own report is
        too rare to give something away. What is impossible stays so, and what is possible too.
        """
        # All whole numbers up to 2^53 are exact, and so are products with a power of two.
        units = np.ceil(self.matrix * GRID).astype(np.int64)
        rows = np.arange(self.states)
        keeper = np.argmax(self.matrix, axis=1)
        if self.states == self.outputs:
            own = np.diag(units)
            left = int(GRID) - (units.sum(axis=1) - own)
            keeper = np.where((own > 0) & (left > 0), rows, keeper)
        units[rows, keeper] = 0
        units[rows, keeper] = int(GRID) - units.sum(axis=1)
        return Channel(units / GRID, self.every)

    def thinned(self, every: int) -> Channel:
        """The same channel on one point in ``every``."""
        return self if every == self.every else Channel(self.matrix, every)

    def quieter(self, share: float, weights: FloatArray) -> Channel:
        """A report is drawn anew, whatever it was, with probability ``share``.

        The result is made from the reports alone, so that its loss is no larger on any model.
        """
        return Channel(mixed(self.matrix, share, weights), self.every)

    @classmethod
    def parametrization(
        cls, transition: FloatArray, every: int = 1, gaps: bool = False, max_noise: float = 0.5
    ) -> Parametrization:
        """By the logits to report 1 in either state."""
        return _Response(transition, every, gaps, max_noise)

    def first_law(self) -> FloatArray:
        """The matrix itself: every report is a first one."""
        return self.matrix

    def to_matrix(self) -> list[list[float]]:
        """A row a state."""
        return list(self.matrix.tolist())

    @classmethod
    def from_matrix(cls, rows: Any) -> Channel:
        """The channel with that matrix."""
        return cls(rows)

    def describe(self) -> str:
        """How often each state is reported as another one."""
        often = f" on one point in {self.every}" if self.every != 1 else ""
        if self.states != self.outputs:
            return f"report one of {self.outputs} values by the point alone{often}"
        if self.states != 2:
            levels = ", ".join(f"{float(rho):.4f}" for rho in self.flip_probabilities)
            return f"report another state with {levels}, state by state{often}"
        rho0, rho1 = (float(rho) for rho in self.flip_probabilities)
        return f"flip 0 with {rho0:.6f} and 1 with {rho1:.6f}{often}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Channel)
            and np.array_equal(self.matrix, other.matrix)
            and self.parts == other.parts
            and self.every == other.every
        )

    def __hash__(self) -> int:
        return hash((self.matrix.shape, self.matrix.tobytes()))

    def __repr__(self) -> str:
        if self.matrix.shape == (2, 2):
            rho0, rho1 = float(self.matrix[0, 1]), float(self.matrix[1, 0])
            thinned = f".thinned({self.every})" if self.every != 1 else ""
            return f"Channel.binary(rho0={rho0!r}, rho1={rho1!r}){thinned}"
        if self.parts:
            return f"Channel.joint({', '.join(map(repr, self.parts))})"
        thinned = f", every={self.every}" if self.every != 1 else ""
        return f"Channel({self.matrix.tolist()!r}{thinned})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.parts:
            return Channel.joint, self.parts
        return Channel, (np.array(self.matrix), self.every)


def mixed(law: FloatArray, share: float, weights: FloatArray) -> FloatArray:
    """A law, shape (k, m), drawn anew with probability ``share``, whatever the state is."""
    anew = weights @ law
    return np.asarray((1 - share) * law + share * anew / anew.sum())


@dataclass(frozen=True, eq=False)
class _Response(Parametrization):
    """Two logits: to report 1 at a point in state 0, and in state 1."""

    objectives = ("wrong-reports", "distance", "share", "smoothed")
    thins = True
    limited = True

    def kernel(self, logits: FloatArray) -> FloatArray:
        law = probabilities(logits)
        return np.broadcast_to(law[..., None, None, :, :], (*law.shape[:-2], 2, 2, 2, 2))

    def noise(self, kernel: FloatArray, first: FloatArray, after_gap: FloatArray) -> Channel:
        rho0, rho1 = np.minimum([kernel[0, 0, 0, 1], kernel[0, 0, 1, 0]], self.max_noise)
        return Channel.binary(float(rho0), float(rho1)).thinned(self.every)

    def automaton(self, kernel: FloatArray, first: FloatArray, after_gap: FloatArray) -> Automaton:
        return independent(first, self.every)

    def starts(self, epsilon: float) -> list[FloatArray]:
        answer = logits_of([1 / (1 + np.exp(epsilon / 2)), 1 / (1 + np.exp(-epsilon / 2))])
        # Where a state may be reported as the other one more often than not, one of them may be.
        wide = [np.array([1.0, 5.0]), np.array([-5.0, -1.0])] if self.max_noise > 0.5 else []
        return self._allowed([answer, *wide])

    def more_starts(self, epsilon: float) -> list[FloatArray]:
        return self._allowed([np.array([-1.0, 6.0]), np.array([-6.0, 1.0])])

    def _allowed(self, starts: list[FloatArray]) -> list[FloatArray]:
        return [np.clip(one, *self.limits(2)) for one in starts]

    def limits(self, size: int) -> tuple[FloatArray, FloatArray]:
        most = float(logits_of(self.max_noise))
        return np.array([-FARTHEST, -most]), np.array([most, FARTHEST])

    def slowed(self, logits: FloatArray, rate: float) -> FloatArray | None:
        # What a report says of its point gets as much less: there are as many more of them.
        middle = 0.0 if self.max_noise == 0.5 else logits.mean()
        return np.asarray(middle + rate * (logits - middle))

    def quiet(self, logits: FloatArray) -> FloatArray:
        least, most = self.limits(2)
        return np.full(2, np.clip(logits.mean(), least[1], most[0]))
