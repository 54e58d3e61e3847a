"""Correlated noise (Section 3.5 of the paper): one owner, one noise chain for each series."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism import tables
from chainveil.mechanism.noises import Draws, settling
from chainveil.mechanism.pieces import PIECE, Piece
from chainveil.mechanism.randomness import Plane, Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.mechanism.release import Release
from chainveil.mechanism.release import release as _release
from chainveil.noise.channel import GRID
from chainveil.noise.correlated import CorrelatedNoise


def sanitize_correlated(
    x: Any,
    noise: CorrelatedNoise,
    out: Any = None,
    rng: Source | None = None,
    missing: Missing = "error",
) -> Any:
    """Flip the points of each two-state series where its noise chain is in state 1.

    Every series (a row, or an array of a list) has a noise chain of its own, which starts
    in equilibrium. What is realised is exactly ``noise.on_grid()``. The noise runs on
    through gaps. Arguments and result are those of ``sanitize``.
    """
    return release_correlated(x, noise, out, rng, missing).values


def release_correlated(
    x: Any,
    noise: CorrelatedNoise,
    out: Any = None,
    rng: Source | None = None,
    missing: Missing = "error",
) -> Release:
    """Like :func:`sanitize_correlated`, with a report on what was done."""
    source = as_source(rng)
    return _release(x, ChainFlips(noise, source), out, source, missing, "correlated")


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
        current: int = 0,
        draws: Draws | None = None,
    ) -> None:
        if not isinstance(noise, CorrelatedNoise):
            raise InvalidInput("noise", noise, "a CorrelatedNoise")
        if source.first_point:
            raise InvalidInput(
                "rng",
                f"a start at point {source.first_point}",
                "a start at point 0: correlated noise at a point depends on all before it",
                "Split the work by series, or carry on with a Stream.",
            )
        grid = noise.on_grid()
        self._begin, self._stop = int(grid.rho0 * GRID), int(grid.rho1 * GRID)
        self.table = tables.flip_table((self._begin, self._stop))
        self._settling = settling(self.table)
        self._draws = Draws(source) if draws is None else draws
        self._codes = np.empty(0, np.uint8)
        # Whether the last point was flipped: as secret as the data.
        self.current = current

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
