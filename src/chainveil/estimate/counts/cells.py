"""Which points an answer is about: all of them, each series, each window, each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.estimate.counts import counting
from chainveil.estimate.counts.gaps import NO_GAPS, split_masks
from chainveil.estimate.counts.packed import Packed
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
    gaps : boolean array of shape (total,) or (0,)
        Points that are missing; time passes there, and no window holds one.
    begins : int64 array of shape (series + 1,) or (0,)
        Borders of the series where stretches are parts of one: a report may look back across.
    """

    source: NDArray[Any] | Packed
    borders: NDArray[np.int64]
    owner: NDArray[np.int64]
    labels: NDArray[np.int64]
    names: tuple[Any, ...] | None
    outputs: int
    gaps: NDArray[np.bool_] = field(default_factory=lambda: NO_GAPS)
    begins: NDArray[np.int64] = field(default_factory=lambda: NO_LABELS)

    @property
    def origins(self) -> NDArray[np.int64]:
        """Borders of the series, shape (series + 1,)."""
        return self.begins if len(self.begins) else self.borders

    @cached_property
    def marks(self) -> NDArray[np.int64]:
        """The group of each point, -1 at gaps; empty where stretches tell it."""
        if not len(self.gaps):
            return self.labels
        labels = self.labels
        if not len(labels):
            labels = np.repeat(self.owner, np.diff(self.borders))
        return np.where(self.gaps, -1, labels)

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
    def packed(self) -> list[Packed]:
        """The stretches of two reports, eight points a byte."""
        if isinstance(self.source, Packed):
            return [self.source]
        return [Packed(np.packbits(stretch), len(stretch)) for stretch in self.series]

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

    @cached_property
    def looked_back(self) -> dict[int, Any]:
        """Patterns of reports that look back (``counts.last_report``), by lag: counted once."""
        return {}

    def pairs_at(self, distance: int) -> NDArray[np.int64]:
        """How many pairs of points of one group lie ``distance`` apart, shape (groups,)."""
        return counting.pairs_at(self, distance)

    def whole(self) -> Cells:
        """The same points as one group; stretches stay apart."""
        owner = np.zeros(len(self.owner), np.int64)
        return Cells(
            self.source, self.borders, owner, NO_LABELS, None, self.outputs, self.gaps, self.begins
        )


def read_cells(z: Any, outputs: int, by: Any = None, window: int | None = None) -> Cells:
    """Read a release and how to group it; see :func:`chainveil.estimate.frequency`.

    Cells that were read before are taken as they are, with what was counted in them.
    """
    if isinstance(z, Cells):
        return z
    if by is not None and window is not None:
        raise InvalidInput("by, window", "both", "one of them")
    if isinstance(z, Packed):
        if by is None and window is None:
            return _packed(z, outputs)
        z = z.unpacked()
    z, gaps = split_masks(z)
    # Counting bytes of few states finds a foreign one on the way.
    late = by is None and window is None and outputs <= counting.MOST_FOR_BLOCKS
    late = late and isinstance(z, np.ndarray) and z.dtype == np.uint8 and z.size > counting.LONG
    series = as_sequences("z", z, None if late else outputs)
    if series.flat.size == 0 or (len(gaps) and gaps.all()):
        raise InvalidInput("z", "no points", "at least one released point")
    symbols = _narrow(series.flat, outputs)
    cells = _grouped(symbols, series, by, window, outputs, gaps)
    if late:
        counting.check(cells)
    return cells


def _grouped(
    symbols: NDArray[Any],
    series: Sequences,
    by: Any,
    window: int | None,
    outputs: int,
    gaps: NDArray[np.bool_],
) -> Cells:
    if window is not None:
        borders, names = _windows(series, checks.whole("window", window, 1))
        owner = np.arange(len(names))
        return Cells(symbols, borders, owner, NO_LABELS, names, outputs, gaps, series.offsets)
    if by is None:
        owner = np.zeros(series.count, np.int64)
        return Cells(symbols, series.offsets, owner, NO_LABELS, None, outputs, gaps)
    if not isinstance(by, str):
        owner, labels, names = _labelled(series, by, gaps)
        return Cells(symbols, series.offsets, owner, labels, names, outputs, gaps)
    if by != "series":
        raise InvalidInput("by", by, '"series", or a label for each point')
    owner, names = np.arange(series.count), tuple(range(series.count))
    return Cells(symbols, series.offsets, owner, NO_LABELS, names, outputs, gaps)


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


def _windows(series: Sequences, width: int) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Borders and names of windows of ``width`` points; the last of a series may be shorter."""
    ends = zip(series.offsets[:-1], series.offsets[1:], strict=True)
    starts = [np.arange(begin, end, width) for begin, end in ends]
    borders = np.append(np.concatenate(starts), series.flat.size).astype(np.int64)
    if series.count == 1:
        return borders, tuple(range(len(borders) - 1))
    return borders, tuple((j, i) for j, part in enumerate(starts) for i in range(len(part)))


def _labelled(
    series: Sequences, by: Any, gaps: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[Any, ...]]:
    """Groups of the stretches, groups of the points where these differ, and their names."""
    parts = by if isinstance(by, list | tuple) and len(by) and np.ndim(by[0]) else [by]
    flat = np.concatenate([np.asarray(part).reshape(-1) for part in parts])
    size = series.flat.size
    if flat.size != size:
        raise InvalidInput("by", f"{flat.size} labels", f"{size}, one a released point")
    seen = ~gaps if len(gaps) else np.ones(size, np.bool_)
    try:
        names, codes = np.unique(flat[seen], return_inverse=True)
    except TypeError:
        raise InvalidInput(
            "by", "labels that cannot be put in order", "labels of one kind, none of them missing"
        ) from None
    labels = np.full(size, -1, np.int64)
    labels[seen] = codes.reshape(-1)
    owner = np.zeros(series.count, np.int64)
    # The series and the label of each point that is there, and where one of them changes.
    which = np.repeat(np.arange(series.count), series.lengths)[seen]
    torn = (np.diff(labels[seen]) != 0) & (np.diff(which) == 0)
    if not torn.any():
        # Whole stretches: nothing is torn apart.
        owner[which] = labels[seen]
        labels = NO_LABELS
    return owner, labels, tuple(names.tolist())
