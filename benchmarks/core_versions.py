"""Losses and plans of two states: this checkout against another one, side by side in one run.

    python -m benchmarks.core_versions OTHER/src [--repeats 7] [--only losses|plans]

Each version answers in a process of its own; the two are asked in turn, question by question. Times
are processor times, so that other programs count little. A row has the median of both, the median
ratio of pairs with the least and the greatest, and both answers: the upper bound of a loss, the
share of wrong reports of a plan. A row is marked where the new version is slower than the limits
below allow.
"""

from __future__ import annotations

import argparse
import inspect
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

CHAINS = {
    "q=.0893 r=.1092": (0.0893, 0.1092),
    "q=.3 r=.05": (0.3, 0.05),
    "q=r=1e-3": (1e-3, 1e-3),
    "q=1e-5 r=2e-5": (1e-5, 2e-5),
}
BY_LAST_REPORT = [[[0.1, 0.2], [0.25, 0.35]], [[0.65, 0.75], [0.8, 0.9]]]
MECHANISMS = ("independent", "sticky", "tracking", "correlated")
# A loss may take 1.1 times as long or half a millisecond more, a plan 1.25 times or 50
# milliseconds more; on chains with q + r below .01 twice as long, or a second more.
LIMITS = {"losses": (1.1, 5e-4), "plans": (1.25, 0.05), "slow plans": (2.0, 1.0)}
SLOW = 0.01
# What takes longer is asked once more only.
LONG = 2.0


def losses() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and questions."""
    for name, (q, r) in CHAINS.items():
        chain = {"q": q, "r": r}
        for kind in MECHANISMS:
            yield f"{kind}, {name}", chain | {"noise": [kind]}
            yield f"{kind}, length 500, {name}", chain | {"noise": [kind], "length": 500}
        for kind in ("independent", "sticky"):
            for adversary in ("ignorant", "informed"):
                yield f"{kind}, {adversary}, {name}", chain | {
                    "noise": [kind], "adversary": adversary,
                }  # fmt: skip
            for every in (5, 20):
                yield f"{kind} 1 in {every}, {name}", chain | {"noise": [kind], "every": every}
            yield f"{kind}, event 5, {name}", chain | {"noise": [kind], "unit": 5}
            yield f"{kind} twice, {name}", chain | {"noise": [kind, kind]}
        for kind in ("sticky", "tracking"):
            yield f"{kind}, gaps, {name}", chain | {"noise": [kind], "gaps": True}
        for kind in ("independent", "sticky", "tracking"):
            yield f"{kind}, box, {name}", chain | {"noise": [kind], "box": 1.2}
            yield f"{kind}, family of 3, {name}", chain | {"noise": [kind], "family": 3}


def plans() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and questions."""
    for name, (q, r) in CHAINS.items():
        chain = {"q": q, "r": r}
        for kind in MECHANISMS:
            for epsilon in (0.5, 2.0):
                asked = chain | {"mechanism": kind, "epsilon": epsilon}
                yield f"{kind}, epsilon {epsilon}, {name}", asked
        for kind in ("independent", "sticky"):
            asked = chain | {"mechanism": kind, "epsilon": 2.0}
            yield f"{kind} 1 in 5, {name}", asked | {"every": 5}
            yield f"{kind}, event 3, {name}", asked | {"unit": 3}
            yield f"{kind}, box, {name}", asked | {"box": 1.2}
            yield f"{kind}, family of 3, {name}", asked | {"family": 3}
        yield f"sticky, share, {name}", chain | {
            "mechanism": "sticky", "epsilon": 2.0, "objective": "share",
        }  # fmt: skip


