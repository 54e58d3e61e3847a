"""An attack on releases with labels, written out in runs and replayed from the laws alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise
from chainveil.privacy.rounding import down
from chainveil.privacy.witness import DescribedAttack, Witness, log_odds_gained

if TYPE_CHECKING:
    from flint import arb, arb_mat

# What is published at a point: a report of each release, or nothing (the number after the
# last report), as digits of one number, the last release's running fastest.
Runs = tuple[tuple[int, int], ...]
# Bits of the balls in which an attack is replayed.
PRECISION = 160


@dataclass(frozen=True)
class MemoryWitness(Witness):
    """An attack on one or several releases, some of which may be silent at some points.

    Attributes
    ----------
    length, target, known
        As in every :class:`~chainveil.privacy.witness.Witness`; ``target`` is the first point
        of the event.
    value, other : int
        The two values of the event: its points as binary digits, the first one foremost.
    runs : tuple of (int, int)
        The output as pairs of what is published and at how many points in a row.
    event : int
        Number of points of the event.
    """

    runs: Runs
    event: int = 1

    @classmethod
    def of(cls, attack: DescribedAttack) -> MemoryWitness:
        """The attack as it is described."""
        total = sum(count for _, count in attack.runs)
        if total != attack.length or any(z >= attack.with_silence for z, _ in attack.runs):
            raise InvalidInput(
                "witness output", f"{len(attack.runs)} runs", f"{attack.length} reports in all"
            )
        return cls(*attack.place, attack.runs, attack.event)

    def output_array(self) -> NDArray[np.int64]:
        """The whole output, shape (length,)."""
        reports, counts = zip(*self.runs, strict=True)
        return np.repeat(np.array(reports, np.int64), counts)

    def replay(self, chain: MarkovChain, noise: Noise | Sequence[Noise], /) -> float:
        """Log likelihood ratio of the output, in ball arithmetic, rounded down.

        A plain forward recursion from the first point to the last; points at which the same
        is published are one power of a matrix.
        """
        from flint import ctx

        releases = (noise,) if isinstance(noise, Noise) else tuple(noise)
        before = ctx.prec
        # Each point costs a few roundings at most, of which 100 bits more than doubles have.
        ctx.prec = PRECISION
        try:
            factors = list(self._factors(releases))
            both = [self._weights(chain, value, factors) for value in (self.value, self.other)]
            seen, prior = zip(*both, strict=True)
            return down(log_odds_gained(seen, prior, chain))
        finally:
            ctx.prec = before

    def leaves_out(self, noise: Noise | Sequence[Noise], /) -> bool:
        """Whether nothing is published somewhere although a report is due."""
        releases = (noise,) if isinstance(noise, Noise) else tuple(noise)
        time = 0
        for symbol, count in self.runs:
            for release, digit in zip(releases, digits_of(symbol, releases), strict=True):
                ahead = (release.first_place - time) % release.every
                if digit == release.outputs and ahead < count:
                    return True
            time += count
        return False

    def _weights(self, chain: MarkovChain, value: int, factors: Any) -> Any:
        """The probability of the event's value and the known ones: with the output, without."""
        move, start = _chain(chain)
        fixed = dict(self.known) | self._secret(value)
        return (
            _probability(move, start, fixed, factors),
            _probability(move, start, fixed, [(None, self.length)]),
        )

    def _secret(self, value: int) -> dict[int, int]:
        """The points of the event and their values; a single point may have any number of them."""
        if self.event == 1:
            return {self.target: value}
        last = self.event - 1
        return {self.target + place: value >> (last - place) & 1 for place in range(self.event)}

    def _factors(self, releases: tuple[Noise, ...]) -> Iterator[tuple[Any, int]]:
        """``E[x, x']`` and the number of points, for every run of points with one factor."""
        reader = _Reader(releases)
        for symbol, count in self.runs:
            yield from reader.run(symbol, count)

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, sees: str = "") -> str:
        """The attack as a sentence without its beginning."""
        if self.event == 1:
            return super().in_words(sees)
        last = self.target + self.event - 1
        values = [f"{number:0{self.event}b}" for number in (self.value, self.other)]
        return (
            f"an adversary after points {self.target} to {last} of {self.length}, "
            f"weighing {values[0]} against {values[1]}"
        )


