"""Counting on the cluster: transitions, gaps and lengths, by Spark's windows and sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
    contexts : mapping from order m to an int64 array of shape (states ** m, states)
    """

    rows: int
    series: int
    splits: int
    measure: Callable[[], int]
    counts: IntArray | None = None
    contexts: Mapping[int, IntArray] = field(default_factory=dict)
    # Series are not counted one by one.
    each: IntArray | None = None
    names: Sequence[Any] = ()

    @cached_property
    def longest(self) -> int:
        """Rows of the longest series, across its gaps."""
        return self.measure()


def survey(
    table: Any,
    layout: Layout,
    discretizer: Discretizer | None,
    progress: Progress | None = None,
    orders: Sequence[int] = (),
) -> Any:
    """Count transitions in the order of time within each series; only counts come back.

    Rows may lie in any order and any partition. Without a ``discretizer`` only the times
    are looked at. Tables of other kinds are counted on the driver.
    """
    if not isinstance(table, SparkTable):
        return HERE.survey(table, layout, discretizer, progress, orders)
    need_order(layout, "counting transitions")
    check_types(table, layout, discretizer)
    clock, kind = started_clock(table, layout)
    states = 1 if discretizer is None else discretizer.count
    lags = max(orders, default=1)
    linked = _linked(table, layout, discretizer, clock, kind, lags)
    with surfaced():
        found = linked.groupBy("kind", CODE, *map(_lag, range(1, lags + 1))).count().collect()
        if any(row["kind"] in ("same", "wrong") for row in found):
            _complain(linked, layout, clock)
    check_not_empty(sum(row["count"] for row in found))
    counted = _counted(found, states, orders, discretizer)
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
    lags: int,
) -> Any:
    """Every row with what kind of step leads to it, and the states before it.

    Those are null from the first one on that is no neighbour: before a series or a split.
    """
    from pyspark.sql import Window, functions, types

    series = (
        types.ShortType() if layout.series is None else table.frame.schema[layout.series].dataType
    )
    ticks = types.LongType() if kind.kind == "i" else types.DoubleType()
    columns = types.StructType().add(SERIES, series).add(TICK, ticks).add(CODE, types.ShortType())
    states = mapped(table.columns_of(layout.names), StatesOf(layout, discretizer), columns)
    window = Window.partitionBy(SERIES).orderBy(TICK)
    step = functions.col(TICK) - functions.lag(TICK).over(window)
    linked = states.select("*", step.alias("step")).withColumn("kind", _kind(clock))
    # Rows without a split between them are of one piece.
    ends = functions.sum(functions.when(linked["kind"] == "next", 0).otherwise(1)).over(window)
    linked = linked.withColumn("piece", ends)
    for lag in range(1, lags + 1):
        near = functions.lag("piece", lag).over(window) == functions.col("piece")
        before = functions.when(near, functions.lag(CODE, lag).over(window))
        linked = linked.withColumn(_lag(lag), before)
    return linked


def _lag(points: int) -> str:
    """The column of the state so many points before."""
    return f"before{points}"


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
    found: Iterable[Any], states: int, orders: Sequence[int], discretizer: Discretizer | None
) -> tuple[IntArray, dict[int, IntArray]]:
    """Transitions from states and from contexts of each order, (k ** m, k); none of them a gap."""
    counts = {m: np.zeros((states**m, states), np.int64) for m in (1, *orders)}
    for row in found:
        if row["kind"] != "next":
            continue
        for order, table in counts.items():
            points = [row[_lag(lag)] for lag in range(order, 0, -1)]
            if None in points or _any_gap(discretizer, *points, row[CODE]):
                continue
            context = 0
            for point in points:
                context = context * states + point
            table[context, row[CODE]] += row["count"]
    return counts[1], {m: table for m, table in counts.items() if m in orders}


def _any_gap(discretizer: Discretizer | None, *codes: int) -> bool:
    return discretizer is not None and bool(discretizer.gaps(np.array(codes)).any())


def _summed(
    found: Iterable[Any],
    counted: tuple[IntArray, dict[int, IntArray]],
    measure: Callable[[], int],
) -> Survey:
    total = {"first": 0, "next": 0, "split": 0}
    for row in found:
        total[row["kind"]] += row["count"]
    return Survey(sum(total.values()), total["first"], total["split"], measure, *counted)
