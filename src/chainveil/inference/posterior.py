"""Forward-backward: what a release says about each point, whatever else is known.

All functions take a model, a noise and ``z``: one series (1-D), many of one length (2-D, a
row a series) or many of any length (a list of 1-D arrays). ``known`` clamps states: a mapping
from position to state, or an array (or list) shaped like ``z`` with -1 where nothing is known.

``z`` is as :func:`chainveil.mechanism.sanitize` returns it. Under noise on one point in several
only the entries at ``noise.places(n)`` count, each as the report that was made there; the others
repeat them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.inference.observations import Observations
from chainveil.inference.tables import (
    Odds,
    Tables,
    impossible_at,
    logarithms,
    odds,
    read_release,
)
from chainveil.noise.base import Noise

# Fewer rows would leave most lanes empty.
FEWEST_ABREAST = 16

Direction = Literal["filter", "smooth"]


def smoothed(
    chain: Any,
    noise: Noise,
    z: Any,
    known: Any = None,
    state: int | None = None,
) -> Any:
    """``Pr[X_t = x | z, known]`` for every point, by forward-backward.

    Parameters
    ----------
    chain : MarkovChain or another model
        What the attacker believes of the data.
    noise : Channel, CorrelatedNoise or another noise
        What it knows of the noise.
    z : 1-D array, 2-D array or list of 1-D arrays
        What was released; masked where points are missing. Noise holds its last report there,
        or runs on beneath (``noise.holds``).
    known : mapping or array, optional
        Points that the attacker knows; see the head of this module.
    state : int, optional
        Give the probability of this state alone, and save memory.

    Returns
    -------
    float64 array of shape (n, k) for one series, (rows, n, k) for a 2-D ``z``, a list of
    arrays for a list; without the last axis where ``state`` is given.
    """
    return _posterior(chain, noise, z, known, state, "smooth")


def filtered(
    chain: Any,
    noise: Noise,
    z: Any,
    known: Any = None,
    state: int | None = None,
) -> Any:
    """``Pr[X_t = x | z_0 … z_t, known up to t]``: like :func:`smoothed`, without the future."""
    return _posterior(chain, noise, z, known, state, "filter")


def log_likelihood(chain: Any, noise: Noise, z: Any, known: Any = None) -> Any:
    """``log Pr[z, X_K = known]`` of each series: a float, or an array of shape (series,).

    The arguments are as in :func:`smoothed`.
    """
    model, seen = read_release(chain, noise, z, known)
    ratios = odds(model)
    if ratios is not None:
        from chainveil.inference import two_state

        found = two_state.log_likelihood_many(
            seen.symbols, seen.offsets, model.emission, ratios.ratio,
            float(model.start[0, 1]), ratios.q, ratios.r,
        )  # fmt: skip
    else:
        found = _general_log_likelihood(model, seen)
    return float(found[0]) if seen.single else np.asarray(found)


def _posterior(
    chain: Any,
    noise: Noise,
    z: Any,
    known: Any,
    state: int | None,
    direction: Direction,
) -> Any:
    model, seen = read_release(chain, noise, z, known)
    if state is not None:
        state = checks.whole("state", state, 0)
        if state >= model.values:
            raise InvalidInput("state", state, f"states 0 … {model.values - 1}")
    ratios = odds(model)
    if ratios is None:
        posterior = model.by_value(_general(model, seen, direction))
        return seen.restore(posterior if state is None else posterior[:, state])
    return seen.restore(_two_state(ratios, seen, state, direction))


def _two_state(
    ratios: Odds, seen: Observations, state: int | None, direction: Direction
) -> FloatArray:
    """Shape (total,) for one state, (total, 2) for both."""
    one = _odds_posterior(ratios, seen, direction)
    if state is not None:
        return one if state == 1 else np.subtract(1.0, one, out=one)
    from chainveil.inference.two_state import both_states

    both = np.empty((len(one), 2))
    both_states(one, both)
    return both


def _odds_posterior(ratios: Odds, seen: Observations, direction: Direction) -> FloatArray:
    from chainveil.inference import two_state

    symbols = seen.symbols
    out = np.empty(len(symbols))
    numbers = (ratios.ratio, ratios.start, ratios.q, ratios.r)
    if direction == "filter":
        two_state.filter_many(symbols, seen.offsets, *numbers, out)
    elif abreast(seen):
        two_state.smooth_rows(seen.restore(symbols), *numbers, seen.restore(out))
    else:
        two_state.smooth_many(symbols, seen.offsets, *numbers, out)
    return out


def abreast(seen: Observations) -> bool:
    """Whether the series are alike, many and short enough to be taken side by side."""
    if seen.grid is None:
        return False
    from chainveil.inference.two_state import LONGEST_ABREAST

    rows, points = seen.grid
    return rows >= FEWEST_ABREAST and 0 < points <= LONGEST_ABREAST


def needs_logarithms(model: Tables) -> bool:
    """Whether one step can shrink a probability too far for scaled sums to notice in time."""
    from chainveil.inference.finite_state import SMALLEST

    start, move, emission = (
        array[array > 0].min() for array in (model.start, model.moves, model.emission)
    )
    return bool(min(start, move) * emission < SMALLEST)


def _general(model: Tables, seen: Observations, direction: Direction) -> FloatArray:
    """Shape (total, k): scaled probabilities, and logarithms for the series that need them."""
    from chainveil.inference import finite_state as kernels

    out = np.empty((len(seen.symbols), model.states))
    outcomes = np.full(len(seen.offsets) - 1, kernels.SHRUNK)
    if not needs_logarithms(model):
        numbers = (seen.symbols, seen.offsets, *model.numbers)
        if direction == "filter":
            kernels.forward_many(*numbers, out, outcomes)
        else:
            back = model.back
            kernels.smooth_many(*numbers, back, out, outcomes)
    for series in np.flatnonzero(outcomes == kernels.SHRUNK):
        begin, end = seen.offsets[series : series + 2]
        part, target = seen.symbols[begin:end], out[begin:end]
        outcomes[series] = _logarithmic(model, part, direction, target)
    raise_impossible(model, seen, outcomes)
    return out


def raise_impossible(model: Tables, seen: Observations, outcomes: NDArray[np.int64]) -> None:
    """Error for the first series that has probability zero, if there is one."""
    wrong = np.flatnonzero(outcomes >= 0)
    if len(wrong):
        raise impossible_at(model, seen, int(seen.offsets[wrong[0]] + outcomes[wrong[0]]))


def _logarithmic(
    model: Tables, symbols: NDArray[Any], direction: Direction, out: FloatArray
) -> int:
    from chainveil.inference import log_domain as kernels

    emission, start = logarithms(model.emission), logarithms(model.start)
    back = logarithms(model.back)
    if direction == "smooth":
        forth = logarithms(model.moves)
        return int(kernels.smooth(symbols, model.labels, emission, start, forth, back, out))
    outcome = int(kernels.forward(symbols, model.labels, emission, start, back, out))
    np.exp(out, out=out)
    return outcome


def _general_log_likelihood(model: Tables, seen: Observations) -> FloatArray:
    from chainveil.inference import finite_state, log_domain

    result = np.zeros(len(seen.offsets) - 1)
    outcomes = np.full(len(result), finite_state.SHRUNK)
    if not needs_logarithms(model):
        numbers = (seen.symbols, seen.offsets, *model.numbers)
        finite_state.log_likelihood_many(*numbers, result, outcomes)
    emission, start = logarithms(model.emission), logarithms(model.start)
    back = logarithms(model.back)
    for series in np.flatnonzero(outcomes == finite_state.SHRUNK):
        part = seen.symbols[seen.offsets[series] : seen.offsets[series + 1]]
        found = result[series : series + 1]
        outcomes[series] = log_domain.log_likelihood(
            part, model.labels, emission, start, back, found
        )
    raise_impossible(model, seen, outcomes)
    return result
