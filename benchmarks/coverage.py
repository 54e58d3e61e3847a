"""How often intervals cover the truth: the tables of docs/coverage.md.

    python -m benchmarks.coverage [--repetitions 5000] [--fits 5000] [--length 1000] [--only TEXT]
    python -m benchmarks.coverage --table
    python -m benchmarks.coverage --chain 0.05,0.3 --epsilon 4 --length 2000 --results other.csv

A setting is a chain, a mechanism, a budget and a length. Series are drawn from the chain and
released with the noise that ``calibrate`` finds for that budget, with fixed seeds; a repetition
is one series. Every answer of every setting becomes a line of ``coverage.csv``: the share of
95% intervals that cover, lowest and highest over all states or pairs of states; the mean width;
the mean error over its standard deviation. Estimates are made to answer where they would refuse;
``needed`` says how many windows of points they ask for. Shares of the chain alone, for which each
release has a chain fitted to it, are left out where that is refused. Lines that are there already
are not computed again, so that a run can be stopped and taken up. The Monte
Carlo error of a share is 0.3 points at 5,000 repetitions. ``--table`` writes the tables of the
page from the file. Other chains of two states and other budgets go to a file of their own.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_table import write_tables
from chainveil import Channel, MarkovChain, calibrate, estimate
from chainveil.estimate.counts.cells import Cells, read_cells
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.mechanism import sanitize, seeded

Floats = NDArray[np.float64]
RESULTS = Path(__file__).with_name("coverage.csv")
PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
FIELDS = (
    "chain", "noise", "epsilon", "points", "question", "covers", "repetitions", "lowest", "highest",
    "width", "bias", "needed",
)  # fmt: skip
BUDGETS = (0.5, 1.0, 2.0, 4.0)
LENGTHS = (1000, 30_000)
CHAINS = {
    "θ = .35": MarkovChain.symmetric(0.35),
    "q = .1, r = .15": MarkovChain.binary(0.1, 0.15),
    "4 states": MarkovChain(np.full((4, 4), 0.15) + 0.4 * np.eye(4)),
}
LAGS = (1, 5)
POINTS_AT_ONCE = 15_000_000


class Patient(NoiseLaw):
    """NoiseLaw that answers where the estimators would refuse, to see what they are spared."""

    def check_length(self, *_: Any, **__: Any) -> None:
        """Any number of points will do."""

    def too_few(self, window: Any, points: Floats) -> NDArray[np.bool_]:
        """None are."""
        return np.zeros(points.shape, np.bool_)


@dataclass(frozen=True)
class Setting:
    """A chain, a mechanism, a budget and a length."""

    name: str
    mechanism: str
    epsilon: float
    length: int

    @property
    def chain(self) -> MarkovChain:
        return CHAINS[self.name]

    def noise(self) -> NoiseLaw:
        """The least noise for the budget."""
        mechanism: Any = self.mechanism
        return as_noise_law(calibrate(self.chain, self.epsilon, mechanism=mechanism))

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The first fields of its lines."""
        return self.name, self.mechanism, f"{self.epsilon:g}", str(self.length)


@dataclass
class Tally:
    """What is kept of an answer over all repetitions."""

    inside: list[Floats]
    errors: list[Floats]
    widths: list[Floats]

    def line(self) -> dict[str, Any]:
        """Coverage, width and bias, as fields of the file."""
        inside = np.concatenate(self.inside)
        share = 100 * inside.mean(axis=0)
        found: dict[str, Any] = {
            "repetitions": len(inside),
            "lowest": f"{share.min():.2f}",
            "highest": f"{share.max():.2f}",
        }
        if self.errors:
            errors = np.concatenate(self.errors)
            spread = np.maximum(errors.std(axis=0), 1e-300)
            found["width"] = f"{np.concatenate(self.widths).mean():.4g}"
            found["bias"] = f"{np.abs(errors.mean(axis=0) / spread).max():.3f}"
        return found


