"""Small tables for Spark, and a single machine to compare with."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import chainveil as cv

ORDER = [("person", "ascending"), ("minute", "ascending")]


def long_table(seed: int = 3, series: int = 9, points: int = 60) -> pa.Table:
    """Series of different lengths with gaps, in the order of series and time."""
    rng = np.random.default_rng(seed)
    people, minutes, values = [], [], []
    for number in range(series):
        count = points - 5 * number
        minutes += list(np.cumsum(rng.choice([1, 1, 1, 1, 4], count)))
        people += [f"p{number}"] * count
        values += list(rng.normal(60, 5, count).round(2))
    return pa.table({"person": people, "minute": pa.array(minutes, pa.int64()), "bpm": values})


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    """The same rows in another order."""
    order = np.random.default_rng(seed).permutation(table.num_rows)
    return table.take(pa.array(order))


def frame_of(session: Any, table: pa.Table, partitions: int = 3) -> Any:
    """A frame whose partitions hold the rows in the order of the table."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        frame = session.createDataFrame(table)
    if partitions == 1:
        return frame.coalesce(1)
    # Ranges of a counter, so that the order and the borders are known.
    from pyspark.sql import functions

    numbered = frame.withColumn("_n", functions.monotonically_increasing_id())
    return numbered.repartitionByRange(partitions, "_n").drop("_n")


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by(ORDER)


def folder_table(path: Path) -> pa.Table:
    """All parts, read without Spark and without chainveil."""
    return pa.concat_tables(pq.read_table(part) for part in sorted(path.glob("*.parquet")))


@cache
def two_states() -> cv.NoisePlan:
    return cv.calibrate(cv.MarkovChain.binary(0.1, 0.2), 1.0)


@cache
def correlated() -> cv.NoisePlan:
    return cv.calibrate(cv.MarkovChain.symmetric(0.2), 2.0, mechanism="correlated")


@cache
def remembering(kind: str) -> cv.NoisePlan:
    """Sticky, tracking, or rare sticky reports, for series with gaps."""
    chain = cv.MarkovChain.binary(0.1, 0.2)
    mechanism, every = ("sticky", 3) if kind == "rare" else (kind, 1)
    return cv.calibrate(chain, 2.0, mechanism=mechanism, every=every, gaps=True)