def answer(part: str, asked: dict[str, Any]) -> tuple[float, float]:
    """The number of an answer, and the seconds of the processor that it took."""
    import chainveil as cv

    q, r = asked["q"], asked["r"]
    model: Any = cv.MarkovChain.binary(q, r)
    if "box" in asked:
        model = cv.ChainRegion((q, asked["box"] * q), (r, asked["box"] * r))
    if "family" in asked:
        model = cv.ModelFamily(
            [cv.MarkovChain.binary(q * (1 + 0.5 * i), r) for i in range(asked["family"])]
        )
    function: Any = cv.privacy_loss if part == "losses" else cv.calibrate
    takes = inspect.signature(function).parameters
    # Names of arguments and values that have changed between versions.
    words: dict[str, Any] = {
        key: asked[key] for key in ("adversary", "gaps", "mechanism") if key in asked
    }
    if part == "plans":
        words["every"] = asked.get("every", 1)
    if "unit" in asked:
        words["unit" if "unit" in takes else "event"] = asked["unit"]
    if "length" in asked:
        words["max_length" if "max_length" in takes else "length"] = asked["length"]
    if "objective" in asked:
        words["objective"] = asked["objective"] if "earlier" in takes else "estimate"
    noises: dict[str, Any] = {
        "independent": cv.Channel.binary(0.3, 0.25),
        "sticky": cv.StickyNoise.binary([[0.1, 0.3], [0.7, 0.9]], [0.3, 0.7]),
        "tracking": cv.TrackingNoise.binary(BY_LAST_REPORT, [0.3, 0.7]),
        "correlated": cv.CorrelatedNoise(0.15, 0.4),
    }
    what: Any = asked.get("epsilon")
    if part == "losses":
        chosen = [noises[kind] for kind in asked["noise"]]
        if asked.get("every", 1) > 1:
            chosen = [noise.thinned(asked["every"]) for noise in chosen]
        what = chosen if len(chosen) > 1 else chosen[0]
    begin = time.process_time()
    try:
        found = function(model, what, **words)
    except cv.ChainveilError:
        return math.nan, time.process_time() - begin
    taken = time.process_time() - begin
    return float(found.epsilon if part == "losses" else found.expected_flips), taken


def serve(address: str) -> None:
    """Answer questions until there are no more."""
    with Client(address) as connection:
        while True:
            try:
                asked = connection.recv()
            except EOFError:
                return
            connection.send(answer(*asked))


def started(source: Path) -> Connection[Any, Any]:
    """A process that answers with the sources of one version."""
    with Listener() as listener:
        environment = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--serve", str(listener.address)]
        subprocess.Popen(command, env=environment)
        return listener.accept()


def compare(part: str, name: str, asked: dict[str, Any], both: Any, repeats: int) -> float:
    """Print a row; the median ratio."""
    values: list[float] = []
    times: list[list[float]] = [[], []]
    for turn in range(repeats + 1):
        for place, connection in enumerate(both):
            connection.send((part, asked))
            value, seconds = connection.recv()
            if turn == 0:  # The first call may compile.
                values.append(value)
            else:
                times[place].append(seconds)
        if times[0] and max(times[0][0], times[1][0]) > LONG:
            break
    old, new = (statistics.median(one) for one in times)
    ratios = [b / a for a, b in zip(*times, strict=True)]
    is_slow = part == "plans" and asked["q"] + asked["r"] < SLOW
    by, seconds = LIMITS["slow plans" if is_slow else part]
    slower = math.isfinite(values[0]) and new > by * old and new - old > seconds
    ratio = statistics.median(ratios)
    spread = f"{ratio:7.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
    shown = f"{values[0]:12.6f} {values[1]:12.6f}{'  slower' if slower else ''}"
    print(f"{name:44} {old * 1e3:9.2f} {new * 1e3:9.2f} {spread:21} {shown}", flush=True)
    return ratio if math.isfinite(values[0]) else math.nan


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", help="folder with the package `chainveil` of the other version")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", choices=["losses", "plans"])
    settings = parser.parse_args()
    import chainveil

    own = Path(chainveil.__file__).parents[1]
    both = [started(source) for source in (Path(settings.other).resolve(), own)]
    for part, questions in (("losses", losses), ("plans", plans)):
        if settings.only not in (None, part):
            continue
        print(f"{part}: milliseconds (other, this), ratio (least-greatest), answers (other, this)")
        ratios = [compare(part, *one, both, settings.repeats) for one in questions()]
        kept = sorted(ratio for ratio in ratios if math.isfinite(ratio))
        shown = ", ".join(f"{kept[int(p * (len(kept) - 1))]:.2f}" for p in (0, 0.25, 0.5, 0.75, 1))
        print(f"quartiles of the ratios: {shown}\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
