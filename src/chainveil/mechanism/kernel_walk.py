"""Noise drawn from its laws alone, whatever its kind: ``K[z, x, x', z']`` and a first law.

Each point takes one number of 53 random bits; its report is the number of bounds that the
number reaches, so every probability on the grid of 2^-53 is realised exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.draws import Draws, RowRuns
from chainveil.mechanism.pieces import PIECE, Piece
from chainveil.mechanism.randomness import Plane, Source
from chainveil.noise.base import GRID, Noise

# Bytes of a random number, and the bits that are left over of it.
WIDTH, SPARE_BITS = 8, np.uint64(11)
# Of a kernel: 256 states and reports that look at the last report.
MOST_ENTRIES = 1 << 25

Bounds = NDArray[np.uint64]


def bounds(law: FloatArray, kind: str) -> Bounds:
    """Running sums of a law in units of 2^-53, without the last, shape (…, m - 1).

    An error unless every entry is a multiple of 2^-53 and every row sums to one.
    """
    if law.size > MOST_ENTRIES:
        raise NotSupported(
            f"{kind} noise: a kernel of {law.size:,} entries, above {MOST_ENTRIES:,}"
        )
    units = np.asarray(law) * GRID
    whole = units.astype(np.uint64)
    if np.any(whole != units) or np.any(whole.sum(axis=-1) != np.uint64(GRID)):
        raise InvalidInput(
            "noise", f"{kind} noise whose on_grid() leaves the grid",
            "probabilities that are multiples of 2^-53 and sum to one",
        )  # fmt: skip
    return np.ascontiguousarray(np.cumsum(whole, axis=-1)[..., :-1])


class KernelWalk:
    """A kernel at work on arrays and streams. Pieces of one series must come in order."""

    dtype = np.dtype(np.uint8)
    notices = False
    stretch = PIECE

    def __init__(self, noise: Noise, source: Source, draws: Draws) -> None:
        check_start(noise, source)
        self.states, self.outputs = noise.states, noise.outputs
        realised = noise.on_grid()
        self._first = bounds(realised.first_law(), noise.kind)
        self._step = bounds(realised.step_law(), noise.kind)
        self._draws = draws
        # The last report and the last state, which is as secret as the data.
        self._last = (0, 0)

    @property
    def memory(self) -> list[int]:
        """The last report and the last state."""
        return list(self._last)

    def remember(self, memory: Any) -> None:
        """Go on from a last report and state."""
        report, state = memory
        if report not in range(self.outputs) or state not in range(self.states):
            raise ValueError
        self._last = int(report), int(state)

    def apply(self, piece: Piece, states: NDArray[Any], out: NDArray[Any]) -> bool:
        """Draw the reports of a piece, on from where the last one ended."""
        numbers = numbers_of(self._draws, piece)
        last = np.tile(np.array(self._last, np.int64), (piece.count, 1))
        fresh = piece.begin == 0
        kernels = self._draws.kernels
        kernels.walk_kernel(
            states, numbers, piece.offsets, fresh, self._first, self._step, last, out
        )
        self._last = int(last[-1, 0]), int(last[-1, 1])
        return True

    def one(self, point: int, state: int) -> int:
        """The report of one point; points must come in order."""
        number = self._draws.symbol(Plane.KERNEL, point, WIDTH) >> int(SPARE_BITS)
        row = self._first[state] if point == 0 else self._step[self._last][state]
        report = int((row <= np.uint64(number)).sum())
        self._last = report, state
        return report


class KernelRows:
    """A kernel at work on the rows of a table, series by series."""

    def __init__(self, noise: Noise, source: Source) -> None:
        check_start(noise, source)
        self._kind = noise.kind
        self._runs = RowRuns(source)
        self._draws = self._runs.draws
        realised = noise.on_grid()
        self._first = bounds(realised.first_law(), noise.kind)
        self._step = bounds(realised.step_law(), noise.kind)
        self._last = np.zeros((0, 2), np.int64)
        self._points = np.zeros(0, np.int64)

    def apply(self, states: NDArray[Any], rows: Any) -> NDArray[Any]:
        """The reports of the next rows, of the dtype of ``states``."""
        self._grow(len(rows.numbers))
        if not self._follow(rows):
            raise NotSupported(f"{self._kind} noise over gaps: it does not say what they do to it")
        out = np.empty_like(states)
        for begin in range(0, len(states), PIECE):
            part = slice(begin, begin + PIECE)
            owner, points = rows.owner[part], rows.points[part]
            held = states[part].astype(np.uint8, copy=False)
            reports = np.empty(len(held), np.uint8)
            numbers = numbers_of(self._draws, self._runs.next(rows, owner, points))
            self._draws.kernels.walk_kernel_rows(
                held, numbers, owner, points, self._first, self._step, self._last, reports
            )
            out[part] = reports
        return out

    def _follow(self, rows: Any) -> bool:
        """Whether every row is the next point of its series."""
        steps = np.empty(len(rows.owner), np.int64)
        self._draws.kernels.advances(rows.owner, rows.points, self._points, steps)
        return bool(np.all(steps == 1))

    def _grow(self, count: int) -> None:
        missing = count - len(self._points)
        if missing > 0:
            extra = max(missing, len(self._points))
            self._last = np.concatenate([self._last, np.zeros((extra, 2), np.int64)])
            self._points = np.concatenate([self._points, np.full(extra, -1, np.int64)])


def numbers_of(draws: Draws, piece: Any) -> Bounds:
    """A number of 53 random bits for each point of a piece."""
    symbols = draws.symbols(Plane.KERNEL, piece, WIDTH)[: piece.size * WIDTH]
    return np.array(symbols).view(np.uint64) >> SPARE_BITS


def check_start(noise: Noise, source: Source) -> None:
    """Error unless the source begins at point 0."""
    if source.first_point:
        raise InvalidInput(
            "rng", f"a start at point {source.first_point}",
            f"a start at point 0: {noise.kind} noise at a point depends on those before it",
            "Split the work by series, or carry on with a Stream.",
        )  # fmt: skip
