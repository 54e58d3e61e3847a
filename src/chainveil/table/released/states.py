"""A release as an analyst reads it: states by series, noise from the certificate, groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.certificate import Certificate
from chainveil.errors import InvalidInput, NotSupported
from chainveil.plan import NoisePlan
from chainveil.table.error_text import check_released
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.reading import open_source
from chainveil.table.released.arranging import ANOTHER_ORDER, by_time, is_release
from chainveil.table.released.belonging import Belonging, belonging
from chainveil.table.released.facts import discretizer_of
from chainveil.table.released.grouping import read_columns, series_order
from chainveil.table.released.row_groups import column_of, combined, groups_of
from chainveil.table.released.timeline import (
    CUT,
    LONGEST_GAP,
    check_known,
    distances,
    lay,
    rare_places,
    usual_step,
)
from chainveil.table.request.clock import Clock
from chainveil.table.request.discretize import Label
from chainveil.table.request.request import Readable, one_column
from chainveil.table.states.groups import GroupColumn
from chainveil.table.states.prepare import Progress

ACROSS = "The noise is one that remembers across the gaps"
BACK_IN_ORDER = (
    "Where the rows only stand in another order, give time, the column with the time: they are "
    "then put back. chainveil verify shows every check."
)
GAP_ADVICE = "Steps longer than it are gaps; step alone tells how many points lie in one."


@dataclass(frozen=True)
class ReleasedStates:
    """What is published, and the noise it carries.

    Attributes
    ----------
    states : array, or list of arrays, one a series, or a run where a gap cuts it
        Masked where points are missing from the time line, have no value, or do not report.
    groups : array, or list of arrays, in the shape of ``states``, or None
        The group of each point.
    plan : NoisePlan
        The plan of the certificate, with its noise.
    labels : tuple
        What the states are called.
    order : int64 array of shape (points,)
        The row of the table at which each point stands that has a value and reports.
    rows : int
        Rows of the table.
    splits : int
        Pairs of neighbouring rows that are no neighbouring points, by the certificate, and
        that were not found.
    series : tuple
        The name of the series of each array of ``states``, where the release has several.
    notes : tuple of str
        What could not be checked: the release is part of what was released.
    group_names : tuple
        Where groups are of several columns: the values of each.
    reordered : bool
        Whether the rows stand in another order than they were released in.
    noise_by : str
        The column that tells the noise of a row, where each group has its own; else empty.
    """

    states: Any
    groups: Any
    plan: NoisePlan
    labels: tuple[Label, ...]
    order: NDArray[np.int64]
    rows: int
    splits: int
    series: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    group_names: tuple[Any, ...] = ()
    reordered: bool = False
    noise_by: str = ""

    @property
    def gaps(self) -> int:
        """Number of rows without a value."""
        return self.rows - len(self.order)

    def step_of(self, times: pa.Table) -> float | None:
        """The step of a time column in seconds, where it is the same in all series.

        ``times`` : the column alone, with the rows of the release.
        """
        clock = Clock(times.column_names[0])
        ticks = clock.ticks(one_column(times, clock.name), 0)[self.order]
        lengths = [np.ma.count(part) for part in
                   (self.states if isinstance(self.states, list) else [self.states])]  # fmt: skip
        steps = np.delete(np.diff(ticks), np.cumsum(lengths)[:-1] - 1)
        same = len(steps) > 0 and steps[0] > 0 and bool((steps == steps[0]).all())
        return float(steps[0]) / clock.ticks_of(1.0) if same else None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a release is read.

    Attributes
    ----------
    by : str or several, optional
        A column whose values are the groups; or "series". Of several, every combination is a
        group.
    time : str, optional
        The column with dates and times.
    step, max_gap : float, optional
        Of ``time``, as when the table was sanitized: longer steps than ``max_gap`` are gaps,
        across which no two points are neighbours.
    neighbours : bool
        Whether the question looks at neighbours. One that does not leaves series whole where
        the length of a gap is not known.
    form, header, delimiter, multiline, progress : optional
        As in :func:`chainveil.verify`.
    """

    by: str | Sequence[str] | None = None
    time: str | None = None
    step: float | None = None
    max_gap: float | None = None
    neighbours: bool = True
    form: str | None = None
    header: bool = True
    delimiter: str | None = None
    multiline: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.time is None and (self.step is not None or self.max_gap is not None):
            raise InvalidInput("time", None, "a column, where step or max_gap is given")
        if self.step is not None and self.max_gap is None:
            raise InvalidInput("max_gap", None, "a number, where step is given", GAP_ADVICE)

    @property
    def groups(self) -> list[str]:
        """What ``by`` names."""
        return [] if self.by is None else [self.by] if isinstance(self.by, str) else list(self.by)

    @property
    def lines(self) -> dict[str, Any]:
        """How the lines of a text file are read."""
        return {"header": self.header, "delimiter": self.delimiter, "multiline": self.multiline}


