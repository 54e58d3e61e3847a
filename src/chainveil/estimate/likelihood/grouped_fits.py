"""A chain of greatest likelihood for each group, with limits that the likelihood itself sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.estimate.counts.cells import NO_LABELS, Cells
from chainveil.estimate.counts.gaps import NO_GAPS
from chainveil.estimate.counts.pair_shares import PAIR
from chainveil.estimate.intervals import quantile
from chainveil.estimate.likelihood.coordinates import inner, logits
from chainveil.estimate.likelihood.fit_test import FitTest, fit_test
from chainveil.estimate.likelihood.fitting import fit_likelihood
from chainveil.estimate.likelihood.maximum import Fit, complete_covariance
from chainveil.estimate.likelihood.passes import ReleasePasses
from chainveil.estimate.likelihood.profile import logit_limits
from chainveil.estimate.likelihood.quasi_newton import FARTHEST
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.results import Covers, valid_chain

# Where counts leave a larger standard error than this for a share, the likelihood is too crooked
# for the law that its limits lean on: of two states, and of more.
FLAT_OF_TWO, FLAT = 0.2, 0.1
# Standard errors of a logit up to which the curvature tells enough.
WELL_CURVED = 0.1
# Degrees of freedom to begin with, and for each point that a row is worth.
FEWEST, FREEDOM = 35, 1.2
# Moves of a kind that are too few to tell the noise from the drawing.
RARE = 2.0


@dataclass(frozen=True)
class GroupedFits:
    """The likeliest chain of each group of a release.

    Attributes
    ----------
    pairs : array of shape (groups,)
        Pairs of neighbours in each group.
    parts : list of Cells
        The groups that have any.
    noise : NoiseLaw
    fits : list of Fit
    level : float
    """

    pairs: FloatArray
    parts: list[Cells]
    noise: NoiseLaw
    fits: list[Fit]
    level: float

    def answer(self, about: Covers) -> tuple[FloatArray, ...]:
        """Value, variance, limits and shares, (groups, k, k) each, and pairs, (groups,).

        NaN where a group has no pairs of neighbours.
        """
        value = np.stack([fit.transition for fit in self.fits])
        variance = self._variance(about)
        spread = self._at_least(variance)
        low, high = self._on_logits(spread)
        for group, limits in enumerate(self._limits):
            if limits is not None:
                self._bend(low[group], high[group], limits, group, spread[group])
        low, high = np.minimum(low, value), np.maximum(high, value)
        # Where everything is left open the curvature at the border says nothing.
        variance = np.where((low <= 0) & (high >= 1), np.inf, variance)
        shares = np.stack([fit.counts / max(fit.counts.sum(), 1e-300) for fit in self.fits])
        arrays = [self._placed(array) for array in (value, variance, low, high, shares)]
        return (*arrays, self.pairs)

    def too_flat(self) -> NDArray[np.bool_]:
        """Which groups leave everything open: too few pairs for the noise, shape (groups,).

        Where counts cannot tell, a transition that the curvature itself leaves too uncertain.
        """
        if self.noise.from_counts:
            return self.noise.too_few(PAIR, self.pairs, flattest(self.noise.states))
        spread = np.sqrt(self._total).reshape(len(self.fits), -1).max(axis=1)
        return np.asarray(self._placed(spread) > FLAT)

    @property
    def log_likelihood(self) -> float | None:
        """Of the release, where it is one group."""
        return self.fits[0].log_likelihood if len(self.pairs) == 1 else None

    def fit_test(self) -> FitTest:
        """Whether the release looks like one of these chains."""
        chains = [valid_chain(fit.transition) for fit in self.fits]
        return fit_test(self.parts, self.noise, chains)

    def _placed(self, array: FloatArray) -> FloatArray:
        """The same for all groups, also those without pairs."""
        found = np.full((len(self.pairs), *array.shape[1:]), np.nan)
        found[self.pairs > 0] = array
        return found

    def _at_least(self, variance: FloatArray) -> FloatArray:
        """Variance due to the noise, with a share of the drawing's where moves are rare.

        How much of the spread is due to the noise is known only where there are moves to count.
        A rule of thumb, on the safe side: ``RARE`` of them, or fewer, leave it open altogether.
        """
        moves = np.stack([fit.counts for fit in self.fits])
        rare = np.minimum(moves, moves.sum(axis=2, keepdims=True) - moves)
        part = np.minimum(RARE / np.maximum(rare, 1e-100), 1.0) ** 2
        return np.asarray(variance + part * np.maximum(self._total - variance, 0.0))

    def _variance(self, about: Covers) -> FloatArray:
        """Of the transitions, shape (groups, k, k)."""
        k = self.noise.states
        matrices = [fit.covariance for fit in self.fits]
        if about == "noise":
            # The estimate from the states themselves wastes nothing, so what is added to it by
            # the noise is uncorrelated with it: variances subtract.
            matrices = [fit.covariance - complete_covariance(fit) for fit in self.fits]
        return np.stack([np.maximum(np.diag(one), 0.0).reshape(k, k) for one in matrices])

    @cached_property
    def _total(self) -> FloatArray:
        return self._variance("sampling")

    @cached_property
    def _safe(self) -> FloatArray:
        return np.stack([inner(fit.transition) for fit in self.fits])

    @cached_property
    def _deviations(self) -> FloatArray:
        """How many standard errors the limits reach, shape (groups, k).

        The information is uncertain itself, the more so the fewer points a row is worth. A
        rule of thumb that simulation bears out: Student's law.
        """
        from scipy.special import stdtrit

        p = self._safe
        worth = (p * (1 - p)).sum(axis=2) / np.maximum(self._total.sum(axis=2), 1e-300)
        freedom = FEWEST + FREEDOM * np.minimum(worth, 1e9)
        return np.asarray(stdtrit(freedom, (1 + self.level) / 2))

    def _on_logits(self, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Symmetric for ``log p / (1 - p)``, where estimates are more normal."""
        p = self._safe
        middle = logits(p)
        reach = self._deviations[:, :, None] * np.sqrt(variance) / (p * (1 - p))
        with np.errstate(over="ignore"):
            low, high = (1 / (1 + np.exp(-(middle + sign * reach))) for sign in (-1.0, 1.0))
        return np.asarray(low), np.asarray(high)

    @cached_property
    def _limits(self) -> list[tuple[FloatArray, FloatArray] | None]:
        """Limits of the logits where the top is too flat for its curvature, else None."""
        return [self._limits_of(group) for group in range(len(self.fits))]

    def _limits_of(self, group: int) -> tuple[FloatArray, FloatArray] | None:
        slope = self._safe[group] * (1 - self._safe[group])
        if np.all(np.sqrt(self._total[group]) <= WELL_CURVED * slope):
            return None
        release = ReleasePasses(self.parts[group], self.noise)
        return logit_limits(
            release, self.fits[group], self._total[group] / slope**2, self._deviations[group]
        )

    def _bend(
        self,
        low: FloatArray,
        high: FloatArray,
        limits: tuple[FloatArray, FloatArray],
        group: int,
        variance: FloatArray,
    ) -> None:
        """Put the likelihood's own limits in place.

        They cover noise and drawing; for the noise alone distances from the estimate shrink
        in the proportion of the standard errors.
        """
        middle = logits(self.fits[group].transition)
        share = np.sqrt(variance / np.maximum(self._total[group], 1e-300))
        for ends, side in zip((low, high), limits, strict=True):
            # Past a limit where the likelihood falls no more lies the end of the scale.
            reached = 1 / (1 + np.exp(-(middle + (side - middle) * share)))
            ends[:] = np.where(np.abs(side) >= FARTHEST, side > 0, reached)


