"""The attack that attains a loss of a chain of any order, and its independent replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.noise.base import Noise
from chainveil.privacy.letters.numbers import Rows, _normalised, exact_emission
from chainveil.privacy.rounding import down
from chainveil.privacy.witness import DescribedAttack, Witness, log_odds_gained

if TYPE_CHECKING:
    from flint import arb

# Bits of the balls in which an attack is replayed.
PRECISION = 192


@dataclass(frozen=True)
class OrderWitness(Witness):
    """An adversary, what it knows, what it sees, and the two values it tells apart.

    Attributes
    ----------
    length : int
        Number of points of the attack. A series that goes on behind them loses at least as
        much: some report of every further point keeps the ratio or raises it.
    target, known, value, other
        As in every :class:`~chainveil.privacy.witness.Witness`.
    reports : tuple of int
        The output, one report a point; the number after the last report where there is none.
    """

    reports: tuple[int, ...]

    @classmethod
    def of(cls, attack: DescribedAttack) -> OrderWitness:
        """The attack as it is described."""
        outputs = attack.outputs if attack.plain else max(attack.outputs, attack.with_silence)
        reports = replace(attack, outputs=outputs).output()
        return cls(*attack.place, tuple(reports.tolist()))

    def output_array(self) -> NDArray[np.int64]:
        """The whole output, shape (length,)."""
        return np.array(self.reports, np.int64)

    def replay(self, model: Any, noise: Noise, /) -> float:
        """Log of Pr[output | value, known] / Pr[output | other, known], rounded down.

        A forward recursion over the last values in ball arithmetic, from the first point to the
        last. It knows nothing of words, sides or covers.
        """
        from flint import ctx

        before = ctx.prec
        try:
            ctx.prec = PRECISION
            seen = [self._probability(model, value, noise) for value in (self.value, self.other)]
            prior = [self._probability(model, value, None) for value in (self.value, self.other)]
            return down(log_odds_gained(seen, prior, model))
        finally:
            ctx.prec = before

    def _probability(self, model: Any, value: int, noise: Noise | None) -> arb:
        """Of the known values with one of the target; with the output where there is noise."""
        from flint import arb

        k, order = model.states, model.order
        fixed = {**self.known, self.target: value}
        weights = [self._weights(index, fixed.get(index), k, noise) for index in range(self.length)]
        law = [arb(float(share)) for share in model.contexts]
        for place, weight in enumerate(weights[:order]):
            block = k ** (order - 1 - place)
            law = [share * weight[c // block % k] for c, share in enumerate(law)]
        steps = [[_ball(entry) for entry in _normalised(row)] for row in model.transition.tolist()]
        for weight in weights[order:]:
            moved = [arb(0)] * len(law)
            for c, share in enumerate(law):
                for y in range(k):
                    moved[(c * k + y) % len(law)] += share * steps[c][y] * weight[y]
            law = moved
        return sum(law, arb(0))

    def _weights(self, index: int, fixed: int | None, k: int, noise: Noise | None) -> list[arb]:
        """What a point's report, and its value if it is fixed, say of its values."""
        from flint import arb

        if noise is None or index % noise.every != noise.first_place:
            column = [arb(1)] * k
        else:
            before = index - noise.every
            law = _report_law(noise, self.reports[before] if before >= 0 else None)
            column = [_ball(row[self.reports[index]]) for row in law]
        return [x if fixed is None or y == fixed else arb(0) for y, x in enumerate(column)]

    def __str__(self) -> str:
        runs = [(z, len(list(run))) for z, run in groupby(self.reports)]
        said = [f"{z} x{count}" if count > 1 else str(z) for z, count in runs]
        return self.in_words(", ".join(said[:12]) + (", …" if len(said) > 12 else ""))


def _report_law(noise: Noise, last: int | None) -> Rows:
    """Exact law of a report by the value of its point, a row a value."""
    if noise.sees == "point":
        return exact_emission(noise)  # type: ignore[arg-type]
    law = noise.first_law() if last is None else noise.step_law()[last, 0]
    return [_normalised(row) for row in law.tolist()]


def _ball(fraction: Any) -> arb:
    from flint import arb

    return arb(fraction.numerator) / arb(fraction.denominator)
