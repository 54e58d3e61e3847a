"""The same loss in 60-digit arithmetic, by stepping along the series one point at a time.

Independent of the package: no closed form, no branch and bound, no ball arithmetic. It
uses only that the odds of the target, pushed one point further, are a monotone function
of the odds before, so that the worst outputs are found by keeping the largest and the
smallest odds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gmpy2
from gmpy2 import mpfr

DIGITS = 60
Number = Any  # gmpy2.mpfr


def in_digits() -> Any:
    """All arithmetic inside is done in so many digits: ``with in_digits(): …``."""
    return gmpy2.context(precision=math.ceil(DIGITS * math.log2(10)) + 4)


@dataclass(frozen=True)
class Case:
    """A two-state chain with start law and the extreme likelihood ratios of its noise."""

    q: Number
    r: Number
    start: tuple[Number, Number] | None
    high: Number
    low: Number

    def swapped(self) -> Case:
        start = None if self.start is None else (self.start[1], self.start[0])
        return Case(self.r, self.q, start, 1 / self.low, 1 / self.high)


def case(
    q: float, r: float, rho0: float, rho1: float, start: tuple[float, float] | None = None
) -> Case:
    zero, one = (1 - mpfr(rho0), mpfr(rho0)), (mpfr(rho1), 1 - mpfr(rho1))
    ratios = [a / b for a, b in zip(zero, one, strict=True)]
    law = None
    if start is not None:
        total = mpfr(start[0]) + mpfr(start[1])
        law = mpfr(start[0]) / total, mpfr(start[1]) / total
    return Case(mpfr(q), mpfr(r), law, max(ratios), min(ratios))


def loss(problem: Case, n: int, adversary: str) -> Number:
    """Largest log ratio over both directions, all targets and the adversary's knowledge."""
    return max(_direction(problem, n, adversary), _direction(problem.swapped(), n, adversary))


def _direction(problem: Case, n: int, adversary: str) -> Number:
    right_open = _values(_forward(problem), problem, mpfr(1), n)
    left_open = right_open
    if problem.start is not None:
        left_open = _values(_backward(problem), problem, problem.start[0] / problem.start[1], n)
    known = [mpfr(1)] * n
    if adversary == "any":
        q, r = problem.q, problem.r
        for start in ((1 - q) / r, q / (1 - r)):
            values = _values(_forward(problem), problem, start, n)
            for d in range(1, n):
                known[d] = max(known[d], values[d - 1])
        for d in range(2, n):
            known[d] = max(known[d], known[d - 1])
    worst = max(
        max(left_open[i], known[i] if i else 1) * max(right_open[n - 1 - i], known[n - 1 - i])
        for i in range(n)
    )
    return gmpy2.log(worst * problem.high)


def _forward(problem: Case) -> Callable[[Number], Number]:
    q, r = problem.q, problem.r
    return lambda t: ((1 - q) * t + q) / (r * t + 1 - r)


def _backward(problem: Case) -> Callable[[Number], Number]:
    q, r = problem.q, problem.r
    return lambda t: ((1 - q) * t + r) / (q * t + 1 - r)


def _values(
    step: Callable[[Number], Number], problem: Case, start: Number, count: int
) -> list[Number]:
    """Largest posterior odds over prior odds after 0, 1, 2, … unknown points."""
    largest = smallest = prior = start
    values = [mpfr(1)]
    for _ in range(count - 1):
        ends = step(largest * problem.high), step(smallest * problem.low)
        largest, smallest, prior = max(ends), min(ends), step(prior)
        values.append(largest / prior)
    return values


def supremum(problem: Case, adversary: str) -> Number:
    """Supremum over all lengths for q + r < 1 and a stationary start."""
    return max(_supremum(problem, adversary), _supremum(problem.swapped(), adversary))


def _supremum(problem: Case, adversary: str) -> Number:
    """Nothing known: the fixed point. A point known: the best distance, by a dense look."""
    q, r, g = problem.q, problem.r, problem.high
    posterior = _Powers((1 - q) * g, q, r * g, 1 - r)
    prior = _Powers(1 - q, q, r, 1 - r)
    side = posterior.limit()
    if adversary == "any":
        for x, y in ((1 - q, r), (q, 1 - r)):
            side = max(side, _best_distance(posterior, prior, x, y))
    return gmpy2.log(g * side * side)


def _best_distance(posterior: _Powers, prior: _Powers, x: Number, y: Number) -> Number:
    def value(k: int) -> Number:
        return posterior.odds(k, x, y) / prior.odds(k, x, y)

    # Beyond 200 mixing times nothing moves in 60 digits.
    last = int(200 / -gmpy2.log(prior.ratio)) + 2
    grid = sorted({math.floor(mpfr(last) ** (mpfr(j) / 24)) - 1 for j in range(25)})
    best = max(range(len(grid)), key=lambda j: value(grid[j]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    while high - low > 2:
        a, b = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, b) if value(a) > value(b) else (a, high)
    return max(value(k) for k in range(low, high + 1))


class _Powers:
    """Powers of a positive 2x2 matrix through its eigenvalues, applied to a column."""

    def __init__(self, a: Number, b: Number, c: Number, d: Number) -> None:
        root = gmpy2.sqrt((a - d) ** 2 + 4 * b * c)
        self.larger, self.smaller = (a + d + root) / 2, (a + d - root) / 2
        self.ratio = self.smaller / self.larger
        self.entries = a, b, c, d

    def odds(self, k: int, x: Number, y: Number) -> Number:
        a, b, c, d = self.entries
        decay = self.ratio**k
        one, two = (1 - decay), (decay * self.larger - self.smaller)
        return (one * (a * x + b * y) + two * x) / (one * (c * x + d * y) + two * y)

    def limit(self) -> Number:
        return (self.larger - self.entries[3]) / self.entries[2]
