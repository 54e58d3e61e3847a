"""Bounds for targets that make no report, from those of the points that do.

Right of a target at a silent point, all reports lie at the next point that reports, m steps away,
and behind it. Of the values x of that point they say q(x) relative to what is known further out:
``q(x) / q(y)`` is at most what its right side is worth for x and y, with its own report. For the
value a of the target they say the mean of q with the weights ``p(a, x) u(x)``, where p is the
m-th power of the chain and u >= 0 what is known. The ratio of the means for a and b is one of
two quadratic forms in u, so it is at most the largest ratio of coefficients,

    (A q(x) + B q(y)) / (B q(x) + A q(y)),    A = p(a, x) p(b, y),    B = p(a, y) p(b, x),

over all x and y, which is monotone in q(x) / q(y). On the left the same holds of the last point
that reported, with the chain transposed.
"""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters.words import UNIT
from chainveil.privacy.letters.worth import Worth


class Told:
    """What one side of silent points is worth at most, by label, distance and pair of values."""

    def __init__(self, worth: Worth) -> None:
        self._worth, self._changes = worth, 0
        self._powers = [np.eye(len(worth.spelling.matrix))]
        self._found: dict[tuple[int, int], FloatArray] = {}

    @property
    def changes(self) -> int:
        """How often a bound of the points that report was lowered."""
        return self._worth.changes[self._worth.spelling.first]

    def bound(self, label: int, distance: int) -> FloatArray:
        """Of silent points so far from the next that reports, for all pairs of values, (k, k)."""
        if self.changes > self._changes:
            self._changes, self._found = self.changes, {}
        if (label, distance) not in self._found:
            while len(self._powers) <= distance:
                self._powers.append(self._powers[-1] @ self._worth.spelling.matrix)
            found = _means(self._powers[distance], self._at_report(label))
            slack = 16 * (distance + 8) * (len(found) + 8) * UNIT
            self._found[label, distance] = found + slack
        return self._found[label, distance]

    def _at_report(self, label: int) -> FloatArray:
        """Log bound of q(x) / q(y) at the point that reports, (k, k); never below zero."""
        spelling = self._worth.spelling
        found = self._worth.with_report((spelling.first, label))
        # Before the first report nothing is told from the left.
        before = spelling.is_left and label == spelling.none
        return np.zeros_like(found) if before else np.maximum(found, 0.0)


def _means(power: FloatArray, bounds: FloatArray) -> FloatArray:
    """Log bound of the ratio of means for every a and b, (k, k)."""
    found = np.zeros_like(bounds)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Divided by q(x), so that nothing is infinite: q(y) / q(x).
        least = np.exp(-bounds)
        for a in range(len(power)):
            same = power[a][:, None] * power[:, None, :]
            swapped = power[a][None, None, :] * power[:, :, None]
            ratio = (same + swapped * least) / (swapped + same * least)
            found[a] = np.log(np.where(np.isnan(ratio), 1.0, ratio)).max(axis=(1, 2), initial=0.0)
    return found
