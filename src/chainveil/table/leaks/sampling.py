"""A bounded sample of a table: neighbouring rows, in runs of one series each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.request import Layout, one_column

IntArray = NDArray[np.int64]
# The most rows that are tested.
MOST_TESTED = 10_000
# Runs of at least so many rows are held against themselves at other times.
LONG = 64


@dataclass(frozen=True)
class Runs:
    """The states of a sample, run after run.

    Attributes
    ----------
    all_states, run : int64 arrays of shape (rows,)
        The state of each row, ``count`` where it has none, and the number of its run.
    count : int
        Number of states.
    """

    all_states: IntArray
    run: IntArray
    count: int

    def changes(self) -> Runs:
        """The same rows, with 1 where the state is another than in the row before, else 0."""
        before = np.roll(self.all_states, 1)
        known = ~self.first & (self.all_states < self.count) & (before < self.count)
        changed = (self.all_states != before).astype(np.int64)
        return Runs(np.where(known, changed, 2), self.run, 2)

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Which rows begin a run."""
        return np.asarray(np.diff(self.run, prepend=-1) != 0)

    @cached_property
    def place(self) -> IntArray:
        """Where each row stands in its run."""
        starts = np.flatnonzero(self.first)
        return np.arange(len(self.run)) - np.repeat(starts, np.diff(starts, append=len(self.run)))

    @cached_property
    def chosen(self) -> IntArray:
        """The rows that are tested: every so many of a run, or every so many runs."""
        stride = -(-len(self.run) // MOST_TESTED)
        if self._typical(self.run) >= LONG * stride:
            return np.flatnonzero(self.place % stride == 0)
        return np.flatnonzero(self.run % stride == 0)

    @cached_property
    def line(self) -> IntArray:
        """The run of each tested row; all rows are one where every run has one row."""
        run = np.unique(self.run[self.chosen], return_inverse=True)[1]
        return np.zeros_like(run) if self.single else run

    @cached_property
    def single(self) -> bool:
        """Whether series have one row each."""
        return self._typical(self.run) <= 1

    @cached_property
    def states(self) -> IntArray:
        """The states of the tested rows."""
        return self.all_states[self.chosen]

    @property
    def constant(self) -> bool:
        """Whether there is nothing to tell."""
        known = self.states[self.states < self.count]
        return len(known) == 0 or bool((known == known[0]).all())

    @cached_property
    def folds(self) -> IntArray:
        """0 or 1 for each tested row, in blocks: neighbours would tell about each other."""
        if self._typical(self.line) < LONG:
            return self.line % 2
        return (self._places * 8 // self._sizes[self.line] + self.line) % 2

    def elsewhere(self, number: int) -> IntArray:
        """States of the same series from other times, in the ``number``-th way.

        All series are moved alike where they are long: what they share, such as the hour, is
        then no more of a clue than before. Short ones are turned each by itself.
        """
        if self._typical(self.line) >= LONG and number < len(self._lags):
            return self._later(self._lags[number])
        return self._turned()

    @cached_property
    def _lags(self) -> list[int]:
        """Distances of an eighth to a half of a run, there and back, mixed."""
        size = self._typical(self.line)
        apart = np.unique(np.linspace(size // 8, size // 2, 40).astype(np.int64))
        mixed = np.random.default_rng(0).permutation(apart)
        return [int(sign * lag) for lag in mixed for sign in (1, -1)]

    def _later(self, lag: int) -> IntArray:
        """The states so many rows later, none where the run has ended by then."""
        rows = np.arange(len(self.line)) + lag
        inside = (rows >= 0) & (rows < len(rows))
        rows = np.where(inside, rows, 0)
        inside &= self.line[rows] == self.line
        return np.where(inside, self.states[rows], self.count)

    def _turned(self) -> IntArray:
        """The states of each run from a place of its own on, and then from its beginning."""
        sizes = self._sizes
        turns = (self._rng.random(len(sizes)) * sizes).astype(np.int64)
        places = (self._places + turns[self.line]) % sizes[self.line]
        return np.asarray(self.states[self._starts[self.line] + places])

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(1)

    @cached_property
    def _sizes(self) -> IntArray:
        return np.bincount(self.line)

    @cached_property
    def _starts(self) -> IntArray:
        return np.cumsum(self._sizes) - self._sizes

    @cached_property
    def _places(self) -> IntArray:
        return np.arange(len(self.line)) - self._starts[self.line]

    @staticmethod
    def _typical(run: IntArray) -> int:
        """Rows of the run that a typical row is in."""
        sizes = np.bincount(run)[run]
        return int(np.median(sizes)) if len(sizes) else 0


def runs_of(
    pieces: Iterable[pa.RecordBatch], layout: Layout, discretizer: Discretizer
) -> tuple[pa.Table, Runs] | None:
    """Pieces of a table as runs, and their columns in the order of the runs; None without rows.

    A piece whose states cannot be read is left out: the release itself will end there, and
    say in which row.
    """
    tables, states, runs, count = [], [], [], 0
    for piece in pieces:
        try:
            codes = discretizer.codes(one_column(piece, layout.column), layout.column)
        except InvalidInput:
            continue
        order, run = _by_series(piece, layout.series)
        tables.append(pa.Table.from_batches([piece]).take(pa.array(order)))
        states.append(codes[order])
        runs.append(run + count)
        count += int(run[-1]) + 1
    if not tables:
        return None
    found = np.concatenate(states).astype(np.int64)
    # Rows without a value are counted apart, as if they were one state more.
    found[discretizer.gaps(found)] = discretizer.count
    whole = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    return whole, Runs(found, np.concatenate(runs), discretizer.count)


def _by_series(piece: pa.RecordBatch, series: str | None) -> tuple[IntArray, IntArray]:
    """The rows of a piece in the order of their series, and the run of each."""
    rows = piece.num_rows
    if series is None:
        return np.arange(rows), np.zeros(rows, np.int64)
    column = one_column(piece, series)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    found = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    order = np.argsort(found, kind="stable")
    return order, np.asarray(found[order], np.int64)
