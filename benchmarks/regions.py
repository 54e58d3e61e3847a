"""Boxes of chains: the certified loss against a dense search by the exact loss of single chains.

python -m benchmarks.regions                              # 20 boxes
python -m benchmarks.regions --boxes 300 --points 10000   # the full study, some ten minutes
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import chainveil as cv
from tests.oracle.dense import dense_loss, points_of, random_box


def study(boxes: int, points: int, seed: int = 0) -> int:
    """Certify random boxes and search each; returns how many fail."""
    rng = np.random.default_rng(seed)
    above, below, at_corner, failures = -np.inf, 0.0, 0, 0
    certifying, searching, drift = 0.0, 0.0, 0.0
    for _ in range(boxes):
        region, channel = random_box(rng)
        begin = time.process_time()
        certified = cv.privacy_loss(region, channel).epsilon
        middle = time.process_time()
        q, r = points_of(region, points, rng)
        losses = dense_loss(q, r, channel)
        certifying += middle - begin
        searching += time.process_time() - middle
        worst, some = int(np.argmax(losses)), int(rng.integers(points))
        for index in (worst, some):
            exact = cv.privacy_loss(cv.MarkovChain.binary(q[index], r[index]), channel)
            drift = max(drift, abs(exact.epsilon - float(losses[index])))
        above = max(above, float(losses.max()) - certified)
        below = max(below, certified - float(losses.max()))
        at_corner += (q[worst], r[worst]) == region.slowest
        failures += not -1e-6 <= float(losses.max()) - certified <= 0
    print(f"{boxes} boxes, {points:,} chains each")
    print(f"largest loss found minus certified loss: at most {above:.2e}")
    print(f"certified loss minus largest found: at most {below:.2e}")
    print(f"largest found at the slowest corner: {at_corner} of {boxes}")
    print(f"recursion against the exact loss of single chains: at most {drift:.1e} apart")
    print(f"seconds a box: {certifying / boxes:.2f} to certify, {searching / boxes:.2f} to search")
    print(f"failures: {failures}")
    return failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boxes", type=int, default=20)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sys.exit(min(study(arguments.boxes, arguments.points, arguments.seed), 1))


if __name__ == "__main__":
    main()
