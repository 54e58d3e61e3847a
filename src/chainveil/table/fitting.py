"""Fit a chain to a table, and say how far to trust it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.model.chain import MarkovChain
from chainveil.table.discretize import Discretizer
from chainveil.table.prepare import HERE, Engine, Progress, Seen, find_discretizer, fit
from chainveil.table.request import Layout, Readable, Request

CONFIDENCE = 0.95

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
            ((a, b), float(self.chain.transition[a, b]), wilson(int(counts[a, b]), int(leaving[a])))
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
    progress: Progress | None = None,
    engine: Engine[Any] = HERE,
    **how: Any,
) -> Fitted:
    """Discretize a column and fit a chain to it."""
    layout.check(table)
    # A request wants a budget; none is spent here.
    request = Request(layout, **how, epsilon=1.0)
    discretizer = find_discretizer(table, request, progress, engine.limit)
    seen = engine.survey(table, layout, discretizer, progress, memory=True)
    return Fitted(fit(seen), discretizer, seen.rows, seen.series, seen.splits, memory(seen))


def memory(seen: Seen) -> Memory | None:
    """Likelihood ratio of a second-order chain against a first-order one."""
    triples = seen.triples
    if triples is None or triples.sum() == 0:
        return None
    from scipy.special import chdtrc

    k = len(triples)
    statistic = 2 * _gain(triples)
    freedom = k * (k - 1) ** 2
    points = int(triples.sum())
    return Memory(statistic / (2 * math.log(2) * points), float(chdtrc(freedom, statistic)), points)


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Wilson's score interval for a share."""
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    spread = math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    spread *= z / (1 + z * z / trials)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def _gain(triples: NDArray[np.int64]) -> float:
    """Sum of n_abc ln(n_abc n_b / (n_ab n_bc)): zero where the first point adds nothing."""
    first, last = triples.sum(axis=2), triples.sum(axis=0)
    middle = triples.sum(axis=(0, 2))
    expected = first[:, :, None] * last[None, :, :] / np.maximum(middle, 1)[None, :, None]
    seen = triples > 0
    return max(0.0, float(np.sum(triples[seen] * np.log(triples[seen] / expected[seen]))))
