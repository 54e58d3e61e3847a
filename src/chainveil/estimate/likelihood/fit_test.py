"""Whether a release looks as the chain that was fitted to it says it should.

What is compared are moments of the released points: covariances of points 1 to 512 steps apart, in
bands of steps, and products of three and four neighbours, of values from which the noise is taken
off where that can be done without a model (``estimate.counts``), and of the reports themselves
where it cannot. Where it can, one more: how sure the chain is of the state of each point from other
reports, less how often the point's own report bears it out (``likelihood.surprise``).

How far these may stray is found by releases of series that the chain itself draws, as long as the
release and with its gaps. Half of them tell how the moments vary together, the other half how far
from their means a release of that chain lies: the release is flagged where it lies further than all
but ``BEYOND`` of those. The chain was fitted to the release, which brings the two nearer to each
other than an independent one would be: on data of the chain at most ``LEVEL`` are flagged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.counts.cells import NO_LABELS, Cells
from chainveil.estimate.counts.gaps import NO_GAPS
from chainveil.estimate.counts.last_report import look_back
from chainveil.estimate.likelihood.surprise import surprise
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.report_weights import report_weights
from chainveil.model.chain import MarkovChain

# Share of releases of the chain itself that are flagged, at most, and the share of the drawn ones
# that lie beyond the limit: fewer, since as many as are drawn leave the limit uncertain.
LEVEL, BEYOND = 0.05, 0.03
# Steps between two points, from the one after a number to the next, and patterns of several.
ENDS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
PATTERNS = ((1, 2, 0), (1, 3, 0), (1, 2, 3))
# Series drawn for one half of a test, and points drawn at once.
DRAWN, AT_ONCE = 200, 2_000_000
# Points that are looked at, of one group and of all; groups that are, the largest first.
MOST_POINTS, MOST_IN_ALL, MOST_GROUPS = 200_000, 300_000, 100
# Points that are too few for a test, and pairs that are too few for a covariance.
LEAST_POINTS, LEAST_PAIRS = 100, 50
# Directions in which moments vary by less than this part of the most say nothing.
FLAT = 1e-6
SEED = 20_011


@dataclass(frozen=True)
class FitTest:
    """What a release says about the chain behind an answer.

    Attributes
    ----------
    level : float
        Releases of series of the chain itself that are flagged, at most.
    probability : float
        That a release of the chain lies as far from it as this one; over all groups together.
    flagged : boolean array of shape (groups,)
        Which groups lie too far; none where there was too little to test.
    tested : int
        Points that were looked at; 0 where there were too few for a test.
    """

    level: float
    probability: float
    flagged: NDArray[np.bool_]
    tested: int

    @property
    def misfit(self) -> bool:
        """Whether the release contradicts the chain, in any group."""
        return bool(self.flagged.any())

    def __str__(self) -> str:
        if not self.tested:
            return "not tested: fewer than 100 points"
        if not self.misfit:
            return f"the release does not contradict it (tested at the {self.level:.0%} level)"
        many = len(self.flagged)
        where = f" in {self.flagged.sum()} of {many} groups" if many > 1 else ""
        return (
            f"the release contradicts it{where}: releases of such a chain lie as far off in at "
            f"most {self.probability:.1%} of all cases"
        )

    def check(self, anyway: bool, instead: str) -> None:
        """Error if the release contradicts the chain, unless an answer is wanted anyway."""
        if self.misfit and not anyway:
            raise InvalidInput(
                "z", "a release that contradicts the chain of order 1 behind this answer",
                "series that are such chains, or nearly", f"{str(self).capitalize()}. {instead} "
                "anyway=True (--anyway) answers all the same, and marks the answer.",
            )  # fmt: skip


def fit_test(parts: Sequence[Cells], noise: NoiseLaw, chains: Sequence[MarkovChain]) -> FitTest:
    """Test the chain of every part of a release, at one level for all of them together."""
    largest = np.argsort([-part.size for part in parts], kind="stable")[:MOST_GROUPS]
    most = min(MOST_POINTS, MOST_IN_ALL // len(largest))
    held = {int(number): _shortened(parts[number], most) for number in largest}
    found = {n: _distances(part, noise, chains[n], n) for n, part in held.items()}
    lying = {n: distances for n, distances in found.items() if distances is not None}
    flagged = np.zeros(len(parts), np.bool_)
    if not lying:
        return FitTest(LEVEL, 1.0, flagged, 0)
    # The farthest group of as many: one level for all of them.
    farthest = np.sort(np.max([usual for _, usual in lying.values()], axis=0))
    limit = farthest[-int(BEYOND * (len(farthest) + 1))]
    far = np.array([distance for distance, _ in lying.values()])
    flagged[list(lying)] = far > limit
    beyond = int(np.count_nonzero(farthest >= far.max()))
    size = sum(held[number].size for number in lying)
    return FitTest(LEVEL, (1 + beyond) / (1 + len(farthest)), flagged, size)


def _distances(
    part: Cells, noise: NoiseLaw, chain: MarkovChain, number: int
) -> tuple[float, FloatArray] | None:
    """How far a release lies from what its chain says, and how far drawn ones do, (DRAWN,).

    In units of the mean of the latter. None where there is too little to compare.
    """
    there = part.size - int(part.gaps.sum()) if len(part.gaps) else part.size
    taken = _often(part, noise)
    if there < LEAST_POINTS or not len(taken.bands):
        return None
    seen = _told(part, noise, chain, taken)[0]
    draws = _drawn(part, noise, chain, np.random.default_rng([SEED, number]))
    moments = np.concatenate([_told(cells, noise, chain, taken) for cells in draws])
    middle, spread = moments[:DRAWN].mean(axis=0), moments[:DRAWN].std(axis=0)
    spread = np.maximum(spread, 1e-300)
    scaled = (moments - middle) / spread
    metric = np.linalg.pinv(np.cov(scaled[:DRAWN].T), rcond=FLAT, hermitian=True)
    usual = np.einsum("ni,ij,nj->n", scaled[DRAWN:], metric, scaled[DRAWN:])
    off = (seen - middle) / spread
    unit = max(float(usual.mean()), 1e-300)
    return float(off @ metric @ off) / unit, usual / unit


@dataclass(frozen=True)
class _Moments:
    """Which moments are taken: bands of steps, (bands, 2), and patterns of points, (…, 3)."""

    bands: NDArray[np.int64]
    patterns: NDArray[np.int64]

    def sums(self, values: FloatArray, borders: NDArray[np.int64]) -> FloatArray:
        """Sums of products of the values, (total,), bands first."""
        from chainveil.estimate.likelihood import moments

        bands, patterns = np.zeros(len(self.bands)), np.zeros(len(self.patterns))
        held = np.ascontiguousarray(values)
        moments.band_sums(held, borders, self.bands, bands)
        moments.pattern_sums(held, borders, self.patterns, patterns)
        return np.concatenate([bands, patterns])


def _often(part: Cells, noise: NoiseLaw) -> _Moments:
    """The moments for which the release has enough points; fewer a state where there are many."""
    ends = ENDS if noise.states == 2 else ENDS[::2]
    bands = np.array([(a + 1, b) for a, b in pairwise(ends)], np.int64)
    patterns = np.array(PATTERNS[: 3 if noise.states == 2 else 1], np.int64)
    every = _Moments(bands, patterns)
    there = _scores(part, noise)[1].astype(np.float64)
    enough = every.sums(there, part.borders) >= LEAST_PAIRS
    return _Moments(bands[enough[: len(bands)]], patterns[enough[len(bands) :]])


def _told(cells: Cells, noise: NoiseLaw, chain: MarkovChain, taken: _Moments) -> FloatArray:
    """Everything that is compared, a row a draw."""
    more = surprise(cells, noise, chain)
    found = _moments(cells, noise, taken)
    return found if more is None else np.hstack([found, more[:, None]])


def _moments(cells: Cells, noise: NoiseLaw, taken: _Moments) -> FloatArray:
    """Mean products around the mean, (draws, columns * moments); a draw is a group."""
    scores, there = _scores(cells, noise)
    draws = cells.groups
    width, each = len(cells.owner) // draws, cells.size // draws
    borders = cells.borders[: width + 1]
    ones = there[:each].astype(np.float64)
    often = taken.sums(ones, borders)
    found = np.empty((draws, scores.shape[1], len(often)))
    for draw in range(draws):
        for column in range(scores.shape[1]):
            values = scores[draw * each : (draw + 1) * each, column]
            middle = float((values * ones).sum() / ones.sum())
            found[draw, column] = taken.sums((values - middle) * ones, borders) / often
    return found.reshape(draws, -1)


def _scores(cells: Cells, noise: NoiseLaw) -> tuple[FloatArray, NDArray[np.bool_]]:
    """What each point is worth for each state but the first, (total, k - 1), and which have it.

    Weights that undo the noise, or the reports themselves where nothing does.
    """
    if noise.looks_back:
        code = look_back(cells, noise)
        table = report_weights(noise.source)
    else:
        code = cells.symbols.astype(np.int64)
        code = np.where(cells.gaps, -1, code) if len(cells.gaps) else code
        table = noise.inverse((0,)) if noise.from_counts else np.eye(noise.outputs)
    return table[np.maximum(code, 0), 1:], np.asarray(code >= 0)


def _drawn(
    part: Cells, noise: NoiseLaw, chain: MarkovChain, rng: np.random.Generator
) -> Iterator[Cells]:
    """Releases of series that the chain draws, laid out as the release is; groups are draws."""
    left = 2 * DRAWN
    while left:
        rows = min(max(AT_ONCE // part.size, 1), left)
        left -= rows
        series = [_released(noise, chain, run, rows, rng) for run in _runs(part)]
        flat = np.concatenate(series, axis=1).reshape(-1)
        gaps = np.tile(part.gaps, rows) if len(part.gaps) else NO_GAPS
        lengths = np.tile(np.diff(part.borders), rows)
        owner = np.repeat(np.arange(rows), len(part.owner))
        borders = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        yield Cells(flat, borders, owner, NO_LABELS, tuple(range(rows)), part.outputs, gaps)


def _released(
    noise: NoiseLaw, chain: MarkovChain, missing: NDArray[np.bool_], rows: int, rng: Any
) -> NDArray[Any]:
    """Releases of drawn series, shape (rows, n); 0 at points that are ``missing``, bool (n,)."""
    from chainveil.mechanism import sanitize, seeded

    x = chain.sample(len(missing), rows, rng)
    if missing.any():
        x = np.ma.MaskedArray(x, mask=np.broadcast_to(missing, x.shape))
    source = seeded(int(rng.integers(2**31)))
    z = sanitize(x, noise.source, rng=source, missing="keep" if missing.any() else "error")
    return np.asarray(np.ma.filled(z, 0))


def _runs(part: Cells) -> list[NDArray[np.bool_]]:
    gaps = part.gaps if len(part.gaps) else np.zeros(part.size, np.bool_)
    return list(np.split(gaps, part.borders[1:-1]))


def _shortened(part: Cells, most: int) -> Cells:
    """The first points of a long part, and no series of one point."""
    lengths = np.diff(part.borders)
    begins = np.cumsum(lengths) - lengths
    kept = np.minimum(lengths, most - begins) >= 2
    pieces = [
        slice(begin, min(end, most))
        for begin, end, keep in zip(part.borders[:-1], part.borders[1:], kept, strict=True)
        if keep
    ]
    borders = np.cumsum([0, *(piece.stop - piece.start for piece in pieces)]).astype(np.int64)
    owner = np.zeros(len(pieces), np.int64)
    gaps = _glued(part.gaps, pieces) if len(part.gaps) else NO_GAPS
    gaps = gaps if gaps.any() else NO_GAPS
    flat = _glued(part.symbols, pieces)
    return Cells(flat, borders, owner, NO_LABELS, None, part.outputs, gaps)


def _glued(array: NDArray[Any], pieces: list[slice]) -> NDArray[Any]:
    return np.concatenate([array[:0], *(array[piece] for piece in pieces)])
