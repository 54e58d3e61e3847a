"""Rows of a release on their time line: what lies in a gap is masked, not closed up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.certificate import Certificate
from chainveil.errors import InvalidInput, NotSupported
from chainveil.table.error_text import at_row
from chainveil.table.request.clock import FLOAT_STEP, Clock
from chainveil.table.request.request import one_column
from chainveil.table.states.tracker import Columns, Tracker

IntArray = NDArray[np.int64]
# Gaps of more points than this are cuts: chain and noise have forgotten by then.
LONGEST_GAP = 20_000
CUT = 0


def distances(
    held: pa.Table, series: str | None, clock: Clock, order: IntArray, ends: IntArray
) -> IntArray:
    """How many points each row comes after the row before it, in ``order``; shape (rows,).

    1 for neighbours and for the first row of a series; ``CUT`` where a gap may be of any
    length, because the clock has no step or the gap is not made of whole ones.
    """
    column = one_column(held, clock.name)
    owner = None if series is None else one_column(held, series)
    # Says which row is out of order, as sanitizing would.
    Tracker(series, clock).update(Columns(owner, column, None), held.num_rows)
    ticks = clock.ticks(column, 0)[order]
    steps = np.diff(ticks, prepend=ticks[:1])
    starts = np.concatenate([[0], ends]).astype(np.int64)
    broken = clock.breaks(steps, starts)
    apart = np.ones(len(order), np.int64)
    apart[broken] = CUT
    if clock.step is not None and len(broken):
        whole = np.rint(steps[broken] / clock.usual)
        exact = np.abs(steps[broken] - whole * clock.usual) <= FLOAT_STEP * steps[broken]
        near = exact & (whole <= LONGEST_GAP)
        apart[broken[near]] = whole[near].astype(np.int64)
    return apart


def usual_step(held: pa.Table, name: str, order: IntArray, ends: IntArray) -> float | None:
    """The step between most rows of a time column, in its units or seconds; None for none."""
    clock = Clock(name)
    ticks = clock.ticks(one_column(held, name), 0)[order]
    steps = np.delete(np.diff(ticks), ends - 1)
    if not len(steps):
        return None
    values, counts = np.unique(steps, return_counts=True)
    most = int(np.argmax(counts))
    if values[most] <= 0 or 2 * counts[most] <= len(steps):
        return None
    return float(values[most]) / clock.ticks_of(1.0)


def check_known(apart: IntArray, order: IntArray, clock: Clock) -> None:
    """Error where noise with a memory meets a gap of unknown length."""
    if clock.step is None and (apart == CUT).any():
        row = int(order[np.argmax(apart == CUT)])
        raise InvalidInput(
            "step", None, "the regular step of the time column: the noise is one that remembers "
            "across the gaps", at_row(row),
        )  # fmt: skip


def lay(
    values: NDArray[Any],
    order: IntArray,
    ends: IntArray,
    apart: IntArray,
    empty: NDArray[np.bool_],
    front: int = 0,
) -> Any:
    """Values by series and run, masked where points are missing; one array where one is.

    ``empty`` : bool (rows,), rows that hold no value, which are points all the same. ``front``
    points of each run lie before its first row.
    """
    cuts = np.union1d(ends, np.flatnonzero(apart == CUT)).astype(np.int64)
    columns = (np.split(column, cuts) for column in (values[order], apart, empty[order]))
    parts = [_spread(a, b, c, front) for a, b, c in zip(*columns, strict=True)]
    return parts[0] if len(parts) == 1 else parts


def rare_places(
    document: Certificate, max_gap: float | None, ends: IntArray, rows: int
) -> IntArray:
    """As :func:`distances`, where one point in several reports and only those are published."""
    if document["release.splits"] or max_gap is not None:
        raise NotSupported(
            "gaps in time between rare reports: which points they are about is not read from a "
            "release of the rows that report alone"
        )
    apart = np.full(rows, document["noise.every"], np.int64)
    apart[np.concatenate([[0], ends]).astype(np.int64)] = 1
    return apart


def _spread(
    values: NDArray[Any], apart: IntArray, empty: NDArray[np.bool_], front: int
) -> NDArray[Any]:
    """One run with its gaps; a plain array where it has none."""
    if np.all(apart[1:] == 1) and not empty.any() and front == 0:
        return values
    places = front + np.concatenate([[0], np.cumsum(apart[1:])])
    line = np.ma.array(np.zeros(places[-1] + 1, values.dtype), mask=True)
    line[places[~empty]] = values[~empty]
    return line
