"""What one side of a target is worth at most, as far as the search has shown."""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters.sides import Spelling


class Worth:
    """Log bounds of one side, by place of the target and pair of its values.

    Attributes
    ----------
    spelling : Spelling
    bounds : array (period, labels, k, k)
        Without any bound at first; on the left with the target's own report.
    changes : list of int
        How often a bound was lowered, by residue.
    """

    def __init__(self, spelling: Spelling) -> None:
        self.spelling, k = spelling, len(spelling.matrix)
        self.bounds = np.full((spelling.period, spelling.labels, k, k), np.inf)
        self.bounds[:, :, np.arange(k), np.arange(k)] = 0.0
        self.changes = [0] * spelling.period

    def learn(self, pair: tuple[int, int], place: tuple[int, int], bound: float) -> None:
        """Take note of what the side is worth at most for a pair of values at a place."""
        if bound < self.bounds[(*place, *pair)]:
            self.bounds[(*place, *pair)] = bound
            self.changes[place[0]] += 1

    def with_report(self, place: tuple[int, int]) -> FloatArray:
        """The same with the report at the point itself, or with nothing that follows: (k, k)."""
        if self.spelling.is_left:
            return np.asarray(self.bounds[place])
        found: FloatArray = np.zeros_like(self.bounds[place])
        for letter in self.spelling.letters[place]:
            with np.errstate(divide="ignore", invalid="ignore"):
                weight = np.log(letter.weight)
                told = weight[:, None] - weight + self.bounds[place[0], letter.following]
            # A report that cannot be made in x does not favour it.
            found = np.maximum(found, np.where(letter.weight[:, None] > 0, told, -np.inf))
        return found
