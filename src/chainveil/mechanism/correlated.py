"""Correlated noise (Section 3.3 of the paper): one owner, one noise chain for each series."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism import thresholds
from chainveil.mechanism.draws import Draws, RowRuns, settling
from chainveil.mechanism.pieces import PIECE, Piece
from chainveil.mechanism.randomness import Plane, Source
from chainveil.noise.base import GRID
from chainveil.noise.correlated import CorrelatedNoise

# Unseen points that the noise runs beneath, in one batch: minutes of work.
MOST_UNSEEN = 1 << 34


class ChainFlips:
    """A noise chain at work. Pieces of one series must come in order."""

    states = outputs = 2
    dtype = np.dtype(np.uint8)
    notices = False
    stretch = PIECE

    def __init__(
        self,
        noise: CorrelatedNoise,
        source: Source,
        draws: Draws | None = None,
    ) -> None:
        if source.first_point:
            raise InvalidInput(
                "rng",
                f"a start at point {source.first_point}",
                "a start at point 0: correlated noise at a point depends on all before it",
                "Split the work by series, or carry on with a Stream.",
            )
        grid = noise.on_grid()
        self._begin, self._stop = int(grid.rho0 * GRID), int(grid.rho1 * GRID)
        self.table = thresholds.flip_table((self._begin, self._stop))
        self._settling = settling(self.table)
        self._draws = Draws(source) if draws is None else draws
        self._codes = np.empty(0, np.uint8)
        # Whether the last point was flipped: as secret as the data.
        self.current = 0

    @property
    def memory(self) -> int:
        """Whether the last point was flipped."""
        return self.current

    def remember(self, memory: Any) -> None:
        """Go on from a point that was flipped, or not."""
        self.current = {0: 0, 1: 1}[memory]

    def apply(self, piece: Piece, states: NDArray[Any], out: NDArray[Any]) -> bool:
        """Run the noise along the piece, on from where the last one ended."""
        codes, noise = self.turns(piece), self._starts(piece)
        self._draws.kernels.walk(states, codes, piece.offsets, noise, piece.begin == 0, out)
        self.current = int(noise[-1])
        return True

    def turns(self, piece: Any) -> NDArray[np.uint8]:
        """What becomes of either noise state at each point, as ``kernels.flip_codes`` says it.

        ``piece`` is whatever the draws know; the result is overwritten by the next one.
        """
        draws, kernels = self._draws, self._draws.kernels
        symbols = draws.symbols(Plane.CHAIN, piece)
        if len(self._codes) < piece.size:
            self._codes = np.empty(piece.size, np.uint8)
        codes = self._codes[: piece.size]
        high0, high1 = (np.uint8(high) for high in self.table.high)
        ties = draws.ties[: kernels.flip_codes(symbols, high0, high1, codes, draws.ties)]
        words = draws.refined(Plane.CHAIN_REFINED, piece, ties)
        kernels.settle_codes(ties, words, *self._settling, codes)
        return codes

    def one(self, point: int, state: int) -> int:
        """The report of one point; points must come in order."""
        if point == 0:
            self.current = int(self.starts(np.zeros(1))[0])
            return state ^ self.current
        symbol = self._draws.symbol(Plane.CHAIN, point)
        if symbol:
            self.current ^= int(symbol <= self.table.high[self.current])
        else:
            draw = self._draws.refined_one(Plane.CHAIN_REFINED, point, self.table.shift)
            self.current ^= int(draw < self.table.low[self.current])
        return state ^ self.current

    def _starts(self, piece: Piece) -> NDArray[np.uint8]:
        """The noise of each series before the piece, or at its first point if it starts there."""
        if piece.begin:
            return np.array([self.current], np.uint8)
        return self.starts(np.arange(piece.series, piece.series + piece.count))

    def starts(self, series: NDArray[Any]) -> NDArray[np.uint8]:
        """The noise at the first point of series: ``rho0 / (rho0 + rho1)`` flip, exactly."""
        drawn = self._draws.uniform(series, self._begin + self._stop)
        return (drawn < self._begin).astype(np.uint8)


class ChainRows:
    """One noise chain for each series, each carried on from row to row."""

    def __init__(self, noise: CorrelatedNoise, source: Source) -> None:
        self._runs = RowRuns(source)
        self._draws = self._runs.draws
        self._flips = ChainFlips(noise, source, self._draws)
        self._noise = np.zeros(0, np.uint8)
        self._last = np.full(0, -1, np.int64)

    def apply(self, states: NDArray[Any], rows: Any) -> NDArray[Any]:
        self._grow(len(rows.numbers))
        steps = np.empty(len(states), np.int64)
        total = self._draws.kernels.advances(rows.owner, rows.points, self._last, steps)
        if not len(states) <= total <= len(states) + MOST_UNSEEN:
            raise InvalidInput(
                "rows", "points out of order" if total < 0 else f"{total:,} points with the gaps",
                f"points that increase in each series, at most {MOST_UNSEEN:,} of them unseen",
                "Publish what lies after a very long gap as a series of its own.",
            )  # fmt: skip
        ends, out = np.cumsum(steps), np.empty_like(states)
        for begin in range(0, total, PIECE):
            self._walk(states, rows, ends, begin, min(begin + PIECE, total), out)
        return out

    def _walk(
        self,
        states: NDArray[Any],
        rows: Any,
        ends: NDArray[np.int64],
        begin: int,
        end: int,
        out: NDArray[Any],
    ) -> None:
        """Points ``begin … end - 1`` of a batch, counted with the unseen ones as ``ends`` does."""
        places = np.arange(begin, end)
        row = places if ends[-1] == len(ends) else np.searchsorted(ends, places, "right")
        before = ends[row] - 1 - places
        owner, points = rows.owner[row], rows.points[row] - before
        fresh = points == 0
        beginning = owner[fresh]
        names = rows.numbers[beginning] if self._runs.by_address else beginning
        self._noise[beginning] = self._flips.starts(names)
        codes = self._flips.turns(self._runs.next(rows, owner, points))
        reports = np.empty(len(row), np.uint8)
        held = states[row].astype(np.uint8, copy=False)
        self._draws.kernels.walk_rows(held, codes, owner, fresh, self._noise, reports)
        seen = before == 0
        out[row[seen]] = reports[seen]

    def _grow(self, count: int) -> None:
        missing = count - len(self._last)
        if missing > 0:
            extra = max(missing, len(self._last))
            self._noise = np.concatenate([self._noise, np.zeros(extra, np.uint8)])
            self._last = np.concatenate([self._last, np.full(extra, -1, np.int64)])
