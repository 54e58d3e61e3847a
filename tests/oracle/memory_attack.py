"""One attack on any mix of noise, weighed in balls of 300 bits by stepping along the series.

It shares nothing with the enumeration in ``memory`` but the definition. What is hidden at a point
is its state, and the flip of every release with a noise chain, which runs on beneath points that
make no report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

import chainveil as cv
from tests.oracle.exact import exact_rows, exact_start

BITS = 300
Balls = NDArray[np.object_]
Hidden = tuple[int, ...]


@dataclass(frozen=True)
class Attack:
    """What an adversary compares: two values of a window, given known points and all reports.

    ``outputs`` has a row for each release and an entry for each point, None where it is silent
    or missing. The window begins at ``start`` and is as long as ``value`` and ``other``.
    """

    start: int
    value: tuple[int, ...]
    other: tuple[int, ...]
    outputs: Sequence[Sequence[int | None]]
    known: Mapping[int, int] = field(default_factory=dict)
    gaps: Collection[int] = ()

    @property
    def length(self) -> int:
        return len(self.outputs[0])

    def fixed(self, value: tuple[int, ...]) -> dict[int, int]:
        """The points whose values are given when the window has this one."""
        window = {self.start + place: state for place, state in enumerate(value)}
        assert not window.keys() & self.known.keys()
        return {**self.known, **window}


def attack_loss(chain: cv.MarkovChain, releases: Sequence[Any], attack: Attack) -> arb:
    """``log Pr[z | x_W = value, x_K] / Pr[z | x_W = other, x_K]``; an error if neither can be.

    Every float is the number it is, and rows are divided by their sum.
    """
    before = ctx.prec
    try:
        ctx.prec = BITS
        over, under = (
            _likelihood(chain, releases, attack, value) for value in (attack.value, attack.other)
        )
        if over == 0 and under == 0:
            raise ValueError("the output is impossible under both values")
        return arb("inf") if under == 0 else arb("-inf") if over == 0 else (over / under).log()
    finally:
        ctx.prec = before


def _likelihood(
    chain: cv.MarkovChain, releases: Sequence[Any], attack: Attack, value: tuple[int, ...]
) -> arb:
    """``Pr[z | x_W = value, x_K]``."""
    fixed = attack.fixed(value)
    steps = [
        _maker(noise, row, attack) for noise, row in zip(releases, attack.outputs, strict=True)
    ]
    prior = _total(chain, [], fixed, attack.length)
    if prior == 0:
        raise ValueError("the window cannot have this value together with the known points")
    return _total(chain, steps, fixed, attack.length) / prior


# At a point t, from state x with flip y to state x': pairs of a next flip and its probability
# together with that of the report. Before the first point x and y are -1.
Step = Callable[[int, int, int, int], list[tuple[int, Any]]]


def _total(chain: cv.MarkovChain, steps: list[Step], fixed: dict[int, int], length: int) -> arb:
    """Probability of the reports and of the fixed points."""
    start, transition = _start(chain), _law(chain.transition)
    weights: dict[Hidden, Any] = {(-1,) * (1 + len(steps)): arb(1)}
    for t in range(length):
        states = [fixed[t]] if t in fixed else range(chain.states)
        moved: dict[Hidden, Any] = {}
        for (x, *flips), weight in weights.items():
            for after in states:
                data = weight * (start[after] if t == 0 else transition[x, after])
                options = [step(t, x, y, after) for step, y in zip(steps, flips, strict=True)]
                for chosen in product(*options):
                    hidden = (after, *(flip for flip, _ in chosen))
                    told = data
                    for _, probability in chosen:
                        told = told * probability
                    moved[hidden] = moved.get(hidden, arb(0)) + told
        weights = moved
    return sum(weights.values(), arb(0))


def _maker(noise: Any, row: Sequence[int | None], attack: Attack) -> Step:
    places = {int(t) for t in noise.places(attack.length)} - set(attack.gaps)
    assert len(row) == attack.length
    assert places == {t for t, report in enumerate(row) if report is not None}
    if noise.kind == "correlated":
        return _flipping(noise, row, noise.places(attack.length).tolist())
    return _remembering(noise, row, attack.gaps)


def _flipping(noise: Any, row: Sequence[int | None], due: list[int]) -> Step:
    """A noise chain: a report says which flip it was, a missing one leaves both possible.

    It stands still at points that are not due to report.
    """
    up, down = (fmpq(*rho.as_integer_ratio()) for rho in (noise.rho0, noise.rho1))
    first = _balls(np.array([down / (up + down), up / (up + down)]))
    move = _balls(np.array([[1 - up, up], [down, 1 - down]]))

    def step(t: int, x: int, flip: int, after: int) -> list[tuple[int, Any]]:
        report = row[t]
        if t not in due:
            return [(flip, arb(1))]
        flips = (0, 1) if report is None else (report ^ after,)
        return [(y, first[y] if t == due[0] else move[flip, y]) for y in flips]

    return step


def _remembering(noise: Any, row: Sequence[int | None], gaps: Collection[int]) -> Step:
    """Reports that need no flip: the last one is public."""
    laws = {name: _law(getattr(noise, name)) for name in _LAWS[noise.kind]}
    lasts = _last_reports(row)

    def step(t: int, x: int, flip: int, after: int) -> list[tuple[int, Any]]:
        report, last = row[t], lasts[t]
        if report is None:
            return [(-1, arb(1))]
        if noise.kind == "independent":
            law = laws["matrix"][after]
        elif last is None:
            law = laws["first"][after]
        elif noise.kind == "sticky":
            law = laws["kernel"][last, after]
        else:
            law = (
                laws["after_gap"][last, after] if t - 1 in gaps else laws["kernel"][last, x, after]
            )
        return [(-1, law[report])]

    return step


_LAWS = {
    "independent": ("matrix",),
    "sticky": ("first", "kernel"),
    "tracking": ("first", "kernel", "after_gap"),
}


def _last_reports(row: Sequence[int | None]) -> list[int | None]:
    """The last report before each point."""
    found: list[int | None] = []
    last: int | None = None
    for report in row:
        found.append(last)
        last = last if report is None else report
    return found


def _start(chain: cv.MarkovChain) -> Balls:
    """The law of the first point; attacks on one chain come one after the other."""
    given = chain.initial
    return _kept_start(chain.transition.tobytes(), None if given is None else given.tobytes())


@lru_cache(maxsize=8)
def _kept_start(transition: bytes, initial: bytes | None) -> Balls:
    rows = np.frombuffer(transition)
    given = None if initial is None else np.frombuffer(initial)
    return _balls(exact_start(cv.MarkovChain(rows.reshape(math.isqrt(len(rows)), -1), given)))


def _law(array: NDArray[np.float64]) -> Balls:
    """Probabilities over the last axis as fractions that sum to one, then as balls."""
    return _kept_law(array.tobytes(), array.shape)


@lru_cache(maxsize=32)
def _kept_law(numbers: bytes, shape: tuple[int, ...]) -> Balls:
    rows = np.frombuffer(numbers).reshape(-1, shape[-1]).tolist()
    return _balls(exact_rows(rows)).reshape(shape)


def _balls(fractions: NDArray[np.object_]) -> Balls:
    balls = np.empty(fractions.shape, object)
    for place, fraction in np.ndenumerate(fractions):
        balls[place] = arb(fraction)
    return balls
