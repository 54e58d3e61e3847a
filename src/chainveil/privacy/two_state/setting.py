"""A two-state chain and its noise in exact numbers, seen from one direction at a time."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.rationals import channel_entries, start_law, transition_entries
from chainveil.privacy.two_state.tracks import Direction, ball

# A likelihood ratio Pr[z | 0] / Pr[z | 1] with its symbol z; None stands for infinity.
Ratio = tuple[Fraction | None, int]


@dataclass(frozen=True)
class Setting:
    """Chain and channel in exact numbers, points that are certain taken off the front.

    Attributes
    ----------
    q, r : Fraction
        Transition probabilities 0 -> 1 and 1 -> 0.
    stationary : bool
        Whether the chain starts from its stationary law.
    start : pair of Fraction
        Law of the first point that is left.
    front : int or None
        How many points were taken off; None: all of them, there is no secret.
    high, low : Ratio
        The outputs that speak most for 0 and most for 1.
    """

    q: Fraction
    r: Fraction
    stationary: bool
    start: tuple[Fraction, Fraction]
    front: int | None
    high: Ratio
    low: Ratio

    @property
    def independent(self) -> bool:
        """Whether the points do not depend on each other (q + r = 1)."""
        return self.q + self.r == 1

    @property
    def deterministic(self) -> bool:
        """Whether one point gives all others away (q = r = 1)."""
        return self.q == self.r == 1

    @property
    def start_value(self) -> int | None:
        """The value of the first point where it is certain."""
        return next((value for value in (0, 1) if self.start[1 - value] == 0), None)

    @property
    def first_target(self) -> int:
        """Index of the first point with two possible values."""
        assert self.front is not None
        return self.front + (self.start_value is not None)

    @property
    def harmless_value(self) -> int:
        """A value that a known point may have without ruling a value of its neighbours out."""
        return 1 if self.q == 1 else 0

    def has_secret(self, length: int | None, adversary: AdversaryName | Adversary) -> bool:
        """Whether some target has two possible values for this adversary."""
        if self.front is None:
            return False
        if self.deterministic and _knows_something(length, adversary):
            return False
        if isinstance(adversary, Adversary):
            return adversary.target >= self.first_target
        return length is None or length > self.first_target

    @property
    def proofs(self) -> dict[int, int]:
        """For each value that an output can prove, that output."""
        found = {0: self.high[1]} if self.high[0] is None else {}
        return found | ({1: self.low[1]} if self.low[0] == 0 else {})

    def direction(self, value: int) -> Direction:
        """The comparison ``value`` over the other one, where no output proves either."""
        q, r, start, start_value = self.q, self.r, self.start, self.start_value
        (high, symbol_high), (low, symbol_low) = self.high, self.low
        assert high is not None
        assert low is not None
        symbols = symbol_high, symbol_low
        if value == 1:
            q, r, start, symbols = r, q, (start[1], start[0]), (symbols[1], symbols[0])
            start_value = None if start_value is None else 1 - start_value
            high, low = 1 / low, 1 / high
        fixed = self.stationary or start_value is not None
        odds = None if fixed else ball(start[0] / start[1])
        return Direction(value, q, r, ball(high), ball(low), symbols, odds, start_value)


def read_setting(chain: MarkovChain, channel: Channel) -> Setting:
    """The exact numbers behind a two-state chain and channel."""
    (_, q), (r, _) = transition_entries(chain)
    high, low = extreme_ratios(channel)
    start: tuple[Fraction, Fraction] = start_law(chain)
    front: int | None = 0
    # A certain point that leads to a certain point hides nothing: begin with the next one.
    while front is not None and 0 in start and (q, r)[start.index(0) ^ 1] == 1:
        start = start[1], start[0]
        front = None if q == r == 1 else front + 1
    return Setting(q, r, chain.initial is None, start, front, high, low)


def _knows_something(length: int | None, adversary: AdversaryName | Adversary) -> bool:
    if isinstance(adversary, Adversary):
        return bool(adversary.known)
    return adversary == "informed" and length is not None and length > 1


def extreme_ratios(channel: Channel) -> tuple[Ratio, Ratio]:
    """The outputs that speak most for 0 and most for 1, with their likelihood ratios."""
    zero, one = channel_entries(channel)
    ratios = {
        z: (zero[z] / one[z] if one[z] else None)
        for z in range(channel.outputs)
        if zero[z] or one[z]
    }
    finite = {z: ratio for z, ratio in ratios.items() if ratio is not None}
    proof = next((z for z, ratio in ratios.items() if ratio is None), None)
    smallest = min(finite, key=lambda z: finite[z])
    largest = max(finite, key=lambda z: finite[z])
    high: Ratio = (finite[largest], largest) if proof is None else (None, proof)
    return high, (finite[smallest], smallest)
