"""From the cells of a table to states at points of series, and to the model that they follow.

A point is a row with a place: the series that it belongs to and its position in it, counted from
0. Rows are put into the order of the release here, and nothing later depends on how they stood.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chainveil import checks
from chainveil.calibration import calibrate, usual_mechanism, usual_plan
from chainveil.compiled import compiled
from chainveil.counts import order_test, wilson
from chainveil.errors import ChainveilWarning, InvalidInput, NotSupported
from chainveil.mechanism.reading import Missing, check_missing
from chainveil.model.base import DataModel, Origin, require_model
from chainveil.model.chain import MarkovChain
from chainveil.model.contexts import MOST_CONTEXTS
from chainveil.model.family import ModelFamily
from chainveil.model.fitting import chosen, first_order, read_order
from chainveil.model.higher_order import HigherOrderChain, check_size, read_pseudocount
from chainveil.model.orders import choice_from, largest_order
from chainveil.model.populations import FEWEST_SEEN, Wishes, enough, from_counts
from chainveil.next.table.read import Table, at_row, check_column
from chainveil.noise.base import Noise, noise_class
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.problem import Every, Objective, Shape, Unit
from chainveil.sequences import Sequences

Label = str | float | bool
Codes = NDArray[np.uint8]
IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]
Order = int | Literal["auto"]
Progress = Callable[[str, int], None]

MOST_STATES = 256
# The code of a point without a value, where such points are kept; elsewhere a state may have it.
GAP = 255
# The group of a series is a byte.
MOST_GROUPS = 255
# Cells of text that hold no value, as most programs write them.
NO_VALUE = (
    "", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "-NaN", "-nan", "#N/A", "#NA",
    "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "<NA>",
)  # fmt: skip
# Steps of decimal fractions such as 0.1 are equal up to the rounding of two sums.
FLOAT_STEP = 1e-6
# How far a row lies behind a gap of unknown length.
BEHIND = 2
TIME_FORMATS = (
    "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
    "%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f%#z",
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """What a curator asks of a table.

    Attributes
    ----------
    column : str
        The values to protect.
    series, time, group : str, optional
        Columns that name the series of a row, its time, and the public group of its series.
    step, max_gap : float, optional
        The regular step of the time column and the longest step that is no gap, in units of the
        column, or in seconds for dates and times.
    threshold : float, sequence of float, "mean" or "median", optional
        Limits between states.
    states, labels : sequence, optional
        The values of the column that are the states, and what they are called in the release.
    missing : "error" or "keep"
        Whether a row without a value is an error, or a point without a report.
    epsilon, max_length, adversary, objective, mechanism, shape, earlier, every, unit
        As in :func:`chainveil.calibrate`.
    chain, plan : optional
        The model, or noise that was calibrated before.
    reference : Table, optional
        A public table that the model is fitted on.
    order, pooled, parts
        How a model is fitted: its order, one for all series, and models of parts of the series.
    public, allow_leak : tuple of str
        Columns that the curator declares public, and those of them that are published whatever
        they say about the states.
    series_names : "pseudonyms" or "original"
        What the series are called in the release.
    """

    column: str
    series: str | None = None
    time: str | None = None
    group: str | None = None
    step: float | None = None
    max_gap: float | None = None
    threshold: Any = None
    states: Sequence[Label] | None = None
    labels: Sequence[Label] | None = None
    missing: Missing = "error"
    discretizer: Discretizer | None = None
    epsilon: float | None = None
    max_length: int | None = None
    adversary: AdversaryName | Adversary = "any"
    objective: Objective = "wrong-reports"
    mechanism: str | None = None
    shape: Shape = "uniform"
    earlier: Sequence[Noise] = ()
    every: Every = 1
    unit: Unit = "point"
    chain: DataModel | None = None
    plan: NoisePlan | None = None
    reference: Table | None = None
    order: Order = 1
    pooled: bool = False
    parts: int = 1
    public: tuple[str, ...] = ()
    allow_leak: tuple[str, ...] = ()
    series_names: Literal["pseudonyms", "original"] = "pseudonyms"

    @property
    def gaps(self) -> bool:
        """Whether points may be missing, by what is asked and not by what the rows hold."""
        return self.missing == "keep" or self.max_gap is not None

    @property
    def guarantee(self) -> dict[str, Any]:
        """What is handed to :func:`chainveil.calibrate`, besides the model and the mechanism."""
        names = (
            "epsilon",
            "max_length",
            "adversary",
            "objective",
            "shape",
            "earlier",
            "every",
            "unit",
        )
        return {name: getattr(self, name) for name in names}

    @property
    def names(self) -> list[str]:
        """The columns that have to be read to find the states and their places."""
        names = (self.column, self.series, self.time, self.group)
        return [name for name in names if name is not None]

    def __post_init__(self) -> None:
        self._check_layout()
        given = [n for n in ("plan", "chain", "reference") if getattr(self, n) is not None]
        if len(given) > 1:
            raise InvalidInput("plan, chain, reference", " and ".join(given), "one of them")
        if self.epsilon is not None:
            checks.real("epsilon", self.epsilon, "one finite number above 0")
        if self.chain is not None:
            require_model(self.chain)
        for name, allowed in (("states", "a list of values"), ("labels", "a list of names")):
            if getattr(self, name) is not None:
                checks.items(name, getattr(self, name), allowed)
        read_order(self.order)
        checks.one_of("series_names", self.series_names, ("pseudonyms", "original"))
        if self.series is None and self.series_names == "original":
            raise InvalidInput("series_names", "original", "nothing, without a series column")
        self._check_fit()
        if self.plan is not None:
            self._check_plan(self.plan)

    def _check_layout(self) -> None:
        if self.time is None and (self.step is not None or self.max_gap is not None):
            raise InvalidInput("time", None, "a column, where step or max_gap is given")
        if self.group is not None and self.series is None:
            raise InvalidInput("series", None, "a column, where group is given",
                               "A group is one of several series.")  # fmt: skip
        called = "column, series, time" + (", group" if self.group is not None else "")
        for name in self.names:
            checks.instance(called, name, str, "names of columns, each a text",
                            "The frame comes first, then the column.")  # fmt: skip
        if len(set(self.names)) < len(self.names):
            raise InvalidInput(called, self.names, "different columns")
        for label in ("step", "max_gap"):
            value = getattr(self, label)
            if value is not None and checks.real(label, value) <= 0:
                raise InvalidInput(label, value, "a number above 0")

    def _check_fit(self) -> None:
        """Error where a model is described that is not fitted."""
        checks.whole("parts", self.parts, 1)
        checks.instance("pooled", self.pooled, bool, "True or False")
        ready = "plan" if self.plan is not None else "chain"
        known = self.plan is not None or self.chain is not None
        if self.order != 1 and known:
            raise InvalidInput("order", f"{self.order!r} beside a {ready}", "nothing",
                               "The chain has its order already.")  # fmt: skip
        if self.pooled and self.parts > 1:
            raise InvalidInput("parts", f"{self.parts} beside pooled", "one of them")
        parts = self.parts > 1 and self.parts
        for name, said in (("pooled", self.pooled), ("parts", parts), ("group", self.group)):
            if said and self.series is None:
                raise InvalidInput(name, said, "nothing, without a series column")
            if said and known:
                raise InvalidInput(name, f"{said!r} beside a {ready}", "nothing",
                                   "It is about models that are fitted on series.")  # fmt: skip

    def _check_plan(self, plan: NoisePlan) -> None:
        """Error where something is said again, or otherwise, beside a plan."""
        checks.instance("plan", plan, NoisePlan, "a NoisePlan",
                        "calibrate(chain, epsilon) makes one.")  # fmt: skip
        if self.earlier:
            raise InvalidInput(
                "earlier", f"{len(self.earlier)} releases beside a plan", "none",
                "Name them where the plan is made: the plan then covers all releases.",
            )  # fmt: skip
        if self.epsilon not in (None, plan.epsilon):
            raise InvalidInput("epsilon", self.epsilon, f"that of the plan, {plan.epsilon!r}, or "
                               "none")  # fmt: skip
        for name in ("every", "unit"):
            if getattr(self, name) not in (1, "point"):
                raise InvalidInput(name, f"{getattr(self, name)!r} beside a plan", "nothing",
                                   "It is part of the plan.")  # fmt: skip
        if self.gaps and plan.noise.holds and not plan.gaps:
            raise InvalidInput(
                "plan", f"{plan.mechanism} noise whose loss does not cover missing points",
                "one that does, where missing is keep or max_gap is given",
                "Calibrate for them: calibrate(..., gaps=True).",
            )  # fmt: skip

    def check(self, table: Table) -> None:
        """Error unless all columns are there."""
        for argument in ("column", "series", "time", "group"):
            if getattr(self, argument) is not None:
                check_column(argument, getattr(self, argument), table.columns)


# --- values and states -----------------------------------------------------------------------


@dataclass(frozen=True)
class Discretizer:
    """How values become states, and what states are called in a release.

    Attributes
    ----------
    edges : tuple of float
        Increasing limits; a value on a limit belongs to the state above it. Empty where
        the column holds states already.
    states : tuple of labels
        What the column holds, where ``edges`` is empty.
    labels : tuple of labels
        What the release holds, a label a state.
    origin : str
        Where the limits came from, as in a certificate.
    missing : "error" or "keep"
        Whether a row without a value is an error or stays one, visible; its code is ``GAP``.
    """

    edges: tuple[float, ...]
    states: tuple[Label, ...]
    labels: tuple[Label, ...]
    origin: Literal["given", "private mean", "private median"] = "given"
    missing: Missing = "error"

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.labels)

    @property
    def keeps_type(self) -> bool:
        """Whether a released column has the type it came with."""
        return not self.edges and list(map(str, self.labels)) == list(map(str, self.states))

    @property
    def kind(self) -> Literal["threshold", "edges", "states"]:
        """One limit, several, or values that are states already."""
        return "states" if not self.edges else "threshold" if len(self.edges) == 1 else "edges"

    def relabelled(self, labels: Sequence[Label] | None) -> Discretizer:
        """The same states under other names; None keeps them."""
        return self if labels is None else replace(self, labels=_labels(labels, self.count))

    def keeping(self, missing: Missing) -> Discretizer:
        """The same states, with missing values treated as ``missing`` says."""
        check_missing(missing)
        if missing == "keep" and self.count > GAP:
            raise NotSupported(f"{self.count} states and gaps: at most {GAP} where gaps are kept")
        taken = [label for label in (*self.states, *self.labels) if str(label) in NO_VALUE]
        if missing == "keep" and taken:
            raise InvalidInput("labels", taken[0],
                               "words that do not mean a missing value, to keep gaps")  # fmt: skip
        return replace(self, missing=missing)

    def codes(self, column: pl.Series) -> Codes:
        """The state of every value, shape (rows,); a value that has none is an error."""
        values, gaps = numbers(column) if self.edges else self._by_states(column)
        if self.missing == "error" and gaps.any():
            raise missing_value(column.name, int(np.argmax(gaps)))
        if len(self.edges) == 1:
            codes = (values >= self.edges[0]).view(np.uint8)
        elif self.edges:
            codes = np.searchsorted(self.edges, values, side="right").astype(np.uint8)
        else:
            codes = values.astype(np.uint8)
        return np.where(gaps, np.uint8(GAP), codes) if gaps.any() else codes

    def gaps(self, codes: NDArray[Any]) -> Mask:
        """Which points hold no value."""
        return codes == GAP if self.missing == "keep" else np.zeros(len(codes), np.bool_)

    def _by_states(self, column: pl.Series) -> tuple[NDArray[Any], Mask]:
        """The number of each value among the states, and which rows hold none."""
        column = plain(column)
        wanted = _typed(self.states, column)

        def look(values: pl.Series) -> NDArray[np.int16]:
            places = list(range(len(wanted)))
            found = values.replace_strict(wanted, places, default=-1, return_dtype=pl.Int16)
            return found.fill_null(-1).to_numpy(writable=True)

        found = look(column)
        other = np.flatnonzero(found < 0)
        gaps = np.zeros(len(found), np.bool_)
        if not len(other):
            return found, gaps
        rest = column.gather(other)
        if column.dtype == pl.String:
            rest = rest.str.strip_chars()
            found[other] = look(rest)
        gaps[other] = absent(rest)
        wrong = (found < 0) & ~gaps
        if wrong.any():
            row = int(np.argmax(wrong))
            told = "a value that is none of the states"
            if str(column[row]).casefold() in (str(state).casefold() for state in self.states):
                told += " but for upper and lower case"
            raise InvalidInput(column.name, told, ", ".join(map(str, self.states)), at_row(row))
        return found, gaps

    def read_back(self, column: pl.Series) -> Codes:
        """The states of a released column, from its labels."""
        return replace(self, edges=(), states=self.labels).codes(column)

    def values(self, codes: Codes, name: str, like: Any = None) -> pl.Series:
        """The label of every state as a new column; of type ``like`` where that was its own."""
        mask = pl.Series(self.gaps(codes))
        if like is not None and self.keeps_type:
            text = pl.Series(name, [], like)
            labels = pl.Series(name, _typed(self.labels, plain(text)), strict=False)
            kind = categories(labels.cast(pl.String).to_list()) if is_category(like) else like
            labels = labels.cast(kind)
        else:
            labels = label_series(self.labels)
        places = pl.Series(np.where(mask.to_numpy(), 0, codes).astype(np.uint32))
        found = labels.gather(places)
        if mask.any():
            found = pl.select(pl.when(~mask).then(found)).to_series()
        return found.alias(name)


def plain(column: pl.Series) -> pl.Series:
    """Categories as their texts."""
    return column.cast(pl.String) if is_category(column.dtype) else column


def is_category(kind: Any) -> bool:
    """Whether a type is one of a few texts."""
    return bool(kind == pl.Categorical or kind == pl.Enum)


def type_name(kind: Any) -> str:
    """A type for a message: nothing that it holds, such as categories or names of fields."""
    return str(kind.base_type())


def categories(texts: Sequence[str]) -> pl.Enum:
    """The type of a column with these texts and no other."""
    return pl.Enum(list(dict.fromkeys(texts)))


def absent(column: pl.Series) -> Mask:
    """Which rows hold no value: null, NaN, and words that say so in a text."""
    column = plain(column)
    if column.dtype == pl.String:
        found = column.is_null() | column.str.strip_chars().is_in(list(NO_VALUE)).fill_null(True)
    elif column.dtype.is_float():
        found = column.is_null() | column.is_nan().fill_null(True)
    else:
        found = column.is_null()
    return found.to_numpy()


def missing_value(name: str, row: int) -> InvalidInput:
    """The error for a row without a value."""
    return InvalidInput(
        name, "a missing value", "a value in every row",
        f"{at_row(row)} Fill it or remove the row first, or keep it as it is (missing is keep): "
        "a gap that is published is not protected.",
    )  # fmt: skip


def numbers(column: pl.Series) -> tuple[NDArray[np.float64], Mask]:
    """A column as floats, and which rows hold none; text is read as numbers."""
    column, name = plain(column), column.name
    if column.dtype == pl.String:
        read = column.cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric():
        read = column.cast(pl.Float64)
    else:
        found = f"a column of type {type_name(column.dtype)}"
        raise InvalidInput(name, found, "a column of numbers",
                           "Or list its states.")  # fmt: skip
    values: NDArray[np.float64] = read.fill_null(np.nan).to_numpy(writable=True)
    gaps = np.zeros(len(values), np.bool_)
    # One sum is cheaper than a look at every value, and not finite if one of them is not.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return values, gaps
    other = np.flatnonzero(~np.isfinite(values))
    rest = column.gather(other)
    gaps[other] = absent(rest)
    if column.dtype == pl.String:
        values[other] = rest.str.strip_chars().cast(pl.Float64, strict=False).fill_null(np.nan)
    wrong = ~np.isfinite(values) & ~gaps
    if wrong.any():
        row = int(np.argmax(wrong))
        if np.isinf(values[row]):
            raise InvalidInput(name, "an infinite number", "finite numbers", at_row(row))
        raise InvalidInput(name, "a cell that is not a number", "numbers", at_row(row))
    values[gaps] = 0.0
    return values, gaps


def _typed(states: Sequence[Label], column: pl.Series) -> list[Any]:
    """The states as values of a column's type."""
    kind = column.dtype
    try:
        if kind == pl.Boolean:
            return [_truth(state) for state in states]
        if kind.is_integer():
            return [_whole(state) for state in states]
        if kind.is_float() or kind.is_decimal():
            return [float(state) for state in states]
    except (TypeError, ValueError):
        raise InvalidInput(
            column.name,
            f"a column of type {type_name(kind)}",
            f"values such as the states {list(states)!r}",
        ) from None
    if kind != pl.String:
        raise InvalidInput(
            column.name, f"a column of type {type_name(kind)}", "text, numbers or booleans"
        )
    return list(label_series(states).cast(pl.String).to_list())


