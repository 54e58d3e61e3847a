"""Errors of shares and pairs from sticky and from independent noise, at the same budget.

    python -m benchmarks.estimate_error [--releases 4000]

One series of 20,000 points of the chain of record N10 stays fixed and the noise is drawn anew. Root
mean square errors of the share of ones and of the shares of pairs, as a table for docs/coverage.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.coverage import Floats, pair_shares
from chainveil import MarkovChain, NoisePlan, calibrate, estimate
from chainveil.estimate.counts.cells import read_cells
from chainveil.mechanism import sanitize, seeded

CHAIN, LENGTH, BUDGETS = MarkovChain.binary(0.0893, 0.1092), 20_000, (2.0, 4.0)
# A mechanism, and what its noise is made for.
NOISES: tuple[tuple[Any, Any], ...] = (
    ("independent", "share"), ("sticky", "wrong-reports"), ("sticky", "share"),
)  # fmt: skip
ROWS = 200


def strays(plan: NoisePlan, releases: int) -> Iterator[tuple[Floats, Floats]]:
    """Errors of the share of ones, (rows,), and of shares of pairs, (rows, 2, 2)."""
    x = CHAIN.sample(LENGTH, ROWS, 1)
    x[:] = x[0]
    # The first report of a series is not looked at where reports look back.
    seen = x[:1, int(plan.noise.sees == "last report") :]
    ones, pairs = seen.mean(), pair_shares(seen, 2)
    for seed in range(releases // ROWS):
        z = sanitize(x, plan.noise, rng=seeded(100 + seed))
        cells = read_cells(z, plan.noise.outputs, by="series")
        share = estimate.frequency(cells, plan).value[:, 1]
        yield share - ones, estimate.pairs(cells, plan).value - pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--releases", type=int, default=4000)
    releases = parser.parse_args().releases
    print("| ε | noise | made for | share of ones | pairs 1, 1 | all pairs |\n" + "|---" * 6 + "|")
    for epsilon in BUDGETS:
        for mechanism, objective in NOISES:
            plan = calibrate(CHAIN, epsilon, mechanism=mechanism, objective=objective)
            share, pairs = map(np.concatenate, zip(*strays(plan, releases), strict=True))
            errors = [np.sqrt(np.mean(part**2)) for part in (share, pairs[:, 1, 1], pairs)]
            cells = [f"{epsilon:g}", mechanism, objective, *(f"{error:.3g}" for error in errors)]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
