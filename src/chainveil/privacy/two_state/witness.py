"""The attack that attains a loss, and its independent replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.rationals import channel_entries, start_law, transition_entries
from chainveil.privacy.rounding import down
from chainveil.privacy.two_state.tracks import ball
from chainveil.privacy.witness import Witness, log_odds_gained

ARRAY_LIMIT = 1 << 31


@dataclass(frozen=True)
class TwoStateWitness(Witness):
    """An adversary, what it knows, what it sees, and the two values it tells apart.

    Attributes
    ----------
    length, target, value, other : int
        As in every :class:`~chainveil.privacy.witness.Witness`.
    known : mapping of int to int
        Index and value of the nearest known point on either side, if there is one.
        Points known beyond them cannot change the ratio and are not listed.
    symbols : tuple of int
        The output: at the target, at even distance from it, at odd distance.
    """

    symbols: tuple[int, int, int]

    def output(self, index: int) -> int:
        """The symbol published for point ``index``."""
        return self.symbols[_place(index - self.target)]

    def output_array(self) -> NDArray[Any]:
        """The whole output, shape (length,)."""
        if self.length > ARRAY_LIMIT:
            raise InvalidInput(
                "length",
                self.length,
                f"at most {ARRAY_LIMIT} to write it out",
                "Use output(index).",
            )
        dtype = np.uint8 if max(self.symbols) < 256 else np.int64
        array = np.full(self.length, self.symbols[2], dtype=dtype)
        array[self.target % 2 :: 2] = self.symbols[1]
        array[self.target] = self.symbols[0]
        return array

    def replay(self, chain: MarkovChain, channel: Channel) -> float:
        """Log of Pr[output | value, known] / Pr[output | other, known], rounded down.

        A forward recursion over the joint law of states and outputs in ball arithmetic,
        from the first point to the last. It uses neither the split into sides nor the
        closed form of the search. Stretches without a fixed point are passed by repeated
        squaring of the step matrix, so a witness of 10^12 points costs a millisecond.
        """
        bits = ctx.prec
        try:
            ctx.prec = 256 + 2 * self.length.bit_length()
            return down(self._log_ratio(chain, channel))
        finally:
            ctx.prec = bits

    def _log_ratio(self, chain: MarkovChain, channel: Channel) -> arb:
        start = arb_mat([[ball(weight) for weight in start_law(chain)]])
        step = arb_mat([[ball(entry) for entry in row] for row in transition_entries(chain)])
        told, silent = (
            [_diagonal(given, symbol) for symbol in self.symbols] for given in (channel, None)
        )
        values = self.value, self.other
        seen = [self._probability(start, step, told, value) for value in values]
        prior = [self._probability(start, step, silent, value) for value in values]
        return log_odds_gained(seen, prior, chain)

    def _probability(self, row: arb_mat, step: arb_mat, emission: list[arb_mat], value: int) -> arb:
        """Pr[output, target = value, known points] from the law ``row`` of the first point."""
        fixed = dict(self.known) | {self.target: value}
        position = 0
        for index in [*sorted(fixed), self.length]:
            row = row * self._stretch(step, emission, position, index)
            if index == self.length:
                break
            keep = fixed[index]
            pinned = [row[0, state] if state == keep else arb(0) for state in range(2)]
            row = arb_mat([pinned]) * emission[_place(index - self.target)]
            if index < self.length - 1:
                row = row * step
            position = index + 1
        return row[0, 0] + row[0, 1]

    def _stretch(self, step: arb_mat, emission: list[arb_mat], begin: int, end: int) -> arb_mat:
        """Emission and step for the points ``begin … end - 1``; no step after the last point."""
        if end <= begin:
            return _identity()
        last = end == self.length
        count = end - begin - (1 if last else 0)
        one, two = (emission[1 + (begin + j - self.target) % 2] * step for j in (0, 1))
        product = _power(one * two, count // 2)
        if count % 2:
            product = product * one
        if last:
            product = product * emission[_place(end - 1 - self.target)]
        return product

    def __str__(self) -> str:
        here, even, odd = self.symbols
        symbols = f"{here} everywhere" if here == even == odd else f"{here} there"
        if even != odd:
            symbols += f", {odd} next to it, {even} one further, and so on in turn"
        elif here != even:
            symbols += f" and {even} everywhere else"
        return self.in_words(symbols)


def _place(offset: int) -> int:
    """Which of the three symbols stands at this offset from the target."""
    return 0 if offset == 0 else 1 + offset % 2


def _diagonal(channel: Channel | None, symbol: int) -> arb_mat:
    if channel is None:
        return _identity()
    zero, one = (ball(row[symbol]) for row in channel_entries(channel))
    return arb_mat([[zero, arb(0)], [arb(0), one]])


def _identity() -> arb_mat:
    return arb_mat([[arb(1), arb(0)], [arb(0), arb(1)]])


def _power(matrix: arb_mat, exponent: int) -> arb_mat:
    result = _identity()
    while exponent:
        if exponent & 1:
            result = result * matrix
        exponent >>= 1
        if exponent:
            matrix = matrix * matrix
    return result
