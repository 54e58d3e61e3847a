"""The chain that makes a release most likely, the noise being known.

Expectation maximisation, with steps lengthened where they lie in line, and Newton's method
at the end. Coordinates are ``log P(a, b) - log P(a, a)``: every point of that space is a chain.
The law of the first point is a parameter of its own, drawn towards the shares of the states by
the weight of one point: a single series would else put all on one state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainveil.channel import Channel
from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.estimate.grouping import Cells
from chainveil.estimate.noise import Noise

# Probabilities are kept above exp(-FARTHEST) of the one on the diagonal, and the reverse.
FARTHEST = 18.0
MOST_ROUNDS = 200
MOST_NEWTON = 12
# Change of a transition probability at which rounds end and Newton takes over, and the gain
# in log-likelihood below which Newton ends.
NEAR = 2e-3
GAIN = 1e-7
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
    place : array of shape (k, k)
        The transitions as coordinates, ``log P(a, b) - log P(a, a)``.
    information : array of shape (k * (k - 1), k * (k - 1))
        Minus the second derivatives by the coordinates off the diagonal.
    covariance : array of shape (k * k, k * k)
        Of the transitions: the inverse of the observed information.
    """

    transition: FloatArray
    counts: FloatArray
    begin: FloatArray
    log_likelihood: float
    place: FloatArray
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

    def __init__(self, cells: Cells, noise: Noise) -> None:
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
        from chainveil.estimate import expectation

        two = self.states == 2
        kernel = expectation.expect_two if two else expectation.expect_many(self.states)
        counts, starts = np.zeros((self.states, self.states)), np.zeros(self.states)
        found = kernel(
            self._symbols, self._borders, self._report * begin, self._step * transition,
            self._held, counts, starts,
        )  # fmt: skip
        return Expected(counts, starts / starts.sum(), float(found))


def maximise(cells: Cells, noise: Noise, start: FloatArray) -> Fit:
    """The chain of greatest likelihood near ``start``, shape (k, k)."""
    release = Release(cells, noise)
    k = release.states
    place, begin = _coordinates(start), np.full(k, 1.0 / k)
    place, begin = _climb(release, place, begin)
    place, seen, information = _newton(release, place, begin)
    transition = _transition(place)
    covariance = _covariance(transition, information)
    return Fit(transition, seen.counts, begin, seen.log_likelihood, place, information, covariance)


def complete_covariance(fit: Fit) -> FloatArray:
    """Covariance of the transitions if the states themselves were seen, (k * k, k * k)."""
    k = len(fit.transition)
    result = np.zeros((k, k, k, k))
    leaving = fit.counts.sum(axis=1)
    for a in range(k):
        row = fit.transition[a]
        result[a, :, a, :] = (np.diag(row) - np.outer(row, row)) / leaving[a]
    return result.reshape(k * k, k * k)


def _emission(noise: Noise) -> tuple[FloatArray, FloatArray]:
    """Weights of a first report, (m, k), and of a report after another, (m * m, k, k)."""
    if isinstance(noise.source, Channel):
        report = np.ascontiguousarray(noise.source.matrix.T)
        m, k = report.shape
        step = np.broadcast_to(report[None, :, None, :], (m, m, k, k))
        return report, np.ascontiguousarray(step).reshape(m * m, k, k)
    flips = noise.source.chain
    bits = np.arange(2)
    before = bits[:, None, None, None] ^ bits[None, None, :, None]
    after = bits[None, :, None, None] ^ bits[None, None, None, :]
    report = flips.stationary[bits[:, None] ^ bits[None, :]]
    return np.ascontiguousarray(report), flips.transition[before, after].reshape(4, 2, 2)


def _with_gaps(noise: Noise, report: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same with one more report, that of a missing point, which says nothing."""
    if not isinstance(noise.source, Channel):
        raise NotSupported(
            "the likelihood of correlated noise with gaps: the flips beneath a gap are not "
            "known; use counts, which know how far apart the points are"
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


def _climb(release: Release, place: FloatArray, begin: FloatArray) -> tuple[FloatArray, FloatArray]:
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
            leap = _cut(first - one + 2 * stretch * one + stretch**2 * bend)
            landed = release.expect(_transition(leap), begin)
            if landed.log_likelihood >= middle.log_likelihood:
                place, begin = _coordinates(landed.counts), _first_points(release, landed)
        if moved < NEAR:
            break
    return place, begin


def _newton(
    release: Release, place: FloatArray, begin: FloatArray
) -> tuple[FloatArray, Expected, FloatArray]:
    """Newton's steps while they gain; also the observed information at the end."""
    seen = release.expect(_transition(place), begin)
    for _ in range(MOST_NEWTON):
        information = _information(release, place, begin)
        step = _solve(information, _score(place, seen.counts))
        better, found = _line_search(release, place, begin, step, seen)
        gain = found.log_likelihood - seen.log_likelihood
        place, seen = better, found
        if gain < GAIN:
            return place, seen, information
    return place, seen, _information(release, place, begin)


def _line_search(
    release: Release, place: FloatArray, begin: FloatArray, step: FloatArray, seen: Expected
) -> tuple[FloatArray, Expected]:
    """The whole step, or half, or a quarter, …, or a step of expectation maximisation."""
    k = release.states
    for half in range(6):
        goal = place.copy()
        goal[~np.eye(k, dtype=bool)] += step / 2**half
        goal = _cut(goal)
        found = release.expect(_transition(goal), begin)
        if found.log_likelihood >= seen.log_likelihood:
            return goal, found
    goal = _coordinates(seen.counts)
    found = release.expect(_transition(goal), begin)
    return (goal, found) if found.log_likelihood > seen.log_likelihood else (place, seen)


def _score(place: FloatArray, counts: FloatArray) -> FloatArray:
    """Derivative of the log-likelihood, shape (k * (k - 1),), by Fisher's identity."""
    expected = counts.sum(axis=1, keepdims=True) * _transition(place)
    return np.asarray((counts - expected)[~np.eye(len(place), dtype=bool)])


def _information(release: Release, place: FloatArray, begin: FloatArray) -> FloatArray:
    """Minus the second derivatives, from differences of the first."""
    free = np.argwhere(~np.eye(len(place), dtype=bool))
    rows = np.empty((len(free), len(free)))
    for number, (a, b) in enumerate(free):
        ends = []
        for sign in (1.0, -1.0):
            moved = place.copy()
            moved[a, b] += sign * STEP
            ends.append(_score(moved, release.expect(_transition(moved), begin).counts))
        rows[number] = (ends[1] - ends[0]) / (2 * STEP)
    return np.asarray((rows + rows.T) / 2)


def _solve(information: FloatArray, score: FloatArray) -> FloatArray:
    """A step uphill of moderate size, also where the surface does not curve down."""
    values, vectors = np.linalg.eigh(information)
    curved = np.maximum(np.abs(values), 1e-6 * max(float(np.abs(values).max()), 1e-6))
    step = vectors @ ((vectors.T @ score) / curved)
    return np.asarray(step * min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300)))


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
    return _cut(logarithms - np.diag(logarithms)[:, None])


def _cut(place: FloatArray) -> FloatArray:
    return np.asarray(np.clip(place, -FARTHEST, FARTHEST))


def _transition(place: FloatArray) -> FloatArray:
    weights = np.exp(place - place.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
