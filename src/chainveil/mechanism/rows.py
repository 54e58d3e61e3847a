"""Noise for the rows of a table: many series, mixed, a batch at a time.

With a seeded source the noise of a row depends on its series and its place in that series
alone, so that any order and any division of the rows gives the same release, and the one
that whole series give as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism.draws import RowDraws, RowPart
from chainveil.mechanism.pieces import PIECE
from chainveil.mechanism.randomness import Source
from chainveil.mechanism.reading import check_states
from chainveil.mechanism.samplers import RowSampler, row_sampler, sampler
from chainveil.mechanism.sanitizing import sanitize
from chainveil.mechanism.thinned import check_first_point
from chainveil.noise.base import Noise

IntArray = NDArray[np.int64]
Numbers = NDArray[np.uint64]


@dataclass(frozen=True)
class Rows:
    """Where the rows of a batch stand.

    Attributes
    ----------
    owner : int64 array of shape (rows,)
        The series of each row, counted from 0 in the order in which they were first seen.
    points : int64 array of shape (rows,)
        The place of each row in its series, counted from 0; increases within a series. A
        jump leaves out points that nobody sees, beneath which correlated noise runs on and
        over which sticky and tracking noise holds its last report.
    numbers : uint64 array of shape (series,)
        The number of each series in a seeded source; see ``randomness.series_number``.
    """

    owner: IntArray
    points: IntArray
    numbers: Numbers


class RowNoise:
    """A noise at work on the rows of a table as they come, batch after batch.

    Parameters
    ----------
    noise : Noise
    source : Secure or Seeded

    Notes
    -----
    Secure noise that looks at its own point alone needs to know nothing about series. Ordered
    noise runs along each series, whatever lies between its rows; what it remembers of each
    series is kept from batch to batch, as secret as the data. Where one point in several
    reports, the place of a row in its series says whether it does (:meth:`reports`).
    """

    def __init__(self, noise: Noise, source: Source) -> None:
        check_first_point(noise, source)
        self._every, self._first = noise.every, noise.first_place
        # Reports one after the other: which rows make them is settled before.
        self._noise = noise = noise.thinned(1)
        self._source = source
        self._by_address = not source.for_release
        self._ordered: RowSampler | None = None
        if noise.ordered:
            self._ordered = row_sampler(noise, source)
        elif self._by_address:
            self._work = sampler(noise, source, RowDraws(source))

    @property
    def needs_rows(self) -> bool:
        """Whether ``apply`` has to be told which row belongs where."""
        return self._by_address or self._ordered is not None or self._every > 1

    def reports(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows report, shape (rows,); all of them unless one point in several does."""
        return np.asarray(rows.points % self._every == self._first)

    def apply(self, states: NDArray[Any], rows: Rows | None = None) -> NDArray[Any]:
        """The reports of those of the next rows that report, of the dtype of ``states``."""
        if not self.needs_rows or len(states) == 0:
            return self._anywhere(states)
        if rows is None or not len(rows.owner) == len(rows.points) == len(states):
            raise InvalidInput(
                "rows", "other numbers of rows", "the series and the point of every state"
            )
        check_states(states, self._noise.states, self._noise.outputs)
        if self._every > 1:
            states, rows = self._reporting(states, rows)
        return self._drawn(states, rows)

    def _reporting(self, states: NDArray[Any], rows: Rows) -> tuple[NDArray[Any], Rows]:
        """The rows that report, each at the number of its report in place of its point."""
        made = self.reports(rows)
        numbers = rows.points[made] // self._every
        return states[made], Rows(rows.owner[made], numbers, rows.numbers)

    def _drawn(self, states: NDArray[Any], rows: Rows) -> NDArray[Any]:
        if len(states) == 0:
            return states
        if self._ordered is not None:
            return self._ordered.apply(states, rows)
        return self._at_addresses(states, rows) if self._by_address else self._anywhere(states)

    def _anywhere(self, states: NDArray[Any]) -> NDArray[Any]:
        if len(states) == 0:
            return states
        reports: NDArray[Any] = sanitize(states, self._noise, rng=self._source)
        return reports

    def _at_addresses(self, states: NDArray[Any], rows: Rows) -> NDArray[Any]:
        work, out = self._work, np.empty_like(states)
        for begin in range(0, len(states), PIECE):
            part = slice(begin, begin + PIECE)
            held = np.ascontiguousarray(states[part], work.dtype)
            reports = np.empty_like(held)
            place: Any = RowPart(rows.numbers[rows.owner[part]], rows.points[part])
            work.apply(place, held, reports)
            out[part] = reports
        return out
