"""Hours of the day, from the times of a column."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chainveil.table.request.clock import Clock


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["2026-01-01 00:30:00", "2026-01-02 13:00:00"]),
        pa.array([1_767_227_400, 1_767_358_800], pa.timestamp("s")),
        pa.array([1_767_227_400_000, 1_767_358_800_000], pa.timestamp("ms", "UTC")),
        pa.array([1800, 46_800], pa.time32("s")),
        pa.array(["2026-01-01 00:30:00", "2026-01-02 13:00:00"]).dictionary_encode(),
    ],
)
def test_hours_of_times(column: pa.Array) -> None:
    hours = Clock("at").hours(column)
    assert hours is not None
    assert hours.tolist() == [0, 13]


@pytest.mark.parametrize(
    "column", [pa.array([1, 2]), pa.array([0.5, 1.0]), pa.array([1, 2], pa.date32())]
)
def test_numbers_and_dates_have_no_hours(column: pa.Array) -> None:
    assert Clock("at").hours(column) is None
