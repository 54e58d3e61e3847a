"""How often a family of a reference population keeps its promise to persons it did not see.

    python -m benchmarks.left_out

Noise is calibrated at epsilon = 2 from all persons but one, and judged on the own fitted chain of
that one; noise for the pooled chain of the same persons stands beside it. A simulated population
of 100 persons, and the records of PhysioNet's meditation database (CHAINVEIL_DATA names the
folder above it) by their own means and by 75 beats a minute. Takes some ten minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_sticky import RECORDS, heart_rate
from chainveil import MarkovChain, ModelFamily, calibrate, privacy_loss

EPSILON = 2.0


def kept(series: Sequence[NDArray[Any]], left_out: Sequence[int]) -> tuple[int, int]:
    """How often the family, and the pooled chain, kept the promise to who was left out."""
    family = pooled = 0
    for place in left_out:
        rest = [*series[:place], *series[place + 1 :]]
        own = MarkovChain.fit(series[place], public=True)
        plans = (
            calibrate(ModelFamily.fit(rest, public=True, order=1), EPSILON),
            calibrate(MarkovChain.fit(rest, public=True), EPSILON),
        )
        family, pooled = (
            count + (privacy_loss(own, plan.noise).epsilon <= EPSILON)
            for count, plan in zip((family, pooled), plans, strict=True)
        )
    return family, pooled


def population(count: int) -> list[NDArray[Any]]:
    """Persons whose q and r differ by a factor of two as often as not, now and then by ten."""
    rng = np.random.default_rng(5)
    laws = np.exp(rng.normal([-2.5, -2.2], [0.7, 0.6], size=(count, 2))).clip(2e-3, 0.45)
    return [MarkovChain.binary(*law).sample(2000, rng=rng) for law in laws.tolist()]


def main() -> None:
    rates = [rate for rate in map(heart_rate, RECORDS) if rate is not None]
    groups = {
        "100 simulated persons": population(100),
        "records, own mean": [np.asarray(rate >= rate.mean(), np.uint8) for rate in rates],
        "records, 75 a minute": [np.asarray(rate >= 75, np.uint8) for rate in rates],
    }
    for name, series in groups.items():
        if not series:
            print(f"{name}: not at hand; CHAINVEIL_DATA names the folder they are in")
            continue
        family, pooled = kept(series, range(len(series)))
        print(f"{name}: family {family}, pooled {pooled} of {len(series)}", flush=True)


if __name__ == "__main__":
    main()
