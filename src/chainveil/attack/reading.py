"""What the misfit audit finds: a reading for each model, and the verdict in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from chainveil.counts import OrderTest
from chainveil.model.base import DataModel
from chainveil.model.fit_test import LEVEL
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.rounding import exact, upper

# Digits of a loss in a sentence; the lower end is cut off, the upper one rounded up.
DIGITS = 3
# Bounds as close as this are told as one figure, the upper one.
CLOSE = 0.02


@dataclass(frozen=True)
class Reading:
    """The data read as one chain.

    Attributes
    ----------
    order : int
    series : int, another name, or None
        The series whose own fit it is; None: the fit of all series together.
    model : MarkovChain or HigherOrderChain
        The chain, as private as the data.
    loss : PrivacyLoss
        What the release loses if the data are this chain: ``lower`` is attained by
        ``witness``, ``epsilon`` is not exceeded; infinite where nothing bounds it.
    test : OrderTest
        Test of order 1 against this order, over the same points.
    against : float or None
        Chance of a fit like this if the data follow the model of the plan; None of noise alone, and
        where that model is no chain.
    gap : float
        Largest difference that the memory beyond one point makes to the probability of a
        next state, over contexts that were seen at least 30 times.
    unseen : int
        Contexts that never occur in the data.
    """

    order: int
    series: Any
    model: DataModel
    loss: PrivacyLoss
    test: OrderTest
    against: float | None
    gap: float
    unseen: int

    @property
    def closed(self) -> bool:
        """Whether the two bounds are so close that one figure says both."""
        return self.loss.gap <= CLOSE * max(1.0, self.loss.lower)

    @property
    def bounds(self) -> str:
        """The loss in words: one figure, rounded up, or what is attained and what not exceeded."""
        loss = self.loss
        if self.closed:
            return "without limit" if math.isinf(loss.epsilon) else upper(loss.epsilon, DIGITS)
        at_least = f"at least {_cut(loss.lower)}"
        if math.isinf(loss.epsilon):
            return f"{at_least}, with no bound from above"
        return f"{at_least} and at most {upper(loss.epsilon, DIGITS)}"

    @property
    def who(self) -> str:
        """Who knows this chain."""
        whose = "" if self.series is None else f" of series {self.series}"
        return f"an adversary who knows the chain of order {self.order}{whose}"

    def verdict(self, promise: float) -> str:
        """What an epsilon rises to for somebody who knows this chain."""
        if self.loss.epsilon <= promise:
            said, loss = "Within", f"{upper(self.loss.epsilon, DIGITS)} at most"
        else:
            shown = self.closed or self.loss.lower > promise
            said, loss = "Above" if shown else "Not shown to be within", self.bounds
        return f"{said} epsilon {exact(promise)}: the loss is {loss} against {self.who}"

    @property
    def facts(self) -> dict[str, Any]:
        """The reading as JSON values; an infinite bound is None."""
        witness = self.loss.attack_in_words
        return {
            "order": self.order, "series": self.series, "attained": self.loss.lower,
            "not_exceeded": None if math.isinf(self.loss.epsilon) else self.loss.epsilon,
            "closed": self.closed, "p_value": self.test.p_value,
            "p_value_of_model": self.against, "gap": self.gap, "unseen": self.unseen,
            "witness": witness,
        }  # fmt: skip


@dataclass(frozen=True)
class Misfit:
    """Readings of the same data and release under several models.

    Attributes
    ----------
    readings : tuple of Reading
        Of all series together by order, then of each series that was read on its own.
    promise : float or None
        The epsilon that was promised.
    points, series : int
        How many there are.
    """

    readings: tuple[Reading, ...]
    promise: float | None
    points: int
    series: int

    def reading(self, order: int, series: Any = None) -> Reading:
        """The reading of one order, of all series together or of one."""
        return next(r for r in self.readings if (r.order, r.series) == (order, series))

    @property
    def pooled(self) -> tuple[Reading, ...]:
        """Those of all series together."""
        return tuple(r for r in self.readings if r.series is None)

    def own(self, order: int) -> tuple[Reading, ...]:
        """Those of single series at an order."""
        return tuple(r for r in self.readings if r.series is not None and r.order == order)

    @property
    def worst(self) -> Reading:
        """The reading that shows the largest loss."""
        return max(self.readings, key=lambda r: r.loss.lower)

    def contradicts(self, reading: Reading) -> bool:
        """Whether the data of a reading contradict the model of the plan.

        Of noise alone: a chain of order 1, so that a fit of order 1 counts as it is. The level is
        1% divided by the number of readings.
        """
        if reading.against is None and reading.order == 1:
            return True
        p_value = reading.test.p_value if reading.against is None else reading.against
        return p_value < LEVEL / len(self.readings)

    @property
    def verdict(self) -> str:
        """What the loss rises to for whoever knows the worst of these models, in a sentence.

        A loss above epsilon is named where the data contradict the model of the plan.
        """
        if self.promise is None:
            return f"The loss is {self.worst.bounds} against {self.worst.who}"
        above = [r for r in self.readings if r.loss.epsilon > self.promise]
        named = [r for r in above if self.contradicts(r)]
        if above and not named:
            return f"Losses above epsilon {exact(self.promise)} are within the error of the fits"
        return max(named or self.readings, key=lambda r: r.loss.lower).verdict(self.promise)

    def summary(self, order: int) -> str:
        """The own fits of an order in a line: worst, median, and how many are above epsilon."""
        found = self.own(order)
        losses = sorted(r.loss.lower for r in found)
        worst = max(found, key=lambda r: r.loss.lower)
        middle = losses[(len(losses) - 1) // 2]
        text = f"{len(found)} own fits: worst {worst.bounds} (series {worst.series}), "
        text += f"median at least {_cut(middle)}"
        if self.promise is None:
            return text
        above = sum(r.loss.lower > self.promise and self.contradicts(r) for r in found)
        words = f"above epsilon {exact(self.promise)} by more than the error of the fits"
        return f"{text}, {words}: {above}"

    @property
    def lines(self) -> list[tuple[str, str]]:
        """A name and a text a line: the readings, a summary of own fits, the verdict."""
        lines = [
            (f"order {r.order}", f"{r.bounds}{_test_in_words(r)}") for r in self.pooled
        ] + [
            (f"order {r.order}, each", self.summary(r.order))
            for r in self.pooled
            if self.own(r.order)
        ]  # fmt: skip
        return [*lines, ("verdict", self.verdict)]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.lines)


def _test_in_words(reading: Reading) -> str:
    if reading.order == 1:
        return ""
    p = reading.test.p_value
    said = "p < 1e-300" if p < 1e-300 else f"p = {p:.2g}"
    return f" (order 1 against order {reading.order}: {said})"


def _cut(number: float) -> str:
    """A float in few digits, cut off: what a user reads is not above the number."""
    return f"{Context(prec=DIGITS, rounding=ROUND_FLOOR).plus(Decimal(number)).normalize():f}"
