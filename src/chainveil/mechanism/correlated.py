"""Correlated noise (Section 3.3 of the paper): one owner, one noise chain for each series."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism.draws import Draws, RowRuns
from chainveil.mechanism.pieces import PIECE, Piece
from chainveil.mechanism.randomness import Plane, Source
from chainveil.mechanism.turns import WORD, Turns, Words, memory_kernels
from chainveil.noise.base import GRID, Noise

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
        noise: Noise,
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
        law = noise.on_grid().flips
        assert law is not None
        begin, stop = law.transition[0, 1], law.transition[1, 0]
        self._begin, self._stop = int(begin * GRID), int(stop * GRID)
        self._draws = Draws(source) if draws is None else draws
        # The chance to turn away from either noise state, whatever the point: one context.
        planes = (Plane.CHAIN, Plane.CHAIN_REFINED)
        self._turns = Turns([(self._begin, self._stop)], self._draws, planes)
        self._around = np.zeros(0, np.uint8)
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
        words, kernels = self.turns(piece), memory_kernels()
        if piece.begin == 0:
            begun = np.flatnonzero(np.diff(piece.offsets))
            kernels.start_turns(words, piece.offsets[begun], self.starts(piece.series + begun))
        self.current = int(kernels.join_turns(words, self.current, out))
        np.bitwise_xor(states, out, out=out)
        return True

    def turns(self, piece: Any) -> Words:
        """What becomes of either noise state at each point, uint64 (2, words).

        ``piece`` is whatever the draws know; the result is overwritten by the next one.
        """
        whole = -(-piece.size // WORD) * WORD
        if len(self._around) < whole:
            self._around = np.zeros(whole, np.uint8)
        words = self._turns.words(piece, self._around)
        # Noise that turns away from 1 is 0.
        np.invert(words[1], out=words[1])
        return words

    def one(self, point: int, state: int) -> int:
        """The report of one point; points must come in order."""
        if point == 0:
            self.current = int(self.starts(np.zeros(1))[0])
        else:
            self.current ^= self._turns.one(point, 0, self.current)
        return state ^ self.current

    def starts(self, series: NDArray[Any]) -> NDArray[np.uint8]:
        """The noise at the first point of series: ``rho0 / (rho0 + rho1)`` flip, exactly."""
        drawn = self._draws.uniform(series, self._begin + self._stop)
        return (drawn < self._begin).astype(np.uint8)


class ChainRows:
    """One noise chain for each series, each carried on from row to row."""

    def __init__(self, noise: Noise, source: Source) -> None:
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
        words, kernels = self._flips.turns(self._runs.next(rows, owner, points)), memory_kernels()
        kernels.start_turns(words, np.flatnonzero(fresh), self._flips.starts(names))
        noise = np.empty(len(row), np.uint8)
        kernels.join_row_turns(words, owner, self._noise, noise)
        reports = noise ^ states[row].astype(np.uint8, copy=False)
        seen = before == 0
        out[row[seen]] = reports[seen]

    def _grow(self, count: int) -> None:
        missing = count - len(self._last)
        if missing > 0:
            extra = max(missing, len(self._last))
            self._noise = np.concatenate([self._noise, np.zeros(extra, np.uint8)])
            self._last = np.concatenate([self._last, np.full(extra, -1, np.int64)])
