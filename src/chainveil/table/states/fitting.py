"""Fit a chain to a table, and say how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chainveil.counts import order_test, wilson
from chainveil.model.chain import MarkovChain
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.request import Layout, Promise, Readable, Request, StateRules
from chainveil.table.states.prepare import HERE, Progress, Reader, Seen, find_discretizer, fit

Entry = tuple[tuple[int, int], float, tuple[float, float]]


@dataclass(frozen=True)
class Memory:
    """How much a chain that remembers two points predicts better than one that remembers one.

    Attributes
    ----------
    bits : float
        Information gained about each point, in bits.
    p_value : float
        Chance of as much where the order is one (likelihood ratio test).
    points : int
        How many points were compared.
    """

    bits: float
    p_value: float
    points: int


@dataclass(frozen=True)
class Fitted:
    """A chain from a table, with what was counted on the way."""

    chain: MarkovChain
    discretizer: Discretizer
    rows: int
    series: int
    splits: int
    memory: Memory | None

    @property
    def entries(self) -> list[Entry]:
        """For each pair of states: the estimate and its 95% interval."""
        counts = self.chain.counts
        assert counts is not None
        leaving = counts.sum(axis=1)
        return [
            ((a, b), share := float(counts[a, b] / leaving[a]), wilson(share, int(leaving[a])))
            for a in range(self.chain.states)
            for b in range(self.chain.states)
        ]

    @property
    def facts(self) -> dict[str, Any]:
        """What was counted, as JSON values."""
        return {
            "rows": self.rows,
            "series": self.series,
            "splits": self.splits,
            "intervals": [
                {"from": a, "to": b, "estimate": estimate, "low": low, "high": high}
                for (a, b), estimate, (low, high) in self.entries
            ],
            "second_order": None if self.memory is None else vars(self.memory),
        }

    @property
    def memory_in_words(self) -> str:
        """One sentence about the order of the chain."""
        if self.memory is None:
            return "too few neighbouring points to compare with a longer memory"
        gain = f"remembering two points gains {self.memory.bits:.4f} bits a point"
        if self.memory.p_value < 0.01:
            return f"{gain} (p = {self.memory.p_value:.2g}): the data do not quite follow the chain"
        return f"{gain} (p = {self.memory.p_value:.2g}): no sign against the chain"


def fit_table(
    table: Readable,
    layout: Layout,
    rules: StateRules,
    progress: Progress | None = None,
    reader: Reader[Any] = HERE,
) -> Fitted:
    """Discretize a column and fit a chain to it."""
    layout.check(table)
    # A request wants a budget; none is spent here.
    request = Request(layout, rules, Promise(epsilon=1.0))
    discretizer = find_discretizer(table, request, progress, reader.limit)
    seen = reader.survey(table, layout, discretizer, progress, memory=True)
    return Fitted(fit(seen), discretizer, seen.rows, seen.series, seen.splits, memory(seen))


def memory(seen: Seen) -> Memory | None:
    """Likelihood ratio of a second-order chain against a first-order one."""
    triples = seen.triples
    if triples is None or triples.sum() == 0:
        return None
    found = order_test(triples.reshape(-1, len(triples)))
    return Memory(found.bits, found.p_value, found.points)