def _truth(state: Label) -> bool:
    words = {"true": True, "false": False, "1": True, "0": False}
    return words[str(state).lower()] if str(state).lower() in words else bool(float(state))


def _whole(state: Label) -> int:
    if isinstance(state, int | str):
        # Numbers of more than 15 digits are others as floats.
        with suppress(ValueError):
            return int(state)
    number = float(state)
    if not number.is_integer():
        raise ValueError(state)
    return int(number)


def label_series(labels: Sequence[Label]) -> pl.Series:
    """Labels as one column: all booleans, all numbers, or else text."""
    if all(isinstance(label, bool) for label in labels):
        return pl.Series(labels, dtype=pl.Boolean)
    if any(isinstance(label, str | bool) for label in labels):
        return pl.Series([str(label) for label in labels], dtype=pl.String)
    if all(float(label).is_integer() for label in labels):
        return pl.Series([int(label) for label in labels], dtype=pl.Int64)
    return pl.Series([float(label) for label in labels], dtype=pl.Float64)


def make_discretizer(
    threshold: float | Sequence[float] | None = None,
    states: Sequence[Label] | None = None,
    labels: Sequence[Label] | None = None,
    origin: Literal["given", "private mean", "private median"] = "given",
) -> Discretizer:
    """A discretizer from either ``threshold``, one or several of them, or ``states``."""
    if (threshold is None) == (states is None):
        raise InvalidInput(
            "threshold, states", "neither" if threshold is None else "both", "one of them",
            "They say how values become states.",
        )  # fmt: skip
    limits = () if threshold is None else _limits(threshold)
    held = tuple(states) if states is not None else ()
    count = len(limits) + 1 if limits else len(held)
    names = _labels(labels, count) if labels is not None else (held or tuple(range(count)))
    _check_distinct("states", held)
    if not 2 <= count <= MOST_STATES:
        raise NotSupported(f"{count} states: from 2 to {MOST_STATES} can be published")
    return Discretizer(limits, held, names, origin)