class Tallies:
    """Tallies by question and meaning."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Tally] = {}

    def add(self, key: tuple[str, str], found: Any, truth: Any, **how: Any) -> None:
        """Take a batch of intervals in; ``error`` where it is another than that of the value."""
        tally = self.held.setdefault(key, Tally([], [], []))
        inside = (found.low <= truth) & (truth <= found.high)
        rows = len(inside)
        error = how["error"] if "error" in how else found.value - truth
        tally.inside.append(inside.reshape(rows, -1).astype(float))
        if error is not None:
            # Spells may be endless: neither their errors nor their widths have a mean.
            tally.errors.append(np.asarray(error).reshape(rows, -1))
            width = np.minimum(found.high, 1.0) - np.maximum(found.low, 0.0)
            tally.widths.append(width.reshape(rows, -1).mean(axis=1))


def settings(
    lengths: tuple[int, ...] = LENGTHS, budgets: tuple[float, ...] = BUDGETS
) -> Iterator[Setting]:
    for length in lengths:
        for name, chain in CHAINS.items():
            # Correlated noise is for two states.
            mechanisms = ("independent", "correlated") if chain.states == 2 else ("independent",)
            for epsilon in budgets:
                for mechanism in mechanisms:
                    yield Setting(name, mechanism, epsilon, length)


def draw(
    setting: Setting, noise: NoiseLaw, rows: int, seed: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Series and their releases, shape (rows, length) each."""
    x = setting.chain.sample(setting.length, rows, seed)
    if isinstance(noise.source, Channel):
        return x, sanitize(x, noise.source, rng=seeded(seed))
    return x, sanitize(x, noise.source, rng=seeded(seed))


