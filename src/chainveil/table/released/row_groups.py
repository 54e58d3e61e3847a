"""The group of each row of a release: of a column, of a series, or of several columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.certificate import Certificate
from chainveil.errors import ChainveilError, InvalidInput
from chainveil.table.error_text import check_released
from chainveil.table.request.request import Readable, one_column

# What grouped rows by the time column once.
CALENDAR = ("hour", "weekday", "date")


def column_of(table: Readable, document: Certificate, by: str) -> str | None:
    """The column that groups are read from."""
    column, series = document["release.column"], document["release.series_column"]
    if by in CALENDAR and by not in table.columns:
        raise ChainveilError(
            f"by: answers by {by} of a time column were removed: give the release a column with "
            f"the {by}, and name that"
        )
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


def groups_of(held: pa.Table, by: str, series: str | None) -> NDArray[Any]:
    """The group of each row."""
    column = one_column(held, by if by in held.column_names else str(series))
    if column.null_count:
        raise InvalidInput(
            by, "a missing value", "a group in every row",
            "Fill it, such as with the name of a group of its own: rows that are left out instead "
            "are missed by the certificate, and by reports that look back.",
        )  # fmt: skip
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.string())
    return np.asarray(column.to_numpy(zero_copy_only=False))


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
