"""The chain that makes a release most likely, the noise being known.

Expectation maximisation, with steps lengthened where they lie in line, then quasi-Newton
steps, in the coordinates of ``likelihood.coordinates``. The law of the first point is a
parameter of its own, drawn towards the shares of the states by the weight of one point: a single
series would else put all on one state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.likelihood.coordinates import coordinates, slopes, transition_at
from chainveil.estimate.likelihood.passes import ReleasePasses
from chainveil.estimate.likelihood.quasi_newton import Evaluation, ascend, clipped
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.inference import ExpectedTransitions

MOST_ROUNDS = 200
MOST_STEPS = 100
# Change of a transition probability at which rounds end and quasi-Newton steps begin, the
# gain in log-likelihood at which those end, and the one after which the curvature is another.
NEAR = 2e-3
GAIN = 1e-7
NOTABLE = 1e-3
# Half the difference of coordinates from which the curvature is taken.
STEP = 1e-3


@dataclass(frozen=True)
class Fit:
    """A chain of greatest likelihood.

    Attributes
    ----------
    transition : array of shape (k, k)
    counts : array of shape (k, k)
        Expected transitions, given the release.
    start : array of shape (k,)
        Law of the first point.
    log_likelihood : float
    information : array of shape (k * (k - 1), k * (k - 1))
        Minus the second derivatives by the coordinates ``log P(a, b) - log P(a, a)``.
    covariance : array of shape (k * k, k * k)
        Of the transitions: the inverse of the observed information.
    """

    transition: FloatArray
    counts: FloatArray
    start: FloatArray
    log_likelihood: float
    information: FloatArray
    covariance: FloatArray


def maximise(cells: Cells, noise: NoiseLaw, guess: FloatArray) -> Fit:
    """The chain of greatest likelihood near ``guess``, shape (k, k), and what it leaves open."""
    top = _Maximiser(ReleasePasses(cells, noise), guess)
    top.ascend(top.complete_information())
    information = top.information()
    if top.ascend(information):
        information = top.information()
    transition, seen = top.transition, top.expect()
    return Fit(
        transition, seen.counts, top.start, seen.log_likelihood, information,
        _covariance(transition, information),
    )  # fmt: skip


def likeliest_transition(cells: Cells, noise: NoiseLaw, guess: FloatArray) -> FloatArray:
    """The same transitions alone, shape (k, k): the curvature costs most of the passes."""
    top = _Maximiser(ReleasePasses(cells, noise), guess)
    top.ascend(top.complete_information())
    return top.transition


def complete_covariance(fit: Fit) -> FloatArray:
    """Covariance of the transitions if the states themselves were seen, (k * k, k * k)."""
    return _by_rows(fit.transition, 1 / np.maximum(fit.counts.sum(axis=1), 1e-300))


def _by_rows(transition: FloatArray, weights: FloatArray) -> FloatArray:
    """Covariance of one draw from each row, weighted, shape (k * k, k * k)."""
    k = len(transition)
    result = np.zeros((k, k, k, k))
    for a, (row, weight) in enumerate(zip(transition, weights, strict=True)):
        result[a, :, a, :] = weight * (np.diag(row) - np.outer(row, row))
    return result.reshape(k * k, k * k)


def _first_points(release: ReleasePasses, seen: ExpectedTransitions) -> FloatArray:
    """The law of the first point: that of all first points, and of one point anywhere."""
    starts = seen.start * release.series
    everywhere = starts + seen.counts.sum(axis=0)
    return np.asarray((starts + everywhere / everywhere.sum()) / (release.series + 1.0))


class _Maximiser:
    """Finds the maximum of a likelihood; begins with rounds of expectation maximisation."""

    def __init__(self, release: ReleasePasses, guess: FloatArray) -> None:
        self.release = release
        self._free = ~np.eye(release.states, dtype=bool)
        point, self.start = _rounds(release, coordinates(guess), _even(release.states))
        self._at = self._evaluate(point[self._free])

    @property
    def transition(self) -> FloatArray:
        """The chain that was reached, shape (k, k)."""
        return transition_at(self._whole(self._at.point))

    def expect(self) -> ExpectedTransitions:
        """What a pass finds there."""
        return self.release.expect(self.transition, self.start)

    def ascend(self, curvature: FloatArray) -> bool:
        """Ascend as far as there is anything to gain; whether that was more than a little."""
        found = ascend(self._evaluate, self._at, curvature, GAIN, MOST_STEPS)
        gained = found.last.value - self._at.value
        self._at = found.last
        return gained > NOTABLE

    def complete_information(self) -> FloatArray:
        """The information that the states themselves would hold, shape (d, d)."""
        leaving = self.expect().counts.sum(axis=1)
        free = self._free.ravel()
        return _by_rows(self.transition, leaving)[free][:, free]

    def information(self) -> FloatArray:
        """Minus the second derivatives, from differences of the first."""
        rows = []
        for step in STEP * np.eye(len(self._at.point)):
            ends = [self._evaluate(self._at.point + sign * step).gradient for sign in (-1.0, 1.0)]
            rows.append((ends[0] - ends[1]) / (2 * STEP))
        found = np.array(rows)
        return np.asarray((found + found.T) / 2)

    def _evaluate(self, point: FloatArray) -> Evaluation:
        transition = transition_at(self._whole(point))
        seen = self.release.expect(transition, self.start)
        # By Fisher's identity.
        gradient = (seen.counts - seen.counts.sum(axis=1, keepdims=True) * transition)[self._free]
        return Evaluation(
            point, seen.log_likelihood, gradient, coordinates(seen.counts)[self._free]
        )

    def _whole(self, point: FloatArray) -> FloatArray:
        found = np.zeros(self._free.shape)
        found[self._free] = point
        return found


def _even(states: int) -> FloatArray:
    return np.full(states, 1.0 / states)


def _rounds(
    release: ReleasePasses, point: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rounds of two steps and a leap along them, until the steps are small."""
    for _ in range(MOST_ROUNDS):
        seen = release.expect(transition_at(point), start)
        first = coordinates(seen.counts)
        middle = release.expect(transition_at(first), _first_points(release, seen))
        second, start = coordinates(middle.counts), _first_points(release, middle)
        one, bend = first - point, second - 2 * first + point
        moved = np.abs(transition_at(second) - transition_at(first)).max()
        size = float(np.linalg.norm(bend))
        point = second
        if size > 0 and np.linalg.norm(one) > size:
            stretch = float(np.linalg.norm(one)) / size
            leap = clipped(first - one + 2 * stretch * one + stretch**2 * bend)
            landed = release.expect(transition_at(leap), start)
            if landed.log_likelihood >= middle.log_likelihood:
                point, start = coordinates(landed.counts), _first_points(release, landed)
        if moved < NEAR:
            break
    return point, start


def _covariance(transition: FloatArray, information: FloatArray) -> FloatArray:
    """Of the transitions, shape (k * k, k * k); infinite where the release is silent."""
    values, vectors = np.linalg.eigh(information)
    spread = np.where(values > 1e-8, 1.0 / np.maximum(values, 1e-8), np.inf)
    along = slopes(transition) @ vectors
    finite = np.where(np.isfinite(spread), spread, 1e8)
    return np.asarray((along * finite) @ along.T)
