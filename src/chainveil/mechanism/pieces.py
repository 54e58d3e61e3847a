"""One series or many, taken a piece at a time, so that memory does not grow with the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Points of a piece: symbols, states and reports together fit a core's own cache.
PIECE = 1 << 18
# Points of one long series at most, for mechanisms that go through them a cache-full at a time.
LONG = 1 << 20


@dataclass(frozen=True)
class Piece:
    """Part of one series, or several whole series one after the other.

    Attributes
    ----------
    series : int
        The first series.
    begin : int
        The first point; 0 where the piece holds whole series.
    offsets : int64 array of shape (number of series + 1,)
        Places in the piece where each series begins, and the end.
    """

    series: int
    begin: int
    offsets: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.offsets[-1])

    @property
    def count(self) -> int:
        """Number of series."""
        return len(self.offsets) - 1

    def place(self, index: int) -> str:
        """Where a point of the piece stands, in words."""
        inside = int(np.searchsorted(self.offsets, index, side="right")) - 1
        point = self.begin + index - int(self.offsets[inside])
        return f"series {self.series + inside}, point {point}"


def one_series(series: int, begin: int, size: int) -> Piece:
    """``size`` points of one series from ``begin`` on."""
    return Piece(series, begin, np.array([0, size], np.int64))


def even_pieces(series: int, length: int, size: int, long: int) -> Iterator[Piece]:
    """Pieces of series that are all ``length`` long.

    A piece has at most ``size`` points, or ``long`` points where it is part of one series.
    """
    if length > size // 2:
        for row in range(series):
            yield from _parts(row, length, long)
        return
    step = max(1, size // max(1, length))
    for row in range(0, series, step):
        count = min(step, series - row)
        yield Piece(row, 0, np.arange(count + 1, dtype=np.int64) * length)


def uneven_pieces(lengths: NDArray[np.int64], size: int, long: int) -> Iterator[Piece]:
    """Pieces of series of the given lengths; sizes as in ``even_pieces``."""
    ends = np.cumsum(lengths)
    row = 0
    while row < len(lengths):
        if lengths[row] > size // 2:
            yield from _parts(row, int(lengths[row]), long)
            row += 1
            continue
        before = int(ends[row] - lengths[row])
        stop = int(np.searchsorted(ends, before + size, side="right"))
        # Series without a point weigh nothing; the places of a piece stay bounded all the same.
        stop = min(stop, row + size)
        yield Piece(row, 0, np.concatenate([[0], ends[row:stop] - before]).astype(np.int64))
        row = stop


def _parts(row: int, length: int, size: int) -> Iterator[Piece]:
    for begin in range(0, length, size):
        yield one_series(row, begin, min(size, length - begin))


class Table:
    """Arrays of points: one 1-D array, one 2-D array (a row a series), or a list of 1-D arrays."""

    def __init__(self, held: NDArray[Any] | Sequence[NDArray[Any]]) -> None:
        self.held = held

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each series, for a list."""
        return np.array([len(part) for part in self.held], np.int64)

    @property
    def series(self) -> int:
        """Number of series."""
        return 1 if isinstance(self.held, np.ndarray) and self.held.ndim == 1 else len(self.held)

    @property
    def points(self) -> int:
        """Number of points of all series."""
        return self.held.size if isinstance(self.held, np.ndarray) else int(self.lengths.sum())

    @property
    def longest(self) -> int:
        """Number of points of the longest series."""
        if isinstance(self.held, np.ndarray):
            return int(self.held.shape[-1])
        return max((len(part) for part in self.held), default=0)

    def pieces(self, long: int) -> Iterator[Piece]:
        """All points, series after series; at most ``long`` points of one series at once."""
        size = min(PIECE, long)
        if isinstance(self.held, np.ndarray):
            return even_pieces(self.series, self.held.shape[-1], size, long)
        return uneven_pieces(self.lengths, size, long)

    def take(self, piece: Piece) -> NDArray[Any]:
        """The points of a piece, shape (size,): a view where they lie together."""
        if piece.count == 1:
            return self.row(piece.series)[piece.begin : piece.begin + piece.size]
        part = self.held[piece.series : piece.series + piece.count]
        if isinstance(part, np.ndarray):
            return part.reshape(-1)
        filled = [array for array in part if len(array)]
        return np.concatenate(filled) if filled else np.asarray(part[0])

    def put(self, piece: Piece, values: NDArray[Any]) -> None:
        """Write the points of a piece; one that was written through ``take`` is left alone."""
        if piece.count == 1:
            destination = self.row(piece.series)[piece.begin : piece.begin + piece.size]
            np.copyto(destination, values, casting="unsafe")
        elif isinstance(self.held, np.ndarray):
            part = self.held[piece.series : piece.series + piece.count]
            np.copyto(part, values.reshape(part.shape), casting="unsafe")
        else:
            for j in range(piece.count):
                part_values = values[piece.offsets[j] : piece.offsets[j + 1]]
                np.copyto(self.held[piece.series + j], part_values, casting="unsafe")

    def direct(self, piece: Piece) -> NDArray[Any] | None:
        """A uint8 view of the piece that can be written to, if the points lie together."""
        if piece.count > 1 and not isinstance(self.held, np.ndarray):
            return None
        part = self.row(piece.series) if piece.count == 1 else self.held[piece.series :]
        if not isinstance(part, np.ndarray) or part.dtype.itemsize != 1:
            return None
        whole = part[piece.begin : piece.begin + (piece.size if piece.count == 1 else piece.count)]
        return whole.reshape(-1).view(np.uint8) if whole.flags.c_contiguous else None

    def row(self, series: int) -> NDArray[Any]:
        """One series, shape (n,)."""
        if isinstance(self.held, np.ndarray) and self.held.ndim == 1:
            return self.held
        return np.asarray(self.held[series])
