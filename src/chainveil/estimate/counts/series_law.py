"""The law of the series behind a release, as the variance of an estimate needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.model.base import DataModel


@dataclass(frozen=True)
class SeriesLaw:
    """A stationary chain of hidden states, each of which stands for a state of the series.

    Attributes
    ----------
    start : array of shape (s,)
        The stationary law.
    move : array of shape (s, s)
    value : integer array of shape (s,)
        The state of the series, 0 … k-1, that a hidden state stands for.
    """

    start: FloatArray
    move: FloatArray
    value: NDArray[np.int64]

    @classmethod
    def of(cls, model: DataModel) -> SeriesLaw:
        """That of a model in the long run, however it starts."""
        start, move, value = model.hidden_chain()
        plain = len(value) == model.states
        return cls(np.asarray(model.stationary if plain else start), move, value)

    def between(self, every: int) -> SeriesLaw:
        """That of one point in ``every``."""
        if every == 1:
            return self
        return SeriesLaw(self.start, np.linalg.matrix_power(self.move, every), self.value)

    @property
    def plain(self) -> bool:
        """Whether the hidden states are the states: a chain of order 1."""
        return bool(np.array_equal(self.value, np.arange(len(self.value))))

    @property
    def shown(self) -> FloatArray:
        """Which state a hidden state stands for, shape (k, s), ones and zeros."""
        return np.asarray(self.value[None, :] == np.unique(self.value)[:, None], dtype=float)

    @property
    def stationary(self) -> FloatArray:
        """Share of each state in the long run, shape (k,)."""
        return np.asarray(self.shown @ self.start)

    def patterns(self, points: Sequence[int]) -> FloatArray:
        """``Pr[states at points]``, shape (k^p,), the first point slowest."""
        shown, size = self.shown, len(self.start)
        messages = shown * self.start
        for step in np.diff(points):
            moved = messages @ np.linalg.matrix_power(self.move, int(step))
            messages = (moved[:, None, :] * shown[None]).reshape(-1, size)
        return np.asarray(messages.sum(axis=1))
