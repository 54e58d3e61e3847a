"""How long the exact loss and the calibration take, and what a plain search would; one run.

    python -m benchmarks.privacy [--repeats 30]

The plain search doubles the length of the series and steps along it with a forward
recursion in floats, keeping the worst odds, until the loss stops changing by more than
1e-9. It certifies nothing. Where it would need more than --steps steps it is cut off and
its time is a lower bound.
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial

import chainveil as cv
from benchmarks.timing import timed

CHAINS = {
    "heart rate q=.0893 r=.1092": cv.MarkovChain.binary(0.0893, 0.1092),
    "slow q=r=1e-3": cv.MarkovChain.symmetric(1e-3),
    "slow q=r=1e-6": cv.MarkovChain.symmetric(1e-6),
    "slow q=1e-6 r=2e-6": cv.MarkovChain.binary(1e-6, 2e-6),
}
FOUR = cv.MarkovChain([[0.7 if x == y else 0.1 for y in range(4)] for x in range(4)])
LENGTHS = (None, 10**12, 100)


def plain_search(q: float, r: float, rho0: float, rho1: float, most: int) -> tuple[float, int]:
    """Loss against any adversary by doubling the length; the loss and the steps taken."""
    length, steps, before = 8, 0, 0.0
    while True:
        loss = max(
            _one_way(q, r, (1 - rho0) / rho1, length), _one_way(r, q, (1 - rho1) / rho0, length)
        )
        steps += 6 * length
        if abs(loss - before) < 1e-9 or steps > most:
            return loss, steps
        length, before = 2 * length, loss


def _one_way(q: float, r: float, ratio: float, length: int) -> float:
    worst = 1.0
    for start in (1.0, (1 - q) / r, q / (1 - r)):
        odds = prior = start
        for _ in range(length):
            odds = ((1 - q) * odds * ratio + q) / (r * odds * ratio + 1 - r)
            prior = ((1 - q) * prior + q) / (r * prior + 1 - r)
            worst = max(worst, odds / prior)
    return math.log(ratio * worst * worst)


def compare(name: str, chain: cv.MarkovChain, repeats: int, most: int) -> None:
    """Print the rows of one chain."""
    channel = cv.calibrate(chain, 1.0).channel
    q, r = float(chain.transition[0, 1]), float(chain.transition[1, 0])
    rho0, rho1 = (float(rho) for rho in channel.flip_probabilities)
    begin = time.perf_counter()
    _, steps = plain_search(q, r, rho0, rho1, most)
    plain = (time.perf_counter() - begin) * 1e3
    for length in LENGTHS:
        loss = timed(partial(cv.privacy_loss, chain, channel, length=length), repeats, warm_up=2)
        find = partial(cv.calibrate, chain, 1.0, max_length=length)
        plan = timed(find, max(5, repeats // 3), warm_up=2)
        cut = ">" if steps > most else ""
        ratio = f"{cut}{plain / (loss.median * 1e3):.0f}" if length is None else ""
        cells = [times.shown(1e3) for times in (loss, plan)]
        shown = "any" if length is None else f"{length:.0e}"
        print(f"{name:28} {shown:>7} {cells[0]:>24} {cells[1]:>26} {ratio:>14}")


def remembering(
    name: str, chain: cv.MarkovChain, mechanism: str, repeats: int, every: int = 1
) -> None:
    """Print the row of one chain and noise that remembers, for every length, at epsilon 2."""
    find = partial(cv.calibrate, chain, 2.0, mechanism=mechanism, every=every)
    noise = find().noise
    loss = timed(partial(cv.privacy_loss, chain, noise), repeats, warm_up=2)
    plan = timed(find, max(3, repeats // 6), warm_up=1)
    cells = [times.shown(1e3) for times in (loss, plan)]
    shown = mechanism if every == 1 else f"{mechanism}, 1 in {every}"
    print(f"{name:28} {shown:>16} {cells[0]:>24} {cells[1]:>26}")


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--steps", type=int, default=20_000_000)
    settings = parser.parse_args()
    print("milliseconds: median (fastest-slowest); budget epsilon = 1, any adversary")
    print(f"{'chain':28} {'length':>7} {'privacy_loss':>24} {'calibrate':>26} {'plain / loss':>14}")
    for name, chain in CHAINS.items():
        compare(name, chain, settings.repeats, settings.steps)
    print(f"\n{'chain':28} {'mechanism':>16} {'privacy_loss':>24} {'calibrate':>26}")
    for name, chain in CHAINS.items():
        for mechanism in ("sticky", "tracking"):
            remembering(name, chain, mechanism, settings.repeats)
    heart = "heart rate q=.0893 r=.1092"
    remembering(heart, CHAINS[heart], "sticky", settings.repeats, every=5)
    for mechanism in ("independent", "sticky"):
        remembering("four states, staying .7", FOUR, mechanism, max(3, settings.repeats // 6))


if __name__ == "__main__":
    main()
