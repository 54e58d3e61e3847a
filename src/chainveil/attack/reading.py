"""What the misfit audit finds: a reading for each model, and the verdict in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from chainveil.counts import OrderTest
from chainveil.model.base import DataModel
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
        Likelihood-ratio test of order 1 against this order, over the same points.
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
        """Somebody who knows this chain."""
        whose = "" if self.series is None else f" of series {self.series}"
        return f"someone who knows the chain of order {self.order}{whose}"

    def verdict(self, promise: float) -> str:
        """What a promise is worth to somebody who knows this chain."""
        said, who = f"A promise of {exact(promise)}", self.who
        if self.loss.epsilon <= promise:
            most = upper(self.loss.epsilon, DIGITS)
            return f"{said} holds against {who}: the loss is {most} at most"
        if self.closed or self.loss.lower > promise:
            return f"{said} is worth {self.bounds} to {who}"
        return f"{said} is not shown to hold against {who}: the loss is {self.bounds}"

    @property
    def facts(self) -> dict[str, Any]:
        """The reading as JSON values; an infinite bound is None."""
        witness = self.loss.attack_in_words
        return {
            "order": self.order, "series": self.series, "attained": self.loss.lower,
            "not_exceeded": None if math.isinf(self.loss.epsilon) else self.loss.epsilon,
            "closed": self.closed, "p_value": self.test.p_value, "gap": self.gap,
            "unseen": self.unseen, "witness": witness,
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

    @property
    def verdict(self) -> str:
        """What the promise is worth to whoever knows the worst of these models, in a sentence."""
        if self.promise is None:
            return f"The loss is {self.worst.bounds} against {self.worst.who}"
        return self.worst.verdict(self.promise)

    def summary(self, order: int) -> str:
        """The own fits of an order in a line: worst, median, and how many are above the promise."""
        found = self.own(order)
        losses = sorted(r.loss.lower for r in found)
        worst = max(found, key=lambda r: r.loss.lower)
        middle = losses[(len(losses) - 1) // 2]
        text = f"{len(found)} own fits: worst {worst.bounds} (series {worst.series}), "
        text += f"median at least {_cut(middle)}"
        if self.promise is None:
            return text
        above = sum(r.loss.lower > self.promise for r in found)
        return f"{text}, {above} of {len(found)} above the promise"

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
