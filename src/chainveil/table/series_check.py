"""What a plan loses on each series of a table: the check of ``attack`` for files and frames."""

from __future__ import annotations

import csv
import io
from typing import Any

from chainveil.attack.series_check import SeriesCheck, check_series
from chainveil.calibration import calibrate, usual_plan
from chainveil.plan import NoisePlan
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.request import Layout, Readable
from chainveil.table.states.by_series import read_states
from chainveil.table.states.prepare import Progress


def check_table(
    table: Readable,
    layout: Layout,
    discretizer: Discretizer,
    plan: NoisePlan | None,
    progress: Progress | None = None,
) -> SeriesCheck:
    """Read a table once and check a plan on every series; see ``attack.series_check``.

    Without a plan only fits, orders and drift.
    """
    held = read_states(table, layout, discretizer, progress)
    if progress is not None:
        progress("checking series", 0)
    return check_series(held.sequences, discretizer.count, plan, held.names)


def plan_at(chain: Any, epsilon: float | None, mechanism: str | None) -> NoisePlan | None:
    """The plan that a release of a table with this chain would have; None without a budget."""
    if epsilon is None:
        return None
    if mechanism is None:
        return usual_plan(chain, epsilon)
    return calibrate(chain, epsilon, mechanism=mechanism)


def to_csv(check: SeriesCheck) -> bytes:
    """The whole table as text, a row a series."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = check.columns()
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()
