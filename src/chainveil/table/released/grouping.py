"""A column of states cut into its series, for tools that take whole series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.table.request.request import Readable, one_column


def read_columns(table: Readable, names: list[str]) -> pa.Table:
    """Whole columns, at once."""
    batches = list(table.batches(names))
    if not batches:
        return table.schema.empty_table().select(names)
    return pa.Table.from_batches(batches)


def series_order(table: pa.Table, series: str | None) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The rows in the order of their series, and the places where one series ends."""
    rows = table.num_rows
    if series is None:
        return np.arange(rows), np.empty(0, np.int64)
    numbers = one_column(table, series).dictionary_encode().indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    return order, np.flatnonzero(np.diff(numbers[order])) + 1


def cut(states: NDArray[Any], order: NDArray[np.int64], ends: NDArray[Any]) -> Any:
    """States by series: one array where there is one series, else a list."""
    parts = np.split(states[order], ends)
    return parts[0] if len(parts) == 1 else parts
