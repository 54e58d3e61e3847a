"""``fit``: a chain from a Spark frame, of which nothing but counts is collected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainveil.mechanism.reading import Missing
from chainveil.spark import needs
from chainveil.spark.survey import SPARK
from chainveil.spark.table import SparkTable
from chainveil.table.request.discretize import Label
from chainveil.table.request.request import Layout, Order, StateRules, Threshold
from chainveil.table.states.fitting import Fitted, fit_table


def fit(
    frame: Any,
    series: str | None,
    time: str,
    column: str,
    *,
    threshold: Threshold | None = None,
    states: Sequence[Label] | None = None,
    step: float | None = None,
    max_gap: float | None = None,
    missing: Missing = "error",
    order: Order = 1,
    pseudocount: float = 0.0,
) -> Fitted:
    """Fit a Markov chain to one column of a Spark frame, in the order of time.

    The rows of a series may lie anywhere: they are ordered by ``time``, on the workers. The
    counts are those that one machine finds in the sorted table.

    Parameters
    ----------
    frame : Spark frame
        The table.
    series, time, column : str
        Which series a row belongs to (None: all to one), when it was, and its value.
    threshold, states, step, max_gap, missing
        As in :func:`chainveil.sanitize_table`.
    order, pseudocount
        As in :meth:`chainveil.MarkovChain.fit`.

    Returns
    -------
    Fitted
        ``fitted.chain``, its intervals, and what was counted on the way.
    """
    needs.pyspark()
    layout = Layout(column, series, time, step, max_gap)
    rules = StateRules(threshold, states, missing=missing)
    return fit_table(
        SparkTable(frame), layout, rules, reader=SPARK, order=order, pseudocount=pseudocount
    )
