"""Noise for the rows of a table: many series, mixed, a batch at a time.

With a seeded source the noise of a row depends on its series and its place in that series
alone, so that any order and any division of the rows gives the same release, and the one
that whole series give as arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism.correlated import ChainFlips
from chainveil.mechanism.independent import independent_noise, sanitize
from chainveil.mechanism.noises import TOP, Draws
from chainveil.mechanism.pieces import PIECE, one_series
from chainveil.mechanism.randomness import SPARE, Bytes, Plane, Source, fill_up
from chainveil.mechanism.release import check_room
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise

IntArray = NDArray[np.int64]
Numbers = NDArray[np.uint64]

# Unseen points that the noise runs beneath, in one batch: minutes of work.
MOST_UNSEEN = 1 << 34


@dataclass(frozen=True)
class Rows:
    """Where the rows of a batch stand.

    Attributes
    ----------
    owner : int64 array of shape (rows,)
        The series of each row, counted from 0 in the order in which they were first seen.
    points : int64 array of shape (rows,)
        The place of each row in its series, counted from 0; increases within a series. A
        jump leaves out points that nobody sees, beneath which correlated noise runs on.
    numbers : uint64 array of shape (series,)
        The number of each series in a seeded source; see ``randomness.series_number``.
    """

    owner: IntArray
    points: IntArray
    numbers: Numbers


@dataclass(frozen=True)
class _Part:
    """Rows by their addresses: what takes the place of a piece for :class:`RowDraws`."""

    numbers: Numbers
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

    def _blocks(self, plane: Plane, numbers: Numbers, points: IntArray, width: int) -> Bytes:
        counters = self._room(len(points))
        series = numbers + np.uint64(self._series)
        self.kernels.row_counters(series, points + self._point, width, TOP[plane], counters)
        return self.keystream.blocks(counters)


class RowNoise:
    """A noise at work on the rows of a table as they come, batch after batch.

    Parameters
    ----------
    noise : Channel or CorrelatedNoise
    source : Secure or Seeded

    Notes
    -----
    Secure independent noise needs to know nothing about series: every row has noise of its
    own. Correlated noise runs along each series, whatever lies between its rows; the last
    flip of each series is kept from batch to batch, as secret as the data.
    """

    def __init__(self, noise: Channel | CorrelatedNoise, source: Source) -> None:
        self._noise = noise
        self._source = source
        self._by_address = not source.for_release
        self._chains: _Chains | None = None
        if isinstance(noise, CorrelatedNoise):
            self._chains = _Chains(noise, source)
        elif self._by_address:
            self._work = independent_noise(noise, RowDraws(source))

    @property
    def needs_rows(self) -> bool:
        """Whether ``apply`` has to be told which row belongs where."""
        return self._by_address or self._chains is not None

    def apply(self, states: NDArray[Any], rows: Rows | None = None) -> NDArray[Any]:
        """The reports of the next rows, of the shape and dtype of ``states``."""
        if not self.needs_rows or len(states) == 0:
            return self._anywhere(states)
        if rows is None or not len(rows.owner) == len(rows.points) == len(states):
            raise InvalidInput("rows", rows, "the series and the point of every state")
        if self._chains is not None:
            return self._chains.apply(states, rows)
        return self._at_addresses(states, rows)

    def _anywhere(self, states: NDArray[Any]) -> NDArray[Any]:
        if len(states) == 0:
            return states
        reports: NDArray[Any] = sanitize(states, self._noise, rng=self._source)  # type: ignore[arg-type]
        return reports

    def _at_addresses(self, states: NDArray[Any], rows: Rows) -> NDArray[Any]:
        work, out = self._work, np.empty_like(states)
        _check(states, work.states, work.outputs)
        for begin in range(0, len(states), PIECE):
            part = slice(begin, begin + PIECE)
            held = np.ascontiguousarray(states[part], work.dtype)
            reports = np.empty_like(held)
            place: Any = _Part(rows.numbers[rows.owner[part]], rows.points[part])
            work.apply(place, held, reports)
            out[part] = reports
        return out


class _Chains:
    """One noise chain for each series, each carried on from row to row."""

    def __init__(self, noise: CorrelatedNoise, source: Source) -> None:
        self._by_address = not source.for_release
        draws = RowDraws(source) if self._by_address else Draws(source)
        self._draws = draws
        self._flips = ChainFlips(noise, source, draws=draws)
        self._drawn = 0
        self._noise = np.zeros(0, np.uint8)
        self._last = np.full(0, -1, np.int64)

    def apply(self, states: NDArray[Any], rows: Rows) -> NDArray[Any]:
        _check(states, 2, 2)
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
        rows: Rows,
        ends: IntArray,
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
        names = rows.numbers[beginning] if self._by_address else beginning
        self._noise[beginning] = self._flips.starts(names)
        codes = self._flips.turns(self._piece(rows, owner, points))
        reports = np.empty(len(row), np.uint8)
        held = states[row].astype(np.uint8, copy=False)
        self._draws.kernels.walk_rows(held, codes, owner, fresh, self._noise, reports)
        seen = before == 0
        out[row[seen]] = reports[seen]

    def _piece(self, rows: Rows, owner: IntArray, points: IntArray) -> Any:
        if self._by_address:
            return _Part(rows.numbers[owner], points)
        # A secure key is used for this table alone: rows may share one run as they come.
        piece = one_series(0, self._drawn, len(points))
        self._drawn += len(points)
        return piece

    def _grow(self, count: int) -> None:
        missing = count - len(self._last)
        if missing > 0:
            extra = max(missing, len(self._last))
            self._noise = np.concatenate([self._noise, np.zeros(extra, np.uint8)])
            self._last = np.concatenate([self._last, np.full(extra, -1, np.int64)])


def _check(states: NDArray[Any], count: int, outputs: int) -> None:
    """Error unless all are states: the compiled loops do not look."""
    check_room("states", states.dtype, outputs)
    if int(states.min()) < 0 or int(states.max()) >= count:
        wrong = states[np.argmax((states < 0) | (states >= count))]
        raise InvalidInput("states", wrong.item(), f"states 0 … {count - 1}")
