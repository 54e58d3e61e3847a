"""The chain that makes a release most likely, the noise being known.

Expectation maximisation, with steps lengthened where they lie in line, then climbing with a
curvature that is learned. Coordinates are ``log P(a, b) - log P(a, a)``: every point of that
space is a chain. The law of the first point is a parameter of its own, drawn towards the shares
of the states by the weight of one point: a single series would else put all on one state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.likelihood.climbing import View, climb, cut
from chainveil.estimate.noise_law import NoiseLaw

MOST_ROUNDS = 200
MOST_STEPS = 100
# Change of a transition probability at which rounds end and climbing begins, the gain in
# log-likelihood at which climbing ends, and the one after which the curvature is another.
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
    begin : array of shape (k,)
        Law of the first point.
    log_likelihood : float
    information : array of shape (k * (k - 1), k * (k - 1))
        Minus the second derivatives by the coordinates ``log P(a, b) - log P(a, a)``.
    covariance : array of shape (k * k, k * k)
        Of the transitions: the inverse of the observed information.
    """

    transition: FloatArray
    counts: FloatArray
    begin: FloatArray
    log_likelihood: float
    information: FloatArray
    covariance: FloatArray


@dataclass(frozen=True)
class Expected:
    """What one pass over a release finds: transitions, first points, log-likelihood."""

    counts: FloatArray
    begin: FloatArray
    log_likelihood: float


class Release:
    """A release and its noise, ready for passes."""

    def __init__(self, cells: Cells, noise: NoiseLaw) -> None:
        self.states = noise.states
        self._symbols, self._borders = cells.symbols, cells.borders
        lengths = np.diff(cells.borders)
        self.series = int(np.count_nonzero(lengths))
        longest = int(lengths.max())
        self._held = np.empty((longest, self.states))
        self._report, self._step = _emission(noise)
        if len(cells.gaps):
            self._symbols = np.where(cells.gaps, noise.outputs, cells.symbols)
            self._report, self._step = _with_gaps(noise, self._report)

    def expect(self, transition: FloatArray, begin: FloatArray) -> Expected:
        """One pass: forward, and back."""
        from chainveil.estimate.likelihood import expectation

        two = self.states == 2
        kernel = expectation.expect_two if two else expectation.expect_many(self.states)
        counts, starts = np.zeros((self.states, self.states)), np.zeros(self.states)
        found = kernel(
            self._symbols, self._borders, self._report * begin, self._step * transition,
            self._held, counts, starts,
        )  # fmt: skip
        return Expected(counts, starts / starts.sum(), float(found))


def maximise(cells: Cells, noise: NoiseLaw, start: FloatArray) -> Fit:
    """The chain of greatest likelihood near ``start``, shape (k, k), and what it leaves open."""
    top = _Top(Release(cells, noise), start)
    top.climb(top.complete_information())
    information = top.information()
    if top.climb(information):
        information = top.information()
    transition, seen = top.transition, top.look_around()
    return Fit(
        transition, seen.counts, top.begin, seen.log_likelihood, information,
        _covariance(transition, information),
    )  # fmt: skip


def likeliest_transition(cells: Cells, noise: NoiseLaw, start: FloatArray) -> FloatArray:
    """The same transitions alone, shape (k, k): the curvature costs most of the passes."""
    top = _Top(Release(cells, noise), start)
    top.climb(top.complete_information())
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


def _emission(noise: NoiseLaw) -> tuple[FloatArray, FloatArray]:
    """Weights of a first report, (m, k), and of a report after another, (m * m, k, k)."""
    m, k = noise.outputs, noise.states
    report, step = noise.source.first_law().T, np.moveaxis(noise.source.step_law(), 3, 1)
    return np.ascontiguousarray(report), np.ascontiguousarray(step).reshape(m * m, k, k)