def fit_groups(cells: Cells, noise: NoiseLaw, level: float) -> GroupedFits:
    """Fit every group of ``cells``; an error where the noise is too heavy."""
    if noise.source.holds and len(cells.begins):
        raise NotSupported(
            f"the likelihood of {noise.source.kind} noise by window: the first report of a window "
            "looks back across its border. Ask by series"
        )
    parts = _parts(cells)
    pairs = np.array([float(neighbours(part)) for part in parts])
    if noise.from_counts:
        noise.check_length(
            PAIR, int(pairs.max()), "transitions by likelihood", flattest(noise.states),
            'The method "counts" asks for fewer. ',
        )  # fmt: skip
    quantile(level)
    kept = [part for part, number in zip(parts, pairs, strict=True) if number]
    return GroupedFits(pairs, kept, noise, [fit_likelihood(part, noise) for part in kept], level)


def flattest(states: int) -> float:
    """The largest standard error of a share, from counts, at which the likelihood answers."""
    return FLAT_OF_TWO if states == 2 else FLAT


def neighbours(cells: Cells) -> int:
    """Pairs of neighbouring points."""
    return int(cells.pairs_at(1).sum())


def _parts(cells: Cells) -> list[Cells]:
    """The stretches of each group on their own."""
    if len(cells.labels):
        raise InvalidInput(
            "by", "labels", '"series" or a window for the method "likelihood"',
            "A label tears series apart; use counts.",
        )  # fmt: skip
    if int(np.diff(cells.borders).max()) < 2:
        raise InvalidInput("z", "series of one point", "series of at least two points")
    if cells.names is None:
        return [cells]
    held: list[list[slice]] = [[] for _ in cells.names]
    ends = zip(cells.owner, cells.borders[:-1], cells.borders[1:], strict=True)
    for owner, begin, end in ends:
        held[owner].append(slice(begin, end))
    return [_joined(cells, stretches) for stretches in held]


def _joined(cells: Cells, stretches: list[slice]) -> Cells:
    """Some stretches as cells of one group."""
    borders = np.cumsum([0, *(part.stop - part.start for part in stretches)])
    owner = np.zeros(len(stretches), np.int64)
    flat = _glued(cells.symbols, stretches)
    gaps = _glued(cells.gaps, stretches) if len(cells.gaps) else NO_GAPS
    return Cells(flat, borders, owner, NO_LABELS, None, cells.outputs, gaps)


def _glued(array: NDArray[Any], stretches: list[slice]) -> NDArray[Any]:
    parts = [array[part] for part in stretches]
    return parts[0] if len(parts) == 1 else np.concatenate([array[:0], *parts])
