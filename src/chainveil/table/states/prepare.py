"""Everything that has to be known before the first row can be released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.calibration import calibrate, usual_mechanism, usual_plan
from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.reading import Missing
from chainveil.model.base import DataModel, Origin
from chainveil.model.chain import MarkovChain
from chainveil.model.fitting import chosen, first_order, read_order
from chainveil.model.higher_order import HigherOrderChain, check_size
from chainveil.model.orders import OrderChoice, choice_from, largest_order
from chainveil.noise.base import noise_class
from chainveil.plan import NoisePlan
from chainveil.table.leaks.finding import check_kept
from chainveil.table.request.discretize import Discretizer, Label, make_discretizer, numbers
from chainveil.table.request.request import (
    Layout,
    LookedUp,
    Order,
    Readable,
    Request,
    one_column,
)
from chainveil.table.states.groups import (
    GroupColumn,
    GroupsSeen,
    Plans,
    RowsOfGroup,
    check_one_group,
    naming_group,
)
from chainveil.table.states.tracker import Blocks, Columns, Tracker
from chainveil.table.states.windows import orders_up_to_all

# Values held at once to find a median: 400 MB.
MOST_FOR_MEDIAN = 50_000_000

Progress = Callable[[str, int], None]


class Seen(Protocol):
    """What a pass over a table has counted; see :class:`chainveil.table.states.tracker.Tracker`."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def series(self) -> int:
        """Number of series."""

    @property
    def splits(self) -> int:
        """Number of gaps at which series are split."""

    @property
    def longest(self) -> int:
        """Rows of the longest series."""

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """Transitions from state to state."""

    @property
    def contexts(self) -> Mapping[int, NDArray[np.int64]]:
        """Transitions from contexts of m states, shape (k ** m, k), for each m asked for."""

    @property
    def each(self) -> NDArray[np.int64] | None:
        """Transitions of each series, shape (series, k, k), where they were asked for."""

    @property
    def names(self) -> Sequence[Any]:
        """The value of the series column for each of them."""


SeenT = TypeVar("SeenT", bound=Seen)


@dataclass(frozen=True)
class Prepared(Generic[SeenT]):
    """Plans and a discretizer, where they came from, and what was seen on the way.

    ``seen`` is None where the table has not been read through yet.
    """

    plans: Plans
    discretizer: Discretizer
    origin: Origin
    seen: SeenT | None


@dataclass(frozen=True)
class Reader(Generic[SeenT]):
    """Who reads tables: this machine, or another that offers the same two questions.

    Attributes
    ----------
    survey : callable
        As :func:`survey`.
    limit : callable
        As :func:`private_limit`.
    each : bool
        Whether a survey can count each series on its own.
    """

    survey: Callable[..., SeenT]
    limit: Callable[..., float]
    each: bool = False


def prepare(
    table: Readable,
    request: Request,
    progress: Progress | None,
    reader: Reader[SeenT],
) -> Prepared[SeenT]:
    """Discretizer, chain and plan for a table, reading it as often as needed."""
    layout = request.layout
    if layout.group is not None and not reader.each:
        raise NotSupported(
            "group on Spark or in a stream: a plan for each group is for tables on one machine; "
            "release each group on its own, with its own certificate"
        )
    request.check(table)
    if request.reference is not None:
        layout.check(request.reference)
    discretizer = find_discretizer(table, request, progress, reader.limit)
    check_kept(table, request, discretizer)
    if request.plan is not None:
        _check_states(discretizer, request.plan.chain.states)
        return Prepared(Plans.one(request.plan), discretizer, request.plan.origin, None)
    seen: SeenT | None = None
    models = [] if request.chain is None else [request.chain]
    labels: tuple[Label, ...] = ()
    if not models:
        models, found = fit_models(table, request, discretizer, progress, reader)
        seen = found if request.reference is None else None
        labels = found.labels if isinstance(found, GroupsSeen) else ()
    for model in models:
        _check_states(discretizer, model.states)
    _tell(progress, "calibrating", 0)
    plans = Plans(tuple(plan_for(model, request) for model in models), labels)
    return Prepared(plans, discretizer, plans.each[0].origin, seen)


def fit_models(
    table: Readable,
    request: Request,
    discretizer: Discretizer,
    progress: Progress | None,
    reader: Reader[SeenT],
) -> tuple[list[DataModel], SeenT]:
    """The model of a table or of its reference, one a group, and what was counted on the way."""
    layout = request.layout
    read = table if request.reference is None else request.reference
    orders = orders_of(request.order, discretizer.count)
    asked = {"each": True} if reader.each and layout.series is not None else {}
    found = reader.survey(read, layout, discretizer, progress, orders, **asked)
    if not isinstance(found, GroupsSeen):
        return [_model(read, found, request, discretizer, progress)], found
    models = []
    for number, (label, seen) in enumerate(zip(found.labels, found.groups, strict=True)):
        rows = RowsOfGroup(read, str(layout.group), found.labels, number)
        with naming_group(label):
            models.append(_model(rows, seen, request, discretizer, progress))
    return models, found