class _Reader:
    """Follows the releases along a series and says how probable each point's reports are."""

    def __init__(self, releases: tuple[Noise, ...]) -> None:
        self._releases = releases
        self._time = 0
        # The last report of each release, and whether points are missing since.
        self._last: list[int | None] = [None] * len(releases)
        self._missing = [False] * len(releases)
        # Factors of points met before, with what is remembered after them.
        self._met: dict[Any, tuple[NDArray[np.object_], list[int | None], list[bool]]] = {}

    def run(self, symbol: int, count: int) -> Iterator[tuple[Any, int]]:
        """The factors of ``count`` points at which ``symbol`` is published, in runs.

        None where nothing is.
        """
        digits = digits_of(symbol, self._releases)
        done = 0
        while done < count:
            before = (tuple(self._last), tuple(self._missing))
            factor = self._point(digits)
            same = (tuple(self._last), tuple(self._missing)) == before
            alike = count - done if same and all(r.every == 1 for r in self._releases) else 1
            if same and alike == 1 and digits == [n.outputs for n in self._releases]:
                alike = min(count - done, self._quiet())
            silent = digits == [noise.outputs for noise in self._releases]
            yield None if silent else factor, alike
            self._time += alike
            done += alike

    def _quiet(self) -> int:
        """How many points from this one on none of the releases is due to report."""
        return max(1, min(
            (noise.first_place - self._time) % noise.every or 1 for noise in self._releases
        ))  # fmt: skip

    def _point(self, digits: list[int]) -> NDArray[np.object_]:
        """``E[x, x']`` of one point, exact as balls, and what is remembered after it."""
        due = tuple((self._time - noise.first_place) % noise.every for noise in self._releases)
        seen = tuple(digits), due, tuple(self._last), tuple(self._missing)
        if seen not in self._met:
            factor = self._new_point(digits)
            self._met[seen] = factor, self._last.copy(), self._missing.copy()
        factor, last, missing = self._met[seen]
        self._last, self._missing = last.copy(), missing.copy()
        return factor

    def _new_point(self, digits: list[int]) -> NDArray[np.object_]:
        from flint import arb

        k = self._releases[0].states
        factor = np.full((k, k), arb(1), dtype=object)
        for number, (noise, digit) in enumerate(zip(self._releases, digits, strict=True)):
            law = self._law(number, noise, digit)
            for x, after in product(range(k), repeat=2):
                factor[x, after] *= arb(float(law[x, after]))
        return factor

    def _law(self, number: int, noise: Noise, digit: int) -> NDArray[np.float64]:
        due = (self._time - noise.first_place) % noise.every == 0
        last, missing = self._last[number], self._missing[number]
        shape = noise.states, noise.states
        if digit == noise.outputs:
            if due and noise.ordered and not noise.holds:
                raise InvalidInput("witness output", "nothing where a report is due", "a report")
            self._missing[number] = last is not None and (missing or due)
            return np.ones(shape)
        if not due:
            raise InvalidInput("witness output", "a report where none is due", "nothing")
        self._last[number], self._missing[number] = digit, False
        if last is None or not noise.ordered:
            return np.broadcast_to(noise.first_law()[None, :, digit], shape)
        if missing:
            return np.broadcast_to(noise.after_gap_law()[last, None, :, digit], shape)
        return np.asarray(noise.step_law()[last, :, :, digit])


def _chain(chain: MarkovChain) -> tuple[arb_mat, list[Any]]:
    """Transitions and the law of the first point, as balls around the numbers of the chain.

    Two states are read as exactly this q and r, more as rows divided by their exact sums.
    """
    from flint import arb, arb_mat

    if chain.states > 2:
        from chainveil.privacy.letters.numbers import exact_start, exact_transition

        move = arb_mat([[_ball(entry) for entry in row] for row in exact_transition(chain)])
        return move, [_ball(share) for share in exact_start(chain)]
    q, r = (arb(float(chain.transition[a, 1 - a])) for a in range(2))
    start = [r / (q + r), q / (q + r)]
    if chain.initial is not None:
        start = [arb(float(share)) for share in chain.initial]
    return arb_mat([[1 - q, q], [r, 1 - r]]), start


def _ball(number: Fraction) -> arb:
    from flint import arb

    return arb(number.numerator) / arb(number.denominator)


def _probability(move: arb_mat, start: list[Any], fixed: dict[int, int], factors: Any) -> Any:
    """Probability of all that is seen and fixed; ``factors`` come in runs of points."""
    from flint import arb, arb_mat

    law, states = arb_mat([start]), range(len(start))
    time = 0
    stops = sorted(fixed)
    made: dict[int, arb_mat] = {id(None): move}
    for factor, count in factors:
        if id(factor) not in made:
            made[id(factor)] = arb_mat(
                [[move[x, y] * factor[x, y] for y in states] for x in states]
            )
        weights = made[id(factor)]
        end = time + count
        while time < end:
            if time == 0:
                if factor is not None:
                    law = arb_mat([[law[0, x] * factor[0, x] for x in states]])
                ahead = 1
            else:
                place = bisect_left(stops, time)
                stop = stops[place] if place < len(stops) else end
                ahead = min(end - time, stop - time + 1)
                law = law * weights**ahead
            time += ahead
            if time - 1 in fixed:
                kept = fixed[time - 1]
                law = arb_mat([[law[0, x] if x == kept else arb(0) for x in states]])
    return sum((law[0, x] for x in states), arb(0))


def digits_of(symbol: int, releases: Sequence[Noise]) -> list[int]:
    """What each release publishes; the number after its last report stands for nothing."""
    digits = []
    for noise in reversed(releases):
        symbol, digit = divmod(symbol, noise.outputs + 1)
        digits.append(digit)
    return digits[::-1]


def in_runs(symbols: Sequence[tuple[int, int]]) -> Runs:
    """Symbols and counts with neighbours that are the same joined."""
    joined = ((symbol, list(group)) for symbol, group in groupby(symbols, key=lambda run: run[0]))
    return tuple((int(symbol), sum(count for _, count in group)) for symbol, group in joined)
