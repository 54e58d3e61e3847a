"""Which points an answer is about: all of them, each series, each window, each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.estimate import counting
from chainveil.estimate.packed import Packed
from chainveil.sequences import Sequences, as_sequences

NO_LABELS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Cells:
    """Released points, cut into stretches, each of which belongs to a group.

    Attributes
    ----------
    source : uint8, uint16 or int64 array of shape (total,), or Packed
    borders : int64 array of shape (stretches + 1,)
        Stretch j is ``symbols[borders[j]:borders[j + 1]]``; no window crosses a border.
    owner : int64 array of shape (stretches,)
        The group of each stretch.
    labels : int64 array of shape (total,) or (0,)
        The group of each point, where groups are given point by point.
    names : tuple or None
        What the groups are called; None for a single answer about everything.
    outputs : int
    """

    source: NDArray[Any] | Packed
    borders: NDArray[np.int64]
    owner: NDArray[np.int64]
    labels: NDArray[np.int64]
    names: tuple[Any, ...] | None
    outputs: int

    @property
    def groups(self) -> int:
        """Number of groups."""
        return 1 if self.names is None else len(self.names)

    @cached_property
    def symbols(self) -> NDArray[Any]:
        """All points, one an element."""
        return self.source.unpacked() if isinstance(self.source, Packed) else self.source

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.borders[-1])

    @property
    def series(self) -> list[NDArray[Any]]:
        """The stretches as a list."""
        pairs = zip(self.borders[:-1], self.borders[1:], strict=True)
        return [self.symbols[begin:end] for begin, end in pairs]

    @cached_property
    def triples(self) -> NDArray[np.int64]:
        """Counts of three neighbouring reports, shape (groups, outputs ** 3), counted once."""
        return counting.triples(self)

    def windows(self, window: Sequence[int]) -> NDArray[np.int64]:
        """Counts of reports at ``t + window``, shape (groups, outputs ** len(window)).

        Counted once: a value and its error ask for the same patterns.
        """
        shape = tuple(window)
        if shape not in self._counted:
            self._counted[shape] = counting.windows(self, shape)
        return self._counted[shape]

    @cached_property
    def _counted(self) -> dict[tuple[int, ...], NDArray[np.int64]]:
        return counting.packed_windows(self.source) if isinstance(self.source, Packed) else {}

    def pairs_at(self, distance: int) -> NDArray[np.int64]:
        """How many pairs of points of one group lie ``distance`` apart, shape (groups,)."""
        return counting.pairs_at(self, distance)

    def whole(self) -> Cells:
        """The same points as one group; stretches stay apart."""
        owner = np.zeros(len(self.owner), np.int64)
        return Cells(self.source, self.borders, owner, NO_LABELS, None, self.outputs)


def read_cells(z: Any, outputs: int, by: Any = None, window: int | None = None) -> Cells:
    """Read a release and how to group it; see :func:`chainveil.estimate.frequency`."""
    if by is not None and window is not None:
        raise InvalidInput("by, window", "both", "one of them")
    if isinstance(z, Packed):
        if by is None and window is None:
            return _packed(z, outputs)
        z = z.unpacked()
    # Counting bytes of few states finds a foreign one on the way.
    late = by is None and window is None and outputs <= counting.MOST_FOR_BLOCKS
    late = late and isinstance(z, np.ndarray) and z.dtype == np.uint8 and z.size > counting.LONG
    series = as_sequences("z", z, None if late else outputs)
    if series.flat.size == 0:
        raise InvalidInput("z", "no points", "at least one released point")
    symbols = _narrow(series.flat, outputs)
    if window is not None:
        return _windows(symbols, series, checks.whole("window", window, 1), outputs)
    if by is None:
        owner = np.zeros(series.count, np.int64)
        cells = Cells(symbols, series.offsets, owner, NO_LABELS, None, outputs)
        if late:
            counting.check(cells)
        return cells
    if isinstance(by, str):
        if by != "series":
            raise InvalidInput("by", by, '"series", or a label for each point')
        owner = np.arange(series.count)
        names = tuple(range(series.count))
        return Cells(symbols, series.offsets, owner, NO_LABELS, names, outputs)
    return _labelled(symbols, series, by, outputs)


def _packed(z: Packed, outputs: int) -> Cells:
    if outputs != 2:
        raise InvalidInput("z", "packed points", f"an array: the noise has {outputs} reports")
    if z.length == 0:
        raise InvalidInput("z", "no points", "at least one released point")
    borders = np.array([0, z.length], np.int64)
    return Cells(z, borders, np.zeros(1, np.int64), NO_LABELS, None, outputs)


def _narrow(flat: NDArray[Any], outputs: int) -> NDArray[Any]:
    """Small integers, without a copy where the points are small already."""
    if flat.dtype.kind == "b":
        return np.ascontiguousarray(flat).view(np.uint8)
    dtype = np.uint8 if outputs <= 256 else np.int64
    return np.ascontiguousarray(flat.astype(dtype, copy=False))


def _windows(symbols: NDArray[Any], series: Sequences, width: int, outputs: int) -> Cells:
    """Windows of ``width`` points of each series; the last one may be shorter."""
    starts = [
        np.arange(begin, max(end, begin + 1), width)
        for begin, end in zip(series.offsets[:-1], series.offsets[1:], strict=True)
        if end > begin
    ]
    borders = np.append(np.concatenate(starts), series.flat.size).astype(np.int64)
    owner = np.arange(len(borders) - 1)
    if series.count == 1:
        names: tuple[Any, ...] = tuple(int(number) for number in owner)
    else:
        names = tuple((j, i) for j, part in enumerate(starts) for i in range(len(part)))
    return Cells(symbols, borders, owner, NO_LABELS, names, outputs)


def _labelled(symbols: NDArray[Any], series: Sequences, by: Any, outputs: int) -> Cells:
    parts = by if isinstance(by, list | tuple) and len(by) and np.ndim(by[0]) else [by]
    flat = np.concatenate([np.asarray(part).reshape(-1) for part in parts])
    if flat.size != symbols.size:
        raise InvalidInput("by", f"{flat.size} labels", f"{symbols.size}, one a released point")
    names, codes = np.unique(flat, return_inverse=True)
    owner = np.zeros(series.count, np.int64)
    labels = codes.reshape(-1).astype(np.int64)
    changes = np.flatnonzero(np.diff(labels)) + 1
    if np.isin(changes, series.offsets).all():
        # Whole stretches: nothing is torn apart.
        filled = series.lengths > 0
        owner[filled] = labels[series.offsets[:-1][filled]]
        labels = NO_LABELS
    return Cells(symbols, series.offsets, owner, labels, tuple(names.tolist()), outputs)
