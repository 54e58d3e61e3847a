"""The reports alone, without silent points, and where each of them was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.mechanism import reading
from chainveil.mechanism.pieces import Table
from chainveil.mechanism.randomness import Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.mechanism.release import check_points, release
from chainveil.mechanism.samplers import sampler
from chainveil.mechanism.thinned import check_first_point
from chainveil.noise.base import Noise


@dataclass(frozen=True)
class Reported:
    """The reports of one series.

    Attributes
    ----------
    values : array of shape (reports,)
        Of the dtype of the series.
    places : int64 array of shape (reports,)
        The index of the point of each, counted from 0.
    """

    values: NDArray[Any]
    places: NDArray[np.int64]


def reports(
    x: Any, noise: Noise, rng: Source | None = None, missing: Missing = "error"
) -> Reported | list[Reported]:
    """Every report that :func:`sanitize` makes, and its point.

    Silent points have none, and missing points neither. ``x``, ``rng`` and ``missing`` are as in
    ``sanitize``; a list for several series.
    """
    source = as_source(rng)
    reading.check_missing(missing)
    work = sampler(noise, source)
    check_first_point(noise, source)
    table, masks = reading.as_table("x", x)
    check_points(table, masks, work, missing)
    asked = [_series(table, masks, j)[noise.first_place :: noise.every] for j in _all(table)]
    made = asked
    if any(len(part) for part in asked):
        made = release(asked, work, None, source, missing, noise.kind).values
    found = [
        _present_ones(noise, np.asarray(made[j]), _present(table, masks, j, missing))
        for j in _all(table)
    ]
    several = not isinstance(table.held, np.ndarray) or table.held.ndim == 2
    return found if several else found[0]


def _all(table: Table) -> range:
    return range(table.series)


def _series(table: Table, masks: Table | None, j: int) -> NDArray[Any]:
    if masks is None:
        return table.row(j)
    return np.ma.MaskedArray(table.row(j), mask=masks.row(j))


def _present(table: Table, masks: Table | None, j: int, missing: str) -> NDArray[np.bool_]:
    mask = None if masks is None else masks.row(j)
    gaps = reading.gaps_of(table.row(j), mask, missing)
    return np.ones(len(table.row(j)), np.bool_) if gaps is None else ~gaps


def _present_ones(noise: Noise, made: NDArray[Any], present: NDArray[np.bool_]) -> Reported:
    """Leave out the reports that were not made, at points that are missing."""
    places = noise.places(len(present))
    kept = present[places]
    return Reported(made[kept], places[kept])