def _limits(threshold: float | Sequence[float]) -> tuple[float, ...]:
    allowed = "a finite number, or several increasing numbers"
    if not np.iterable(threshold):
        return (checks.real("threshold", threshold, allowed),)
    checks.items("threshold", threshold, allowed)
    limits = tuple(checks.real("threshold", number, allowed) for number in threshold)
    if not limits or any(a >= b for a, b in pairwise(limits)):
        raise InvalidInput("threshold", list(limits), allowed)
    return limits


def _labels(labels: Sequence[Label], count: int) -> tuple[Label, ...]:
    if len(labels) != count:
        raise InvalidInput("labels", list(labels), f"{count} labels, one a state")
    _check_distinct("labels", labels)
    return tuple(labels)


def _check_distinct(name: str, labels: Sequence[Label]) -> None:
    texts = [str(label) for label in labels]
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInput(name, text, "text that can be written in UTF-8") from None
    if len(set(texts)) < len(texts) or not all(texts):
        raise InvalidInput(name, list(labels), "labels that differ from each other, none empty")


def find_discretizer(table: Table, request: Request) -> Discretizer:
    """The discretizer that was given or described; states 0, 1, … where nothing was said."""
    ready = request.threshold is None and request.states is None
    if request.discretizer is not None and ready:
        return request.discretizer.relabelled(request.labels).keeping(request.missing)
    threshold, origin, states = request.threshold, "given", request.states
    if isinstance(threshold, str):
        checks.one_of("threshold", threshold, ("mean", "median"))
        column = table.read([request.column]).to_series()
        values, gaps = numbers(column)
        if gaps.any() and request.missing == "error":
            raise missing_value(request.column, int(np.argmax(gaps)))
        values = values[~gaps]
        if not len(values):
            raise InvalidInput("table", "no rows", "at least one row")
        origin = f"private {threshold}"
        threshold = float(np.mean(values) if threshold == "mean" else np.median(values))
    elif ready:
        states = _default_states(table, request)
    made = make_discretizer(threshold, states, request.labels, origin)  # type: ignore[arg-type]
    return made.keeping(request.missing)