def read_released(release: Any, certificate: Any, how: Reading | None = None) -> ReleasedStates:
    """Read a release with the noise of its certificate; the original is never needed.

    Parameters
    ----------
    release : path or data frame
        It may be part of what was released, or joined with other columns, or saved again, or
        its rows may stand in another order: the time then tells which.
    certificate : Certificate or path
        An error if it does not hold, or cannot belong to the release.
    how : Reading, optional
        Groups, time line and form of the file.
    """
    held = read_by_noise(release, certificate, how)
    if held[0].noise_by:
        raise NotSupported(
            "this, of a release with noise by group: it takes one noise for all rows. Take the "
            f"rows of one group (column {held[0].noise_by!r}) and its certificate, "
            "certificate.groups[label]"
        )
    return held[0]


def read_by_noise(
    release: Any, certificate: Any, how: Reading | None = None
) -> list[ReleasedStates]:
    """As :func:`read_released`, of a release in which each group of series has its own noise too.

    One for each group that has rows; one in all where there are no groups.
    """
    if isinstance(release, str) and release == "-":
        raise InvalidInput("release", "-", "a file", "It is read twice: to check it, and to ask.")
    how = how or Reading()
    table = _opened(release, how)
    known = belonging(release, certificate, how.form, how.lines, how.progress)
    names = _columns(table, known.document, how)
    if how.time is not None and (how.max_gap is not None or known.moved) and how.time not in names:
        names.append(how.time)
    held = read_columns(table, names)
    if not known.document.groups:
        return [_read(held, np.arange(held.num_rows), known, how)]
    column = GroupColumn(known.document["groups.column"], list(known.document.groups))
    numbers = column.numbers(one_column(held, column.name), 0)
    return [
        replace(
            _read(held.filter(pa.array(numbers == number)), np.flatnonzero(numbers == number),
                  replace(known, document=document), how),
            noise_by=column.name,
        )
        for number, document in enumerate(known.document.groups.values())
        if (numbers == number).any()
    ]  # fmt: skip


