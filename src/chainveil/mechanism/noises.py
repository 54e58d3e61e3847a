"""The mechanisms at work: keystream in, reports out. One class for each kind of table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.channel import Channel
from chainveil.mechanism import tables
from chainveil.mechanism.pieces import Piece
from chainveil.mechanism.randomness import BLOCK, SPARE, Bytes, Keystream, Plane, Source, fill_up

IntArray = NDArray[np.int64]


class Draws:
    """Random bytes for pieces of series: the keystream and the scratch memory it needs."""

    def __init__(self, source: Source, keystream: Keystream | None = None) -> None:
        self.keystream = source.open() if keystream is None else keystream
        self._series = source.first_series
        self._point = source.first_point
        self._joined = np.empty(0, np.uint8)
        self._counters = np.empty((0, 2), np.uint64)
        self.ties = np.empty(0, np.int64)

    def symbols(self, plane: Plane, piece: Piece, width: int = 1) -> Bytes:
        """``width`` bytes for each point of a piece, filled up to a multiple of 64 bytes."""
        first = (piece.begin + self._point) * width
        series = piece.series + self._series
        if len(self.ties) < piece.size + 64:
            self.ties = np.empty(piece.size + 64, np.int64)
        if piece.count == 1:
            return self.keystream.run(plane, series, first, piece.size * width)
        return self.many(plane, series, first, np.diff(piece.offsets) * width)

    def many(self, plane: Plane, series: int, first: int, lengths: IntArray) -> Bytes:
        """The runs of ``lengths`` bytes of several series, joined; each begins at ``first``."""
        from chainveil.mechanism import kernels

        block, skip = divmod(first, BLOCK)
        needed = np.where(lengths > 0, -(-(lengths + skip) // BLOCK), 0)
        counters = self._room(int(needed.sum()))
        kernels.run_counters(lengths, series, block, skip, _plane(plane), counters)
        blocks = self.keystream.blocks(counters)
        total = int(lengths.sum())
        if len(self._joined) < total + SPARE:
            self._joined = np.empty(total + SPARE, np.uint8)
        kernels.join_runs(lengths, skip, blocks, self._joined)
        return fill_up(self._joined, total)

    def refined(self, plane: Plane, piece: Piece, ties: IntArray, scale: int = 1) -> Any:
        """Further random words for the points that tie: uint64 (2 n,), two for each.

        ``scale`` is the number of points at each place of the piece's offsets.
        """
        from chainveil.mechanism import kernels

        counters = self._room(len(ties))
        first = piece.begin * scale + self._point
        series = piece.series + self._series
        offsets = piece.offsets * scale if scale > 1 else piece.offsets
        kernels.tie_counters(ties, offsets, series, first, _plane(plane), counters)
        return self.keystream.blocks(counters).view(np.uint64)

    def _room(self, count: int) -> NDArray[np.uint64]:
        if len(self._counters) < count:
            self._counters = np.empty((count + count // 4 + 64, 2), np.uint64)
        return self._counters[:count]


class Flips:
    """Independent noise on two states."""

    states = outputs = 2
    dtype = np.dtype(np.uint8)

    def __init__(self, channel: Channel, draws: Draws) -> None:
        numbers = tables.grid_numbers(channel)
        self.table = tables.flip_table((numbers[0][1], numbers[1][0]))
        self._draws = draws

    def apply(self, piece: Piece, states: NDArray[Any], out: NDArray[Any]) -> None:
        """Flip each state of a piece with its probability."""
        from chainveil.mechanism import kernels

        padded = self._draws.symbols(Plane.BYTES, piece)
        high0, high1 = (np.uint8(high) for high in self.table.high)
        words, room = padded.view(np.uint64), self._draws.ties
        found = kernels.flip(states, padded[: piece.size], words, high0, high1, out, room)
        ties = room[:found]
        words = self._draws.refined(Plane.BYTES_REFINED, piece, ties)
        kernels.settle_flips(ties, words, *settling(self.table), out)


class Reports:
    """Independent noise on any number of states and outputs."""

    def __init__(self, channel: Channel, draws: Draws) -> None:
        self.table = tables.report_table(channel)
        self.states, self.outputs = channel.states, channel.outputs
        self.dtype = self.table.last.dtype
        self._draws = draws
        self._planes = (Plane.BYTES, Plane.BYTES_REFINED)
        if self.table.bits == 16:
            self._planes = (Plane.WIDE, Plane.WIDE_REFINED)
        self._last = self.table.last
        if self.table.bits == 8:
            self._last = np.full((tables.SMALL, tables.SMALL - 1), 255, np.uint8)
            self._last[: self.states, : self.outputs - 1] = self.table.last

    def apply(self, piece: Piece, states: NDArray[Any], out: NDArray[Any]) -> None:
        """Report each state of a piece by its row of the channel."""
        from chainveil.mechanism import kernels

        padded = self._draws.symbols(self._planes[0], piece, self.dtype.itemsize)
        symbols = padded.view(self.dtype)[: piece.size]
        reserved = self.dtype.type(self.table.reserved)
        report = kernels.report_few if self.table.bits == 8 else kernels.report_many
        report(states, symbols, reserved, self._last, out)
        found = kernels.find_reserved(symbols, reserved, self._draws.ties)
        ties = self._draws.ties[:found]
        words = self._draws.refined(self._planes[1], piece, ties)
        shift, rest = np.uint64(self.table.shift), np.uint64(self.table.rest)
        kernels.settle_reports(ties, words, shift, rest, symbols, self.table.tied, out)


def settling(table: tables.FlipTable) -> tuple[np.uint64, np.uint64, np.uint64]:
    """What the kernels need to decide a tie of two states: shift, and the low thresholds."""
    return np.uint64(table.shift), np.uint64(table.low[0]), np.uint64(table.low[1])


def _plane(plane: Plane) -> np.uint64:
    """The plane where the kernels want it: in the top byte of the lower half of a counter."""
    return np.uint64(int(plane) << 56)