def _model(
    read: Readable,
    seen: Seen,
    request: Request,
    discretizer: Discretizer,
    progress: Progress | None,
) -> DataModel:
    """The model of series that were counted; ``read`` is where they stand."""
    from chainveil.table.states.families import each_of, model_of, read_parts

    fitted = fit(seen, "private" if request.reference is None else "reference", request.order)
    each = each_of(seen)
    if each is not None:
        each = read_parts(each, request.parts, read, request.layout, discretizer, progress)
    return model_of(each, fitted, request.pooled)


def plan_for(chain: DataModel, request: Request) -> NoisePlan:
    """The plan of a request: the noise that is asked for, or the usual one."""
    promise = dict(vars(request.promise))
    named = promise.pop("mechanism")
    kind = named or usual_mechanism(chain, **promise)
    earlier = promise["earlier"] if isinstance(promise["earlier"], list | tuple) else ()
    # Gaps cost something only where a report is held over them.
    holds = any(getattr(noise, "holds", False) for noise in (noise_class(kind), *earlier))
    promise["gaps"] = request.gaps and holds
    return calibrate(chain, mechanism=named, **promise) if named else usual_plan(chain, **promise)


def find_discretizer(
    table: Readable,
    request: Request,
    progress: Progress | None = None,
    limit: Callable[..., float] | None = None,
) -> Discretizer:
    """The discretizer that was given or described; states 0, 1, … where nothing was said."""
    return _described(table, request, progress, limit).keeping(request.rules.missing)


def _described(
    table: Readable,
    request: Request,
    progress: Progress | None,
    limit: Callable[..., float] | None,
) -> Discretizer:
    rules = request.rules
    if rules.discretizer is not None and not rules.given:
        return rules.discretizer.relabelled(rules.labels)
    threshold, origin = rules.threshold, "given"
    if isinstance(threshold, str):
        looked_up = threshold
        look = private_limit if limit is None else limit
        threshold = look(table, request, looked_up, progress)
        origin = f"private {looked_up}"
    states = rules.states if rules.given else _default_states(table, request)
    return make_discretizer(threshold, states, rules.labels, origin)  # type: ignore[arg-type]


def survey(
    table: Readable,
    layout: Layout,
    discretizer: Discretizer,
    progress: Progress | None = None,
    orders: Sequence[int] = (),
    each: bool = False,
) -> Tracker | GroupsSeen:
    """One pass over a table that counts transitions, also from contexts of the given orders.

    ``each``: also those of each series. Of a table with groups, each group is counted apart.
    """
    gaps = discretizer.missing == "keep"

    def counting() -> Tracker:
        return Tracker(layout.series, layout.clock(), discretizer.count, orders, gaps, each)

    tracker = counting() if layout.group is None else Tracker(layout.series, layout.clock())
    column = None if layout.group is None else GroupColumn(layout.group)
    groups: list[Tracker] = []
    for batch in table.batches(layout.names):
        first = tracker.rows
        codes = discretizer.codes(one_column(batch, layout.column), layout.column, first)
        follow(tracker, layout, batch, codes)
        if column is not None:
            numbers = column.numbers(one_column(batch, column.name), first)
            groups += [counting() for _ in column.labels[len(groups) :]]
            for number in np.unique(numbers).tolist():
                here = numbers == number
                follow(groups[number], layout, batch.filter(pa.array(here)), codes[here])
        _tell(progress, "fitting", batch.num_rows)
    check_not_empty(tracker.rows)
    if column is None:
        return tracker
    check_one_group(groups, tracker.series, column.name)
    return GroupsSeen(tracker, tuple(column.labels), tuple(groups))


def follow(
    tracker: Tracker, layout: Layout, batch: pa.RecordBatch, codes: np.ndarray | None
) -> Blocks:
    """Show a tracker the next batch."""
    series = None if layout.series is None else one_column(batch, layout.series)
    time = None if layout.time is None else one_column(batch, layout.time)
    return tracker.update(Columns(series, time, codes), batch.num_rows)


def orders_of(order: Order, states: int) -> tuple[int, ...]:
    """The orders from 2 on whose contexts have to be counted to fit a chain of ``order``."""
    wanted = read_order(order)
    if wanted == "auto":
        return orders_up_to_all(states)
    if wanted > 1:
        check_size(states, wanted)
    return (wanted,) if wanted > 1 else ()


