"""Draw docs/figures/correlated-noise.png and print the tables of docs/correlated-noise.md.

Run from anywhere: ``python docs/figures/correlated_noise.py``. No randomness, no data.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

from chainveil.calibration import calibrate
from chainveil.model.chain import MarkovChain
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.privacy.loss import privacy_loss

matplotlib.use("Agg")
from matplotlib import pyplot as plt

THETAS = (0.05, 0.1, 0.2, 0.35)
BUDGETS = (2.0, 4.0, 6.0)
CURVE = np.linspace(0.25, 8, 63)
COLOURS = ("#2a78d6", "#d9622b", "#2f8f5b", "#8a5bc2")


def independent_rate(theta: float, epsilon: float) -> float:
    """Least flip rate of noise without memory (``rho0 + rho1 = 1``), by bisection."""
    chain, low, high = MarkovChain.symmetric(theta), 0.0, 0.5
    for _ in range(40):
        middle = (low + high) / 2
        loss = privacy_loss(chain, CorrelatedNoise(middle, 1 - middle))
        low, high = (low, middle) if loss.epsilon <= epsilon else (middle, high)
    return high


def least_correlated_noise(chain: MarkovChain, epsilon: float) -> CorrelatedNoise:
    """Correlated noise with the fewest wrong reports that was found within a budget."""
    noise = calibrate(chain, epsilon, mechanism="correlated").noise
    assert isinstance(noise, CorrelatedNoise)
    return noise


def print_table() -> None:
    """Independent and correlated flip rates, a row for each budget."""
    print("| ε | " + " | ".join(f"θ = {theta:g}" for theta in THETAS) + " |")
    print("|---|" + "---|" * len(THETAS))
    for epsilon in BUDGETS:
        cells = []
        for theta in THETAS:
            noise = least_correlated_noise(MarkovChain.symmetric(theta), epsilon)
            independent = independent_rate(theta, epsilon)
            cells.append(f"{independent:.3f} → {noise.flip_rate:.3f}")
        print(f"| {epsilon:g} | " + " | ".join(cells) + " |")


def draw(path: Path) -> None:
    """Two panels: flip rates over the budget, and the share of flips that memory saves."""
    figure, (rates, saved) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for theta, colour in zip(THETAS, COLOURS, strict=True):
        chain = MarkovChain.symmetric(theta)
        independent = np.array([independent_rate(theta, float(e)) for e in CURVE])
        correlated = np.array([least_correlated_noise(chain, float(e)).flip_rate for e in CURVE])
        rates.plot(CURVE, independent, color=colour, linestyle="--", linewidth=1.5)
        rates.plot(CURVE, correlated, color=colour, linewidth=2)
        share = 100 * (1 - correlated / independent)
        saved.plot(CURVE, share, color=colour, linewidth=2)
        saved.annotate(
            f"θ = {theta:g}",
            (CURVE[-1], share[-1]),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=colour,
        )
        rates.plot([], [], color=colour, linewidth=2, label=f"θ = {theta:g}")
    rates.plot([], [], color="0.35", linestyle="--", label="independent")
    rates.plot([], [], color="0.35", linewidth=2, label="correlated")
    rates.legend(frameon=False, loc="upper right", ncols=3)
    rates.set(xlabel="budget ε, any adversary", ylabel="share of points flipped", ylim=(0, 0.6))
    saved.set(xlabel="budget ε, any adversary", ylabel="flips saved by memory, %")
    saved.set(xlim=(0, 9.2), ylim=(0, None))
    for axes in (rates, saved):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    figure.savefig(path, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    print_table()
    draw(Path(__file__).parent / "correlated-noise.png")
