"""How long a call takes, on machines where repeats differ."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    """Seconds of repeated runs: median, fastest and slowest."""

    median: float
    least: float
    most: float

    def shown(self, scale: float, digits: int = 2) -> str:
        """``median (fastest-slowest)``, multiplied by ``scale``."""
        middle, low, high = (
            f"{value * scale:.{digits}f}" for value in (self.median, self.least, self.most)
        )
        return f"{middle} ({low}-{high})"


def timed(run: Callable[[], object], repeats: int, warm_up: int = 1) -> Times:
    """Times of ``repeats`` runs after some that compile and touch the memory."""
    for _ in range(warm_up):
        run()
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return Times(statistics.median(taken), min(taken), max(taken))
