"""Figure for docs/corrections.md: the true loss at the noise that Theorem 1 asks for.

Run from the repository: python docs/figures/theorem1_shortfall.py
Writes theorem1_shortfall.png and theorem1_shortfall.csv beside this file. No randomness.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import chainveil as cv
from chainveil.plot import style

HERE = Path(__file__).parent
THETAS = np.round(np.linspace(0.01, 0.49, 49), 4)
EPSILONS = np.round(np.linspace(0.25, 8.0, 32), 4)


def true_loss(theta: float, epsilon: float) -> float:
    """Loss against any adversary of the least noise against the ignorant one."""
    chain = cv.MarkovChain.symmetric(theta)
    plan = cv.calibrate(chain, epsilon, adversary="ignorant")
    return cv.privacy_loss(chain, plan.channel).epsilon


def main() -> None:
    """Compute, write the table, draw."""
    losses = np.array([[true_loss(theta, epsilon) for theta in THETAS] for epsilon in EPSILONS])
    with (HERE / "theorem1_shortfall.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["epsilon asked", "theta", "true loss"])
        for epsilon, row in zip(EPSILONS, losses, strict=True):
            for theta, loss in zip(THETAS, row, strict=True):
                table.writerow([epsilon, theta, f"{loss:.6f}"])
    figure, axes = style.new_figure(6.4, 4.6)
    excess = losses - EPSILONS[:, None]
    mesh = axes.pcolormesh(THETAS, EPSILONS, excess, cmap="cividis", shading="nearest")
    lines = axes.contour(
        THETAS, EPSILONS, excess, levels=[0.01, 0.1, 0.3, 0.5, 1, 1.5, 2], colors="white"
    )
    axes.clabel(lines, fmt="+%g", fontsize=8)
    figure.colorbar(mesh, label="true loss minus ε asked (nats)")
    axes.grid(False)
    axes.set(
        xlabel="θ: probability that the state changes",
        ylabel="ε asked",
        title="What Theorem 1's noise really loses, any adversary",
    )
    style.save(figure, HERE / "theorem1_shortfall.png")
    print(f"largest excess {excess.max():.3f} nats, smallest {excess.min():.2e}")


if __name__ == "__main__":
    main()
