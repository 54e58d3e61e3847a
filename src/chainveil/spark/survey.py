"""Counting on the cluster: transitions, gaps and lengths, by Spark's windows and sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.spark.table import SparkTable, check_types, mapped, need_order, quoted, started_clock
from chainveil.spark.task import CODE, SERIES, TICK, VALUE, NumbersOf, StatesOf, in_words
from chainveil.spark.trouble import surfaced
from chainveil.table.request.clock import FLOAT_STEP, Clock
from chainveil.table.request.discretize import Discretizer, make_discretizer
from chainveil.table.request.request import Layout, LookedUp, Request
from chainveil.table.states.prepare import (
    HERE,
    Progress,
    Reader,
    check_looked_up,
    check_not_empty,
)
from chainveil.table.states.tracker import MOST_FOR_TRIPLES

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Survey:
    """What was counted; the counterpart of a tracker that has seen a whole table.

    Attributes
    ----------
    rows, series, splits : int
    measure : callable
        Finds the rows of the longest series; asked only where a promise depends on it.
    counts : int64 array of shape (states, states), or None
    triples : int64 array of shape (states, states, states), or None
    """

    rows: int
    series: int
    splits: int
    measure: Callable[[], int]
    counts: IntArray | None = None
    triples: IntArray | None = None

    @cached_property
    def longest(self) -> int:
        """Rows of the longest series, across its gaps."""
        return self.measure()


def survey(
    table: Any,
    layout: Layout,
    discretizer: Discretizer | None,
    progress: Progress | None = None,
    memory: bool = False,
) -> Any:
    """Count transitions in the order of time within each series; only counts come back.

    Rows may lie in any order and any partition. Without a ``discretizer`` only the times
    are looked at. Tables of other kinds are counted on the driver.
    """
    if not isinstance(table, SparkTable):
        return HERE.survey(table, layout, discretizer, progress, memory)
    need_order(layout, "counting transitions")
    check_types(table, layout, discretizer)
    clock, kind = started_clock(table, layout)
    states = 1 if discretizer is None else discretizer.count
    linked = _linked(table, layout, discretizer, clock, kind, memory and states <= MOST_FOR_TRIPLES)
    with surfaced():
        found = linked.groupBy("kind", "earlier", "before", CODE).count().collect()
        if any(row["kind"] in ("same", "wrong") for row in found):
            _complain(linked, layout, clock)
    check_not_empty(sum(row["count"] for row in found))
    counted = _counted(found, states, memory and states <= MOST_FOR_TRIPLES, discretizer)
    return _summed(found, counted, lambda: lengths(table, layout).longest)


def private_limit(
    table: Any, request: Request, which: LookedUp, progress: Progress | None = None
) -> float:
    """Mean or median of the column, without its gaps where they are kept."""
    if not isinstance(table, SparkTable):
        return HERE.limit(table, request, which, progress)
    layout = request.layout
    check_looked_up(which)
    check_types(table, layout, make_discretizer(threshold=0.0))
    from pyspark.sql import functions

    values = mapped(
        table.columns_of(layout.names), NumbersOf(layout, request.rules.missing), f"{VALUE} double"
    )
    ask = functions.avg if which == "mean" else functions.median
    with surfaced():
        rows, found = values.agg(functions.count(VALUE), ask(VALUE)).first()
    check_not_empty(rows)
    return float(found)


def lengths(table: SparkTable, layout: Layout) -> Survey:
    """Rows, series and the longest series; the states are not looked at."""
    from pyspark.sql import functions

    with surfaced():
        if layout.series is None:
            rows = table.frame.count()
            return Survey(rows, min(rows, 1), 0, lambda: rows)
        each = table.columns_of([layout.series]).groupBy(quoted(layout.series)).count()
        rows, series, most = each.agg(
            functions.sum("count"), functions.count("count"), functions.max("count")
        ).first()
    return Survey(rows or 0, series, 0, lambda: most or 0)


SPARK = Reader(survey, private_limit)


def _linked(
    table: SparkTable,
    layout: Layout,
    discretizer: Discretizer | None,
    clock: Clock,
    kind: np.dtype[Any],
    memory: bool,
) -> Any:
    """Every row with the state before it and what kind of step leads to it."""
    from pyspark.sql import Window, functions, types

    series = (
        types.ShortType() if layout.series is None else table.frame.schema[layout.series].dataType
    )
    ticks = types.LongType() if kind.kind == "i" else types.DoubleType()
    columns = types.StructType().add(SERIES, series).add(TICK, ticks).add(CODE, types.ShortType())
    states = mapped(table.columns_of(layout.names), StatesOf(layout, discretizer), columns)
    window = Window.partitionBy(SERIES).orderBy(TICK)
    step = functions.col(TICK) - functions.lag(TICK).over(window)
    linked = states.select(
        "*", step.alias("step"), functions.lag(CODE).over(window).alias("before")
    )
    linked = linked.withColumn("kind", _kind(clock))
    earlier = functions.lit(None).cast("smallint")
    if memory:
        whole = functions.lag("kind").over(window) == "next"
        earlier = functions.when(whole, functions.lag(CODE, 2).over(window))
    return linked.withColumn("earlier", earlier)


def _kind(clock: Clock) -> Any:
    """The rules of :class:`chainveil.table.request.clock.Clock`, said in Spark's language."""
    from pyspark.sql import functions

    step = functions.col("step")
    kind = functions.when(step.isNull(), "first").when(step <= 0, "same")
    most = None if clock.max_gap is None else clock.ticks_of(clock.max_gap)
    if clock.step is not None:
        usual = float(clock.usual)
        wrong = functions.abs(step - usual) > FLOAT_STEP * abs(usual)
        kind = kind.when(wrong if most is None else wrong & (step <= most), "wrong")
    if most is not None:
        kind = kind.when(step > most, "split")
    return kind.otherwise("next")


def _complain(linked: Any, layout: Layout, clock: Clock) -> None:
    """Name the series of the first row whose step is not allowed."""
    wrong = linked.where(linked["kind"].isin("same", "wrong"))
    row = wrong.orderBy(SERIES, TICK).select(SERIES, "step").first()
    raise clock.complaint(row["step"], in_words(None if layout.series is None else row[SERIES]))


def _counted(
    found: Iterable[Any], states: int, memory: bool, discretizer: Discretizer | None
) -> tuple[IntArray, IntArray | None]:
    """Transitions and, with ``memory``, three neighbouring states; none of them a gap."""
    counts = np.zeros((states, states), np.int64)
    triples = np.zeros((states,) * 3, np.int64) if memory else None
    for row in found:
        earlier, *pair = row["earlier"], row["before"], row[CODE]
        if row["kind"] != "next" or _any_gap(discretizer, *pair):
            continue
        counts[*pair] += row["count"]
        if triples is not None and earlier is not None and not _any_gap(discretizer, earlier):
            triples[earlier, *pair] += row["count"]
    return counts, triples


def _any_gap(discretizer: Discretizer | None, *codes: int) -> bool:
    return discretizer is not None and bool(discretizer.gaps(np.array(codes)).any())


def _summed(
    found: Iterable[Any],
    counted: tuple[IntArray, IntArray | None],
    measure: Callable[[], int],
) -> Survey:
    total = {"first": 0, "next": 0, "split": 0}
    for row in found:
        total[row["kind"]] += row["count"]
    return Survey(sum(total.values()), total["first"], total["split"], measure, *counted)
