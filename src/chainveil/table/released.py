"""A release as an analyst reads it: states by series, noise from the certificate, groups."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chainveil.certificate import Certificate
from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.reading import Missing
from chainveil.plan import NoisePlan
from chainveil.table.discretize import GAP, Discretizer, Label
from chainveil.table.grouping import cut, read_columns, series_order, without_gaps
from chainveil.table.place import check_column
from chainveil.table.prepare import Progress
from chainveil.table.reading import open_source
from chainveil.table.request import Readable, one_column
from chainveil.table.verification import verify

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CALENDAR = ("hour", "weekday", "date")


@dataclass(frozen=True)
class ReleasedStates:
    """What is published, and the noise it carries.

    Attributes
    ----------
    states : array, or list of arrays, one a series
    groups : array, or list of arrays, in the shape of ``states``, or None
        The group of each point.
    plan : NoisePlan
        The plan of the certificate, with its noise.
    labels : tuple
        What the states are called.
    order : int64 array of shape (points,)
        The row of the table at which each point stands. Rows without a value are left out,
        and a series is split there into runs that count as series.
    rows : int
        Rows of the table.
    splits : int
        Pairs of neighbouring rows that are no neighbouring points: the release does not say
        which.
    """

    states: Any
    groups: Any
    plan: NoisePlan
    labels: tuple[Label, ...]
    order: NDArray[np.int64]
    rows: int
    splits: int

    @property
    def gaps(self) -> int:
        """Number of rows without a value."""
        return self.rows - len(self.order)


def read_released(
    release: str | Path,
    certificate: str | Path,
    by: str | None = None,
    time: str | None = None,
    form: str | None = None,
    header: bool = True,
    progress: Progress | None = None,
) -> ReleasedStates:
    """Read a release with the noise of its certificate; the original is never needed.

    Parameters
    ----------
    release, certificate : paths
        An error if they do not belong together, or the certificate does not hold.
    by : str, optional
        A column whose values are the groups; or "hour", "weekday" or "date" of ``time``;
        or "series".
    time : str, optional
        The column with dates and times.
    form, header, progress : optional
        As in :func:`chainveil.verify`.
    """
    document = _belonging(release, certificate, form, header, progress)
    table = open_source(release, form, header, text=False)
    series = document["release.series_column"]
    names = _columns(table, document, by, time)
    held = read_columns(table, names)
    order, ends = series_order(held, series)
    labels = tuple(document["discretization.labels"])
    column = document["release.column"]
    missing: Missing = "keep" if document["release.gaps"] else "error"
    reader = Discretizer((), labels, labels, missing=missing)
    states = reader.read_back(one_column(held, column), column)
    plan = document.plan()
    if missing == "keep" or document["release.splits"]:
        _check_gaps(plan)
    if missing == "keep":
        order, ends = without_gaps(states == GAP, order, ends)
    groups = None if by is None else _groups(held, by, time, series)
    return ReleasedStates(
        cut(states, order, ends),
        None if groups is None else cut(groups, order, ends),
        plan,
        labels,
        order,
        held.num_rows,
        document["release.splits"],
    )


def _check_gaps(plan: NoisePlan) -> None:
    if plan.mechanism == "correlated":
        raise NotSupported(
            "a release with gaps and correlated noise: the runs between the gaps share noise, "
            "which the estimates do not take into account"
        )


def _belonging(
    release: Any, certificate: Any, form: str | None, header: bool, progress: Progress | None
) -> Certificate:
    """The certificate, if it holds and speaks of this release."""
    document = Certificate.read(certificate)
    if document["release"] is None:
        raise InvalidInput("certificate", "a plan", "the certificate of a release")
    failures = verify(document, release, form=form, header=header, progress=progress).failures
    if failures:
        raise InvalidInput(
            "certificate",
            f"{certificate}: {failures[0].field}: {failures[0].text}",
            "a certificate that holds and belongs to the release",
            "chainveil verify shows every check.",
        )
    return document


def _columns(table: Readable, document: Certificate, by: str | None, time: str | None) -> list[str]:
    names = [document["release.column"], document["release.series_column"]]
    check_column("time", time, table.columns)
    if by in CALENDAR and by not in table.columns:
        if time is None:
            raise InvalidInput("time", None, f"the column with the time, for --by {by}")
        names.append(time)
    elif by == "series" and by not in table.columns:
        if names[1] is None:
            raise InvalidInput("by", by, "a column: the release has one series")
    else:
        check_column("by", by, table.columns)
        names.append(by)
    return list(dict.fromkeys(name for name in names if name is not None))


def _groups(held: pa.Table, by: str, time: str | None, series: str | None) -> NDArray[Any]:
    """The group of each row."""
    if by in held.column_names:
        column = one_column(held, by)
    elif by == "series":
        column = one_column(held, str(series))
    else:
        return _calendar(one_column(held, str(time)), by, str(time))
    if column.null_count:
        raise InvalidInput(by, "a missing value", "a group in every row")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _calendar(column: pa.Array, by: str, name: str) -> NDArray[Any]:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.timestamp("us"))
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        raise InvalidInput(
            name, f"a column of type {column.type}", "dates or times, such as 2026-01-31 12:00:00",
            "For numbers, put the group into a column of its own.",
        )  # fmt: skip
    if by == "hour" and not pa.types.is_date(column.type):
        return np.asarray(pc.hour(column).to_numpy(zero_copy_only=False))
    if by == "weekday":
        days = pc.day_of_week(column).to_numpy(zero_copy_only=False)
        # Numbered, so that the groups come in the order of the week.
        names = np.array([f"{day + 1} {word}" for day, word in enumerate(WEEKDAYS)])
        return np.asarray(names[days])
    return np.asarray(pc.strftime(column, format="%Y-%m-%d").to_numpy(zero_copy_only=False))
