"""A table as a comparison sees it: how much of it there is, and what chain it looks like.

Exact, and as private as the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel
from chainveil.table.released.grouping import read_columns, series_order
from chainveil.table.released.timeline import distances
from chainveil.table.request.discretize import Discretizer, Label
from chainveil.table.request.request import Layout, Readable, Request, one_column
from chainveil.table.states.prepare import HERE, check_not_empty, find_discretizer, fit, fit_models

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Study:
    """What is to be released, read once.

    Attributes
    ----------
    plan_chain : MarkovChain or another model
        What noise is calibrated for: given, fitted on a reference, or fitted on the table; of
        several series that are fitted, the family that a release has.
    model : MarkovChain or another model
        What the figures are about: the chain that fits the table best. Where none can be fitted,
        ``plan_chain``.
    own : bool
        Whether ``model`` was fitted on the table.
    runs : tuple of tuples of arrays
        States of each series, one array a stretch without gaps.
    labels : tuple
        What the states are called.
    """

    plan_chain: DataModel
    model: Any
    own: bool
    runs: tuple[tuple[NDArray[np.uint8], ...], ...]
    labels: tuple[Label, ...]

    @cached_property
    def lengths(self) -> IntArray:
        """Points of each series."""
        return np.array([sum(map(len, runs)) for runs in self.runs], np.int64)

    @property
    def points(self) -> int:
        """Points in all."""
        return int(self.lengths.sum())

    @property
    def of_a_series(self) -> int:
        """Points of the series in the middle, by length."""
        return int(np.median(self.lengths))


def read_study(table: Readable, request: Request) -> Study:
    """Read a table for comparison; its errors are those of a release."""
    request.check(table)
    if request.reference is not None:
        request.layout.check(request.reference)
    discretizer = find_discretizer(table, request)
    chain, model = _chains(table, request, discretizer)
    if chain.states != discretizer.count:
        raise InvalidInput("states", f"{discretizer.count} states", f"{chain.states}, as the chain")
    own, model = model is not None, chain.likeliest if model is None else model
    return Study(chain, model, own, _runs(table, request.layout, discretizer), discretizer.labels)


def _chains(
    table: Readable, request: Request, discretizer: Discretizer
) -> tuple[DataModel, DataModel | None]:
    """The model of the plans, as a release has it, and the chain that fits the table, if any."""
    if request.chain is None and request.reference is None:
        (model,), seen = fit_models(table, request, discretizer, None, HERE)
        return model, fit(seen, "private", request.order)
    seen = HERE.survey(table, request.layout, discretizer, None)
    try:
        own: DataModel | None = fit(seen, "private")
    except InvalidInput:
        own = None
    if request.chain is not None:
        return request.chain, own
    (model,), _ = fit_models(table, request, discretizer, None, HERE)
    return model, own


def _runs(
    table: Readable, layout: Layout, discretizer: Discretizer
) -> tuple[tuple[NDArray[np.uint8], ...], ...]:
    """States by series and stretch."""
    held = read_columns(table, layout.names)
    check_not_empty(held.num_rows)
    order, ends = series_order(held, layout.series)
    states = discretizer.codes(one_column(held, layout.column), layout.column)[order]
    empty = discretizer.gaps(states)
    apart, clock = np.ones(len(order), np.int64), layout.clock()
    if clock is not None:
        apart = distances(held, layout.series, clock, order, ends)
    parts = zip(*(np.split(column, ends) for column in (states, empty, apart)), strict=True)
    return tuple(tuple(_stretches(*part)) for part in parts)


def _stretches(
    states: NDArray[np.uint8], empty: NDArray[np.bool_], apart: IntArray
) -> list[NDArray[np.uint8]]:
    """A series cut where points are missing."""
    cuts = np.flatnonzero((apart != 1) | empty | np.concatenate([[False], empty[:-1]]))
    parts = zip(np.split(states, cuts), np.split(empty, cuts), strict=True)
    return [part for part, gaps in parts if len(part) and not gaps.any()]
