"""What every attacker can do: reconstruct a series from its release, and be scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.attack.success import Success, score
from chainveil.inference.observations import UNKNOWN, known_points
from chainveil.sequences import Sequences


class Attack(ABC):
    """An attacker that sees a release ``z``, and perhaps some true points."""

    @abstractmethod
    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z``, in the shape of ``z``.

        ``known`` is a mapping from position to state, or an array (or list) shaped like
        ``z`` with -1 where nothing is known; known points come back as they are.
        """

    def success(
        self,
        x: Any,
        z: Any,
        known: Any = None,
        target: int | None = None,
        confidence: float = 0.95,
    ) -> Success:
        """Attack ``z`` and compare with the truth ``x``; see :func:`chainveil.attack.score`."""
        return score(x, self.reconstruct(z, known), known, target, confidence)


def put_known(guess: NDArray[Any], known: Any, series: Sequences, states: int) -> NDArray[Any]:
    """``guess``, laid end to end, with the known points put in."""
    if known is None:
        return guess
    points = known_points(known, series, states)
    return np.where(points == UNKNOWN, guess, points).astype(guess.dtype)
