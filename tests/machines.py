"""Certificates made and verified by processes that compute as other machines do.

``python -m tests.machines make`` writes certificates to standard output, one a line, and
``make 3`` every third of them;
``python -m tests.machines verify`` reads them and writes what is held against each, one a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import chainveil as cv

LEVELS = cv.MarkovChain(
    [[0.95, 0.04, 0.01, 0.0], [0.06, 0.88, 0.05, 0.01], [0.01, 0.1, 0.84, 0.05],
     [0.0, 0.02, 0.1, 0.88]]
)  # fmt: skip
THREE = cv.MarkovChain([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])
FIVE = cv.MarkovChain(
    [[0.5 if x == y else 0.125 + 0.02 * ((x - y) % 5 - 2.5) for y in range(5)] for x in range(5)]
)
TWO = cv.MarkovChain.binary(0.0893, 0.1092)


# A plan of every kind.
PLANS: list[Callable[[], cv.NoisePlan]] = [
    lambda: cv.calibrate(TWO, 1.0),
    lambda: cv.calibrate(TWO, 2.0, max_length=500),
    lambda: cv.calibrate(TWO, 3.0, max_length=7, adversary="ignorant"),
    lambda: cv.calibrate(cv.MarkovChain.binary(0.1, 0.3, [0.25, 0.75]), 2.0, max_length=12),
    lambda: cv.calibrate(TWO, 4.0, earlier=[cv.Channel.binary(0.4, 0.4)]),
    lambda: cv.calibrate(TWO, 2.0, mechanism="correlated"),
    lambda: cv.calibrate(cv.ChainRegion((0.09, 0.11), (0.18, 0.22)), 3.0),
    lambda: cv.calibrate(THREE, 3.0),
    lambda: cv.calibrate(THREE, 3.0, max_length=20),
    lambda: cv.calibrate(THREE, 3.0, shape="ordinal", objective="distance"),
    lambda: cv.calibrate(THREE, 3.0, max_length=2, shape="per-state"),
    lambda: cv.calibrate(
        THREE, 4.0, max_length=3, earlier=[cv.Channel.randomized_response(3, 0.6)]
    ),
    lambda: cv.calibrate(FIVE, 2.0),
]


def make(every: int = 1) -> Iterator[Any]:
    """The certificates of every so many plans, without the line ends."""
    chosen = islice(PLANS, 0, None, every)
    return (json.loads(plan().certificate().to_json()) for plan in chosen)


def verify() -> Iterator[Any]:
    """What is held against each certificate: nothing, where it holds."""
    for line in sys.stdin:
        certificate = cv.Certificate.from_json(line)
        yield list(certificate.verify().objections) + _as_plan(certificate)


def _as_plan(certificate: cv.Certificate) -> list[str]:
    """What is held against the certificate of the plan that is made of it again."""
    return list(certificate.plan().certificate().verify().objections)


if __name__ == "__main__":
    for found in verify() if sys.argv[1] == "verify" else make(*map(int, sys.argv[2:])):
        print(json.dumps(found), flush=True)
