"""Random losses of two-state chains against the definition.

    python -m tests.oracle 20000 [seed]

As many small cases, a twentieth of boxes of chains, and a twentieth of given lengths. Exit status
1 if a bound is too low or too loose, or if an attack does not hold.
"""

from __future__ import annotations

import argparse
import collections
import math
import sys
import time

import numpy as np

from tests.oracle import two_state
from tests.oracle.two_state import Checked

SHOWN = 20  # failures of a kind that are written out
CHAINS = 200  # chains of a box that are enumerated


class Run:
    """What was counted, with a line of progress on a terminal."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.began = total, 0, time.monotonic()
        self.cases: collections.Counter[str] = collections.Counter()
        self.wrong: collections.Counter[str] = collections.Counter()
        self.infinite = self.open = 0
        self.excess = 0.0
        self.slowest: tuple[float, str] = (0.0, "")

    def count(self, name: str, found: Checked, seconds: float, exact: bool) -> None:
        """Take one result in."""
        self.done += 1
        self.cases[name] += 1
        self.infinite += found.truth == math.inf
        self.open += found.found.upper == math.inf != found.truth
        self.slowest = max(self.slowest, (seconds, found.case.words()))
        if exact and math.isfinite(found.truth):
            excess = (found.found.upper - found.truth) / max(1.0, found.truth)
            self.excess = max(self.excess, excess)
        for kind in found.wrong:
            self.wrong[kind] += 1
            if self.wrong[kind] <= SHOWN:
                self._clear()
                print(f"FAILED {name} {found}", flush=True)
        if sys.stderr.isatty() or self.done % 1000 == 0:
            self._clear()
            rate = self.done / (time.monotonic() - self.began)
            left = (self.total - self.done) / rate
            line = f"{self.done:,} of {self.total:,} cases, {sum(self.wrong.values())} failures, "
            print(line + f"{left:.0f} s left", end="" if sys.stderr.isatty() else "\n",
                  file=sys.stderr, flush=True)  # fmt: skip

    def _clear(self) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)

    def summary(self, seed: int) -> str:
        """The last lines."""
        self._clear()
        counts = ", ".join(f"{count:,} {name}" for name, count in self.cases.items())
        failures = ", ".join(f"{count} {kind}" for kind, count in self.wrong.items())
        return (
            f"seed {seed}: {counts}; {self.infinite:,} infinite losses, {self.open} bounds left "
            f"infinite; largest excess of small cases {self.excess:.1e}; "
            f"{time.monotonic() - self.began:.0f} s, slowest {self.slowest[0]:.1f} s "
            f"({self.slowest[1]})\nfailures: {failures or 'none'}"
        )


def main() -> int:
    """Check, print and tell whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    settings = parser.parse_args()
    parts = {
        "small cases": settings.count,
        "boxes": settings.count // 20,
        "lengths": settings.count // 20,
    }
    run = Run(sum(parts.values()))
    for place, (name, count) in enumerate(parts.items()):
        for number in range(count):
            rng = np.random.default_rng([settings.seed, place, number])
            begin = time.process_time()
            if name == "small cases":
                found = two_state.check(two_state.random_case(rng))
            elif name == "boxes":
                found = two_state.check_box(two_state.random_box(rng), rng, CHAINS)
            else:
                found = two_state.check_lengths(two_state.random_lengths(rng))
            seconds = time.process_time() - begin
            run.count(name, found, seconds, exact=name == "small cases")
    print(run.summary(settings.seed))
    return 1 if run.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