def _default_states(table: Table, request: Request) -> list[Label]:
    """False and True, or 0 … k-1 where the chain says how many states there are."""
    kind = table.read([request.column]).to_series().dtype
    if kind == pl.Boolean:
        return [False, True]
    chain = request.plan.chain if request.plan is not None else request.chain
    if chain is not None and (kind.is_integer() or kind == pl.String):
        return list(range(chain.states))
    raise InvalidInput(
        "threshold, states", "neither", "one of them",
        "They say how the values of the column become states.",
    )  # fmt: skip


# --- places ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ticks:
    """Times as numbers that can be subtracted, and how many of them a unit of the user has."""

    values: NDArray[Any]
    scale: float = 1.0

    def of(self, value: float) -> float:
        """A step or a gap in ticks."""
        return value * self.scale

    def in_words(self, value: float) -> str:
        """A step for an error message."""
        return f"{value:g}{' s' if self.scale != 1 else ''}"


PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def read_times(column: pl.Series) -> Ticks:
    """A time column: numbers, dates, times, or texts of one of these."""
    column, name = plain(column), column.name
    if column.dtype != pl.String and (gaps := absent(column)).any():
        raise InvalidInput(name, "no time", "a time in every row", at_row(int(np.argmax(gaps))))
    if column.dtype == pl.String:
        column = _times_of_text(column)
    kind = column.dtype
    if isinstance(kind, pl.Datetime | pl.Duration):
        return Ticks(column.to_physical().to_numpy(), PER_SECOND[str(kind.time_unit)])
    if kind == pl.Time:
        return Ticks(column.to_physical().to_numpy(), PER_SECOND["ns"])
    if kind == pl.Date:
        return Ticks(column.to_physical().cast(pl.Int64).to_numpy(), 1 / 86_400)
    if kind.is_integer() and kind not in (pl.UInt64, pl.Int128):
        return Ticks(column.cast(pl.Int64).to_numpy())
    if kind.is_numeric():
        values = column.cast(pl.Float64).to_numpy()
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InvalidInput(name, "an infinite time", "a time in every row", at_row(row))
        return Ticks(values)
    raise InvalidInput(name, f"a column of type {type_name(kind)}", "numbers, dates or times")


