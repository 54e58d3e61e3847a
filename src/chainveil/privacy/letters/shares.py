"""What follows a node where no value is known: it cannot favour one state by much.

What follows a node enters its word as a vector w over the states of its point. Without
knowledge it is a product ``w = q * u``, where u is what the chain alone says there, ones on the
right and the stationary law on the left, and q what the reports add. That is what they say of the
point as a target of its own, so ``q[x] / q[y]`` is at most what this side is worth for the pair
(x, y), and w has at least the share

    u[x] / sum_y exp(bound[y, x]) u[y]

of its sum in x. What is shown for some pairs makes words of all pairs easier to cover.
"""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters.numbers import Numbers
from chainveil.privacy.letters.sides import Spelling

# What shares are lowered by, as a share: far more than rounding takes.
MARGIN = 1e-9


class Shares:
    """Least shares of what follows, on one side, of a stationary chain of which nothing is known.

    Attributes
    ----------
    bounds : array (period, labels, k, k)
        What the side is worth at most, for each pair of values of a target there.
    """

    def __init__(self, numbers: Numbers, spelling: Spelling) -> None:
        self._spelling, k = spelling, numbers.states
        self._alone = numbers.start if spelling.is_left else np.ones(k)
        self.bounds = np.full((spelling.period, spelling.labels, k, k), np.inf)
        self.bounds[:, :, np.arange(k), np.arange(k)] = 0.0
        self._least: FloatArray | None = None

    def learn(self, pair: tuple[int, int], place: tuple[int, int], bound: float) -> None:
        """Take note of what the side is worth at most for a pair of values at a place."""
        if bound < self.bounds[(*place, *pair)]:
            self.bounds[(*place, *pair)] = bound
            self._least = None

    @property
    def least(self) -> FloatArray:
        """Least share of each state, by residue and label: (period, labels, k)."""
        if self._least is None:
            with np.errstate(over="ignore"):
                factor = np.exp(self._at_node())
            total = (factor * self._alone[:, None]).sum(axis=2)
            self._least = self._alone / total * (1 - MARGIN)
        return self._least

    def _at_node(self) -> FloatArray:
        """Log bound of q[x] / q[y] at each place; on the right with the report that is read there.

        There the bound is for a target before that report, or nothing follows at all.
        """
        if self._spelling.is_left:
            return self.bounds
        found = np.zeros_like(self.bounds)
        for place, letters in self._spelling.letters.items():
            for letter in letters:
                with np.errstate(divide="ignore", invalid="ignore"):
                    weight = np.log(letter.weight)
                    told = weight[:, None] - weight + self.bounds[place[0], letter.following]
                # A report that cannot be made in x does not favour it.
                told = np.where(letter.weight[:, None] > 0, told, -np.inf)
                found[place] = np.maximum(found[place], told)
        return found
