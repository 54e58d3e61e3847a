"""An attack on any model and any noise, found by climbing: what is lost at least.

Engines bound a loss from both sides. Where none is offered, or where the bounds stay apart, an
attack that somebody can carry out still says that at least so much is given away. The search
begins with the worst output of a window (``longer_memory``), and then changes one report, or one
point that the adversary knows, at a time for as long as that tells more. It certifies nothing from
above.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.attack.longer_memory import WorstOutput, worst_output
from chainveil.checks import FloatArray
from chainveil.inference import Labels, report_labels, step_weights
from chainveil.model.base import DataModel
from chainveil.noise.base import Noise
from chainveil.privacy.bounds import Attack, attack_on

IntArray = NDArray[np.int64]
LARGEST_WINDOW = 15
# Entries of the largest tensor of a window: outputs ** window * hidden states.
LARGEST_TENSOR = 1 << 20
# Points added on either side of the window before the climb, where every point reports.
MARGIN = 4
# Hidden states beyond which the climb would take too long.
MOST_HIDDEN = 64
# A recursion of at most this length in floats is off by far less than this, relatively.
ROUNDING = 1e-9
# Attacks at random from which the search climbs too, and their share of known points; fewer where
# hidden states times points are more than WORK.
STARTS, KNOWN, WORK = 24, 0.3, 240
# What a step of the climb must gain.
GAIN = 1e-6


def attained(
    model: DataModel, noise: Noise, adversary: Any = "any", length: int | None = None
) -> tuple[float, Attack | None]:
    """A loss that an attack shows, rounded down, and that attack; 0 and None where none is found.

    ``adversary`` "any" may know points, "ignorant" knows none; for others nothing is looked for.
    """
    window = _window(model, noise, length)
    if adversary not in ("any", "ignorant") or window < 1:
        return 0.0, None
    likelihoods = _Likelihoods.of(model, noise)
    climbs = adversary == "any" and len(likelihoods.value) <= MOST_HIDDEN
    found: list[tuple[float, _Attack]] = []
    for attack in _starts(likelihoods, model, window, length, climbs):
        found.append(_climbed(likelihoods, attack) if climbs else likelihoods.alone(attack))
    best, top = max(found, key=lambda one: one[0], default=(0.0, None))
    if top is None or not best > 0:
        return 0.0, None
    return max(0.0, best * (1 - ROUNDING) - ROUNDING), top.witness(noise)


def _window(model: DataModel, noise: Noise, length: int | None) -> int:
    """Reports of the longest window that is looked through."""
    hidden = len(model.hidden_chain()[0])
    room = math.log(LARGEST_TENSOR / hidden) / math.log(max(noise.outputs, 2))
    most = min(LARGEST_WINDOW, int(room))
    return most if length is None else min(most, length // noise.every)


@dataclass(frozen=True)
class _Attack:
    """A target and two values of it, all reports, and the known points: -1 where unknown."""

    target: int
    value: int
    other: int
    reports: IntArray
    known: IntArray

    def witness(self, noise: Noise) -> Attack:
        """The attack, with nothing published where no report is due."""
        known = {int(t): int(self.known[t]) for t in np.flatnonzero(self.known >= 0)}
        due = set(noise.places(len(self.reports)).tolist())
        output = [z if t in due else None for t, z in enumerate(self.reports.tolist())]
        return attack_on(self.target, (self.value, self.other), known, output)


def _starts(
    likelihoods: _Likelihoods, model: DataModel, window: int, length: int | None, climbs: bool
) -> Iterator[_Attack]:
    """Where the search begins: the worst output of a window, then attacks at random."""
    noise = likelihoods.labels.noise
    worst = worst_output(model, noise, window)
    if math.isfinite(worst.loss):
        yield _begin(worst, noise, window, length if climbs else window * noise.every)
    rng = np.random.default_rng(0)
    points = window * noise.every
    starts = max(2, min(STARTS, STARTS * WORK // (len(likelihoods.value) * points)))
    for number in range(starts if climbs else 0):
        reports = rng.integers(0, noise.outputs, points)
        if number % 2:
            reports[:] = reports[0]
        known = np.where(rng.random(points) < KNOWN, rng.integers(0, model.states, points), -1)
        # Most tell more with points on either side; of a short series the last may tell most.
        edge = 0 if number % 3 == 0 else points // 3
        target = int(rng.integers(edge, points - edge))
        known[target] = -1
        value, other = rng.permutation(model.states)[:2].tolist()
        yield _Attack(target, value, other, reports, known)


def _begin(worst: WorstOutput, noise: Noise, window: int, length: int | None) -> _Attack:
    """The worst output of the window, its first and last report repeated outside of it."""
    points = window * noise.every
    fits = length is None or points + 2 * MARGIN <= length
    margin = MARGIN if noise.every == 1 and fits else 0
    reports = np.zeros(points, np.int64)
    reports[noise.places(points)] = worst.output
    reports = np.pad(reports, margin, mode="edge")
    known = np.full(len(reports), -1, np.int64)
    return _Attack(worst.target + margin, worst.value, worst.other, reports, known)


def _climbed(likelihoods: _Likelihoods, attack: _Attack) -> tuple[float, _Attack]:
    """The attack after the best change of one letter, again and again, and what it shows."""
    noise, states = likelihoods.labels.noise, likelihoods.states
    best, attack = likelihoods.alone(attack)
    while True:
        reports, known = _changes(attack, noise, states)
        gained = likelihoods.gained(attack, reports, known)
        top = int(np.argmax(gained))
        if not gained[top] > best + GAIN:
            return best, attack
        best, attack = float(gained[top]), replace(attack, reports=reports[top], known=known[top])


def _changes(attack: _Attack, noise: Noise, states: int) -> tuple[IntArray, IntArray]:
    """All attacks with one other report, or one point more or less known; a row each."""
    n = len(attack.reports)
    heard = np.repeat(noise.places(n), noise.outputs)
    reports = np.tile(attack.reports, (len(heard), 1))
    reports[np.arange(len(heard)), heard] = np.tile(
        np.arange(noise.outputs), len(heard) // noise.outputs
    )
    others = np.repeat(np.delete(np.arange(n), attack.target), states + 1)
    known = np.tile(attack.known, (len(others), 1))
    known[np.arange(len(others)), others] = np.tile(np.arange(-1, states), n - 1)
    return (
        np.concatenate([reports, np.tile(attack.reports, (len(others), 1))]),
        np.concatenate([np.tile(attack.known, (len(heard), 1)), known]),
    )


@dataclass(frozen=True)
class _Likelihoods:
    """Forward recursions of many attacks at once, with the output and without it.

    ``value`` is that of each hidden state.
    """

    first: FloatArray
    step: FloatArray
    start: FloatArray
    move: FloatArray
    value: IntArray
    labels: Labels
    states: int

    @classmethod
    def of(cls, model: DataModel, noise: Noise) -> _Likelihoods:
        start, move, value = model.hidden_chain()
        weights, labels = step_weights(model, noise), report_labels(noise)
        return cls(weights.first, weights.step, start, move, value, labels, model.states)

    def alone(self, attack: _Attack) -> tuple[float, _Attack]:
        """What one attack shows, and the attack itself."""
        found = self.gained(attack, attack.reports[None], attack.known[None])
        return float(found[0]), attack

    def gained(self, attack: _Attack, reports: IntArray, known: IntArray) -> FloatArray:
        """``log Pr[z | value, known] / Pr[z | other, known]`` of each row; -inf if impossible."""
        rows, n = reports.shape
        labels = self.labels.of(reports.reshape(-1), np.arange(rows + 1) * n).reshape(rows, n)
        # Both values at once: a row for each, one below the other.
        fixed = np.tile(known, (2, 1))
        fixed[:, attack.target] = np.repeat([attack.value, attack.other], rows)
        with np.errstate(invalid="ignore"):
            gained = self._log(np.tile(labels, (2, 1)), fixed) - self._log(None, fixed)
            found = gained[:rows] - gained[rows:]
        return np.where(np.isfinite(found), found, -np.inf)

    def _log(self, labels: NDArray[Any] | None, fixed: IntArray) -> FloatArray:
        """Log probability of the fixed points, with the reports where there are labels."""
        rows, n = fixed.shape
        weights = np.tile(self.start, (rows, 1)) if labels is None else self.first[labels[:, 0]]
        allowed = _allowed(fixed.T, self.value)
        weights, total = weights * allowed[0], np.zeros(rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            for t in range(1, n):
                scale = weights.sum(axis=1)
                total += np.log(scale)
                weights = weights / np.where(scale > 0, scale, 1.0)[:, None]
                if labels is None:
                    weights = weights @ self.move
                else:
                    steps = self.step[labels[:, t - 1], labels[:, t]]
                    weights = np.einsum("rs,rsu->ru", weights, steps)
                weights = weights * allowed[t]
            return np.asarray(total + np.log(weights.sum(axis=1)))


def _allowed(fixed: IntArray, value: IntArray) -> NDArray[np.bool_]:
    """The hidden states that each row allows at a point, shape (points, rows, s)."""
    return np.asarray((fixed[..., None] < 0) | (fixed[..., None] == value))
