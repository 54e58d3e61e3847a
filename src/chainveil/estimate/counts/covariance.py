"""How far debiased shares stray: because of the noise, and because of the chain.

A question looks at windows of points: one point, two neighbours, two points some steps apart.
``phi_t`` is the vector of weights that the reports of the window at ``t`` give to each pattern
of states; its mean over the noise is the indicator of the pattern that is there. Then

    Cov[mean of phi | series] = N^-2 * sum over t, t' of Cov[phi_t, phi_t' | states at both]

and each term is known from the noise and the states at the points of both windows. The sum
over t of terms at distance h needs only how often each pattern of states stands there, which
the release tells, debiased in the same way: the covariance is then unbiased too. Independent
noise leaves the distances at which two windows share a point; correlated noise all distances
within its reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from chainveil.checks import FloatArray
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.series_law import SeriesLaw
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.simplex import project
from chainveil.noise.base import Noise

# Shares of patterns of states at some points, known in one or several ways, shape (ways, groups,
# k^p), and how many windows there are, shape (groups,).
Law = Callable[[tuple[int, ...]], tuple[FloatArray, FloatArray]]
# Correlations of a chain below this end the sum over distances.
SETTLED = 1e-9
MOST_DISTANCES = 20_000
# An unbiased variance counts down to this part of the one that a valid law gives.
CREDIBLE = 0.5


def noise_covariance(noise: NoiseLaw, window: Sequence[int], law: Law) -> FloatArray:
    """Covariance of the debiased shares given the series, shape (ways, groups, k^p, k^p).

    For noise that looks at its own point alone, or that runs on whatever the points are.
    """
    shape = tuple(window)
    size: int = noise.states ** len(shape)
    known, count = law(shape)
    total = np.zeros((*known.shape[:-1], size * size))
    for distance in _distances(noise, shape):
        points = joined(shape, distance)
        shares, pairs = law(points)
        if not pairs.any():
            # Gaps may leave points further apart that share noise.
            continue
        term = shares @ _kernel(noise.source, shape, distance) * pairs[:, None]
        total += term
        if distance:
            total += _transposed(term, size)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((total / count[:, None] ** 2).reshape(*known.shape[:-1], size, size))


def credible(
    top: FloatArray, across: FloatArray, bottom: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Var, Cov, Var of two numbers, each estimated in ways that the first axis counts.

    The first way, where it gives every combination of the two at least ``CREDIBLE`` of the
    variance that the last way gives it; else the last way.
    """
    more = [part[0] - CREDIBLE * part[-1] for part in (top, across, bottom)]
    sound = (more[0] >= 0) & (more[2] >= 0) & (more[1] ** 2 <= more[0] * more[2])
    upper, between, lower = (np.where(sound, part[0], part[-1]) for part in (top, across, bottom))
    return np.maximum(upper, 0.0), between, np.maximum(lower, 0.0)


