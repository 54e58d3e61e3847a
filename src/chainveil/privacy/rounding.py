"""Where a real number becomes a float: always to a named side."""

from __future__ import annotations

import math

from flint import arb


def up(number: arb) -> float:
    """A float that is not below the number. Every loss shown to a user passes through here."""
    return _beyond(number, float(number.upper()), math.inf)


def down(number: arb) -> float:
    """A float that is not above the number."""
    return _beyond(number, float(number.lower()), -math.inf)


def _beyond(number: arb, nearest: float, side: float) -> float:
    # float() rounds to nearest: an exact value stays, any other moves one float outwards.
    if math.isinf(nearest) or (number.is_exact() and arb(nearest) == number):
        return nearest
    return math.nextafter(nearest, side)