def _times_of_text(column: pl.Series) -> pl.Series:
    read = column.cast(pl.Int64, strict=False)
    if not read.null_count():
        return read
    gaps = absent(column)
    if gaps.any():
        raise InvalidInput(column.name, "an empty cell", "a time in every row",
                           at_row(int(np.argmax(gaps))))  # fmt: skip
    trimmed = column.str.strip_chars()
    for kind in (pl.Int64, pl.Float64):
        read = trimmed.cast(kind, strict=False)
        if not read.null_count():
            return read
    few, best = trimmed.head(100), None
    for form in TIME_FORMATS:
        with suppress(pl.exceptions.PolarsError):
            zoned = form.endswith("z")
            moment = pl.Datetime("us", "UTC") if zoned else pl.Datetime("us")
            if few.str.strptime(moment, form, strict=False).null_count():
                continue
            read = trimmed.str.strptime(moment, form, strict=False)
            if not read.null_count():
                return read
            best = read
    if best is None:
        best = trimmed.cast(pl.Float64, strict=False)
    raise InvalidInput(
        column.name, "a cell that is no time, or times of several kinds",
        "numbers or times as 2026-01-31 12:00:00",
        at_row(int(np.argmax(best.is_null().to_numpy()))),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Points:
    """The rows of a table as points of series, in the order of the release.

    Attributes
    ----------
    row : int64 array of shape (points,)
        Where each point stands in the table.
    owner, position : int64 arrays of shape (points,)
        Its series, counted in the order of the published names, and its place in it from 0.
    codes : uint8 array of shape (points,)
        Its state; ``GAP`` where it has none.
    names, published : lists of str
        What each series is called in the table, and in the release.
    offsets : int64 array of shape (series + 1,)
        Where the points of each series begin and end.
    splits : int
        Gaps: steps in time that no two neighbouring points are apart.
    states : int
        Number of states.
    missing : "error" or "keep"
        Whether the code ``GAP`` is a missing value.
    group : int64 array of shape (series,), and labels
        The group of each series, where there are groups.
    """

    row: IntArray
    owner: IntArray
    position: IntArray
    codes: Codes
    names: list[str]
    published: list[str]
    offsets: IntArray
    splits: int
    states: int
    missing: Missing
    group: IntArray | None = None
    labels: tuple[Label, ...] = ()

    @property
    def longest(self) -> int:
        """Points of the longest series, with those that nobody sees."""
        ends = self.offsets[1:][np.diff(self.offsets) > 0] - 1
        return int(self.position[ends].max(initial=-1)) + 1

    def of_group(self, number: int) -> Points:
        """The points of the series of one group."""
        assert self.group is not None
        chosen = self.group == number
        kept = chosen[self.owner]
        places = np.cumsum(chosen) - 1
        lengths = np.diff(self.offsets)[chosen]
        position = self.position[kept]
        owner = places[self.owner[kept]]
        apart = np.diff(position) > 1
        splits = int(np.count_nonzero(apart & (np.diff(owner) == 0)))
        return replace(
            self, row=self.row[kept], owner=owner, position=position, codes=self.codes[kept],
            names=[n for n, c in zip(self.names, chosen, strict=True) if c],
            published=[n for n, c in zip(self.published, chosen, strict=True) if c],
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), splits=splits,
            group=None, labels=(),
        )  # fmt: skip

    @property
    def gaps(self) -> Mask:
        """Which points hold no value."""
        return self.codes == GAP if self.missing == "keep" else np.zeros(len(self.codes), np.bool_)

    @property
    def follows(self) -> Mask:
        """Which points come right after the point before them, both with a value."""
        found = np.zeros(len(self.codes), np.bool_)
        found[1:] = (np.diff(self.owner) == 0) & (np.diff(self.position) == 1)
        gaps = self.gaps
        if gaps.any():
            found &= ~gaps
            found[1:] &= ~gaps[:-1]
        return found

    def sequences(self) -> Sequences:
        """The series as they are laid out in memory, with ``GAP`` where one is cut."""
        before = np.flatnonzero((np.diff(self.owner) == 0) & (np.diff(self.position) > 1)) + 1
        flat = np.insert(self.codes, before, GAP)
        return Sequences(flat, self.offsets + np.searchsorted(before, self.offsets))

    def stretches(self) -> tuple[list[Codes], list[int]]:
        """Stretches without a gap, and the number of the series that each belongs to."""
        kept = ~self.gaps
        codes, owner, follows = self.codes[kept], self.owner[kept], self.follows[kept]
        begins = np.flatnonzero(~follows)
        return np.split(codes, begins[1:]) if len(begins) else [], owner[begins].tolist()

    def counts(self, order: int = 1, least: int = 0) -> IntArray:
        """How often each context of ``order`` states is followed by each, shape (k ** order, k).

        Only points with at least ``least`` neighbours before them are counted.
        """
        k, run = self.states, self._run()
        chosen = np.flatnonzero(run >= max(order, least))
        context = np.zeros(len(chosen), np.int64)
        for lag in range(order, -1, -1):
            context = context * k + self.codes[chosen - lag]
        return np.bincount(context, minlength=k ** (order + 1)).reshape(-1, k)

    def _run(self) -> IntArray:
        """How many neighbours in a row each point has before it."""
        follows = self.follows
        places = np.arange(len(follows))
        return places - np.maximum.accumulate(np.where(follows, 0, places))

    def reach(self, order: int) -> int:
        """Points that have so many neighbours in a row before them."""
        return int(np.count_nonzero(self._run() >= order))

    def each(self, parts: int = 1) -> IntArray:
        """Transitions in each series, or in so many parts of each, shape (parts, k, k)."""
        k, lengths = self.states, np.diff(self.offsets)
        place = np.arange(len(self.codes)) - self.offsets[:-1][self.owner]
        part = self.owner * parts
        if parts > 1:
            part = part + place * parts // np.maximum(lengths, 1)[self.owner]
        follows = self.follows
        follows[1:] &= part[1:] == part[:-1]
        there = np.flatnonzero(follows)
        pairs = self.codes[there - 1].astype(np.int64) * k + self.codes[there]
        size = len(lengths) * parts
        found = np.bincount(part[there] * k * k + pairs, minlength=size * k * k)
        return found.reshape(size, k, k)


