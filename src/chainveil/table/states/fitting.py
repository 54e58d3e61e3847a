"""Fit a chain to a table, and say how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from chainveil.counts import order_test, wilson
from chainveil.model.chain import MarkovChain
from chainveil.model.higher_order import HigherOrderChain, read_pseudocount
from chainveil.table.request.discretize import Discretizer, Label
from chainveil.table.request.request import Layout, Order, Promise, Readable, Request, StateRules
from chainveil.table.states.families import Each, each_of
from chainveil.table.states.groups import GroupsSeen, RowsOfGroup
from chainveil.table.states.prepare import (
    HERE,
    Progress,
    Reader,
    Seen,
    find_discretizer,
    fit,
    orders_of,
    survey,
)

# A context and the state after it, the estimate, and its interval.
Entry = tuple[tuple[int, ...], float, tuple[float, float]]
# States up to which a memory of two points is looked for where no order is asked for.
MOST_FOR_MEMORY = 16
# Level at which a longer memory is taken for shown; a table may have dozens of groups.
SIGN = 0.001


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
    """A chain from a table, with what was counted on the way, also of each series."""

    chain: MarkovChain | HigherOrderChain
    discretizer: Discretizer
    rows: int
    series: int
    splits: int
    memory: Memory | None
    each: Each | None = None

    @property
    def entries(self) -> list[Entry]:
        """For each state after each context that was seen: the estimate and its 95% interval."""
        counts, k = self.chain.counts, self.chain.states
        assert counts is not None
        leaving = counts.sum(axis=1)
        return [
            ((*_digits(a, k, self.chain.order), b), float(self.chain.transition[a, b]),
             wilson(float(counts[a, b] / leaving[a]), int(leaving[a])))
            for a in np.flatnonzero(leaving).tolist()
            for b in range(k)
        ]  # fmt: skip

    @property
    def facts(self) -> dict[str, Any]:
        """What was counted, as JSON values."""
        choice = self.chain.order_choice
        return {
            "rows": self.rows,
            "series": self.series,
            "splits": self.splits,
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
        if self.series > 1:
            return f"{gain} {p}: the series differ, or remember more than one point"
        return f"{gain} {p}: the data do not quite follow the chain; a higher order may"


def fit_table(
    table: Readable,
    layout: Layout,
    rules: StateRules,
    progress: Progress | None = None,
    reader: Reader[Any] = HERE,
    *,
    order: Order = 1,
    pseudocount: float = 0.0,
) -> Fitted:
    """Discretize a column and fit a chain of an order to it."""
    layout.check(table)
    # A request wants a budget; none is spent here.
    request = Request(layout, rules, Promise(epsilon=1.0), order=order)
    added = read_pseudocount(pseudocount)
    discretizer = find_discretizer(table, request, progress, reader.limit)
    orders = set(orders_of(order, discretizer.count))
    if discretizer.count <= MOST_FOR_MEMORY:
        orders.add(2)
    asked = {"each": True} if reader.each and layout.series is not None else {}
    seen = reader.survey(table, layout, discretizer, progress, tuple(sorted(orders)), **asked)
    chain = fit(seen, "private", order, added)
    if chain.order > 1:
        cast(HigherOrderChain, chain).recurring("table")
    counted = seen.rows, seen.series, seen.splits
    return Fitted(chain, discretizer, *counted, memory(seen), each_of(seen))


def groups_of(
    table: Readable,
    layout: Layout,
    rules: StateRules,
    progress: Progress | None = None,
) -> tuple[Discretizer, dict[Label, RowsOfGroup]]:
    """How values become states, and the groups of a table, each as a table of its own.

    One pass checks all rows.
    """
    layout.check(table)
    request = Request(layout, rules, Promise(epsilon=1.0))
    discretizer = find_discretizer(table, request, progress)
    found = survey(table, layout, discretizer, progress)
    assert isinstance(found, GroupsSeen)
    return discretizer, {
        label: RowsOfGroup(table, str(layout.group), found.labels, number)
        for number, label in enumerate(found.labels)
    }


def memory(seen: Seen) -> Memory | None:
    """Test of a second-order chain against a first-order one."""
    counts = seen.contexts.get(2)
    if counts is None or counts.sum() == 0:
        return None
    found = order_test(counts)
    return Memory(found.bits, found.p_value, found.points)


def _digits(context: int, states: int, order: int) -> tuple[int, ...]:
    """The points of a context, oldest first."""
    return tuple(context // states**place % states for place in range(order - 1, -1, -1))