def _with_gaps(noise: NoiseLaw, report: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same with one more report, that of a missing point, which says nothing."""
    if noise.source.ordered:
        raise NotSupported(
            "the likelihood of noise with a memory over gaps: what it did there is not known. "
            "Ask for transitions from counts, which know how far apart the points are; where "
            "another question fits a chain, give it one"
        )
    k = noise.states
    wider = np.vstack([report, np.ones((1, k))])
    m = len(wider)
    step = np.broadcast_to(wider[None, :, None, :], (m, m, k, k))
    return wider, np.ascontiguousarray(step).reshape(m * m, k, k)


def _first_points(release: Release, seen: Expected) -> FloatArray:
    """The law of the first point: that of all first points, and of one point anywhere."""
    starts = seen.begin * release.series
    everywhere = starts + seen.counts.sum(axis=0)
    return np.asarray((starts + everywhere / everywhere.sum()) / (release.series + 1.0))


class _Top:
    """The top of a likelihood, come close to by rounds of expectation maximisation."""

    def __init__(self, release: Release, start: FloatArray) -> None:
        self.release = release
        self._free = ~np.eye(release.states, dtype=bool)
        place, self.begin = _rounds(release, _coordinates(start), _even(release.states))
        self._view = self._look(place[self._free])

    @property
    def transition(self) -> FloatArray:
        """The chain that was reached, shape (k, k)."""
        return _transition(self._whole(self._view.place))

    def look_around(self) -> Expected:
        """What a pass finds there."""
        return self.release.expect(self.transition, self.begin)

    def climb(self, curvature: FloatArray) -> bool:
        """Go up as far as there is anything to gain; whether that was more than a little."""
        found = climb(self._look, self._view, curvature, GAIN, MOST_STEPS)
        gained = found.view.height - self._view.height
        self._view = found.view
        return gained > NOTABLE

    def complete_information(self) -> FloatArray:
        """The information that the states themselves would hold, shape (d, d)."""
        leaving = self.look_around().counts.sum(axis=1)
        free = self._free.ravel()
        return _by_rows(self.transition, leaving)[free][:, free]

    def information(self) -> FloatArray:
        """Minus the second derivatives, from differences of the first."""
        rows = []
        for step in STEP * np.eye(len(self._view.place)):
            ends = [self._look(self._view.place + sign * step).slope for sign in (-1.0, 1.0)]
            rows.append((ends[0] - ends[1]) / (2 * STEP))
        found = np.array(rows)
        return np.asarray((found + found.T) / 2)

    def _look(self, place: FloatArray) -> View:
        transition = _transition(self._whole(place))
        seen = self.release.expect(transition, self.begin)
        # By Fisher's identity.
        slope = (seen.counts - seen.counts.sum(axis=1, keepdims=True) * transition)[self._free]
        return View(place, seen.log_likelihood, slope, _coordinates(seen.counts)[self._free])

    def _whole(self, place: FloatArray) -> FloatArray:
        found = np.zeros(self._free.shape)
        found[self._free] = place
        return found


def _even(states: int) -> FloatArray:
    return np.full(states, 1.0 / states)


def _rounds(
    release: Release, place: FloatArray, begin: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rounds of two steps and a leap along them, until the steps are small."""
    for _ in range(MOST_ROUNDS):
        seen = release.expect(_transition(place), begin)
        first = _coordinates(seen.counts)
        middle = release.expect(_transition(first), _first_points(release, seen))
        second, begin = _coordinates(middle.counts), _first_points(release, middle)
        one, bend = first - place, second - 2 * first + place
        moved = np.abs(_transition(second) - _transition(first)).max()
        size = float(np.linalg.norm(bend))
        place = second
        if size > 0 and np.linalg.norm(one) > size:
            stretch = float(np.linalg.norm(one)) / size
            leap = cut(first - one + 2 * stretch * one + stretch**2 * bend)
            landed = release.expect(_transition(leap), begin)
            if landed.log_likelihood >= middle.log_likelihood:
                place, begin = _coordinates(landed.counts), _first_points(release, landed)
        if moved < NEAR:
            break
    return place, begin


def _covariance(transition: FloatArray, information: FloatArray) -> FloatArray:
    """Of the transitions, shape (k * k, k * k); infinite where the release is silent."""
    values, vectors = np.linalg.eigh(information)
    spread = np.where(values > 1e-8, 1.0 / np.maximum(values, 1e-8), np.inf)
    along = slopes(transition) @ vectors
    finite = np.where(np.isfinite(spread), spread, 1e8)
    return np.asarray((along * finite) @ along.T)


def slopes(transition: FloatArray) -> FloatArray:
    """Derivatives of the transitions by the coordinates, shape (k * k, k * (k - 1))."""
    k = len(transition)
    free = np.argwhere(~np.eye(k, dtype=bool))
    found = np.zeros((k, k, len(free)))
    for number, (a, b) in enumerate(free):
        found[a, :, number] = -transition[a] * transition[a, b]
        found[a, b, number] += transition[a, b]
    return found.reshape(k * k, -1)


def _coordinates(matrix: FloatArray) -> FloatArray:
    """``log matrix(a, b) - log matrix(a, a)``, shape (k, k), zero on the diagonal."""
    logarithms = np.log(np.maximum(matrix, 1e-300))
    return cut(logarithms - np.diag(logarithms)[:, None])


def _transition(place: FloatArray) -> FloatArray:
    weights = np.exp(place - place.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
