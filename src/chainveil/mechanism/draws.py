"""Random bytes for points, and independent noise made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.mechanism import thresholds
from chainveil.mechanism.pieces import LONG, PIECE, Piece, one_series
from chainveil.mechanism.randomness import (
    BLOCK,
    SPARE,
    Bytes,
    Keystream,
    Plane,
    Source,
    fill_up,
    this_process,
)
from chainveil.noise.base import Noise

IntArray = NDArray[np.int64]

# Bytes kept at hand for single points.
WINDOW = 1024
# Points that are veiled and flipped while they are in the cache.
VEIL = 1 << 17


class Draws:
    """Random bytes for pieces of series: the keystream and the scratch memory it needs.

    Everything that draws noise reaches its key through here. In a forked process the source is
    opened anew: parent and child would otherwise draw the same noise.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.keystream = source.open()
        self._series = source.first_series
        self._point = source.first_point
        self._joined = np.empty(0, np.uint8)
        self._counters = np.empty((0, 2), np.uint64)
        self.ties = np.empty(0, np.int64)

    @property
    def keystream(self) -> Keystream:
        """The keystream of this process."""
        if self._home != this_process():
            self.keystream = self._source.open()
        return self._keystream

    @keystream.setter
    def keystream(self, keystream: Keystream) -> None:
        self._keystream = keystream
        self._window = b""
        self._window_at: tuple[Plane, int] | None = None
        # Last: nobody may think the key is this process's own before it is.
        self._home = this_process()

    @cached_property
    def kernels(self) -> Any:
        """The compiled loops: they take a second to import, and single points need none."""
        from chainveil.mechanism import kernels

        return kernels

    def symbol(self, plane: Plane, point: int, width: int = 1) -> int:
        """The symbol of one point of the first series, as ``symbols`` gives it."""
        place, inside = divmod((point + self._point) * width, WINDOW)
        keystream = self.keystream
        if self._window_at != (plane, place):
            run = keystream.run(plane, self._series, place * WINDOW, WINDOW)
            self._window, self._window_at = run.tobytes(), (plane, place)
        return int.from_bytes(self._window[inside : inside + width], "little")

    def refined_one(self, plane: Plane, point: int, shift: int) -> int:
        """The further random bits of one point of the first series, as ``refined`` gives them."""
        return self.keystream.word(plane, self._series, point + self._point) >> shift

    def uniform(self, series: NDArray[Any], below: int) -> NDArray[np.uint64]:
        """A whole number in ``0 … below - 1`` for each of the series, exactly uniform.

        Numbers that are too large are drawn again, at the next address.
        """
        shift = np.uint64(64 - max(1, (below - 1).bit_length()))
        numbers = series.astype(np.uint64) + np.uint64(self._series)
        result = np.zeros(len(numbers), np.uint64)
        pending = np.arange(len(numbers))
        attempt = 0
        while len(pending):
            counters = np.empty((len(pending), 2), ">u8")
            counters[:, 0] = numbers[pending]
            counters[:, 1] = (int(Plane.START) << 56) | attempt
            words = self.keystream.blocks(counters.view(np.uint64)).view(np.uint64)[::2]
            result[pending] = words >> shift
            pending = pending[result[pending] >= below]
            attempt += 1
        return result

    def symbols(self, plane: Plane, piece: Piece, width: int = 1) -> Bytes:
        """``width`` bytes for each point of a piece, filled up with 255."""
        first = (piece.begin + self._point) * width
        series = piece.series + self._series
        self.reserve_ties(piece.size)
        if piece.count == 1:
            return self.keystream.run(plane, series, first, piece.size * width)
        return self.many(plane, series, first, np.diff(piece.offsets) * width)

    def veiled(self, plane: Plane, piece: Piece, states: Bytes, out: Bytes) -> Iterator[slice]:
        """Write ``states`` XOR ``symbols`` of one byte to ``out``, a part at a time.

        Gives the place of each part while it is still in the cache.
        """
        block, skip = divmod(piece.begin + self._point, BLOCK)
        if piece.count > 1 or skip:
            np.bitwise_xor(states, self.symbols(plane, piece)[: piece.size], out=out)
            yield slice(0, piece.size)
            return
        self.reserve_ties(piece.size)
        series = piece.series + self._series
        for begin in range(0, piece.size, VEIL):
            part = slice(begin, min(begin + VEIL, piece.size))
            self.keystream.veil(plane, series, block + begin // BLOCK, states[part], out[part])
            yield part

    def reserve_ties(self, points: int) -> None:
        """Make room for the places of ties among so many points, in ``ties``."""
        if len(self.ties) < points + 64:
            self.ties = np.empty(points + 64, np.int64)

    def many(self, plane: Plane, series: int, first: int, lengths: IntArray) -> Bytes:
        """The runs of ``lengths`` bytes of several series, joined; each begins at ``first``."""
        block, skip = divmod(first, BLOCK)
        needed = np.where(lengths > 0, -(-(lengths + skip) // BLOCK), 0)
        counters = self._room(int(needed.sum()))
        self.kernels.run_counters(lengths, series, block, skip, TOP[plane], counters)
        blocks = self.keystream.blocks(counters)
        total = int(lengths.sum())
        if len(self._joined) < total + SPARE:
            self._joined = np.empty(total + SPARE, np.uint8)
        self.kernels.join_runs(lengths, skip, blocks, self._joined)
        return fill_up(self._joined, total)

    def refined(self, plane: Plane, piece: Piece, ties: IntArray, scale: int = 1) -> Any:
        """Further random words for the points that tie: uint64 (2 n,), two for each.

        ``scale`` is the number of points at each place of the piece's offsets.
        """
        counters = self._room(len(ties))
        first = piece.begin * scale + self._point
        series = piece.series + self._series
        offsets = piece.offsets * scale if scale > 1 else piece.offsets
        self.kernels.tie_counters(ties, offsets, series, first, TOP[plane], counters)
        return self.keystream.blocks(counters).view(np.uint64)

    def _room(self, count: int) -> NDArray[np.uint64]:
        if len(self._counters) < count:
            self._counters = np.empty((count + count // 4 + 64, 2), np.uint64)
        return self._counters[:count]


@dataclass(frozen=True)
class RowPart:
    """Rows by their addresses: what takes the place of a piece for :class:`RowDraws`."""

    numbers: NDArray[np.uint64]
    points: IntArray

    @property
    def size(self) -> int:
        return len(self.points)


class RowDraws(Draws):
    """Random bytes for rows anywhere: for each row the block that its address names.

    The bytes of a row are those that ``Draws`` gives the same point of the same series.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._picked = np.empty(0, np.uint8)

    def symbols(self, plane: Plane, piece: Any, width: int = 1) -> Bytes:
        """``width`` bytes for each row, filled up with 255."""
        self.reserve_ties(piece.size)
        size = piece.size * width
        if len(self._picked) < size + SPARE:
            self._picked = np.empty(size + SPARE, np.uint8)
        blocks = self._blocks(plane, piece.numbers, piece.points, width)
        self.kernels.pick_symbols(piece.points + self._point, width, blocks, self._picked)
        return fill_up(self._picked, size)

    def veiled(self, plane: Plane, piece: Any, states: Bytes, out: Bytes) -> Iterator[slice]:
        """All rows in one part."""
        np.bitwise_xor(states, self.symbols(plane, piece)[: piece.size], out=out)
        yield slice(0, piece.size)

    def refined(self, plane: Plane, piece: Any, ties: IntArray, scale: int = 1) -> Any:
        """Further random words for the rows that tie: uint64 (2 n,)."""
        # A block a point, so that the block's number is the point's.
        words = self._blocks(plane, piece.numbers[ties], piece.points[ties], 16 * scale)
        return words.view(np.uint64)

    def _blocks(
        self, plane: Plane, numbers: NDArray[np.uint64], points: IntArray, width: int
    ) -> Bytes:
        counters = self._room(len(points))
        series = numbers + np.uint64(self._series)
        self.kernels.row_counters(series, points + self._point, width, TOP[plane], counters)
        return self.keystream.blocks(counters)


class RowRuns:
    """Where the rows of a table take their random bytes from, for noise that runs along series.

    A seeded source gives each row what its address names. A secure key is used for this table
    alone, so that rows share one run as they come.
    """

    def __init__(self, source: Source) -> None:
        self.by_address = not source.for_release
        self.draws = RowDraws(source) if self.by_address else Draws(source)
        self._drawn = 0

    def next(self, rows: Any, owner: IntArray, points: IntArray) -> Any:
        """The piece of the next points, of the series ``owner`` of ``rows``."""
        if self.by_address:
            return RowPart(rows.numbers[owner], points)
        piece = one_series(0, self._drawn, len(points))
        self._drawn += len(points)
        return piece


class Independent:
    """What all independent noise has in common: nothing to remember from point to point."""

    memory = None

    def remember(self, memory: Any) -> None:
        """Nothing to remember: every point is drawn on its own."""
        if memory is not None:
            raise ValueError


class Flips(Independent):
    """Independent noise on two states."""

    states = outputs = 2
    dtype = np.dtype(np.uint8)
    notices = True
    stretch = LONG

    def __init__(self, channel: Noise, draws: Draws) -> None:
        self.table = thresholds.channel_flip_table(channel)
        self._draws = draws
        self._high = (np.uint8(self.table.high[0]), np.uint8(self.table.high[1]))
        self._settling = settling(self.table)

    def apply(self, piece: Piece, states: NDArray[Any], out: NDArray[Any]) -> bool:
        """Flip each state of a piece with its probability."""
        draws, kernels = self._draws, self._draws.kernels
        found = 0
        for part in draws.veiled(Plane.BYTES, piece, states, out):
            room = draws.ties[found:]
            more = kernels.flip(states[part], *self._high, out[part], part.start, room)
            if more < 0:
                return False
            found += more
        ties = draws.ties[:found]
        words = self._draws.refined(Plane.BYTES_REFINED, piece, ties)
        kernels.settle_flips(ties, words, *self._settling, out)
        return True

    def one(self, point: int, state: int) -> int:
        """The report of one point, the same as ``apply`` gives it."""
        symbol = self._draws.symbol(Plane.BYTES, point)
        if symbol:
            return state ^ int(symbol <= self.table.high[state])
        draw = self._draws.refined_one(Plane.BYTES_REFINED, point, self.table.shift)
        return state ^ int(draw < self.table.low[state])


class Reports(Independent):
    """Independent noise on any number of states and outputs."""

    notices = False
    stretch = PIECE

    def __init__(self, channel: Noise, draws: Draws) -> None:
        self.table = thresholds.report_table(channel)
        self.states, self.outputs = channel.states, channel.outputs
        self.dtype = self.table.last.dtype
        self._draws = draws
        self._planes = (Plane.BYTES, Plane.BYTES_REFINED)
        if self.table.bits == 16:
            self._planes = (Plane.WIDE, Plane.WIDE_REFINED)
        self._last = self.table.last
        if self.table.bits == 8:
            self._last = np.full((thresholds.SMALL - 1, 2 * thresholds.SMALL), 255, np.uint8)
            self._last[: self.outputs - 1, : self.states] = self.table.last.T

    def apply(self, piece: Piece, states: NDArray[Any], out: NDArray[Any]) -> bool:
        """Report each state of a piece by its row of the channel."""
        kernels = self._draws.kernels
        padded = self._draws.symbols(self._planes[0], piece, self.dtype.itemsize)
        symbols = padded.view(self.dtype)
        reserved = self.dtype.type(self.table.reserved)
        report = kernels.report_few if self.table.bits == 8 else kernels.report_many
        found = report(states, symbols, reserved, self._last, out, self._draws.ties)
        ties = self._draws.ties[:found]
        words = self._draws.refined(self._planes[1], piece, ties)
        shift, rest = np.uint64(self.table.shift), np.uint64(self.table.rest)
        kernels.settle_reports(ties, words, shift, rest, symbols, self.table.tied, out)
        return True

    def one(self, point: int, state: int) -> int:
        """The report of one point, the same as ``apply`` gives it."""
        symbol = self._draws.symbol(self._planes[0], point, self.dtype.itemsize)
        if symbol >= self.table.reserved:
            return int((symbol > self.table.last[state]).sum())
        draw = self._draws.refined_one(self._planes[1], point, self.table.shift)
        number = np.uint64((symbol << self.table.rest) | draw)
        return int((number >= self.table.tied[state]).sum())


def settling(table: thresholds.FlipTable) -> tuple[np.uint64, np.uint64, np.uint64]:
    """What the kernels need to decide a tie of two states: shift, and the low thresholds."""
    return np.uint64(table.shift), np.uint64(table.low[0]), np.uint64(table.low[1])


# The plane where the kernels want it: in the top byte of the lower half of a counter.
TOP = {plane: np.uint64(int(plane) << 56) for plane in Plane}
