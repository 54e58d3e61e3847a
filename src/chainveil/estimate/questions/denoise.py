"""The series behind a release: how probable each state is, and the likeliest path.

Post-processing: nothing here looks at the original, so nothing here costs privacy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chainveil import inference
from chainveil.errors import InvalidInput
from chainveil.estimate.counts.cells import Cells, read_cells
from chainveil.estimate.counts.gaps import runs_between, split_masks
from chainveil.estimate.counts.packed import Packed
from chainveil.estimate.counts.pair_shares import PAIR
from chainveil.estimate.counts.places import between_reports, check_neighbours, read_reports
from chainveil.estimate.likelihood.fit_test import FitTest, fit_test
from chainveil.estimate.likelihood.grouped_fits import fit_groups, flattest, neighbours
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.estimate.questions.accuracy import accuracy
from chainveil.estimate.questions.denoised import Denoised
from chainveil.estimate.results import read_chain, valid_chain
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.sequences import as_column, is_column


def denoise(
    z: Any, noise: Any, chain: DataModel | None = None, *, anyway: bool = False
) -> Denoised:
    """Probability of each state at each point of a release, and the likeliest path.

    Parameters
    ----------
    z, noise : released states, and the noise that was applied
        As in :func:`chainveil.estimate.frequency`.
    chain : MarkovChain or HigherOrderChain, optional
        The chain behind the series, for instance that of the certificate. By default the
        likeliest one is fitted to the release; an error where the noise is too heavy for that.
    anyway : bool
        Answer also where the release contradicts the chain, which is an error otherwise.

    Examples
    --------
    >>> import chainveil as cv
    >>> z = [0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 0, 1]
    >>> found = cv.estimate.denoise(z, cv.Channel.binary(0.1, 0.1), cv.MarkovChain.symmetric(0.1))
    >>> found.path.tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    """
    source = as_noise_law(noise)
    chain = read_chain(chain, source.states)
    if chain is None:
        chain = _fitted(z, source)
    if isinstance(z, Packed):
        z = z.unpacked()
    cells = read_reports(z, source)
    fit = _fit(cells, source, chain)
    if fit is not None:
        fit.check(anyway, "Probabilities of states lean on the chain.")
    found = _smoothed(z, source, chain)
    told = accuracy(z, cells, source, chain, found.probability)
    return replace(found, fit=fit, accuracy=told)


def _fit(cells: Cells, noise: NoiseLaw, chain: DataModel) -> FitTest | None:
    """Whether the release looks like one of the chain; None for chains of a higher order."""
    law = between_reports(chain, noise)
    return fit_test([cells], noise, [valid_chain(law.move)]) if law.plain else None


def _smoothed(z: Any, noise: NoiseLaw, chain: DataModel) -> Denoised:
    gaps = len(split_masks(z)[1]) > 0
    if gaps and not noise.source.holds and noise.every == 1:
        return _around_gaps(z, noise, chain)
    chances = inference.smoothed(chain, noise.noise, z)
    path = inference.viterbi(chain, noise.noise, z)
    if gaps:
        chances, path = _without_gaps(z, chances, path)
    return Denoised(chances, path, chain)


def _without_gaps(z: Any, chances: Any, path: Any) -> tuple[Any, Any]:
    """The same with nothing said about missing points."""
    if not isinstance(z, np.ndarray):
        parts = [_without_gaps(*part) for part in zip(z, chances, path, strict=True)]
        return [chance for chance, _ in parts], [likely for _, likely in parts]
    mask = np.ma.getmaskarray(np.ma.asarray(z))
    return np.where(mask[..., None], np.nan, chances), np.ma.MaskedArray(path, mask=mask)


def _fitted(z: Any, noise: NoiseLaw) -> MarkovChain:
    check_neighbours(noise, "a chain to denoise with")
    cells = read_cells(z, noise.outputs)
    if int(np.diff(cells.borders).max()) < 2:
        raise InvalidInput("z", "series of one point", "longer series, or a chain")
    if noise.from_counts:
        noise.check_length(
            PAIR, neighbours(cells), "fitting a chain to denoise with", flattest(noise.states),
            "Give the chain if you know it. ",
        )  # fmt: skip
    found = fit_groups(cells, noise, 0.95)
    if found.too_flat().any():
        raise InvalidInput(
            "noise", f"noise too heavy to fit a chain to {cells.size:,} points",
            "a longer release, or the chain", "Give the chain if you know it.",
        )  # fmt: skip
    return valid_chain(found.fits[0].transition)


def _around_gaps(z: Any, noise: NoiseLaw, chain: DataModel) -> Denoised:
    """Every run between gaps on its own; nothing is said about the gaps."""
    if is_column(z):
        found = _around_gaps(z.reshape(-1), noise, chain)
        return Denoised(as_column(found.probability), as_column(found.path), chain)
    series = [np.ma.asarray(part) for part in (z if _several(z) else [z])]
    places = [(j, run) for j, part in enumerate(series) for run in runs_between(part)]
    found = _smoothed([np.asarray(series[j][run]) for j, run in places], noise, chain)
    probability = [np.full((len(part), chain.states), np.nan) for part in series]
    path = [np.ma.array(np.zeros(len(part), np.uint8), mask=True) for part in series]
    for (j, run), chance, likely in zip(places, found.probability, found.path, strict=True):
        probability[j][run], path[j][run] = chance, likely
    if isinstance(z, np.ndarray):
        kept = np.ma.asarray(z)
        shaped = np.stack(probability).reshape(*kept.shape, chain.states)
        return Denoised(shaped, np.ma.stack(path).reshape(kept.shape), chain)
    return Denoised(probability, path, chain)


def _several(z: Any) -> bool:
    return not isinstance(z, np.ndarray) or z.ndim == 2
