"""Transitions from debiased counts of pairs, and what is known about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.covariance import Law, credible, noise_covariance, released_law
from chainveil.estimate.counts.last_report import (
    last_report_lean,
    last_report_pairs,
)
from chainveil.estimate.intervals import ratio_interval
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.results import valid_chain
from chainveil.model.chain import MarkovChain

PAIR = (0, 1)
CHAIN_ADVICE = "Give the chain (chain=), or ask for an interval that covers the noise alone."


@dataclass(frozen=True)
class PairShares:
    """Shares of pairs of neighbours, debiased.

    Attributes
    ----------
    shares : array of shape (groups, k, k)
    covariance : array of shape (ways, groups, k, k, k, k)
        Due to the noise, given the series; in as many ways as the law is known.
    pairs : array of shape (groups,)
        How many pairs were looked at.
    lean : array of shape (groups, k, k), or 0
        How the variance of a transition leans with its error.
    """

    shares: FloatArray
    covariance: FloatArray
    pairs: FloatArray
    lean: FloatArray | float = 0.0

    @property
    def leaving(self) -> FloatArray:
        """Share of pairs that begin in each state, shape (groups, k, 1)."""
        return np.asarray(self.shares.sum(axis=2, keepdims=True))

    @property
    def transition(self) -> FloatArray:
        """Shares over the share of their first state, shape (groups, k, k)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.shares / self.leaving)

    def drawing(self) -> FloatArray:
        """What drawing adds to the variance of a residual, over p (1 - p); (groups, k, 1).

        ``1[X_t = a] (1[X_{t+1} = b] - P(a, b))`` are martingale differences: their sum has
        variance ``N pi_a P(a, b) (1 - P(a, b))``, with no covariance between points.
        """
        return np.asarray(np.clip(self.leaving, 0, 1) / self.pairs[:, None, None])

    def ways(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """``spread`` in every way that the law is known, (ways, groups, k, k)."""
        k = self.shares.shape[1]
        own = np.einsum("wgabab->wgab", self.covariance)
        within = np.einsum("wgabac->wgabc", self.covariance)
        bottom = np.repeat(within.sum(axis=(3, 4))[..., None], k, axis=-1)
        return own, within.sum(axis=-1), bottom

    def spread(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Var of a pair's share, Cov with that of its first state, Var of that; (groups, k, k)."""
        return credible(*self.ways())

    def variance(self, sampling: bool) -> FloatArray:
        """Variance of each transition by the delta method, shape (groups, k, k)."""
        top, between, bottom = self.spread()
        p = self.transition
        residual = np.maximum(top - 2 * p * between + p**2 * bottom, 0.0)
        if sampling:
            residual = residual + self.drawing() * np.clip(p * (1 - p), 0, None)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(residual / self.leaving**2)

    def interval(self, deviations: float, sampling: bool) -> tuple[FloatArray, FloatArray]:
        """Limits of each transition, shape (groups, k, k) each."""
        drawing = self.drawing() if sampling else np.zeros_like(self.leaving)
        wide = np.broadcast_to(self.leaving, self.shares.shape)
        return ratio_interval(self.shares, wide, self.spread(), drawing, deviations, lean=self.lean)


def pair_shares(cells: Cells, noise: NoiseLaw) -> PairShares:
    """Debiased shares of pairs, and their covariance, from a release."""
    if noise.looks_back:
        k = noise.states
        shares, covariance, pairs = last_report_pairs(cells, noise, PAIR[1])
        _check(cells, noise, pairs)
        covariance = covariance.reshape(*covariance.shape[:2], k, k, k, k)
        found = PairShares(shares.reshape(-1, k, k), covariance, pairs)
        return replace(found, lean=_lean(cells, noise, found))
    counts = cells.windows(PAIR)
    pairs = counts.sum(axis=1).astype(np.float64)
    _check(cells, noise, pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / pairs[:, None] @ noise.inverse(PAIR)
    return _assemble(shares, noise, released_law(cells, noise), pairs)


def released_chain(cells: Cells, noise: NoiseLaw) -> MarkovChain:
    """The chain of order 1 nearest to what the reports of all groups together say of it."""
    whole = cells.whole()
    if int(np.diff(whole.borders).max()) < 2:
        raise InvalidInput(
            "z", "series of one point", "series of at least two points, or a chain", CHAIN_ADVICE
        )
    pairs = int(whole.pairs_at(1).sum())
    noise.check_length(PAIR, pairs, 'fitting a chain (covers="sampling")', CHAIN_ADVICE)
    return valid_chain(pair_shares(whole, noise).transition[0])


def _lean(cells: Cells, noise: NoiseLaw, found: PairShares) -> FloatArray:
    """How the variance of each transition leans with its error, (groups, k, k)."""
    p = np.clip(np.nan_to_num(found.transition), 0.0, 1.0)
    top, between, bottom = (part[-1] for part in found.ways())
    valid = np.maximum(top - 2 * p * between + p**2 * bottom, 0.0)
    return last_report_lean(cells, noise, p, valid * found.pairs[:, None, None] ** 2)


def _check(cells: Cells, noise: NoiseLaw, pairs: FloatArray) -> None:
    """Error if there are too few pairs of neighbours."""
    if not pairs.max() > 0:
        raise InvalidInput(
            "z", f"{cells.size} points and no two neighbours of one group",
            f"series of at least {'three' if noise.looks_back else 'two'} points",
        )  # fmt: skip
    noise.check_length(PAIR, int(pairs.max()), "transitions")


def expected_pair_shares(
    shares: FloatArray, covariance: FloatArray, pairs: FloatArray
) -> PairShares:
    """The same as a chain leads to expect: (k, k) shares, and their (k * k, k * k) covariance."""
    k = len(shares)
    return PairShares(shares[None], covariance.reshape(1, 1, k, k, k, k), pairs)


def _assemble(shares: FloatArray, noise: NoiseLaw, law: Law, pairs: FloatArray) -> PairShares:
    k = noise.states
    covariance = noise_covariance(noise, PAIR, law)
    covariance = covariance.reshape(*covariance.shape[:2], k, k, k, k)
    return PairShares(shares.reshape(-1, k, k), covariance, pairs)
