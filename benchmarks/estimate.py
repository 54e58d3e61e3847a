"""Estimates on long releases, beside reading the memory once and beside the smoother.

    python -m benchmarks.estimate [--quick]

Frequency and transitions look at every point once; what they take, median (fastest-slowest) of
the repeats, is printed beside the time to add up the same bytes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.timing import Times, timed
from chainveil import Channel, CorrelatedNoise, StickyNoise, estimate


def report(name: str, taken: Times, points: int, beside: Times) -> None:
    ratio = taken.median / beside.median
    print(f"  {name:34s} {taken.shown(1e9 / points, 3):>24} ns a point  {ratio:7.1f} x")


def passes(points: int, repeats: int) -> None:
    print(f"\none pass over {points:,} points (ratio: to adding up the same bytes as words)")
    rng = np.random.default_rng(0)
    two = rng.integers(0, 2, points, dtype=np.uint8)
    memory = timed(lambda: np.add.reduce(two.view(np.uint64)), repeats)
    report("adding up 8 bytes at a time", memory, points, memory)
    report("numpy.sum of the bytes", timed(lambda: np.sum(two), repeats), points, memory)
    channel, chain = Channel.binary(0.3, 0.25), CorrelatedNoise(0.2, 0.4)
    questions: dict[str, Any] = {
        "frequency": estimate.frequency,
        "transitions": estimate.transitions,
    }
    for name, ask in questions.items():
        taken = timed(lambda: ask(two, channel), repeats)  # noqa: B023
        report(f"{name}, 2 states", taken, points, memory)
    sticky = StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])
    alone = timed(lambda: estimate.frequency(two, channel), repeats)
    taken = timed(lambda: estimate.frequency(two, sticky), repeats)
    report("frequency, sticky noise", taken, points, memory)
    print(f"  sticky over independent: {taken.median / alone.median:.2f}")
    four, many = rng.integers(0, 4, points, dtype=np.uint8), Channel.randomized_response(4, 0.4)
    for name, ask in questions.items():
        taken = timed(lambda: ask(four, many), repeats)  # noqa: B023
        report(f"{name}, 4 states", taken, points, memory)
    few = two[: points // 10]
    sums = timed(lambda: np.add.reduce(few.view(np.uint64)), repeats)
    for name, ask in questions.items():
        taken = timed(lambda: ask(few, chain), repeats)  # noqa: B023
        report(f"{name}, correlated noise", taken, len(few), sums)
    packed = estimate.Packed(np.packbits(two), points)
    words = packed.words
    memory = timed(lambda: np.add.reduce(words), repeats)
    report("packed: adding up the words", memory, points, memory)
    for name, ask in questions.items():
        taken = timed(lambda: ask(packed, channel), repeats)  # noqa: B023
        report(f"packed: {name}", taken, points, memory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    scale = 10 if arguments.quick else 1
    passes(10**8 // scale, arguments.repeats)


if __name__ == "__main__":
    main()
