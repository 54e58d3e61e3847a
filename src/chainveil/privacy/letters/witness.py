"""The attack that attains a loss of a chain with k states, and its independent replay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.letters.numbers import exact_emission, exact_start, exact_transition
from chainveil.privacy.witness import Witness, log_odds_gained

if TYPE_CHECKING:
    from flint import arb, arb_mat


@dataclass(frozen=True)
class SequenceWitness(Witness):
    """An adversary, what it knows, what it sees, and the two values it tells apart.

    Attributes
    ----------
    length : int
        Number of points of the attack. A series that goes on behind them loses at least
        as much: some output of every further point keeps the ratio or raises it.
    target, value, other : int
        As in every :class:`~chainveil.privacy.witness.Witness`.
    known : mapping of int to int
        Index and value of the nearest known point on either side, if there is one.
    symbols : tuple of int
        The output, one symbol a point.
    """

    symbols: tuple[int, ...]

    def output(self, index: int) -> int:
        """The symbol published for point ``index``."""
        return self.symbols[index]

    def output_array(self) -> NDArray[Any]:
        """The whole output, shape (length,)."""
        dtype = np.uint8 if max(self.symbols) < 256 else np.int64
        return np.array(self.symbols, dtype=dtype)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The output as (symbol, how often it repeats), from the first point to the last."""
        return [(symbol, len(list(run))) for symbol, run in groupby(self.symbols)]

    def replay(self, chain: MarkovChain, channel: Channel) -> float:
        """Log of Pr[output | value, known] / Pr[output | other, known], rounded down.

        A forward recursion over the joint law of states and outputs in ball arithmetic,
        from the first point to the last. It knows nothing of sides, words or searches.
        """
        from flint import ctx

        from chainveil.privacy.rounding import down

        before = ctx.prec
        try:
            ctx.prec = 192
            seen = self._probabilities(chain, exact_emission(channel))
            prior = self._probabilities(chain, None)
            return down(log_odds_gained(seen, prior, chain))
        finally:
            ctx.prec = before

    def _probabilities(self, chain: MarkovChain, emission: Any) -> tuple[arb, arb]:
        """Pr[output, target, known points] for the two values; without output if it is None."""
        from flint import arb, arb_mat

        from chainveil.privacy.two_state.tracks import ball

        step = arb_mat([[ball(entry) for entry in row] for row in exact_transition(chain)])
        start = [ball(weight) for weight in exact_start(chain)]
        rows: arb_mat = arb_mat([start, start])
        used = sorted(set(self.symbols)) if emission is not None else []
        seen = {z: [ball(row[z]) for row in emission] for z in used}
        for index in range(self.length):
            if index > 0:
                rows = rows * step
            weights = seen.get(self.symbols[index])
            rows = arb_mat([self._pinned(rows, line, index, weights) for line in (0, 1)])
        first, second = (sum((rows[line, x] for x in range(len(start))), arb(0)) for line in (0, 1))
        return first, second

    def _pinned(self, rows: arb_mat, line: int, index: int, weights: Any) -> list[arb]:
        """One row after emission, with all but the fixed state of this point struck out."""
        from flint import arb

        fixed = self.known.get(index)
        if index == self.target:
            fixed = (self.value, self.other)[line]
        kept = [
            rows[line, x] if fixed is None or x == fixed else arb(0) for x in range(rows.ncols())
        ]
        return kept if weights is None else [a * b for a, b in zip(kept, weights, strict=True)]

    def __str__(self) -> str:
        return self.in_words(_in_words(self.runs))


def _in_words(runs: Iterable[tuple[int, int]], most: int = 12) -> str:
    """``0 x3, 2, 1 x10``: runs with their counts, cut to a readable number."""
    words = [f"{symbol} x{count}" if count > 1 else str(symbol) for symbol, count in runs]
    return ", ".join(words[:most]) + (", …" if len(words) > most else "")