def _read(
    held: pa.Table, rows: NDArray[np.int64], known: Belonging, how: Reading
) -> ReleasedStates:
    """The states of rows that have one noise; ``rows`` are their places in the table."""
    document, filtered = known.document, known.filtered
    time, max_gap, neighbours = how.time, how.max_gap, how.neighbours
    series = document["release.series_column"]
    plan = document.plan()
    ordered = plan.noise.ordered or plan.noise.every > 1 or neighbours
    if time is not None and known.moved:
        held, places = by_time(held, series, time, ordered)
        rows = rows[places]
    order, ends = series_order(held, series)
    labels = tuple(document["discretization.labels"])
    column = document["release.column"]
    reader = discretizer_of(document)
    states = reader.read_back(one_column(held, column), column)
    empty = reader.gaps(states)
    notes = known.notes
    if known.reordered and not is_release(document, states, held, time):
        if ordered and time is None:
            raise known.refuse(BACK_IN_ORDER)
        notes = (ANOTHER_ORDER,)
    groups, group_names = combined([groups_of(held, name, series) for name in how.groups])
    apart = np.ones(len(order), np.int64)
    splits = document["release.splits"]
    if document["release.points"] is not None:
        apart = rare_places(document, max_gap, ends, len(order))
        max_gap = None
    usual = None
    if filtered and time is not None and max_gap is None and document["release.points"] is None:
        # Rows further apart than most are where others were left out.
        usual = max_gap = usual_step(held, time, order, ends)
    if time is not None and max_gap is not None:
        clock = Clock(time, how.step, max_gap)
        apart = distances(held, series, clock, order, ends)
    if filtered:
        notes = (*notes, *_filtered(document, plan, apart, max_gap, usual))
        splits = int(np.count_nonzero(apart == CUT))
    found = 0 if document["release.points"] is not None else int(np.count_nonzero(apart != 1))
    # A report that looks at the last one alone does not care how far away that lies.
    near = plan.noise.sees == "last report"
    if plan.noise.ordered and not filtered:
        if found != splits and not near:
            raise InvalidInput(
                "max_gap", max_gap, "what it was, with time and step, when the table was sanitized",
                f"{ACROSS}: the certificate counts {splits:,}, the time line has {found:,}.",
            )  # fmt: skip
        if found and (neighbours or not near):
            check_known(apart, order, clock)
            _check_held(plan, apart)
    if not neighbours and not filtered:
        apart = np.maximum(apart, 1)
    front = plan.noise.first_place if document["release.points"] is not None else 0
    return ReleasedStates(
        lay(states, order, ends, apart, empty, front),
        None if groups is None else lay(groups, order, ends, apart, empty, front),
        plan,
        labels,
        rows[order[~empty[order]]],
        held.num_rows,
        max(splits - found, 0),
        _run_names(held, series, order, ends, apart),
        notes,
        group_names,
        known.reordered,
    )


def _opened(release: Any, how: Reading) -> Readable:
    if not isinstance(release, str | Path):
        return FrameSource(release)
    return open_source(release, how.form, text=False, **how.lines)


def _filtered(
    document: Certificate,
    plan: NoisePlan,
    apart: NDArray[np.int64],
    max_gap: float | None,
    usual: float | None,
) -> list[str]:
    """Cut the series of a part of a release where rows are missing; what is taken for granted.

    Which report came before the first one of a run is not known, so it is not looked at.
    """
    if plan.noise.ordered and plan.noise.sees == "series":
        raise NotSupported(
            f"part of a release with {plan.noise.kind} noise: what lies between the rows is not "
            "known"
        )
    if document["release.points"] is None:
        apart[apart > 1] = CUT
    if not plan.noise.ordered or (max_gap is not None and usual is None):
        return []
    if usual is not None:
        return [
            f"rows further apart than most of them ({usual:.6g}) are taken for such between which "
            "others were left out; step and max_gap tell what is no gap"
        ]
    return [
        "neighbouring rows are taken for neighbouring points, since reports look back at the last "
        "one; time, step and max_gap tell where rows were left out"
    ]


def _check_held(plan: NoisePlan, apart: NDArray[np.int64]) -> None:
    """Error where a report would have to be held over a gap at which a series is cut."""
    if plan.noise.holds and (apart == CUT).any():
        raise NotSupported(
            f"a gap of more than {LONGEST_GAP:,} points, over which the last report is held"
        )


def _columns(table: Readable, document: Certificate, how: Reading) -> list[str]:
    check_released("time", how.time, table.columns)
    names = [document["release.column"], document["release.series_column"]]
    names.append(document["groups.column"])
    for name in how.groups:
        names.append(column_of(table, document, name))
    return list(dict.fromkeys(name for name in names if name is not None))


def _run_names(
    held: pa.Table, series: str | None, order: NDArray[Any], ends: NDArray[Any], apart: Any
) -> tuple[Any, ...]:
    """The series of each run that ``lay`` makes; of a series that gaps cut, also which run."""
    if series is None:
        return ()
    starts = np.concatenate([[0], ends]).astype(np.int64)
    begins = np.union1d(starts, np.flatnonzero(apart == CUT))
    names = one_column(held, series).take(pa.array(order[begins])).to_pylist()
    owner = np.searchsorted(starts, begins, side="right") - 1
    _, first, several = np.unique(owner, return_index=True, return_counts=True)
    which = np.arange(len(begins)) - first[owner]
    return tuple(
        f"{name}, run {which[i]}" if several[owner[i]] > 1 else name for i, name in enumerate(names)
    )
