"""Chain and noise as the search reads them: floats within four units of the exact numbers.

The exact reading is what a loss refers to: each row of the transition matrix and of every law of a
report is divided by its exact sum. A zero stays a zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise
from chainveil.privacy.finite.numbers import (
    _check_range,
    _floats,
    _normalised,
    _stationary_floats,
    exact_emission,
    exact_start,
    exact_transition,
)


@dataclass(frozen=True)
class Numbers:
    """Chain and reports in floats.

    Attributes
    ----------
    transition : array (k, k)
        Pr[next = y | now = x] at ``[x, y]``.
    start, stationary : array (k,)
        Law of the first point, and the stationary law.
    is_stationary : bool
        Whether the chain starts from its stationary law.
    laws : tuple of (array (k, m), array (m, k, m))
        For each release the law of its first report, and of one after the report z at ``[z]``.
    """

    transition: FloatArray
    start: FloatArray
    stationary: FloatArray
    is_stationary: bool
    laws: tuple[tuple[FloatArray, FloatArray], ...]

    @property
    def states(self) -> int:
        """Number of states k."""
        return len(self.transition)


def read_numbers(chain: MarkovChain, releases: tuple[Noise, ...]) -> Numbers:
    """Floats within four units in the last place of the exact reading."""
    transition = exact_transition(chain)
    stationary = _stationary_floats(transition)
    start = stationary if chain.initial is None else _floats([exact_start(chain)])[0]
    laws = tuple(_laws(noise) for noise in releases)
    moves = _floats(transition)
    for name, array in (("chain", moves), ("chain", start)):
        _check_range(name, array)
    for first, kernel in laws:
        _check_range("noise", first)
        _check_range("noise", kernel if kernel.size else first)
    return Numbers(moves, start, stationary, chain.initial is None, laws)


def _laws(noise: Noise) -> tuple[FloatArray, FloatArray]:
    if noise.sees == "point":
        first = _floats(exact_emission(noise))  # type: ignore[arg-type]
        return first, np.zeros((0, *first.shape))
    kernel = noise.step_law()[:, 0]
    rows = _rows(kernel.reshape(-1, kernel.shape[-1]))
    return _rows(noise.first_law()), rows.reshape(kernel.shape)


def _rows(law: FloatArray) -> FloatArray:
    return _floats([_normalised(row) for row in law.tolist()])