def fit(
    seen: Seen, origin: Origin = "private", order: Order = 1, pseudocount: float = 0.0
) -> MarkovChain | HigherOrderChain:
    """The maximum-likelihood chain of what a reader has counted, and whether it is private."""
    assert seen.counts is not None
    if order == "auto":
        choice = _choice(seen)
        return chosen(fit(seen, origin, choice.order, pseudocount), choice)
    if order == 1:
        return _first(seen.counts, origin, pseudocount)
    counts = seen.contexts[order]
    if not counts.any():
        raise InvalidInput(
            "order", order, f"an order below the number of neighbouring rows, of which no series "
            f"has {order + 1}", "Use a lower order.",
        )  # fmt: skip
    chain = HigherOrderChain.from_counts(counts, origin, pseudocount)
    # What is private is rounded before it is used, which leaves nothing impossible.
    return chain if origin == "private" else chain.recurring("reference")


def _choice(seen: Seen) -> OrderChoice:
    """The order of the least BIC, over the rows that have enough before them for all orders."""
    assert seen.counts is not None
    counts = {1: seen.counts, **seen.contexts}
    largest = largest_order(len(seen.counts), lambda m: int(counts[m].sum()))
    return choice_from(counts[largest])


def _first(counts: NDArray[np.int64], origin: Origin, pseudocount: float) -> MarkovChain:
    leaving = counts.sum(axis=1)
    if pseudocount == 0 and np.any(leaving == 0):
        raise InvalidInput(
            "table",
            f"no transition out of state {int(np.argmin(leaving))} among {int(counts.sum())}",
            "at least one transition out of every state",
            "Use other limits, more data, or give the chain by hand.",
        )
    return first_order(counts, origin, pseudocount)


def private_limit(
    table: Readable, request: Request, which: LookedUp, progress: Progress | None = None
) -> float:
    """Mean or median of the column, without its gaps where they are kept."""
    column = request.layout.column
    check_looked_up(which)
    parts: list[np.ndarray] = []
    total, rows = 0.0, 0
    for values in _number_batches(table, column, request.rules.missing):
        total, rows = total + float(values.sum()), rows + len(values)
        if which == "median":
            parts.append(values)
        if which == "median" and rows > MOST_FOR_MEDIAN:
            raise NotSupported(
                f"the median of more than {MOST_FOR_MEDIAN:,} rows; give the threshold as a number"
            )
        _tell(progress, f"{which} of {column}", len(values))
    check_not_empty(rows)
    return total / rows if which == "mean" else float(np.median(np.concatenate(parts)))


def check_looked_up(which: str) -> None:
    """Error unless it is something that can be looked up."""
    if which not in ("mean", "median"):
        raise InvalidInput("threshold", which, 'a number, "mean" or "median"')


def check_not_empty(rows: int) -> None:
    """Error where there is nothing to publish."""
    if rows == 0:
        raise InvalidInput("table", "no rows", "at least one row")


def _number_batches(table: Readable, column: str, missing: Missing) -> Iterator[np.ndarray]:
    rows = 0
    # A discretizer knows what a gap is, and how to complain about one.
    reader = make_discretizer(threshold=0.0).keeping(missing)
    for batch in table.batches([column]):
        values = one_column(batch, column)
        if missing == "keep":
            gaps = reader.gaps(reader.codes(values, column, rows))
            yield numbers(values.filter(pa.array(~gaps)), column, rows)
        else:
            if values.null_count:
                reader.codes(values, column, rows)
            yield numbers(values, column, rows)
        rows += batch.num_rows


def _default_states(table: Readable, request: Request) -> list[Label]:
    """False and True, or 0 … k-1 where the chain says how many states there are."""
    kind = table.schema.field(request.layout.column).type
    if pa.types.is_boolean(kind):
        return [False, True]
    chain = request.plan.chain if request.plan is not None else request.chain
    if chain is not None and (pa.types.is_integer(kind) or pa.types.is_string(kind)):
        return list(range(chain.states))
    raise InvalidInput(
        "threshold, states",
        "neither",
        "one of them",
        f"They say how the values of {request.layout.column!r} become states.",
    )


def _check_states(discretizer: Discretizer, states: int) -> None:
    if discretizer.count != states:
        raise InvalidInput("states", f"{discretizer.count} states", f"{states}, as the chain has")


def _tell(progress: Progress | None, what: str, rows: int) -> None:
    if progress is not None:
        progress(what, rows)


HERE = Reader(survey, private_limit, each=True)
