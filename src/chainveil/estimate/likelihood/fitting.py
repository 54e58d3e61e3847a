"""A chain behind a release, where a question needs one."""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.pair_shares import PAIR, bare_shares, pair_shares
from chainveil.estimate.likelihood.maximum import Fit, likeliest_transition, maximise
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.results import valid_chain
from chainveil.model.chain import MarkovChain

# Counts that know every transition this well are as good as the likelihood, and faster.
WELL_KNOWN = 0.01
# Counts that leave a larger error than this for a share cannot know them so well.
HOPEFUL = 0.02
LEAST_GUESSED = 0.02


def fit_release(cells: Cells, noise: NoiseLaw) -> MarkovChain:
    """The chain behind all points of a release: from counts where they are precise enough."""
    whole = cells.whole()
    if int(np.diff(whole.borders).max()) < 2:
        raise InvalidInput(
            "z", "series of one point", "series of at least two points, or a chain",
            "Give the chain, or ask for an interval that covers the noise.",
        )  # fmt: skip
    if noise.from_counts and noise.points_needed(PAIR, HOPEFUL) <= whole.size:
        found = pair_shares(whole, noise)
        if np.nanmax(np.sqrt(found.variance(sampling=True))) < WELL_KNOWN:
            return valid_chain(found.transition[0])
    return valid_chain(likeliest_transition(whole, noise, _guess(whole, noise)))


def fit_likelihood(cells: Cells, noise: NoiseLaw) -> Fit:
    """The chain of greatest likelihood, from all stretches of ``cells``."""
    return maximise(cells, noise, _guess(cells, noise))


def _guess(cells: Cells, noise: NoiseLaw) -> FloatArray:
    """Debiased counts where they say something, else a chain that likes to stay."""
    k = noise.states
    calm = np.full((k, k), 0.3 / k) + 0.7 * np.eye(k)
    whole = cells.whole()
    if not noise.from_counts or noise.points_needed(PAIR, 0.1) > whole.size:
        return calm
    shares = bare_shares(whole, noise)[0].reshape(k, k)
    visited = shares.sum(axis=1, keepdims=True)
    rows = np.where(visited > 0, shares / np.where(visited > 0, visited, 1.0), calm)
    found = valid_chain(rows).transition
    mixed = np.maximum(found, LEAST_GUESSED / k)
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))
