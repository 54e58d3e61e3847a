"""How often intervals from sticky releases cover, on chains and on data that are none.

    python -m benchmarks.coverage_sticky [--releases 10000] [--only TEXT]

Chains of two states that nothing was tuned on stand beside those of ``benchmarks.coverage``; so do
a chain of order 3, a chain whose transitions drift, and the heart rates of PhysioNet's meditation
database (CHAINVEIL_DATA names the folder above it). The series of the last three are fixed and
only the noise is drawn; it is calibrated for the chain of order 1 that fits them. A chain's series
is drawn anew each time. Every line is 10,000 releases and goes to ``coverage.csv``; lines that are
there already are not computed again. The Monte Carlo error of a share is 0.2 points.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage import (
    CHAINS,
    LAGS,
    RESULTS,
    Floats,
    Setting,
    Tallies,
    correlations,
    done,
    pair_shares,
    save,
    spells,
)
from chainveil import MarkovChain, calibrate, estimate
from chainveil.estimate.counts.cells import read_cells
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.mechanism import sanitize, seeded
from chainveil.model import HigherOrderChain

BUDGETS = (1.0, 2.0, 4.0)
LENGTH = 20_000
POINTS_AT_ONCE = 2_000_000
RECORDS = ("N1", "N2", "N3", "N4", "N5", "N6", "N10")
# Drawn by np.random.default_rng(19).uniform, rounded: nothing was tuned on these.
STRANGERS = {
    "q = .03, r = .08": MarkovChain.binary(0.03, 0.08),
    "q = .45, r = .2": MarkovChain.binary(0.45, 0.2),
}
# Probability of a 1 after 000, 001, … 111.
ORDER_THREE = HigherOrderChain.from_json(
    {"transition": [[1 - p, p] for p in (0.04, 0.7, 0.3, 0.8, 0.15, 0.6, 0.35, 0.94)]}
)
Make = Callable[[], NDArray[Any]]


@dataclass(frozen=True)
class Sticky(Setting):
    """A setting with sticky noise, and a fixed series where the data are none of a chain."""

    law: MarkovChain | None = None
    fixed: NDArray[Any] | None = None

    @property
    def chain(self) -> MarkovChain:
        if self.law is not None:
            return self.law
        return MarkovChain.fit(self.fixed, public=True)

    def noise(self) -> NoiseLaw:
        """Sticky noise for the budget, made for estimates."""
        return as_noise_law(
            calibrate(self.chain, self.epsilon, mechanism="sticky", objective="share")
        )


def drifting() -> NDArray[Any]:
    """Two states whose transitions drift from rare changes to frequent ones."""
    rng = np.random.default_rng(7)
    leave = np.linspace(0.03, 0.3, LENGTH)
    x, now = np.empty(LENGTH, np.uint8), 0
    for t, draw in enumerate(rng.random(LENGTH)):
        now ^= int(draw < leave[t] * (1.5 if now else 1.0))
        x[t] = now
    return x


def heart_rate(name: str) -> NDArray[Any] | None:
    """The rates of a record; None where it is not at hand."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("CHAINVEIL_DATA", beside)) / "physionet-meditation" / name
    if not path.is_file():
        return None
    return np.asarray(np.loadtxt(path)[:, 1])


def record(name: str) -> NDArray[Any] | None:
    """Beats at or above the mean rate, as ones; None where the record is not at hand."""
    rate = heart_rate(name)
    return None if rate is None else np.asarray(rate >= rate.mean()).astype(np.uint8)


def settings() -> Iterator[Sticky]:
    chains = {name: CHAINS[name] for name in ("θ = .35", "q = .1, r = .15")} | STRANGERS
    series: dict[str, Make] = {
        "order 3": lambda: np.asarray(ORDER_THREE.sample(LENGTH, rng=3)),
        "drift": drifting,
    }
    found = {f"heart rate {name}": record(name) for name in RECORDS}
    fixed = {name: make() for name, make in series.items()}
    fixed |= {name: x for name, x in found.items() if x is not None}
    for epsilon in BUDGETS:
        for name, chain in chains.items():
            yield Sticky(name, "sticky", epsilon, LENGTH, chain)
        for name, x in fixed.items():
            yield Sticky(name, "sticky", epsilon, len(x), None, x)


def batches(setting: Sticky, noise: NoiseLaw, releases: int) -> Iterator[tuple[Any, Any]]:
    """Series and their releases, shape (rows, length) each."""
    most = max(1, POINTS_AT_ONCE // setting.length)
    for seed, begin in enumerate(range(0, releases, most)):
        rows = min(most, releases - begin)
        if setting.fixed is None:
            x = setting.chain.sample(setting.length, rows, 5000 + seed)
        else:
            x = np.repeat(setting.fixed[None], rows, axis=0)
        yield x, sanitize(x, noise.source, rng=seeded(5000 + seed))


def count(setting: Sticky, releases: int) -> Tallies:
    """Every answer about the series as it was."""
    noise, found = setting.noise(), Tallies()
    for x, z in batches(setting, noise, releases):
        # Read once: all questions share what is counted.
        cells = read_cells(z, noise.outputs, by="series")
        # The first report of a series is not looked at, and so are its point and pair.
        seen = x[:, 1:] if setting.fixed is None else x[:1, 1:]
        _shares(found, noise, seen, cells)
        _pairs(found, noise, seen, cells)
    return found


def _shares(found: Tallies, noise: NoiseLaw, x: NDArray[Any], z: Any) -> None:
    ones = x.mean(axis=1)
    share = estimate.frequency(z, noise)
    found.add(("frequency", "noise"), share, np.stack([1 - ones, ones], axis=1))


def _pairs(found: Tallies, noise: NoiseLaw, x: NDArray[Any], z: Any) -> None:
    made: Floats = pair_shares(x, 2)
    moves = made / made.sum(axis=2, keepdims=True)
    found.add(("pairs", "noise"), estimate.pairs(z, noise), made)
    steps = estimate.transitions(z, noise)
    found.add(("transitions", "noise"), steps, moves, error=steps.pairs - made)
    lasting = estimate.durations(z, noise)
    found.add(("durations", "noise"), lasting, spells(moves), error=None)
    lags = np.stack([correlations(pair_shares(x, 2, lag)) for lag in LAGS], axis=1)
    alike = estimate.autocorrelation(z, noise, LAGS)
    found.add(("autocorrelation", "noise"), alike, lags)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--only", default="", help="settings whose name holds this")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    held = done(given.results)
    for setting in settings():
        name = " ".join(setting.key)
        enough = held.get((*setting.key, "counts"), 0) >= given.releases
        if given.only in name and not enough:
            begin = time.monotonic()
            save(given.results, setting, count(setting, given.releases))
            print(f"{name:40s} {time.monotonic() - begin:6.0f} s", flush=True)


if __name__ == "__main__":
    main()
