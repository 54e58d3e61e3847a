"""What becomes of either last report at a point: the quick way for two reports.

A *turn* is the report after a 0 and the report after a 1, both from one random byte. Neither
depends on the last report, so that turns are found for 64 points at once, a bit each, and
joined along the series afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.mechanism import thresholds
from chainveil.mechanism.draws import Draws
from chainveil.mechanism.randomness import Plane

# Points of a word, and room for contexts in a register; see ``memory_kernels``.
WORD, CONTEXTS = 64, 16

Words = NDArray[np.uint64]


class Turns:
    """Draws turns. ``chances`` : by context, the chance of a 1 after a 0 and after a 1, in 2^-53.

    ``planes`` are those of the first byte and of the bits that decide ties.
    """

    def __init__(
        self, chances: list[tuple[int, int]], draws: Draws, planes: tuple[Plane, Plane]
    ) -> None:
        tables = [thresholds.flip_table(pair) for pair in chances]
        self.shift = tables[0].shift
        # By last report and context: symbols up to which a 1 is reported, and where ties do.
        self.highs = np.zeros((2, CONTEXTS), np.uint8)
        self.lows = np.zeros((2, CONTEXTS), np.uint64)
        self.highs[:, : len(tables)] = np.transpose([table.high for table in tables])
        self.lows[:, : len(tables)] = np.transpose([table.low for table in tables])
        self._draws, self._planes = draws, planes
        self._words = np.empty((2, 0), np.uint64)

    def words(self, piece: Any, around: NDArray[np.uint8]) -> Words:
        """Turns of points with the contexts ``around``, which is filled up to whole words.

        uint64 (2, words): after a 0, and after a 1; overwritten by the next ones.
        """
        draws, kernels = self._draws, memory_kernels()
        symbols = draws.symbols(self._planes[0], piece)
        count = -(-piece.size // WORD)
        if self._words.shape[1] < count:
            self._words = np.empty((2, count), np.uint64)
        words = self._words[:, :count]
        ties = draws.ties[: kernels.turn_words(around, symbols, self.highs, words, draws.ties)]
        drawn = draws.refined(self._planes[1], piece, ties)
        kernels.settle_turns(ties, drawn, np.uint64(self.shift), around, self.lows, words)
        return words

    def one(self, point: int, context: int, last: int) -> int:
        """The report of one point after a last report, as ``words`` gives it."""
        symbol = self._draws.symbol(self._planes[0], point)
        if symbol:
            return int(symbol <= self.highs[last, context])
        draw = self._draws.refined_one(self._planes[1], point, self.shift)
        return int(draw < self.lows[last, context])


def memory_kernels() -> Any:
    """The compiled loops: they take a second to import, and single points need none."""
    from chainveil.mechanism import memory_kernels

    return memory_kernels
