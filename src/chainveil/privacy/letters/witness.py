"""The attack that attains a loss of a chain with k states, and its independent replay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise
from chainveil.noise.channel import Channel
from chainveil.privacy.letters.numbers import exact_emission, exact_start, exact_transition
from chainveil.privacy.memory.witness import MemoryWitness, digits_of
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
        """Pr[output, target, known points] for the two values; without output if it is None.

        Points in a row with the same output are one power of a matrix.
        """
        from flint import arb, arb_mat

        from chainveil.privacy.two_state.tracks import ball

        states = range(chain.states)
        step = arb_mat([[ball(entry) for entry in row] for row in exact_transition(chain)])
        start = [ball(weight) for weight in exact_start(chain)]
        symbols = sorted(set(self.symbols)) if emission is not None else [0]
        weights = {z: [arb(1)] * len(start) for z in symbols}
        if emission is not None:
            weights = {z: [ball(row[z]) for row in emission] for z in symbols}
        moves = {
            z: arb_mat([[step[x, y] * weights[z][y] for y in states] for x in states])
            for z in symbols
        }
        # The first point follows none.
        runs = [(0, self.length)] if emission is None else self.runs
        first = [weight * share for weight, share in zip(weights[runs[0][0]], start, strict=True)]
        rows = self._pinned(arb_mat([first, first]), 0)
        index, end, fixed = 1, 0, {self.target, *self.known}
        for symbol, count in runs:
            end += count
            while index < end:
                last = min([end - 1, *(place for place in fixed if place >= index)])
                rows = self._pinned(rows * moves[symbol] ** (last - index + 1), last)
                index = last + 1
        one, other = (sum((rows[line, x] for x in states), arb(0)) for line in (0, 1))
        return one, other

    def _pinned(self, rows: arb_mat, index: int) -> arb_mat:
        """Both rows with all but the fixed state of a point struck out, if it has one."""
        from flint import arb, arb_mat

        kept = [self.known.get(index)] * 2
        if index == self.target:
            kept = [self.value, self.other]
        return arb_mat(
            [
                [rows[line, x] if only in (None, x) else arb(0) for x in range(rows.ncols())]
                for line, only in enumerate(kept)
            ]
        )

    def __str__(self) -> str:
        return self.in_words(_in_words(self.runs))


def reports_of(attack: Witness, releases: Sequence[Noise]) -> list[tuple[int | None, ...]]:
    """What each release reports at each point of an attack; None where it is silent."""
    found = {}
    symbols = attack.output_array().tolist()
    for symbol in set(symbols):
        if isinstance(attack, MemoryWitness) or releases[0].every != 1:
            digits = digits_of(symbol, releases)
        else:
            digits, rest = [], symbol
            for noise in reversed(releases):
                rest, digit = divmod(rest, noise.outputs)
                digits.insert(0, digit)
        found[symbol] = tuple(
            None if digit == noise.outputs else digit
            for digit, noise in zip(digits, releases, strict=True)
        )
    return [found[symbol] for symbol in symbols]


def _in_words(runs: Iterable[tuple[int, int]], most: int = 12) -> str:
    """``0 x3, 2, 1 x10``: runs with their counts, cut to a readable number."""
    words = [f"{symbol} x{count}" if count > 1 else str(symbol) for symbol, count in runs]
    return ", ".join(words[:most]) + (", …" if len(words) > most else "")