def arrange(
    table: Table,
    request: Request,
    discretizer: Discretizer,
    publish: Callable[[list[str]], list[str]] = list,
) -> Points:
    """The points of a table; ``publish`` tells what the series are called in the release."""
    frame = table.read(request.names)
    rows = frame.height
    if rows == 0:
        raise InvalidInput("table", "no rows", "at least one row")
    codes = discretizer.codes(frame.get_column(request.column))
    owner, names, rank = _series_of(frame, request, publish)
    published = publish(names)
    if rank is None:
        places = np.argsort(np.array([text.encode() for text in published], dtype=object),
                            kind="stable")  # fmt: skip
    else:
        places = np.argsort(rank, kind="stable")
    numbered = np.empty(len(names), np.int64)
    numbered[places] = np.arange(len(names))
    owner = numbered[owner]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(names)))])
    row = _by_owner(owner, offsets.astype(np.int64))
    ticks = None
    if request.time is not None:
        ticks = read_times(frame.get_column(request.time))
        row, ticks = _by_time(row, owner, ticks, request)
    owner = owner[row]
    weights, splits = _weights(request, ticks, owner, row)
    position = np.cumsum(weights)
    position -= np.repeat(position[offsets[:-1]], np.diff(offsets))
    group: IntArray | None = None
    labels: tuple[Label, ...] = ()
    if request.group is not None:
        group, labels = _groups_of(frame.get_column(request.group), row, owner, offsets)
    return Points(
        row, owner, position, codes[row], [names[i] for i in places],
        [published[i] for i in places], offsets.astype(np.int64), splits, discretizer.count,
        discretizer.missing, group, labels,
    )  # fmt: skip


def _series_of(
    frame: pl.DataFrame, request: Request, publish: Any
) -> tuple[IntArray, list[str], NDArray[Any] | None]:
    """The series of each row by number, their names, and their order where it is not by name."""
    if request.series is None:
        return np.zeros(frame.height, np.int64), [""], None
    column = frame.get_column(request.series)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise InvalidInput(
            request.series, f"a column of type {type_name(column.dtype)}", "names of series"
        )
    text = column.cast(pl.String)
    found = text.fill_null("").cast(pl.Categorical(pl.Categories.random())).to_physical().to_numpy()
    numbered, count = _dense(found.astype(np.int64))
    first = np.empty(count, np.int64)
    first[numbered[::-1]] = np.arange(len(numbered) - 1, -1, -1)
    names = text.gather(first).to_list()
    for row, name in zip(first.tolist(), names, strict=True):
        if name is None or not name.strip():
            raise InvalidInput(request.series, "no name", "a series in every row", at_row(row))
    by_value = request.series_names == "original" and column.dtype.is_numeric()
    rank = column.gather(first).rank("ordinal").to_numpy() if by_value else None
    return numbered, names, rank


def _dense(numbers: IntArray) -> tuple[IntArray, int]:
    """Numbers as those from 0 on, without holes."""
    used = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
    used[numbers] = 1
    return (np.cumsum(used) - 1)[numbers], int(used.sum())


@compiled(nogil=True)
def _counting_sort(owner: IntArray, place: IntArray, row: IntArray) -> None:
    for i in range(len(owner)):
        row[place[owner[i]]] = i
        place[owner[i]] += 1


def _by_owner(owner: IntArray, offsets: IntArray) -> IntArray:
    """The rows series after series, each in the order of the rows."""
    row = np.empty(len(owner), np.int64)
    _counting_sort(owner, offsets[:-1].copy(), row)
    return row


def _by_time(row: IntArray, owner: IntArray, ticks: Ticks, request: Request) -> Any:
    """The rows series after series, each in the order of its times; equal times are an error."""
    held, values = owner[row], ticks.values[row]
    inside = np.diff(held) == 0
    if (inside & (values[1:] < values[:-1])).any():
        frame = pl.DataFrame({"owner": owner, "time": ticks.values})
        row = frame.select(pl.arg_sort_by("owner", "time")).to_series().to_numpy().astype(np.int64)
        values = ticks.values[row]
    twice = np.flatnonzero(inside & (values[1:] == values[:-1]))
    if len(twice):
        pair = sorted((int(row[twice[0]]) + 1, int(row[twice[0] + 1]) + 1))
        raise InvalidInput(
            str(request.time), f"the same time twice, in rows {pair[0]} and {pair[1]}",
            "times that differ within a series",
            "Remove the duplicate, or name the series column if rows belong to several. (Rows are "
            "counted from 1, without a header.)",
        )  # fmt: skip
    return row, replace(ticks, values=values)


def _weights(
    request: Request, ticks: Ticks | None, owner: IntArray, row: IntArray
) -> tuple[IntArray, int]:
    """How many positions each point is behind the point before it, and the number of gaps."""
    weights = np.ones(len(owner), np.int64)
    if ticks is None or (request.step is None and request.max_gap is None):
        return weights, 0
    steps = np.zeros(len(owner), ticks.values.dtype)
    steps[1:] = np.diff(ticks.values)
    inside = np.concatenate([[False], np.diff(owner) == 0])
    if request.step is None:
        assert request.max_gap is not None
        long = inside & (steps > ticks.of(request.max_gap))
        weights[long] = BEHIND
        return weights, int(np.count_nonzero(long))
    usual = ticks.of(request.step)
    wrong = inside & ~np.isclose(steps, usual, rtol=FLOAT_STEP, atol=0)
    long = np.zeros(len(owner), np.bool_)
    if request.max_gap is not None:
        long = wrong & (steps > ticks.of(request.max_gap))
        wrong &= ~long
    if wrong.any():
        place = int(np.argmax(wrong))
        # Which step it is stays private: between beats it tells the rate.
        raise InvalidInput(
            str(request.time),
            f"a {'longer' if steps[place] > usual else 'shorter'} step in row {row[place] + 1}",
            f"steps of {ticks.in_words(request.step)}",
            "Give max_gap to allow longer steps, which are gaps.",
        )  # fmt: skip
    whole = np.rint(steps[long] / usual)
    crooked = np.abs(steps[long] / usual - whole) > FLOAT_STEP * whole
    if crooked.any():
        place = int(np.flatnonzero(long)[np.argmax(crooked)])
        raise InvalidInput(str(request.time), "a gap that is no whole number of steps",
                           "gaps of whole steps, where step is given",
                           at_row(int(row[place])))  # fmt: skip
    weights[long] = whole.astype(np.int64)
    return weights, int(np.count_nonzero(long))