def batches(
    setting: Setting, noise: NoiseLaw, repetitions: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    most = max(1, min(1000, POINTS_AT_ONCE // setting.length))
    for seed, begin in enumerate(range(0, repetitions, most)):
        yield draw(setting, noise, min(most, repetitions - begin), 1000 + seed)


def pair_shares(x: NDArray[Any], k: int, lag: int = 1) -> Floats:
    """Shares of the pairs of states some points apart in each row, shape (rows, k, k)."""
    codes = x[:, :-lag] * np.uint8(k) + x[:, lag:]
    counts = np.stack([np.count_nonzero(codes == code, axis=1) for code in range(k * k)], axis=1)
    return np.asarray(counts.reshape(-1, k, k) / codes.shape[1])


def correlations(shares: Floats) -> Floats:
    """Correlation of being in each state, from shares of pairs; shape (..., k)."""
    first, second = shares.sum(axis=-1), shares.sum(axis=-2)
    top = np.diagonal(shares, axis1=-2, axis2=-1) - first * second
    return np.asarray(top / (first * (1 - first)))


def chain_correlations(chain: MarkovChain) -> Floats:
    """The same of the chain itself, shape (lags, k)."""
    pairs = [chain.stationary[:, None] * chain.power(lag) for lag in LAGS]
    return correlations(np.stack(pairs))


def spells(stay: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (1 - np.diagonal(stay, axis1=-2, axis2=-1)))


def count(setting: Setting, repetitions: int) -> Tallies:
    """All answers that need no fit, a batch at a time."""
    chain, noise, found = setting.chain, Patient(setting.noise().source), Tallies()
    k = chain.states
    for x, z in batches(setting, noise, repetitions):
        shares = np.stack([np.count_nonzero(x == a, axis=1) for a in range(k)], 1) / x.shape[1]
        # Read once: all questions share what is counted.
        cells = read_cells(z, noise.outputs, by="series")
        found.add(("frequency", "noise"), estimate.frequency(cells, noise), shares)
        _count_pairs(found, chain, noise, x, cells)
    return found


def _count_pairs(
    found: Tallies, chain: MarkovChain, noise: NoiseLaw, x: NDArray[Any], z: Cells
) -> None:
    made = pair_shares(x, chain.states)
    moves = made / np.maximum(made.sum(axis=2, keepdims=True), 1e-300)
    for covers, truth in (("noise", moves), ("sampling", chain.transition)):
        about: dict[str, Any] = {"covers": covers}
        steps = estimate.transitions(z, noise, **about)
        found.add(("transitions", covers), steps, truth, error=steps.pairs - made)
        lasting = estimate.durations(z, noise, **about)
        found.add(("durations", covers), lasting, spells(truth), error=None)
    lags = np.stack([correlations(pair_shares(x, chain.states, lag)) for lag in LAGS], axis=1)
    for covers, truth in (("noise", lags), ("sampling", chain_correlations(chain))):
        given: dict[str, Any] = {"covers": covers}
        if covers == "sampling":
            given["chain"] = chain
        alike = estimate.autocorrelation(z, noise, LAGS, **given)
        found.add(("autocorrelation", covers), alike, truth)


def fit(setting: Setting, repetitions: int) -> Tallies:
    """Shares of the chain, one series at a time, as an analyst with that one would ask."""
    chain, noise, found = setting.chain, setting.noise(), Tallies()
    if needed(noise, "frequency", "sampling") >= setting.length:
        return found
    for _, z in batches(setting, noise, repetitions):
        for row in z:
            drawn = estimate.frequency(row[None], noise, by="series", covers="sampling")
            found.add(("frequency", "sampling"), drawn, chain.stationary)
    return found


def done(path: Path) -> dict[tuple[str, ...], int]:
    """Repetitions that the file holds, by setting and kind of answer."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    kinds = {"noise": "counts", "sampling": "fits"}
    # Every setting answers these two, the second by a fit, unless that is refused.
    return {
        (*(line[name] for name in FIELDS[:4]), kinds[line["covers"]]): int(line["repetitions"])
        for line in lines
        if line["question"] == "frequency"
    }


def needed(noise: NoiseLaw, question: str, covers: str) -> int:
    """Windows of points that a question asks for; fewer are refused."""
    lags = {"frequency": (1,) if covers == "sampling" else (), "autocorrelation": LAGS}
    windows: list[tuple[int, ...]] = [(0, lag) for lag in lags.get(question, (1,))]
    return max(noise.points_needed(window) for window in windows or [(0,)])


def save(path: Path, setting: Setting, found: Tallies) -> None:
    """Add the lines of one setting to the file."""
    begin, noise = not path.exists(), setting.noise()
    with path.open("a", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, FIELDS, restval="", lineterminator="\n")
        if begin:
            lines.writeheader()
        for key, tally in found.held.items():
            named = dict(zip(FIELDS, (*setting.key, *key), strict=False))
            named["needed"] = str(needed(noise, *key))
            lines.writerow({**named, **tally.line()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repetitions", type=int, default=5000)
    parser.add_argument("--fits", type=int, default=5000, help="repetitions that need a fit each")
    parser.add_argument("--length", type=int, action="append", help="default: 1000 and 30000")
    parser.add_argument("--epsilon", type=float, action="append", help="default: 0.5, 1, 2 and 4")
    parser.add_argument("--chain", metavar="Q,R", help="a chain of two states instead of ours")
    parser.add_argument("--only", default="", help="settings whose name holds this")
    parser.add_argument("--kind", choices=["counts", "fits"], help="only answers of this kind")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="write the tables of the page")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    if given.table:
        write_tables(given.results, given.page)
        return
    if given.chain is not None:
        q, r = map(float, given.chain.split(","))
        CHAINS.clear()
        CHAINS[f"q = {q:g}, r = {r:g}"] = MarkovChain.binary(q, r)
    if (given.chain or given.epsilon) and given.results == RESULTS:
        parser.error("--results: the file of the page is for its own chains and budgets")
    held = done(given.results)
    for kind, work, repetitions in (
        ("counts", count, given.repetitions),
        ("fits", fit, given.fits),
    ):
        for setting in settings(tuple(given.length or LENGTHS), tuple(given.epsilon or BUDGETS)):
            name = " ".join(setting.key)
            enough = held.get((*setting.key, kind), 0) >= repetitions
            if given.only in name and given.kind in (None, kind) and not enough:
                begin = time.monotonic()
                save(given.results, setting, work(setting, repetitions))
                print(f"{kind:6s} {name:40s} {time.monotonic() - begin:6.0f} s", flush=True)


if __name__ == "__main__":
    main()