def released_law(cells: Cells, noise: NoiseLaw) -> Law:
    """The law of states at some points, from the release, in two ways.

    Debiased it makes covariances unbiased, which need not be those of anything. The nearest law
    that is one does not, but under heavy noise lies far from the truth. ``credible`` chooses.
    """

    def law(points: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        counts = cells.windows(points)
        total = counts.sum(axis=1).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = counts / total[:, None] @ noise.inverse(points)
        # Gaps may leave no window of some shape.
        return np.stack([np.nan_to_num(shares), project(shares)]), total

    return law


def chain_law(series: SeriesLaw, length: int) -> Law:
    """The law of states at some points of one series of ``length`` points."""

    def law(points: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        count = np.array([max(float(length - points[-1]), 0.0)])
        return series.patterns(points)[None, None], count

    return law


def drawing_covariance(series: SeriesLaw, window: Sequence[int], length: int) -> FloatArray:
    """Covariance of the shares of patterns in a series drawn from its law, (k^p, k^p).

    Sums over distances until the series has forgotten.
    """
    shape = tuple(window)
    mean = series.patterns(shape)
    count = length - shape[-1]
    total = np.zeros((len(mean), len(mean)))
    for distance in range(min(count, MOST_DISTANCES)):
        points = joined(shape, distance)
        both = _both(len(series.stationary), shape, distance)
        together = (series.patterns(points) @ both).reshape(total.shape)
        term = (together - np.outer(mean, mean)) * (count - distance)
        total += term if distance == 0 else term + term.T
        if distance > shape[-1] and np.abs(term).max() < SETTLED * count:
            break
    return np.asarray(total / count**2)


def share_drawing(
    series: SeriesLaw, pairs_at: Callable[[int], FloatArray], longest: int
) -> FloatArray:
    """Variance of each state's share in drawn series over ``pi (1 - pi)``, shape (groups, k).

    ``pairs_at(h)`` counts the pairs of points at distance h in each group, so groups need not
    be stretches without holes; no stretch has more than ``longest`` points. One over the
    result is the number of independent points that the group is worth.
    """
    count = np.asarray(pairs_at(0), dtype=np.float64)
    shown, stationary = series.shown, series.stationary
    spread = np.maximum(stationary * (1 - stationary), 1e-300)
    total = np.repeat(count[:, None], len(stationary), axis=1)
    # Where hidden states are that begin in each state, and were there so many points ago.
    after = shown * series.start / np.maximum(stationary, 1e-300)[:, None]
    for distance in range(1, min(MOST_DISTANCES, longest)):
        after = after @ series.move
        pairs = np.asarray(pairs_at(distance), dtype=np.float64)
        again = np.einsum("xs,xs->x", after, shown)
        total += 2 * pairs[:, None] * (stationary * (again - stationary) / spread)[None]
        if np.abs(after - series.start).max() < SETTLED:
            break
    # A chain that alternates can bring the sum to nothing, not below.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(total, 0.0) / count[:, None] ** 2)


def joined(window: tuple[int, ...], distance: int) -> tuple[int, ...]:
    """The points of two windows, ``distance`` apart."""
    return tuple(sorted({*window, *(place + distance for place in window)}))


def _distances(noise: NoiseLaw, window: tuple[int, ...]) -> list[int]:
    """Distances at which two windows have noise in common."""
    gaps = sorted({b - a for a in window for b in window if b >= a})
    near = {d for gap in gaps for d in range(gap - noise.reach, gap + noise.reach + 1) if d >= 0}
    return sorted(near)


@lru_cache(maxsize=1024)
def _kernel(source: Noise, window: tuple[int, ...], distance: int) -> FloatArray:
    """``Cov[phi_t, phi_{t+h} | states at both windows]``, shape (k^u, k^p * k^p)."""
    noise = NoiseLaw(source)
    points = joined(window, distance)
    weights = noise.inverse(window)
    first = _pick(noise.outputs, points, window)
    second = _pick(noise.outputs, points, tuple(place + distance for place in window))
    products = weights[first][:, :, None] * weights[second][:, None, :]
    mean = noise.joint(points) @ products.reshape(len(products), -1)
    return np.asarray(mean - _both(noise.states, window, distance))


@lru_cache(maxsize=1024)
def _both(states: int, window: tuple[int, ...], distance: int) -> FloatArray:
    """For each pattern at both windows, the pair of patterns it shows; (k^u, k^p * k^p)."""
    points = joined(window, distance)
    size: int = states ** len(window)
    first = _pick(states, points, window)
    second = _pick(states, points, tuple(place + distance for place in window))
    result = np.zeros((len(first), size * size))
    result[np.arange(len(first)), first * size + second] = 1.0
    return result


def _pick(symbols: int, points: tuple[int, ...], window: tuple[int, ...]) -> np.ndarray:
    """The pattern at ``window`` within each pattern at ``points``, as numbers in base symbols."""
    digits = np.indices((symbols,) * len(points)).reshape(len(points), -1)
    code = np.zeros(digits.shape[1], np.int64)
    for place in window:
        code = code * symbols + digits[points.index(place)]
    return code


def _transposed(term: FloatArray, size: int) -> FloatArray:
    return term.reshape(*term.shape[:-1], size, size).swapaxes(-1, -2).reshape(term.shape)
