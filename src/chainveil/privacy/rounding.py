"""Where a real number becomes a float: always to a named side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb


def up(number: arb) -> float:
    """A float that is not below the number. Every loss shown to a user passes through here."""
    return _beyond(number, float(number.upper()), math.inf)


def down(number: arb) -> float:
    """A float that is not above the number."""
    return _beyond(number, float(number.lower()), -math.inf)


def upper(number: float, digits: int = 6) -> str:
    """A float in decimal digits, rounded up: what a user reads is not below the number either."""
    from decimal import ROUND_CEILING, Context, Decimal

    if math.isinf(number):
        return "inf"
    return f"{Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(number)).normalize():f}"


def lower(number: float, digits: int = 6) -> str:
    """A float in decimal digits, rounded down: for what is attained at least."""
    from decimal import ROUND_FLOOR, Context, Decimal

    if math.isinf(number):
        return "inf"
    return f"{Context(prec=digits, rounding=ROUND_FLOOR).plus(Decimal(number)).normalize():f}"


def exact(number: float) -> str:
    """A float as a user types it: the fewest digits that are no other float."""
    from decimal import Decimal

    if math.isinf(number):
        return "inf"
    return f"{Decimal(repr(float(number))).normalize():f}"


def _beyond(number: arb, nearest: float, side: float) -> float:
    from flint import arb

    # float() rounds to nearest: an exact value stays, any other moves one float outwards.
    if math.isinf(nearest) or (number.is_exact() and arb(nearest) == number):
        return nearest
    return math.nextafter(nearest, side)
