"""Ball arithmetic with as many bits as an answer takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from chainveil.errors import ChainveilError

# Bits of the balls: the first try, and where giving up beats going on.
FIRST_PRECISION, LAST_PRECISION = 192, 12_288
# The width a result may have from rounding alone, relative to itself.
ROUNDING = 1e-12

Result = TypeVar("Result")


class PrecisionExhausted(ArithmeticError):
    """The balls are too wide to decide; more bits may do."""


def with_enough_bits(attempt: Callable[[], Result | None]) -> Result:
    """Repeat ``attempt`` with wider and wider balls until it can decide."""
    from flint import ctx

    before = ctx.prec
    bits = FIRST_PRECISION
    try:
        while bits <= LAST_PRECISION:
            ctx.prec = bits
            try:
                result = attempt()
            except ArithmeticError:
                # Too few bits to decide, or a double that is only to guide left its range.
                result = None
            if result is not None:
                return result
            bits *= 2
    finally:
        ctx.prec = before
    raise ChainveilError(
        f"the loss could not be enclosed with {LAST_PRECISION} bits; "
        "the chain or the noise is too close to a degenerate one"
    )


def is_narrow(number: Any) -> bool:
    """Whether rounding left a ball as narrow as a result may be."""
    return float(number.rad()) <= ROUNDING * abs(float(number.mid())) or number.is_zero()
