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
from chainveil.privacy.letters.worth import Worth

# What shares are lowered by, as a share: far more than rounding takes.
MARGIN = 1e-9


class Shares:
    """Least shares of what follows, on one side, of a stationary chain of which nothing is known.

    They follow from what the side is worth at most, and grow as more of that is shown.
    """

    def __init__(self, numbers: Numbers, worth: Worth) -> None:
        self._worth = worth
        self._alone = numbers.start if worth.spelling.is_left else np.ones(numbers.states)
        self._least: tuple[list[int], FloatArray] | None = None

    @property
    def least(self) -> FloatArray:
        """Least share of each state, by residue and label: (period, labels, k)."""
        changes = self._worth.changes
        if self._least is None or self._least[0] != changes:
            with np.errstate(over="ignore"):
                factor = np.exp(self._at_nodes())
            total = (factor * self._alone[:, None]).sum(axis=2)
            self._least = list(changes), self._alone / total * (1 - MARGIN)
        return self._least[1]

    def _at_nodes(self) -> FloatArray:
        """Log bound of q[x] / q[y] at each place, (period, labels, k, k)."""
        period, labels = self._worth.bounds.shape[:2]
        return np.array(
            [
                [self._worth.with_report((phase, label)) for label in range(labels)]
                for phase in range(period)
            ]
        )
