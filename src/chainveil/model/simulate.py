"""Compiled sampling of chains. Test data only; protective noise lives in ``mechanism``."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput

# Uniform draws held at once: 32 MiB.
CHUNK = 1 << 22


def sample(
    start: FloatArray,
    transition: FloatArray,
    n: int,
    rows: int,
    rng: np.random.Generator | int | None,
) -> NDArray[Any]:
    """``rows`` independent series of length ``n``, shape (rows, n)."""
    generator = _generator(rng)
    k = len(start)
    series = np.empty((rows, n), dtype=np.uint8 if k <= 256 else np.int64)
    first = _cumulative(start)
    steps = _cumulative(transition)
    width = max(1, CHUNK // rows)
    state = np.full(rows, -1, dtype=np.int64)
    for begin in range(0, n, width):
        end = min(n, begin + width)
        _walk(first, steps, generator.random((rows, end - begin)), state, series[:, begin:end])
    return series


def _generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    if rng is not None and not isinstance(rng, (np.random.Generator, int, np.integer)):
        raise InvalidInput("rng", rng, "None, a whole number, or a numpy.random.Generator")
    return np.random.default_rng(rng)


def _cumulative(probabilities: FloatArray) -> FloatArray:
    """Running sums along the last axis; from the last possible value on they are one."""
    sums = np.cumsum(probabilities, axis=-1)
    last = np.where(probabilities > 0, np.arange(probabilities.shape[-1]), -1).max(axis=-1)
    sums[np.arange(probabilities.shape[-1]) >= np.expand_dims(last, -1)] = 1.0
    return sums


@numba.njit(cache=True)
def _walk(first: Any, steps: Any, uniforms: Any, state: Any, out: Any) -> None:
    for row in range(uniforms.shape[0]):
        current = state[row]
        for t in range(uniforms.shape[1]):
            sums = first if current < 0 else steps[current]
            current = 0
            while uniforms[row, t] >= sums[current]:
                current += 1
            out[row, t] = current
        state[row] = current
