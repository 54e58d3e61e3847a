"""A release beside its original: states by series, for attackers and pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.certificate import Certificate
from chainveil.errors import InvalidInput, NotSupported
from chainveil.table.released.facts import discretizer_of
from chainveil.table.released.grouping import cut, read_columns, series_order
from chainveil.table.request.discretize import GAP
from chainveil.table.request.request import Readable, one_column

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Compared:
    """What was and what was published.

    Attributes
    ----------
    truth, seen : arrays, or lists of arrays, one a series
        States and reports. At a gap the state is 0 and the report is masked.
    known : array, or list of arrays, or None
        0 at a gap, which needs no guess, and -1 elsewhere; None where there is no gap.
    names : tuple
        What the series are called, in the same order; empty where the table has one.
    """

    truth: Any
    seen: Any
    known: Any
    names: tuple[Any, ...] = ()

    @property
    def several(self) -> list[tuple[Any, Any, Any]]:
        """States, reports and whether each is known, of each series; also where there is one."""
        if not isinstance(self.truth, list):
            return [(self.truth, self.seen, self.known)]
        known = [None] * len(self.truth) if self.known is None else self.known
        return list(zip(self.truth, self.seen, known, strict=True))


def compare(document: Certificate, original: Readable, release: Readable) -> Compared:
    """Read a release and its original with what the certificate says of them."""
    discretizer = discretizer_of(document.of_one_noise("a comparison with the original"))
    column, series = document["release.column"], document["release.series_column"]
    names = [column] if series is None else [column, series]
    private, public = (read_columns(table, names) for table in (original, release))
    rare = document["release.points"] is not None
    wanted = document["release.points"] if rare else public.num_rows
    if private.num_rows != wanted:
        raise InvalidInput("original", f"{private.num_rows} rows", f"{wanted}, as was released")
    order, ends = series_order(private, series)
    called = () if series is None else _names(one_column(private, series), order, ends)
    if document["noise.every"] > 1:
        return replace(_rare(document, private, public, order, ends), names=called)
    truth = discretizer.codes(one_column(private, column), column)
    seen = discretizer.read_back(one_column(public, column), column)
    if discretizer.missing == "error":
        return Compared(cut(truth, order, ends), cut(seen, order, ends), None, called)
    gaps = discretizer.gaps(seen)
    if np.any(gaps != discretizer.gaps(truth)):
        raise InvalidInput("original", "gaps at other rows", "gaps where the release has them")
    reports = cut(np.where(gaps, 0, seen), order, ends)
    truth, known, gaps = (
        cut(part, order, ends) for part in (np.where(gaps, 0, truth), np.where(gaps, 0, -1), gaps)
    )
    return Compared(truth, _masked(reports, gaps), known, called)


def _names(column: pa.Array, order: IntArray, ends: IntArray) -> tuple[Any, ...]:
    """The name of each series, from its first row."""
    if not len(order):
        return ()
    starts = np.concatenate([[0], ends]).astype(np.int64)
    return tuple(column.take(pa.array(order[starts])).to_pylist())


def original_states(
    document: Certificate, original: Readable, release: Readable, states: Any, order: IntArray
) -> Any:
    """The states of the original at the points of a release, in the shape of ``states``.

    ``states`` and ``order`` are those of :class:`~chainveil.table.released.states.ReleasedStates`.
    """
    if document["noise.every"] > 1:
        raise NotSupported("the original beside a release in which one point in several reports")
    column, series = document["release.column"], document["release.series_column"]
    names = [column] if series is None else [column, series]
    private, public = (read_columns(table, names) for table in (original, release))
    if private.num_rows != public.num_rows:
        found = f"{private.num_rows:,} rows"
        raise InvalidInput("original", found, f"{public.num_rows:,}, as the release has")
    _check_same_series(document, private, public, np.ones(private.num_rows, np.bool_))
    codes = discretizer_of(document).codes(one_column(private, column), column)[order]
    several = isinstance(states, list)
    parts = [np.ma.array(part, copy=True) for part in (states if several else [states])]
    begin = 0
    for part in parts:
        there = ~np.ma.getmaskarray(part)
        part[there] = codes[begin : begin + np.count_nonzero(there)]
        begin += int(np.count_nonzero(there))
    return parts if several else parts[0]


def _rare(
    document: Certificate, private: pa.Table, public: pa.Table, order: IntArray, ends: IntArray
) -> Compared:
    """The same where one point in several reports: each report stands for its block."""
    if document["release.splits"]:
        raise NotSupported("attacks on rare reports with gaps in time between them")
    noise, column = document.plan().noise, document["release.column"]
    reader = discretizer_of(document).keeping("keep")
    truth = reader.codes(one_column(private, column), column)
    seen = reader.read_back(one_column(public, column), column)
    places = _places(order, ends)
    speaks = places % noise.every == noise.first_place
    _check_same_series(document, private, public, speaks)
    seen = _held(seen, speaks, places // noise.every, order, ends)
    missing = reader.gaps(truth)
    unheard = reader.gaps(seen) | missing
    parts = (np.where(missing, 0, truth), np.where(missing, 0, -1), np.where(unheard, 0, seen))
    states, known, reports = (cut(part, order, ends) for part in parts)
    return Compared(states, _masked(reports, cut(unheard, order, ends)), known)


def _places(order: IntArray, ends: IntArray) -> IntArray:
    """The place of each row in its series."""
    starts = np.concatenate([[0], ends]).astype(np.int64)
    lengths = np.diff(np.append(starts, len(order)))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    return places


def _check_same_series(
    document: Certificate, private: pa.Table, public: pa.Table, speaks: NDArray[np.bool_]
) -> None:
    """Error unless the rows of the release are those of the original that report."""
    name, rows = document["release.series_column"], int(np.count_nonzero(speaks))
    if rows != public.num_rows:
        raise InvalidInput("original", f"{rows} rows that report", f"{public.num_rows}")
    if name is None:
        return
    here = one_column(private, name).filter(pa.array(speaks))
    there = one_column(public, name)
    if [str(key) for key in here.to_pylist()] != [str(key) for key in there.to_pylist()]:
        raise InvalidInput("original", "series at other rows", "series as the release has them")


def _held(
    seen: NDArray[np.uint8],
    speaks: NDArray[np.bool_],
    blocks: IntArray,
    order: IntArray,
    ends: IntArray,
) -> NDArray[np.uint8]:
    """Each report over its block, and over blocks without one; ``GAP`` before the first."""
    full = np.full(len(speaks), GAP, np.uint8)
    full[speaks] = seen
    for rows in np.split(order, ends):
        block = blocks[rows]
        reports = np.full(int(block[-1]) + 1, GAP, np.uint8)
        made = speaks[rows]
        reports[block[made]] = full[rows][made]
        last = np.maximum.accumulate(np.where(reports != GAP, np.arange(len(reports)), -1))
        full[rows] = np.where(last < 0, GAP, reports[np.maximum(last, 0)])[block]
    return full


def _masked(reports: Any, gaps: Any) -> Any:
    if isinstance(reports, list):
        return [_masked(*pair) for pair in zip(reports, gaps, strict=True)]
    return np.ma.MaskedArray(reports, mask=gaps)
