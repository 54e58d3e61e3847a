"""Draw docs/figures/heart-rate-estimates.png and budget.png; print figures of the pages.

Run from anywhere: ``python docs/figures/heart_rate_estimates.py``. Reads record N10 of
PhysioNet's meditation database where CHAINVEIL_DATA (or a folder shared/data beside the
checkout) has it; noise comes from fixed seeds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import chainveil as cv
from chainveil import estimate, plot
from chainveil.attack import expected_success
from chainveil.estimate.answer_table import shown

HERE = Path(__file__).resolve().parent
HALF_HOUR = 1800.0
BUDGETS = (2.0, 4.0)
RELEASES = 200
LENGTH = 10_000


def record() -> np.ndarray:
    """Seconds and beats a minute, a row a beat, shape (beats, 2)."""
    beside = HERE.parents[2] / "shared" / "data"
    path = Path(os.environ.get("CHAINVEIL_DATA", beside)) / "physionet-meditation" / "N10"
    if not path.is_file():
        sys.exit("No file N10: set CHAINVEIL_DATA to the folder above physionet-meditation.")
    return np.asarray(np.loadtxt(path))


def half_hours() -> None:
    """Share of elevated beats in each half hour: truth, and intervals from two releases."""
    beats = record()
    elevated = (beats[:, 1] >= beats[:, 1].mean()).astype(np.uint8)
    hours = np.floor(beats[:, 0] / HALF_HOUR) / 2
    places = np.unique(hours)
    truth = np.array([elevated[hours == place].mean() for place in places])
    chain = cv.MarkovChain.fit(elevated, public=True)
    print(f"{len(elevated):,} beats, {len(places)} half hours, {chain}")
    curves = {}
    for epsilon in BUDGETS:
        plan = cv.calibrate(chain, epsilon)
        covered = []
        for seed in range(RELEASES):
            z = plan.sanitize(elevated, rng=cv.mechanism.seeded(seed))
            found = estimate.frequency(z, plan, by=hours)
            covered.append(((found.low[:, 1] <= truth) & (truth <= found.high[:, 1])).mean())
            if seed == 0:
                curves[f"release at ε = {epsilon:g}"] = tuple(part[:, 1] for part in shown(found))
                errors = found.standard_error[:, 1]
        print(
            f"epsilon {epsilon:g}: standard error {errors.min():.3f} to {errors.max():.3f}; the "
            f"first release covers {covered[0]:.0%} of the half hours, {RELEASES} releases "
            f"{np.mean(covered):.1%}"
        )
    figure = plot.intervals(
        curves, places.tolist(), truth=truth,
        title=f"Share of beats above {beats[:, 1].mean():.1f} bpm, by half hour, 95% intervals\n"
        "record N10, two releases", xlabel="hour", ylabel="share", marks=(0.0, 1.0),
    )  # fmt: skip
    plot.save(figure, HERE / "heart-rate-estimates.png")


def budget() -> None:
    """Error of the elevated share, and success of the best attacker, against the budget."""
    chain = cv.MarkovChain.binary(0.0893, 0.1092)
    budgets = np.linspace(0.5, 8, 31)
    plans = cv.calibrate(chain, budgets)
    errors = [estimate.error_at(plan, LENGTH).largest for plan in plans]
    success = [expected_success(chain, plan.channel, 25).value for plan in plans]
    figure = plot.budget(
        budgets, errors, success, guess=float(chain.stationary.max()),
        title=f"What a budget buys: a share of {LENGTH:,} points, independent noise\n"
        "a chain with q = .0893, r = .1092",
    )  # fmt: skip
    plot.save(figure, HERE / "budget.png")


if __name__ == "__main__":
    half_hours()
    budget()
