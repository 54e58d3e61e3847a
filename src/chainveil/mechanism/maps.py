"""What becomes of every last report at a point: the quick way for three to eight reports.

A *map* leads each last report to the report after it, all from one random byte. It does not
depend on the last report, so that maps are found for 64 points at once, and applied one after
the other along the series. Some bytes tie and are decided by further bits, as in ``thresholds``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.mechanism import thresholds
from chainveil.mechanism.draws import Draws
from chainveil.mechanism.randomness import Plane
from chainveil.mechanism.turns import CONTEXTS, WORD
from chainveil.noise.base import GRID

# Reports, and contexts, up to which maps are found quickly.
MOST_REPORTS, MOST_CONTEXTS = 8, 64

Words = NDArray[np.unsignedinteger[Any]]


class Maps:
    """Draws maps. ``laws`` : (contexts, m, m), the law after each context and last report.

    ``planes`` are those of the first byte and of the bits that decide ties.
    """

    def __init__(self, laws: FloatArray, draws: Draws, planes: tuple[Plane, Plane]) -> None:
        contexts, m, _ = laws.shape
        rows = [[int(unit) for unit in row] for row in (laws * GRID).reshape(-1, m).tolist()]
        self.table = thresholds.rows_table(rows, 8)
        groups = -(-contexts // CONTEXTS)
        bounds = np.full((m, m - 1, groups * CONTEXTS), 255, np.uint8)
        bounds[:, :, :contexts] = self.table.last.reshape(contexts, m, m - 1).transpose(1, 2, 0)
        self._bounds = bounds.reshape(m, m - 1, groups, CONTEXTS)
        self._tied = self.table.tied.reshape(contexts, m * (m - 1))
        self._reports = m
        self._bits = np.array([self.table.shift, self.table.rest], np.uint64)
        self._draws, self._planes = draws, planes
        self._words: Words = np.empty(0, np.uint32 if m <= 4 else np.uint64)

    def words(self, piece: Any, around: NDArray[np.uint8]) -> Words:
        """Maps of points with the contexts ``around``, which is filled up to whole words.

        Overwritten by the next ones.
        """
        draws, kernels = self._draws, map_kernels()
        symbols = draws.symbols(self._planes[0], piece)
        size = -(-piece.size // WORD) * WORD
        if len(self._words) < size:
            self._words = np.empty(size, self._words.dtype)
        words, reserved = self._words[:size], np.uint8(self.table.reserved)
        found = kernels.map_words(around, symbols, reserved, self._bounds, words, draws.ties)
        ties = draws.ties[:found]
        drawn = draws.refined(self._planes[1], piece, ties)
        kernels.settle_maps(
            ties, drawn, self._bits, symbols, around, self._tied, self._reports, words
        )
        return words

    def one(self, point: int, context: int, last: int) -> int:
        """The report of one point after a last report, as ``words`` gives it."""
        symbol = self._draws.symbol(self._planes[0], point)
        if symbol >= self.table.reserved:
            return int((symbol > self.table.last[context * self._reports + last]).sum())
        draw = self._draws.refined_one(self._planes[1], point, self.table.shift)
        number = np.uint64((symbol << self.table.rest) | draw)
        row = self.table.tied[context * self._reports + last]
        return int((number >= row).sum())


def map_kernels() -> Any:
    """The compiled loops: they take a second to import, and single points need none."""
    from chainveil.mechanism import map_kernels

    return map_kernels
