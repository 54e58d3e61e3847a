"""What a plan loses on each series of a table: the check of ``attack`` for files and frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from chainveil.attack.series_check import SeriesCheck, check_series
from chainveil.calibration import calibrate, usual_plan
from chainveil.errors import InvalidInput, TooLarge
from chainveil.estimate.price import PriceTable, prices
from chainveil.model.base import DataModel, Origin
from chainveil.model.family import ModelFamily
from chainveil.plan import NoisePlan
from chainveil.table.request.discretize import Discretizer, Label
from chainveil.table.request.request import Layout, Readable
from chainveil.table.states.by_series import read_states
from chainveil.table.states.fitting import Fitted
from chainveil.table.states.prepare import Progress

# Series whose own chains are priced as one family.
MOST_MEMBERS = 1000


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


def check_groups(
    table: Readable,
    layout: Layout,
    discretizer: Discretizer,
    plans: Mapping[Label, NoisePlan | None],
    progress: Progress | None = None,
) -> dict[Label, SeriesCheck]:
    """As :func:`check_table`, of each group of series with the plan of that group."""
    held = read_states(table, layout, discretizer, progress)
    if progress is not None:
        progress("checking series", 0)
    found = {}
    for label in held.groups:
        part = held.group(label)
        how = part.sequences, discretizer.count, plans[label], part.names
        found[label] = check_series(*how, groups=len(held.groups))
    return found


def plan_at(chain: Any, epsilon: float | None, mechanism: str | None) -> NoisePlan | None:
    """The plan that a release of a table with this chain would have; None without a budget."""
    if epsilon is None:
        return None
    if mechanism is None:
        return usual_plan(chain, epsilon)
    return calibrate(chain, epsilon, mechanism=mechanism)


def priced(
    table: Readable,
    layout: Layout,
    found: Fitted,
    check: SeriesCheck,
    *,
    public: bool,
    mechanism: str | None = None,
    progress: Progress | None = None,
) -> PriceTable:
    """Wrong reports and the error of a share if a promise holds for the pooled chain, or for each.

    The third promise is for models of the order that each series asks for too.
    """
    pieces, _ = read_states(table, layout, found.discretizer, progress).stretches()
    if len(pieces) > MOST_MEMBERS:
        raise TooLarge(f"prices of more than {MOST_MEMBERS:,} series; take a part of them")
    models: dict[str, DataModel] = {"pooled": found.chain.of_origin(_origin(public))}
    longest = int(check.order.max(initial=1))
    asked: dict[str, Any] = {"family": 1}
    asked |= {f"family of order up to {longest}": "auto"} if longest > 1 else {}
    for name, order in asked.items():
        models[name] = _family(pieces, found.discretizer.count, order, public)
    if progress is not None:
        progress("pricing", 0)
    points = int(check.points.sum())
    kinds = None if mechanism is None else (mechanism,)
    return prices(models, check.promise, points, mechanisms=kinds)


def _family(pieces: Any, states: int, order: Any, public: bool) -> ModelFamily:
    """A model for each series, with a margin for others where there are enough to make one."""
    how: dict[str, Any] = {"public": public, "order": order, "confidence": None}
    try:
        return ModelFamily.fit(pieces, states, **how)
    except InvalidInput:
        return ModelFamily.fit(pieces, states, unseen=0, **how)


def _origin(public: bool) -> Origin:
    return "reference" if public else "private"


def to_csv(check: SeriesCheck | Mapping[Label, SeriesCheck]) -> bytes:
    """The whole table as text, a row a series; of several groups, each series with its own."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    parts = {None: check} if isinstance(check, SeriesCheck) else check
    for number, (label, part) in enumerate(parts.items()):
        columns = part.columns()
        group = {} if label is None else {"group": [label] * len(part.points)}
        if number == 0:
            writer.writerow([*group, *columns])
        writer.writerows(zip(*group.values(), *columns.values(), strict=True))
    return text.getvalue().encode()
