"""Counts on Spark are those of one machine, wherever the rows lie."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import chainveil as cv
from chainveil import spark
from chainveil.table.read.frames import FrameSource
from chainveil.table.request.request import Layout, StateRules
from chainveil.table.states.fitting import fit_table
from tests.spark.tables import frame_of, long_table, shuffled

# How the minutes of a table are written, and how long one is in the column's units.
TIMES: dict[str, tuple[Any, float]] = {
    "whole numbers": (pa.int32(), 1),
    "fractions": (pa.float64(), 1),
    "times": (pa.timestamp("us"), 60),
    "dates": (pa.date32(), 86_400),
}


def _retimed(table: pa.Table, kind: pa.DataType) -> pa.Table:
    minutes = table["minute"]
    if pa.types.is_timestamp(kind):
        minutes = pa.array([60_000_000 * m for m in minutes.to_pylist()])
    elif pa.types.is_date(kind):
        minutes = minutes.cast(pa.int32())
    return table.set_column(1, "minute", minutes.cast(kind))


@pytest.mark.parametrize(
    ("name", "split", "partitions"),
    [
        ("times", True, 4),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("whole numbers", True, 7), ("whole numbers", False, 2), ("fractions", True, 2),
                ("dates", False, 3),
            )
        ),
    ],
)  # fmt: skip
def test_disorder_and_gaps_across_partition_borders(
    name: str, split: bool, partitions: int, spark_session: Any
) -> None:
    kind, unit = TIMES[name]
    table = _retimed(long_table(seed=len(name)), kind)
    gap: dict[str, Any] = {"max_gap": 2 * unit, "step": unit} if split else {}
    layout = Layout("bpm", "person", "minute", **gap)
    here = fit_table(FrameSource(table), layout, StateRules(threshold=[57, 62]))
    # The rows mixed up, and cut so that series end in the middle of partitions.
    frame = frame_of(spark_session, shuffled(table), partitions)
    there = spark.fit(frame, "person", "minute", "bpm", threshold=[57, 62], **gap)
    # Counts, intervals, rows, series, splits and the memory of two points.
    assert there.facts == here.facts
    assert there.chain.counts.tolist() == here.chain.counts.tolist()  # type: ignore[union-attr]
    assert (here.splits > 20) == split


@pytest.mark.parametrize("order", ["auto", 3])
def test_a_longer_memory_across_partition_borders(order: Any, spark_session: Any) -> None:
    table = long_table(seed=2)
    gap: dict[str, Any] = {"max_gap": 2, "step": 1}
    layout = Layout("bpm", "person", "minute", **gap)
    how: dict[str, Any] = {"order": order, "pseudocount": 0.5}
    here = fit_table(FrameSource(table), layout, StateRules(threshold=60), **how)
    frame = frame_of(spark_session, shuffled(table), 4)
    there = spark.fit(frame, "person", "minute", "bpm", threshold=60, **gap, **how)
    assert there.facts == here.facts
    assert there.chain == here.chain
    assert here.splits > 20


@pytest.mark.parametrize("which", ["mean", "median"])
def test_limits_that_are_looked_up(which: Any, spark_session: Any) -> None:
    table = long_table()
    here = fit_table(
        FrameSource(table), Layout("bpm", "person", "minute"), StateRules(threshold=which)
    )
    there = spark.fit(frame_of(spark_session, table), "person", "minute", "bpm", threshold=which)
    assert there.discretizer.edges == pytest.approx(here.discretizer.edges, rel=1e-14)
    assert there.discretizer.origin == here.discretizer.origin
    assert there.chain.counts.tolist() == here.chain.counts.tolist()  # type: ignore[union-attr]


def test_one_series_without_a_name(spark_session: Any) -> None:
    table = long_table(series=1)
    here = fit_table(FrameSource(table), Layout("bpm", None, "minute"), StateRules(threshold=60))
    frame = frame_of(spark_session, shuffled(table), 5)
    there = spark.fit(frame, None, "minute", "bpm", threshold=60)
    assert there.chain.counts.tolist() == here.chain.counts.tolist()  # type: ignore[union-attr]
    assert there.series == 1


def test_rows_without_an_order_cannot_be_counted(spark_session: Any) -> None:
    frame = frame_of(spark_session, long_table())
    with pytest.raises(cv.InvalidInput, match="no order of their own"):
        spark.fit(frame, "person", None, "bpm", threshold=60)  # type: ignore[arg-type]
