"""The series behind a release: how probable each state is, and the likeliest path.

Post-processing: nothing here looks at the original, so nothing here costs privacy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chainveil import inference
from chainveil.errors import InvalidInput
from chainveil.estimate.counts.gaps import runs_between, split_masks
from chainveil.estimate.counts.packed import Packed
from chainveil.estimate.counts.places import read_reports
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.estimate.questions.accuracy import accuracy
from chainveil.estimate.questions.denoised import Denoised
from chainveil.estimate.results import read_chain
from chainveil.model.base import DataModel
from chainveil.plan import NoisePlan
from chainveil.sequences import as_column, is_column


def denoise(z: Any, noise: Any, model: DataModel | None = None) -> Denoised:
    """Probability of each state at each point of a release, and the likeliest path.

    Parameters
    ----------
    z, noise : released states, and the noise that was applied
        As in :func:`chainveil.estimate.frequency`.
    model : MarkovChain or HigherOrderChain, optional
        The one behind the series. By default that of the plan, which for a release is the model
        of its certificate; it must be given where ``noise`` is no plan, or the plan names several.

    Examples
    --------
    >>> import chainveil as cv
    >>> z = [0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 0, 1]
    >>> found = cv.estimate.denoise(z, cv.Channel.binary(0.1, 0.1), cv.MarkovChain.symmetric(0.1))
    >>> found.path.tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    """
    source = as_noise_law(noise)
    chain = _read_model(model, noise, source.states)
    if isinstance(z, Packed):
        z = z.unpacked()
    cells = read_reports(z, source)
    found = _smoothed(z, source, chain)
    return replace(found, accuracy=accuracy(z, cells, source, chain, found.probability))


def _read_model(model: Any, noise: Any, states: int) -> DataModel:
    """The one model that is asked for, or that a plan names."""
    if model is None and isinstance(noise, NoisePlan):
        model = noise.family or noise.chain
    found = read_chain(model, states, "model")
    if found is None or not found.single:
        told = "no model" if found is None else f"several models: {found.describe()}"
        raise InvalidInput(
            "model", told, "one MarkovChain or HigherOrderChain",
            "Probabilities of states depend on the model behind the series: give it as model= "
            "(--model FILE).",
        )  # fmt: skip
    return found


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
