"""Möbius maps t -> (a t + b) / (c t + d) and their iterates, in ball arithmetic.

One step along a two-state chain turns the odds of state 0 over state 1 into new odds by a
Möbius map with non-negative entries and positive determinant. Its iterates have a closed
form, so the point a billion steps away costs what the next one does.

All numbers are ``flint.arb`` balls: an enclosure of the real number, rounding included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from flint import arb


@dataclass(frozen=True)
class Moebius:
    """The map ``t -> (a t + b) / (c t + d)`` with a, b, c, d >= 0, c > 0, a d - b c > 0."""

    a: arb
    b: arb
    c: arb
    d: arb

    def __call__(self, t: arb) -> arb:
        return (self.a * t + self.b) / (self.c * t + self.d)

    def of_pair(self, x: arb, y: arb) -> arb:
        """The image of the odds x : y, of which one may be zero."""
        return (self.a * x + self.b * y) / (self.c * x + self.d * y)

    def after_factor(self, g: arb) -> Moebius:
        """First multiply the odds by ``g``, then apply the map."""
        return Moebius(self.a * g, self.b, self.c * g, self.d)

    def after(self, first: Moebius) -> Moebius:
        """First apply ``first``, then this map."""
        return Moebius(
            self.a * first.a + self.b * first.c,
            self.a * first.b + self.b * first.d,
            self.c * first.a + self.d * first.c,
            self.c * first.b + self.d * first.d,
        )

    @cached_property
    def _root(self) -> arb:
        difference = self.a - self.d
        return (difference * difference + 4 * self.b * self.c).sqrt()

    @cached_property
    def attractor(self) -> arb:
        """The positive fixed point, to which every positive orbit runs."""
        difference = self.a - self.d
        if difference >= 0:
            return (difference + self._root) / (2 * self.c)
        return 2 * self.b / (self._root - difference)

    @cached_property
    def repeller(self) -> arb:
        """The other fixed point, which is negative or zero."""
        difference = self.a - self.d
        if difference >= 0:
            return -2 * self.b / (self._root + difference)
        return (difference - self._root) / (2 * self.c)

    @cached_property
    def log_contraction(self) -> arb:
        """Log of the ratio of the two eigenvalues: negative; an orbit closes in at this rate."""
        larger = (self.a + self.d + self._root) / 2
        return ((self.a * self.d - self.b * self.c) / (larger * larger)).log()


@dataclass(frozen=True)
class Orbit:
    """The sequence ``t_0 = start, t_{k+1} = step(t_k)``, monotone in k, in closed form.

    With T+ and T- the fixed points and ``w = (t_0 - T+)/(t_0 - T-)``,
    ``t_k = (T+ - T- w s) / (1 - w s)`` where ``s`` is the contraction to the power k.
    """

    step: Moebius
    start: arb

    @cached_property
    def _weight(self) -> tuple[arb, arb]:
        """w and 1 - w, each without cancellation."""
        step = self.step
        span = self.start - step.repeller
        return (self.start - step.attractor) / span, (step.attractor - step.repeller) / span

    def __call__(self, k: int) -> arb:
        if k == 0:
            return self.start
        weight, rest = self._weight
        exponent = self.step.log_contraction * k
        step = self.step
        # Either form adds numbers of one sign only, so few bits are lost.
        if weight < 0:
            above = self.start * rest - step.repeller * weight * exponent.expm1()
            return above / (1 - weight * exponent.exp())
        above = step.attractor - step.repeller * weight * exponent.exp()
        return above / (rest - weight * exponent.expm1())

    def rough(self) -> Callable[[float], float]:
        """The same in floats, for finding a place to look; never for a figure."""
        weight, rest = (float(number) for number in self._weight)
        attractor, repeller = float(self.step.attractor), float(self.step.repeller)
        rate, start = float(self.step.log_contraction), float(self.start)
        if weight < 0:
            return lambda k: (
                (start * rest - repeller * weight * math.expm1(rate * k))
                / (1 - weight * math.exp(rate * k))
            )
        return lambda k: (
            (attractor - repeller * weight * math.exp(rate * k))
            / (rest - weight * math.expm1(rate * k))
        )
