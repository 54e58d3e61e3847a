"""The group of each row of a release: of a column, of a calendar, of a series, or of several."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chainveil.certificate import Certificate
from chainveil.errors import InvalidInput
from chainveil.table.error_text import check_released
from chainveil.table.request.request import Readable, one_column

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CALENDAR = ("hour", "weekday", "date")


def column_of(table: Readable, document: Certificate, by: str, time: str | None) -> str | None:
    """The column that groups are read from."""
    column, series = document["release.column"], document["release.series_column"]
    if by in CALENDAR and by not in table.columns:
        if time is None:
            raise InvalidInput("time", None, f"the column with the time, for {by}")
        return time
    if by == "series" and by not in table.columns:
        if series is None:
            raise InvalidInput("by", by, "a column: the release has one series")
        return None
    check_released("by", by, table.columns)
    if by == column:
        raise InvalidInput(
            "by", by, "a column other than the released one",
            "Groups that the noise decides break every formula; ask for frequency instead.",
        )  # fmt: skip
    return by


def zone_of(held: pa.Table, by: str, time: str | None) -> str | None:
    """The time zone of the calendar that ``by`` asks for."""
    if by not in CALENDAR or by in held.column_names:
        return None
    kind = one_column(held, str(time)).type
    return kind.tz if pa.types.is_timestamp(kind) else None


def groups_of(held: pa.Table, by: str, time: str | None, series: str | None) -> NDArray[Any]:
    """The group of each row."""
    if by in held.column_names:
        column = one_column(held, by)
    elif by == "series":
        column = one_column(held, str(series))
    else:
        return _calendar(one_column(held, str(time)), by, str(time))
    if column.null_count:
        raise InvalidInput(
            by, "a missing value", "a group in every row",
            "Fill it, such as with the name of a group of its own: rows that are left out instead "
            "are missed by the certificate, and by reports that look back.",
        )  # fmt: skip
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.string())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _calendar(column: pa.Array, by: str, name: str) -> NDArray[Any]:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.timestamp("us"))
    clock = pa.types.is_time(column.type) and by == "hour"
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type) or clock):
        raise InvalidInput(
            name, f"a column of type {column.type}", "dates or times, such as 2026-01-31 12:00:00",
            "For numbers, put the group into a column of its own.",
        )  # fmt: skip
    if column.null_count:
        raise InvalidInput(
            name, "a missing value", f"a time in every row, for {by}",
            "Put the group into a column of its own, with a name for those without a time.",
        )  # fmt: skip
    if by == "hour" and pa.types.is_date(column.type):
        raise InvalidInput(name, "a column of dates", "a column of times, for hour")
    if by == "hour":
        return np.asarray(pc.hour(column).to_numpy(zero_copy_only=False))
    if by == "weekday":
        days = pc.day_of_week(column).to_numpy(zero_copy_only=False)
        # Numbered, so that the groups come in the order of the week.
        names = np.array([f"{day + 1} {word}" for day, word in enumerate(WEEKDAYS)])
        return np.asarray(names[days])
    return np.asarray(pc.strftime(column, format="%Y-%m-%d").to_numpy(zero_copy_only=False))


def combined(parts: list[NDArray[Any]]) -> tuple[NDArray[Any] | None, tuple[Any, ...]]:
    """One group a row from the values of several columns, and the values of each group.

    The groups of one column are its values; those of several are numbers, in order.
    """
    if len(parts) < 2:
        return (parts[0], ()) if parts else (None, ())
    found = [np.unique(part, return_inverse=True) for part in parts]
    sizes = tuple(len(values) for values, _ in found)
    codes = np.ravel_multi_index([codes.reshape(-1) for _, codes in found], sizes)
    kept, groups = np.unique(codes, return_inverse=True)
    places = np.unravel_index(kept, sizes)
    named = zip(*(values[at] for (values, _), at in zip(found, places, strict=True)), strict=True)
    return groups, tuple(named)