def _groups_of(
    column: pl.Series, row: IntArray, owner: IntArray, offsets: IntArray
) -> tuple[IntArray, tuple[Label, ...]]:
    """The group of each series, and their labels in order."""
    column, name = plain(column), column.name
    kind = column.dtype
    if not (kind.is_integer() or kind.is_float() or kind in (pl.String, pl.Boolean)):
        raise InvalidInput(
            name, f"a column of type {type_name(kind)}", "groups as text, numbers or booleans"
        )
    empty = absent(column)
    if kind.is_float():
        empty = empty | column.is_infinite().fill_null(True).to_numpy()
        column = column + 0.0  # Zeros of either sign are one group.
    if empty.any():
        raise InvalidInput(
            name, "no group", "a group in every row; numbers are finite",
            f"{at_row(int(np.argmax(empty)))} Give those without one a name, such as unknown.",
        )  # fmt: skip
    if kind == pl.String:
        column = column.str.strip_chars()
    labels = column.unique().sort().to_list()
    if len(labels) > MOST_GROUPS:
        raise InvalidInput(
            name, f"more than {MOST_GROUPS} groups", f"at most {MOST_GROUPS}",
            "A group needs series enough to be told apart from the others: take wider ones.",
        )  # fmt: skip
    numbers = column.replace_strict(labels, list(range(len(labels))), return_dtype=pl.Int64)
    each = numbers.to_numpy()[row]
    group = each[offsets[:-1]]
    if (group[owner] != each).any():
        raise InvalidInput(
            "group", f"column {name!r}, with several groups in one series",
            "one group for each series, which is its noise",
            "Take a column that stays the same within a series, or name series by both columns.",
        )  # fmt: skip
    return group, tuple(labels)


# --- models ----------------------------------------------------------------------------------

# As in ModelFamily.fit, whose defaults they are.
CONFIDENCE, UNSEEN, PSEUDOCOUNT = 0.95, 0.95, 0.5
# States up to which a memory of two points is looked for where no order is asked for.
MOST_FOR_MEMORY = 16
# Level at which a longer memory is taken for shown; a table may have dozens of groups.
SIGN = 0.001
POOLED = (
    "pooled: the noise is for the chain of all series together; on the own chain of a single "
    "series, which somebody may know, it may lose more than the budget"
)
MANY_STATES = (
    "the noise is for the chain of all series together: of more than two states no box covers the "
    "chains of private series, which one by one would be published. On the own chain of a single "
    "series it may lose more than the budget; a public reference table has a model for each"
)
NO_MARGIN = (
    "the noise is for the series of the reference table, with no margin for persons who are not "
    f"in it: that takes {FEWEST_SEEN} series that leave each state 20 times or more"
)


def fit(
    points: Points, origin: Origin = "private", order: Order = 1, pseudocount: float = 0.0
) -> MarkovChain | HigherOrderChain:
    """The maximum-likelihood chain of an order, and whether it is private."""
    if order == "auto":
        largest = largest_order(points.states, points.reach)
        choice = choice_from(points.counts(largest))
        return chosen(fit(points, origin, choice.order, pseudocount), choice)
    counts = points.counts(order)
    if order == 1:
        leaving = counts.sum(axis=1)
        if pseudocount == 0 and np.any(leaving == 0):
            raise InvalidInput(
                "table",
                f"no transition out of state {int(np.argmin(leaving))}",
                "at least one transition out of every state",
                "Use other limits, more data, or give the chain by hand.",
            )  # fmt: skip
        return first_order(counts, origin, pseudocount)
    check_size(points.states, order)
    if not counts.any():
        raise InvalidInput(
            "order", order, f"an order below the number of neighbouring rows, of which no series "
            f"has {order + 1}", "Use a lower order.",
        )  # fmt: skip
    chain = HigherOrderChain.from_counts(counts, origin, pseudocount)
    # What is private is rounded before it is used, which leaves nothing impossible.
    return chain if origin == "private" else chain.recurring("reference")


def model_of(
    points: Points,
    fitted: DataModel,
    pooled: bool = False,
    parts: int = 1,
    confidence: float | None = None,
) -> DataModel:
    """The family of the series; ``fitted``, the model of all together, where there is none.

    There is none where no series has enough points for a model of its own, where it was not
    asked for, of private series of more than two states, and where no box covers the chain of any
    private series; all but the first are warned of.
    """
    counts, series = points.each(), len(points.names)
    if series < 2 or not enough(counts):
        return fitted
    private = fitted.origin == "private"
    if pooled or (private and fitted.states > 2):
        warnings.warn(POOLED if pooled else MANY_STATES, ChainveilWarning, stacklevel=2)
        return fitted
    names = [f"series {name}" for name in points.names]
    if parts > 1:
        counts = np.concatenate([counts, points.each(parts)])
        names += [f"series {n}, part {i}" for n in points.names for i in range(1, parts + 1)]
    chain = first_order(counts[:series].sum(axis=0), fitted.origin)
    longer = None if fitted.order == 1 else fitted
    margin = chain.origin == "reference" and chain.states == 2
    if margin and len(enough(counts[:series])) < FEWEST_SEEN:
        warnings.warn(NO_MARGIN, ChainveilWarning, stacklevel=2)
        margin = False
    wishes = Wishes(1, confidence or CONFIDENCE, UNSEEN if margin else 0.0, PSEUDOCOUNT)
    family, told = from_counts(counts, names, chain, wishes, series, longer)
    if family is not None and not _can_be_published(family):
        # Boxes go up to where q + r is 1: more noise is needed at the lower ends anyway.
        wishes = replace(wishes, low=True)
        family, told = from_counts(counts, names, chain, wishes, series, longer)
    if told:
        warnings.warn(told, ChainveilWarning, stacklevel=2)
    return family or fitted


def _can_be_published(family: ModelFamily) -> bool:
    """Whether a box covers it, where it is private."""
    try:
        return not family.is_unrounded or bool(family.rounded())
    except NotSupported:
        return False


@dataclass(frozen=True)
class Plans:
    """One plan for all series, or one for each group of them, which ``labels`` name."""

    each: tuple[NoisePlan, ...]
    labels: tuple[Label, ...] = ()


