"""Attacks that were found on the way, and what each of them gains from other noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.model.contexts import context_steps
from chainveil.noise.base import Noise
from chainveil.privacy.letters.numbers import exact_start
from chainveil.privacy.letters.witness import reports_of
from chainveil.privacy.witness import Witness

IntArray = NDArray[np.int64]
# Points between two times that rows are scaled, so that nothing underflows.
SCALED = 4


class Steps(NamedTuple):
    """An attack step by step, without points that say nothing.

    Points in a row that are alike are a few steps, of 2^power points each. ``gap`` : (n,) steps of
    the chain to each point; ``last`` and ``report`` : (n,) of the open release, the number after
    its last report for none; ``value`` : (n, contexts) that each context has there; ``given`` :
    (n, 2, contexts) what all else says, for the two values of the target.
    """

    gap: IntArray
    last: IntArray
    report: IntArray
    power: IntArray
    value: IntArray
    given: FloatArray


class Kinds(NamedTuple):
    """The different steps of several attacks, and which of them each step is, (attacks, n)."""

    move: FloatArray
    last: IntArray
    report: IntArray
    power: IntArray
    value: IntArray
    which: IntArray


class Attacks:
    """A collection of attacks on one chain of any order, the noise of the last release still open.

    Values are in floats: they guide a search, and are no bound. They are sums over contexts, the
    last points together, as ``model.contexts`` counts them; of a chain of order 1 over its states.
    """

    def __init__(self, model: Any, earlier: tuple[Noise, ...]) -> None:
        self._order, self._states, self._earlier = model.order, model.states, earlier
        first = model.contexts if model.order > 1 else exact_start(model)
        self._start = np.array([float(share) for share in first])
        self._move = context_steps(np.asarray(model.transition))
        self._powers = {0: np.eye(len(self._start)), 1: self._move}
        self._laws = [(noise.first_law(), _kernel(noise)) for noise in earlier]
        self._known: list[Witness] = []
        # All attacks together, those that end early filled up with points that say nothing.
        self._steps: Steps | None = None
        self._kinds: Kinds | None = None
        self._priors = np.zeros(0)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, attack: Witness | None, noise: Noise) -> None:
        """One more attack on such noise as this, if it is one and new."""
        if attack is None or attack in self._known:
            return
        self._known.append(attack)
        found, known = self._read(attack, noise)
        self._steps = found if self._steps is None else _together(self._steps, found, noise.outputs)
        silent = np.ones((1, noise.outputs + 1, self._states, noise.outputs + 1))
        prior = self._gained(known, self._different(found), silent)
        self._priors = np.append(self._priors, prior[0])
        self._kinds = self._different(self._steps)

    def best(self, noise: Noise) -> Witness | None:
        """The attack that gains most from a noise."""
        return self._known[int(np.argmax(self.values([noise])[:, 0]))] if self._known else None

    def values(self, noises: Sequence[Noise]) -> FloatArray:
        """What each attack gains, in nats, from each noise: shape (attacks, noises)."""
        if self._steps is None or self._kinds is None:
            return np.empty((0, len(noises)))
        outputs, k = noises[0].outputs, self._states
        # By the last report and by the report; behind those that there are, none.
        laws = np.ones((len(noises), outputs + 1, k, outputs + 1))
        for law, noise in zip(laws, noises, strict=True):
            law[:outputs, :, :outputs] = _kernel(noise)
            law[outputs, :, :outputs] = noise.first_law()
        return self._gained(self._steps.given, self._kinds, laws) - self._priors[:, None]

    def _gained(self, given: FloatArray, kinds: Kinds, laws: FloatArray) -> FloatArray:
        """Log odds of the two values, shape (attacks, noises)."""
        weight = laws[:, kinds.last[:, None], kinds.value, kinds.report[:, None]].swapaxes(0, 1)
        # One matrix for each kind and noise, over and over with itself for its power.
        step = kinds.move[:, None] * weight[:, :, None, :]
        for power in range(int(kinds.power.max())):
            more = kinds.power > power
            squared = step[more] @ step[more]
            step[more] = squared / np.maximum(squared.max(axis=(2, 3), keepdims=True), 1e-300)
        seen = np.tile(self._start, (len(given), len(laws), 2, 1))
        for n, which in enumerate(kinds.which.T):
            seen = (seen @ step[which]) * given[:, n, None]
            if n % SCALED == SCALED - 1:
                seen /= np.maximum(seen.max(axis=(2, 3), keepdims=True), 1e-300)
        sums = seen.sum(axis=3)
        with np.errstate(divide="ignore", invalid="ignore"):
            gained = np.log(sums[:, :, 0]) - np.log(sums[:, :, 1])
        # Reports that cannot be made gain nothing.
        return np.where(sums[:, :, 0] > 0, gained, -np.inf)

    def _different(self, steps: Steps) -> Kinds:
        """The kinds of steps that there are."""
        for gap in set(steps.gap.ravel().tolist()) - set(self._powers):
            self._powers[gap] = np.linalg.matrix_power(self._move, gap)
        numbers = [steps.gap, steps.last, steps.report, steps.power]
        rows = np.concatenate([np.stack(numbers, axis=2), steps.value], axis=2)
        flat = rows.reshape(-1, rows.shape[2])
        kinds, which = np.unique(flat, axis=0, return_inverse=True)
        moves = np.stack([self._powers[gap] for gap in kinds[:, 0].tolist()])
        where = which.reshape(steps.gap.shape)
        return Kinds(moves, kinds[:, 1], kinds[:, 2], kinds[:, 3], kinds[:, 4:], where)

    def _read(self, attack: Witness, noise: Noise) -> tuple[Steps, FloatArray]:
        """The points of an attack that say something, and ``given`` without any report."""
        releases, contexts = (*self._earlier, noise), len(self._start)
        last: list[int | None] = [None] * len(releases)
        found, before = [], 0
        for index, reports in enumerate(reports_of(attack, releases)):
            value = self._value(index)
            known = np.ones((2, contexts))
            if index == attack.target:
                known *= value == np.array([[attack.value], [attack.other]])
            elif index in attack.known:
                known *= value == attack.known[index]
            given = known.copy()
            open_last = open_report = noise.outputs
            for number, digit in enumerate(reports):
                if digit is None:
                    continue
                held, last[number] = last[number], digit
                if number < len(self._earlier):
                    start, then = self._laws[number]
                    law = start[:, digit] if held is None else then[held, :, digit]
                    given *= law[value]
                else:
                    open_last, open_report = noise.outputs if held is None else held, digit
            if open_report < noise.outputs or not np.all(given == 1):
                steps = max(0, index - self._order + 1)
                found.append((steps - before, open_last, open_report, value, given, known))
                before = steps
        *parts, without = (np.array(part)[None] for part in zip(*_in_powers(found), strict=True))
        return Steps(*parts), without

    def _value(self, index: int) -> IntArray:
        """The value that each context has at a point: the first points are one context."""
        place = max(self._order - 1 - index, 0)
        contexts = np.arange(len(self._start))
        return np.asarray(contexts // self._states**place % self._states)


def _in_powers(points: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Points with how many twos of them there are: those in a row that are alike, in few steps."""
    found, begin = [], 0
    while begin < len(points):
        gap, last, report, value, given, known = points[begin]
        end = begin + 1
        if np.all(given == 1):
            while end < len(points) and _alike(points[begin], points[end]):
                end += 1
        for power in range((end - begin).bit_length()):
            if (end - begin) >> power & 1:
                found.append((gap, last, report, power, value, given, known))
        begin = end
    return found


def _alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two points are."""
    same = one[:3] == other[:3] and np.array_equal(one[3], other[3])
    return same and bool(np.all(other[4] == 1))


def _together(one: Steps, other: Steps, none: int) -> Steps:
    """Attacks of both, shape (attacks, n, …); points that say nothing stand at the end.

    A step of the chain keeps the sum of a row, so one stands before each of those, as before most.
    """
    length = max(one.gap.shape[1], other.gap.shape[1])
    filled = []
    for steps in (one, other):
        more = length - steps.gap.shape[1]
        by = [(0, 0), (0, more)]
        filled.append(
            Steps(
                np.pad(steps.gap, by, constant_values=1),
                np.pad(steps.last, by, constant_values=none),
                np.pad(steps.report, by, constant_values=none),
                np.pad(steps.power, by),
                np.pad(steps.value, [*by, (0, 0)]),
                np.pad(steps.given, [*by, (0, 0), (0, 0)], constant_values=1.0),
            )
        )
    return Steps(*(np.concatenate(parts) for parts in zip(*filled, strict=True)))


def _kernel(noise: Noise) -> FloatArray:
    """``Pr[z' | last report z, x']`` at ``[z, x', z']``."""
    return noise.step_law()[:, 0]
