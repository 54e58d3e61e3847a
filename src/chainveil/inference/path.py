"""Viterbi: the single likeliest series behind a release."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.inference.observations import Observations
from chainveil.inference.posterior import abreast, raise_impossible
from chainveil.inference.tables import (
    CERTAIN,
    Odds,
    Tables,
    logarithms,
    odds,
    read_release,
)
from chainveil.model.base import require_model
from chainveil.noise.base import Noise


def viterbi(chain: Any, noise: Noise, z: Any, known: Any = None) -> Any:
    """The likeliest states behind ``z``, in the shape of ``z``; uint8 up to 256 states.

    The arguments are as in :func:`chainveil.inference.smoothed`. Where several paths are
    equally likely, comparisons that tie go to the lower state.
    """
    require_model(chain)
    # Of several hidden paths of one series none would be as likely as the series.
    model, seen = read_release(chain.unfolded(), noise, z, known)
    ratios = odds(model)
    flat = _general(model, seen) if ratios is None else _two_state(ratios, seen)
    if not model.plain:
        flat = model.value.astype(flat.dtype)[flat]
    return seen.restore(flat)


def bends(q: float, r: float) -> tuple[FloatArray, FloatArray]:
    """``sign, shift, low, high`` of a step forth and of one back; see ``two_state_path``."""
    moves = np.array([[np.log1p(-q), np.log(q)], [np.log(r), np.log1p(-r)]])
    # Both from one comparison, so that rounding cannot set the two directions apart.
    sign = 1.0 if moves[0, 1] + moves[1, 0] <= moves[0, 0] + moves[1, 1] else -1.0
    return _bend(moves, sign), _bend(moves.T, sign)


def _bend(moves: FloatArray, sign: float) -> FloatArray:
    """The bend of ``max(l_11 + d, l_01) - max(l_10 + d, l_00)``; ``moves`` holds the l's."""
    (l00, l01), (l10, l11) = moves
    ends = (l01 - l00, l11 - l10)
    return np.array([sign, l11 - l00 if sign > 0 else l01 - l10, min(ends), max(ends)])


def _two_state(ratios: Odds, seen: Observations) -> NDArray[np.uint8]:
    from chainveil.inference import two_state_path as kernels

    log_ratio = logarithms(ratios.ratio)
    log_ratio[ratios.ratio == CERTAIN] = np.inf
    start = float(logarithms(np.array([ratios.start]))[0])
    path = np.empty(len(seen.symbols), dtype=np.uint8)
    forth, back = bends(ratios.q, ratios.r)
    if abreast(seen):
        rows, target = seen.restore(seen.symbols), seen.restore(path)
        kernels.viterbi_rows(rows, log_ratio, start, forth, target)
    else:
        kernels.viterbi_many(seen.symbols, seen.offsets, log_ratio, start, forth, back, path)
    return path


def _general(model: Tables, seen: Observations) -> NDArray[Any]:
    from chainveil.inference import finite_state as kernels

    small = np.uint8 if model.states <= 256 else np.uint16
    path = np.empty(len(seen.symbols), dtype=small)
    longest = int(np.diff(seen.offsets).max(initial=0))
    pointers = np.empty((longest, model.states), dtype=small)
    outcomes = np.empty(len(seen.offsets) - 1, dtype=np.int64)
    emission, start = logarithms(model.emission), logarithms(model.start)
    back = logarithms(model.back)
    kernels.viterbi_many(
        seen.symbols, seen.offsets, model.labels, emission, start, back, pointers, path, outcomes
    )
    raise_impossible(model, seen, outcomes)
    return path
