"""Keystreams for tests: one that is written by hand, one that remembers what it was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.mechanism.randomness import Keystream, Plane, fill_up


class Crafted:
    """Answers every request with given bytes and given 64-bit words."""

    def __init__(self, symbols: NDArray[Any], words: list[int]) -> None:
        self._symbols = symbols.reshape(-1).view(np.uint8)
        self._words = words

    def run(self, plane: Plane, series: int, first: int, count: int) -> NDArray[np.uint8]:
        buffer = np.zeros(count + 256, np.uint8)
        buffer[:count] = self._symbols[:count]
        return fill_up(buffer, count)

    def veil(
        self, plane: Plane, series: int, block: int, values: NDArray[Any], out: NDArray[Any]
    ) -> None:
        out[:] = values ^ self._symbols[: len(values)]

    def blocks(self, counters: NDArray[np.uint64]) -> NDArray[np.uint8]:
        result = np.zeros((len(counters), 2), "<u8")
        result[:, 0] = self._words[: len(counters)]
        return result.reshape(-1).view(np.uint8)


class Remembering(Keystream):
    """A real keystream that keeps a list of the addresses it was asked for."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.asked: list[Any] = []

    def veil(
        self, plane: Plane, series: int, block: int, values: NDArray[Any], out: NDArray[Any]
    ) -> None:
        self.asked.append((int(plane), series, block, len(values)))
        super().veil(plane, series, block, values, out)

    def blocks(self, counters: NDArray[np.uint64]) -> NDArray[np.uint8]:
        self.asked.append(counters.tobytes())
        return super().blocks(counters)