def find_plans(points: Points, request: Request, discretizer: Discretizer) -> Plans:
    """The noise of each group of series; the model is fitted where none is given."""
    if request.plan is None and request.epsilon is None:
        raise InvalidInput("epsilon", None, "a number above 0", "It is the privacy budget.")
    if request.plan is not None:
        _check_states(discretizer, request.plan.chain.states)
        return Plans((request.plan,))
    if request.chain is not None:
        _check_states(discretizer, request.chain.states)
        return Plans((plan_for(request.chain, request),))
    origin: Origin = "private"
    labels = points.labels
    if request.reference is not None:
        origin = "reference"
        request.check(request.reference)
        found = arrange(request.reference, request, discretizer)
        if set(labels) - set(found.labels):
            raise InvalidInput(
                str(request.group), "a group that the reference table has not",
                ", ".join(map(str, found.labels)),
                "A reference table needs all groups of the table.",
            )  # fmt: skip
        points, labels = found, tuple(labels)
    if points.group is None:
        return Plans((_fitted_plan(points, request, origin),))
    plans = []
    for label in labels:
        with naming_group(label):
            part = points.of_group(points.labels.index(label))
            plans.append(_fitted_plan(part, request, origin))
    return Plans(tuple(plans), tuple(labels))


def _fitted_plan(points: Points, request: Request, origin: Origin) -> NoisePlan:
    model: DataModel = fit(points, origin, request.order)
    if request.series is not None:
        model = model_of(points, model, request.pooled, request.parts)
    return plan_for(model, request)


def plan_for(model: DataModel, request: Request) -> NoisePlan:
    """The noise that is asked for, or the usual one."""
    asked = request.guarantee
    kind = request.mechanism or usual_mechanism(model, **asked)
    # Gaps cost something only where a report is held over them.
    holds = any(getattr(n, "holds", False) for n in (noise_class(kind), *tuple(asked["earlier"])))
    asked["gaps"] = request.gaps and holds
    if request.mechanism:
        return cast(NoisePlan, calibrate(model, mechanism=request.mechanism, **asked))
    return usual_plan(model, **asked)


def _check_states(discretizer: Discretizer, states: int) -> None:
    if discretizer.count != states:
        raise InvalidInput(
            "threshold, states", f"{discretizer.count} states", f"{states}, as many as the chain "
            "has",
        )  # fmt: skip


@contextmanager
def naming_group(label: Label) -> Iterator[None]:
    """An error or a warning about what was counted names its group, which is public."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            yield
        except InvalidInput as error:
            advice = f"{error.advice} This is about the group {label}: join it with another one."
            raise InvalidInput(error.argument, error.found, error.allowed, advice.strip()) from None
    for one in told:
        warnings.warn(f"group {label}: {one.message}", one.category, stacklevel=3)


@dataclass(frozen=True)
class Memory:
    """How much a chain that remembers two points predicts better than one that remembers one.

    Attributes
    ----------
    bits : float
        Information gained about each point, in bits.
    p_value : float
        Chance of as much where the order is one; see ``counts.order_test``.
    points : int
        How many points were compared.
    """

    bits: float
    p_value: float
    points: int


@dataclass(frozen=True)
class Fitted:
    """A chain from a table, and the points that it was counted on."""

    chain: MarkovChain | HigherOrderChain
    discretizer: Discretizer
    points: Points = field(repr=False)
    memory: Memory | None

    @property
    def entries(self) -> list[tuple[tuple[int, ...], float, tuple[float, float]]]:
        """For each state after each context that was seen: the estimate and its 95% interval."""
        counts, k, order = self.chain.counts, self.chain.states, self.chain.order
        assert counts is not None
        leaving = counts.sum(axis=1)
        return [
            ((*(a // k**place % k for place in range(order - 1, -1, -1)), b),
             float(self.chain.transition[a, b]),
             wilson(float(counts[a, b] / leaving[a]), int(leaving[a])))
            for a in np.flatnonzero(leaving).tolist()
            for b in range(k)
        ]  # fmt: skip

    @property
    def facts(self) -> dict[str, Any]:
        """What was counted, as JSON values."""
        choice, points = self.chain.order_choice, self.points
        return {
            "rows": len(points.codes), "series": len(points.names), "splits": points.splits,
            "intervals": [
                {"from": a[0] if len(a) == 1 else a, "to": b, "estimate": estimate,
                 "low": low, "high": high}
                for (*a, b), estimate, (low, high) in self.entries
            ],
            "second_order": None if self.memory is None else vars(self.memory),
            **({} if choice is None else {"order_choice": {
                "order": choice.order, "points": choice.points,
                "bic": [[order, bic] for order, bic in choice.bic.items()],
            }}),
        }  # fmt: skip

    @property
    def memory_in_words(self) -> str:
        """One sentence about the order of the chain."""
        if self.memory is None:
            return "too few neighbouring points to compare with a longer memory"
        gain = f"remembering two points gains {self.memory.bits:.4f} bits a point"
        p = f"(p = {self.memory.p_value:.2g})"
        if self.chain.order > 1:
            return f"{gain} over one {p}"
        if self.memory.p_value >= SIGN:
            return f"{gain} {p}: no sign against the chain"
        if len(self.points.names) > 1:
            return f"{gain} {p}: the series differ, or remember more than one point"
        return f"{gain} {p}: the data do not quite follow the chain; a higher order may"


def fit_points(
    points: Points, discretizer: Discretizer, order: Order = 1, pseudocount: float = 0.0
) -> Fitted:
    """Fit a chain of an order to points of a table."""
    chain = fit(points, "private", order, read_pseudocount(pseudocount))
    if chain.order > 1:
        cast(HigherOrderChain, chain).recurring("table")
    memory = None
    few = points.states <= MOST_FOR_MEMORY and points.states**2 <= MOST_CONTEXTS
    if few and points.reach(2):
        found = order_test(points.counts(2))
        memory = Memory(found.bits, found.p_value, found.points)
    return Fitted(chain, discretizer, points, memory)
