"""Follow series through a table, batch after batch: order, gaps, lengths, transitions.

Whole columns at a time. The unit of work is a block: neighbouring rows of one series.
Rows of several series may be mixed; nothing is sorted, a block is compared with the
block of the same series before it, in this batch or an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.table.error_text import at_row, row_text
from chainveil.table.request.clock import Clock
from chainveil.table.request.discretize import GAP
from chainveil.table.states.windows import Windows

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """The columns of a batch that matter: which series, when, and which state."""

    series: pa.Array | None
    time: pa.Array | None
    codes: NDArray[np.uint8] | None


@dataclass(frozen=True)
class Blocks:
    """The blocks of a batch.

    Attributes
    ----------
    starts, owner : int64 arrays of shape (blocks,)
        The first row of each block, and the number of its series.
    broken : int64 array of shape (splits,)
        Rows before which a series is split.
    steps : array of shape (splits,)
        How far these rows are from the row before, in steps of the clock where it has one.
    rows : int
    series : array of shape (rows,), or None
        The series of each row by its value, where there are several.
    """

    starts: IntArray
    owner: IntArray
    broken: IntArray
    steps: NDArray[np.float64] | None
    rows: int
    series: pa.Array | None


class Tracker:
    """What is remembered of each series from one batch to the next.

    Memory grows with the number of series, not with the number of rows. ``each``: transitions
    are counted for each series too.
    """

    def __init__(
        self,
        series: str | None,
        clock: Clock | None,
        states: int | None = None,
        orders: Sequence[int] = (),
        gaps: bool = False,
        each: bool = False,
    ) -> None:
        self._name = series
        self._clock = clock
        self._numbers: dict[Any, int] = {} if series is not None else {None: 0}
        self._lengths = np.zeros(1, np.int64)
        self._last_time: NDArray[Any] | None = None
        self._last_state = np.zeros(1, np.uint8)
        self.rows = 0
        self.splits = 0
        # Whether a code may be that of a gap: no pair reaches across one.
        self._gaps = gaps
        # Transitions between states, shape (k, k), and from contexts of more states.
        self.counts = None if states is None else np.zeros((states, states), np.int64)
        self._each = np.zeros((1, states * states), np.int64) if each and states else None
        self._windows = Windows(states, orders) if states is not None and orders else None

    @property
    def contexts(self) -> dict[int, IntArray]:
        """Transitions from contexts of m states, shape (k ** m, k), for each m asked for."""
        return {} if self._windows is None else self._windows.counts

    @property
    def series(self) -> int:
        """Number of series seen."""
        return len(self._numbers) if self.rows else 0

    @property
    def names(self) -> list[Any]:
        """The series seen, by their value, in the order in which they were."""
        return list(self._numbers)

    @property
    def each(self) -> IntArray | None:
        """Transitions of each series, shape (series, k, k), where they were asked for."""
        if self._each is None or self.counts is None:
            return None
        return self._each[: self.series].reshape(-1, *self.counts.shape)

    @property
    def longest(self) -> int:
        """Rows of the longest series, across its gaps."""
        return int(self._lengths.max())

    def update(self, columns: Columns, rows: int) -> Blocks:
        """Take the next batch in; an error names the first row that is out of order."""
        if rows == 0:
            none = np.empty(0, np.int64)
            return Blocks(none, none, none, None, 0, columns.series)
        starts, owner = self._blocks(columns.series, rows)
        self._grow(len(self._numbers))
        known = self._lengths[owner] > 0
        before = previous_blocks(owner)
        broken, steps = self._watch(columns.time, starts, owner, known, before)
        if columns.codes is not None and self.counts is not None:
            edges = np.isin(starts, broken)
            inner = np.setdiff1d(broken, starts, assume_unique=True)
            self._count(columns.codes, starts, owner, known, before, inner, edges)
            if self._windows is not None:
                self._windows.update(columns.codes, owner, starts, broken)
        sizes = np.diff(starts, append=rows)
        np.add.at(self._lengths, owner, sizes)
        self.rows += rows
        return Blocks(starts, owner, broken, steps, rows, columns.series)

    def _blocks(self, series: pa.Array | None, rows: int) -> tuple[IntArray, IntArray]:
        """Where blocks begin, and the number of the series each belongs to."""
        if series is None:
            return np.zeros(1, np.int64), np.zeros(1, np.int64)
        # NaN does not equal itself: each would be a series of its own.
        fractions = pa.types.is_floating(series.type)
        absent = series.is_null(nan_is_null=True) if fractions or series.null_count else None
        if absent is not None and absent.true_count:
            row = self.rows + int(np.argmax(absent.to_numpy(zero_copy_only=False)))
            raise InvalidInput(str(self._name), "no series", "a series in every row", at_row(row))
        keys = _comparable(series)
        starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1]).astype(np.int64)
        firsts = series.take(pa.array(starts)).dictionary_encode()
        if isinstance(firsts, pa.ChunkedArray):
            firsts = firsts.combine_chunks()
        try:
            mapping = [self._number(key) for key in firsts.dictionary.to_pylist()]
        except TypeError:
            raise InvalidInput(
                str(self._name), f"a column of type {series.type}", "text, numbers or times"
            ) from None
        return starts, np.array(mapping, np.int64)[firsts.indices.to_numpy()]

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _grow(self, count: int) -> None:
        missing = count - len(self._lengths)
        if missing <= 0:
            return
        extra = max(missing, len(self._lengths))
        self._lengths = np.concatenate([self._lengths, np.zeros(extra, np.int64)])
        self._last_state = np.concatenate([self._last_state, np.zeros(extra, np.uint8)])
        if self._each is not None:
            more = np.zeros((extra, self._each.shape[1]), np.int64)
            self._each = np.concatenate([self._each, more])
        if self._last_time is not None:
            self._last_time = np.concatenate(
                [self._last_time, np.zeros(extra, self._last_time.dtype)]
            )

    def _watch(
        self,
        time: pa.Array | None,
        starts: IntArray,
        owner: IntArray,
        known: NDArray[np.bool_],
        before: IntArray,
    ) -> tuple[IntArray, NDArray[np.float64] | None]:
        """Check the clock; returns the rows at which a series is split, and how long the gap is."""
        if self._clock is None or time is None:
            return np.empty(0, np.int64), None
        ticks = self._clock.ticks(time, self.rows)
        if self._last_time is None:
            self._last_time = np.zeros(len(self._lengths), ticks.dtype)
        # Times in a text file may be whole numbers first and fractions later.
        self._last_time = self._last_time.astype(np.result_type(self._last_time, ticks), copy=False)
        steps = np.empty_like(ticks)
        np.subtract(ticks[1:], ticks[:-1], out=steps[1:])
        previous = np.where(before >= 0, ticks[_ends(starts, len(ticks))[before]],
                            self._last_time[owner])  # fmt: skip
        linked = (before >= 0) | known
        steps[starts] = ticks[starts] - previous
        free = starts[~linked]
        wrong = self._clock.first_wrong(steps, free)
        if wrong is not None:
            raise self._clock.complaint(steps[wrong], row_text(self.rows + wrong))
        self._last_time[owner] = ticks[_ends(starts, len(ticks))]
        broken = self._clock.breaks(steps, free)
        self.splits += len(broken)
        return broken, self._clock.in_steps(steps[broken])

    def _count(
        self,
        codes: NDArray[np.uint8],
        starts: IntArray,
        owner: IntArray,
        known: NDArray[np.bool_],
        before: IntArray,
        inner_breaks: IntArray,
        edge_breaks: NDArray[np.bool_],
    ) -> None:
        """Add the transitions of a batch; none across a split or from series to series."""
        counts = self.counts
        assert counts is not None
        counts += self._pairs(codes[:-1], codes[1:])
        barred = np.concatenate([starts[1:], inner_breaks])
        counts -= self._pairs(codes[barred - 1], codes[barred])
        ends = codes[_ends(starts, len(codes))]
        previous = np.where(before >= 0, ends[before], self._last_state[owner])
        linked = ((before >= 0) | known) & ~edge_breaks
        counts += self._pairs(previous[linked], codes[starts[linked]])
        if self._each is not None:
            free = np.ones(len(codes), bool)
            free[0] = free[barred] = False
            row = np.repeat(owner, np.diff(starts, append=len(codes)))[free]
            self._count_each(row, codes[:-1][free[1:]], codes[free])
            self._count_each(owner[linked], previous[linked], codes[starts[linked]])
        # The last block of a series wins: assignment runs in order.
        self._last_state[owner] = ends

    def _count_each(
        self, owner: IntArray, first: NDArray[np.uint8], second: NDArray[np.uint8]
    ) -> None:
        """Add transitions to those of their series."""
        assert self._each is not None
        assert self.counts is not None
        k = len(self.counts)
        held = (first != GAP) & (second != GAP) if self._gaps else slice(None)
        place = (owner[held] * k + first[held]) * k + second[held]
        np.add.at(self._each.reshape(-1), place, 1)

    def _pairs(self, first: NDArray[np.uint8], second: NDArray[np.uint8]) -> IntArray:
        """Transitions from one to the other, shape (k, k)."""
        assert self.counts is not None
        if self._gaps:
            held = (first != GAP) & (second != GAP)
            first, second = first[held], second[held]
        return _pairs(first, second, len(self.counts))


def previous_blocks(owner: IntArray) -> IntArray:
    """For each block, the block of the same series before it in the batch, or -1."""
    before = np.full(len(owner), -1, np.int64)
    if len(owner) == 1:
        return before
    order = np.argsort(owner, kind="stable")
    same = owner[order[1:]] == owner[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    return before


def _ends(starts: IntArray, rows: int) -> IntArray:
    """The last row of each block."""
    return np.append(starts[1:], rows) - 1


def _pairs(first: NDArray[np.uint8], second: NDArray[np.uint8], k: int) -> IntArray:
    if k == 2:
        ones, twos = int(np.count_nonzero(first)), int(np.count_nonzero(second))
        both = int(np.count_nonzero(first & second))
        return np.array([[len(first) - ones - twos + both, twos - both], [ones - both, both]])
    joined = first.astype(np.int64) * k + second
    return np.bincount(joined, minlength=k * k).reshape(k, k)


def _comparable(series: pa.Array) -> NDArray[Any]:
    """Something whose neighbours can be compared at once."""
    kind = series.type
    if pa.types.is_dictionary(kind):
        # Two entries of a dictionary may hold the same value: compare by value.
        same = series.dictionary.dictionary_encode().indices.to_numpy()
        return np.asarray(same[series.indices.to_numpy()])
    if pa.types.is_integer(kind):
        return np.asarray(series.to_numpy(zero_copy_only=False))
    try:
        return np.asarray(series.dictionary_encode().indices.to_numpy())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise InvalidInput("series", f"a column of type {kind}", "text, numbers or times") from None
