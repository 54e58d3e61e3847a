"""Points of two states, eight to a byte."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput

WORD = 64


@dataclass(frozen=True)
class Packed:
    """One series of zeros and ones as ``numpy.packbits`` lays it out.

    Estimates take it in place of an array, and count it as it is, but for groups and fits.

    Attributes
    ----------
    bits : uint8 array of shape (bytes,)
        The first point is the highest bit of the first byte.
    length : int
        How many points there are; bits after them are not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> import chainveil as cv
    >>> z = np.array([0, 1, 1, 0, 1, 1, 1, 0, 1, 1], np.uint8)
    >>> packed = cv.estimate.Packed(np.packbits(z), len(z))
    >>> cv.estimate.frequency(packed, cv.Channel.binary(0.2, 0.1)).value.round(3)
    array([0.286, 0.714])
    """

    bits: NDArray[np.uint8]
    length: int

    def __post_init__(self) -> None:
        bits: Any = self.bits
        if not isinstance(bits, np.ndarray) or bits.dtype != np.uint8 or bits.ndim != 1:
            raise InvalidInput("bits", bits, "a 1-D uint8 array, such as numpy.packbits returns")
        object.__setattr__(self, "length", checks.whole("length", self.length, 0))
        if self.length > 8 * len(bits):
            raise InvalidInput("length", self.length, f"at most {8 * len(bits)}, eight a byte")

    def unpacked(self, begin: int = 0) -> NDArray[np.uint8]:
        """The points from ``begin`` on, one a byte; ``begin`` is a multiple of 8."""
        return np.unpackbits(self.bits[begin // 8 :], count=self.length - begin)

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """All whole words of 64 points."""
        whole = self.length // WORD
        return np.ascontiguousarray(self.bits[: 8 * whole]).view(np.uint64)
