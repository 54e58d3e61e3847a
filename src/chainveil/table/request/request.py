"""What a user asks of a table, in one value that files and frames share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import pyarrow as pa

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.mechanism.reading import Missing
from chainveil.model.base import DataModel, require_model
from chainveil.model.fitting import read_order
from chainveil.noise.base import Noise
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.problem import Every, Objective, Shape, Unit
from chainveil.table.error_text import check_column
from chainveil.table.request.clock import Clock
from chainveil.table.request.discretize import Discretizer, Label
from chainveil.table.request.kept import Kept

LookedUp = Literal["mean", "median"]
# One limit between two states, several between more, or one that is looked up in the data.
Threshold = float | Sequence[float] | LookedUp
Order = int | Literal["auto"]


class Readable(Protocol):
    """A table that can be read more than once: a file or a data frame."""

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows in order, only ``columns`` where they are given."""

    def pieces(self, layout: Layout, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some rows from all over, in pieces of neighbours, at most ``MOST_SAMPLED``."""


@dataclass(frozen=True)
class Layout:
    """Where things stand in a table.

    Attributes
    ----------
    column : str
        The values to publish.
    series, time : str, optional
        Columns that name the series and the time of a row.
    step, max_gap : float, optional
        As in :class:`chainveil.table.request.clock.Clock`.
    group : str, optional
        A public column that says how people differ; each series lies in one of its groups.
    """

    column: str
    series: str | None = None
    time: str | None = None
    step: float | None = None
    max_gap: float | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        if self.time is None and (self.step is not None or self.max_gap is not None):
            raise InvalidInput("time", None, "a column, where step or max_gap is given")
        if self.group is not None and self.series is None:
            raise InvalidInput("series", None, "a column, where group is given",
                               "A group is one of several series.")  # fmt: skip
        given = (self.column, self.series, self.time, self.group)
        names = [name for name in given if name is not None]
        called = "column, series, time" + (", group" if self.group is not None else "")
        for name in names:
            checks.instance(called, name, str, "names of columns, each a text",
                            "The frame comes first, then the column.")  # fmt: skip
        if len(set(names)) < len(names):
            raise InvalidInput(called, names, "different columns")

    @property
    def names(self) -> list[str]:
        """The columns that have to be read."""
        names = (self.series, self.time, self.column, self.group)
        return [name for name in names if name is not None]

    def check(self, table: Readable) -> None:
        """Error unless all columns are there."""
        for argument in ("column", "series", "time", "group"):
            check_column(argument, getattr(self, argument), table.columns)

    def clock(self) -> Clock | None:
        """A fresh clock for one pass over the table."""
        return None if self.time is None else Clock(self.time, self.step, self.max_gap)


@dataclass(frozen=True)
class StateRules:
    """How values become states: by one or more thresholds, or as the states that they are.

    ``threshold`` may be "mean" or "median": a look at the private data that the certificate
    mentions. ``missing`` says whether a row without a value is an error or stays one, visible to
    all. ``discretizer`` is a ready one, for where neither threshold nor states are given.
    """

    threshold: Threshold | None = None
    states: Sequence[Label] | None = None
    labels: Sequence[Label] | None = None
    missing: Missing = "error"
    discretizer: Discretizer | None = None

    @property
    def given(self) -> bool:
        """Whether threshold or states are."""
        return self.threshold is not None or self.states is not None

    def check(self) -> None:
        """Error in words for arguments that are something else altogether."""
        for name, allowed in (("states", "a list of values"), ("labels", "a list of names")):
            if getattr(self, name) is not None:
                checks.items(name, getattr(self, name), allowed)


@dataclass(frozen=True)
class Promise:
    """The budget and what it has to hold for, as in :func:`chainveil.calibrate`.

    ``earlier`` is the noise of earlier releases of the same data, which the budget covers too.
    ``mechanism`` None: :func:`chainveil.calibration.usual_mechanism`.
    """

    epsilon: float | None = None
    max_length: int | None = None
    adversary: AdversaryName | Adversary = "any"
    objective: Objective = "wrong-reports"
    mechanism: str | None = None
    shape: Shape = "uniform"
    earlier: Sequence[Noise] = ()
    every: Every = 1
    unit: Unit = "point"


@dataclass(frozen=True)
class Request:
    """How to discretize, where the chain comes from, and what to promise.

    Of ``plan``, ``chain`` and ``reference`` at most one is given; with none, the chain is fitted
    on the private data. ``kept`` says which other columns are published. ``order`` is that of a
    chain that is fitted; "auto": the order of the least BIC. ``pooled``: one chain for all series
    is fitted, in place of a model for each; ``parts``: also models of so many parts of each series.
    """

    layout: Layout
    rules: StateRules = field(default_factory=StateRules)
    promise: Promise = field(default_factory=Promise)
    chain: DataModel | None = None
    plan: NoisePlan | None = None
    reference: Readable | None = None
    kept: Kept = field(default_factory=Kept)
    order: Order = 1
    pooled: bool = False
    parts: int = 1

    @property
    def gaps(self) -> bool:
        """Whether points may be missing, by what is asked and not by what the rows hold."""
        return self.rules.missing == "keep" or self.layout.max_gap is not None

    def __post_init__(self) -> None:
        given: list[str] = [
            name for name in ("plan", "chain", "reference") if getattr(self, name) is not None
        ]
        if len(given) > 1:
            raise InvalidInput("plan, chain, reference", " and ".join(given), "one of them")
        self._check_kinds()
        read_order(self.order)
        if self.order != 1 and (self.plan is not None or self.chain is not None):
            found = f"{self.order!r} beside a {'plan' if self.chain is None else 'chain'}"
            raise InvalidInput("order", found, "nothing", "The chain has its order already.")
        self._check_series()
        if self.plan is not None:
            self._check_plan(self.plan)
        elif self.promise.epsilon is None:
            raise InvalidInput("epsilon", None, "a number above 0", "It is the privacy budget.")

    def _check_series(self) -> None:
        """Error where models of series are asked for that are not fitted."""
        checks.whole("parts", self.parts, 1)
        checks.instance("pooled", self.pooled, bool, "True or False")
        asked = {
            "pooled": self.pooled,
            "parts": self.parts > 1 and self.parts,
            "group": self.layout.group,
        }
        if self.pooled and self.parts > 1:
            raise InvalidInput("parts", f"{self.parts} beside pooled", "one of them")
        for name, said in ((name, said) for name, said in asked.items() if said):
            if self.layout.series is None:
                raise InvalidInput(name, said, "nothing, without a series column")
            if self.plan is not None or self.chain is not None:
                found = f"{said!r} beside a {'plan' if self.plan else 'chain'}"
                advice = "It is about models that are fitted on series."
                raise InvalidInput(name, found, "nothing", advice)

    def _check_plan(self, plan: NoisePlan) -> None:
        """Error where something is said again, or otherwise, beside a plan."""
        epsilon, earlier = self.promise.epsilon, self.promise.earlier
        if earlier:
            raise InvalidInput(
                "earlier", f"{len(earlier)} releases beside a plan", "none",
                "Name them where the plan is made: the plan then covers all releases.",
            )  # fmt: skip
        if epsilon not in (None, plan.epsilon):
            raise InvalidInput("epsilon", epsilon, f"that of the plan, {plan.epsilon!r}, or none")
        for name, usual in (("every", (1,)), ("unit", ("point", 1))):
            if getattr(self.promise, name) not in usual:
                found = f"{getattr(self.promise, name)!r} beside a plan"
                raise InvalidInput(name, found, "nothing", "It is part of the plan.")
        if self.gaps and plan.noise.holds and not plan.gaps:
            raise InvalidInput(
                "plan", f"{plan.mechanism} noise whose loss does not cover missing points",
                "one that does, where missing is keep or max_gap is given",
                "Calibrate for them: calibrate(..., gaps=True).",
            )  # fmt: skip

    def _check_kinds(self) -> None:
        """Errors in words for arguments that are something else altogether."""
        if self.promise.epsilon is not None:
            checks.real("epsilon", self.promise.epsilon, "one finite number above 0")
        if self.chain is not None:
            require_model(self.chain)
        if self.plan is not None:
            advice = "calibrate(chain, epsilon) makes one."
            checks.instance("plan", self.plan, NoisePlan, "a NoisePlan", advice)
        self.rules.check()

    def check(self, table: Readable) -> None:
        """Error unless all columns are there, and those to be kept may be."""
        self.layout.check(table)
        self.kept.check(self.layout, table.columns)


def one_column(batch: Any, name: str) -> pa.Array:
    """A column of a batch or table as one array."""
    column = batch.column(name)
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column
