"""Can correlated noise help? The least flip rate against the ignorant and against any adversary."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from chainveil.calibration import calibrate
from chainveil.experiments.parts import Experiment, Part, Place, Row, Settings
from chainveil.model.chain import MarkovChain
from chainveil.privacy.closed_form import symmetric_noise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ADVERSARIES = ("ignorant", "any")


def compute(theta: float, epsilon: float) -> list[Row]:
    """Independent and correlated noise on one chain, against both adversaries."""
    return [_row(theta, epsilon, adversary) for adversary in ADVERSARIES]


def _row(theta: float, epsilon: float, adversary: Any) -> Row:
    chain = MarkovChain.symmetric(theta)
    independent = calibrate(chain, epsilon, adversary=adversary)
    correlated = calibrate(chain, epsilon, adversary=adversary, mechanism="correlated")
    noise: Any = correlated.noise
    return {
        "theta": theta,
        "epsilon": epsilon,
        "adversary": adversary,
        "independent_flips": independent.expected_flips,
        "correlated_flips": correlated.expected_flips,
        "rho0": noise.rho0,
        "rho1": noise.rho1,
        "s": noise.rho0 + noise.rho1,
        "theorem1_flips": symmetric_noise(theta, epsilon),
        "saved": 1 - correlated.expected_flips / independent.expected_flips,
        "certified_loss": correlated.loss.epsilon,
    }


def parts(settings: Settings, place: Place) -> list[Part]:
    """One part a chain and budget: each is a search of seconds."""
    return [
        Part(
            f"epsilon-{epsilon:g}-theta-{theta:g}",
            {"theta": theta, "epsilon": epsilon},
            partial(compute, theta, epsilon),
        )
        for epsilon in settings["budgets"]
        for theta in settings["thetas"]
    ]


def draw(rows: list[Row], settings: Settings) -> Figure:
    """Flip rates against any adversary in (a), and what correlated noise saves in (b)."""
    from chainveil.plot import style

    figure, (left, right) = style.new_panels(2, 10.4, 4.4)
    for number, epsilon in enumerate(settings["budgets"]):
        colour = style.CYCLE[number]
        own = {
            adversary: [r for r in rows if (r["epsilon"], r["adversary"]) == (epsilon, adversary)]
            for adversary in ADVERSARIES
        }
        thetas = [row["theta"] for row in own["any"]]
        left.plot(thetas, [row["independent_flips"] for row in own["any"]], "-o", color=colour,
                  ms=4.5, lw=1.5, label=f"independent, ε = {epsilon:g}")  # fmt: skip
        left.plot(thetas, [row["correlated_flips"] for row in own["any"]], "--s", color=colour,
                  mfc="white", ms=4.5, lw=1.5, label=f"correlated, ε = {epsilon:g}")  # fmt: skip
        right.plot(thetas, [100 * row["saved"] for row in own["any"]], "-o", color=colour, ms=4.5,
                   lw=1.5, label=f"any adversary, ε = {epsilon:g}")  # fmt: skip
        right.plot(thetas, [100 * row["saved"] for row in own["ignorant"]], ":^", color=colour,
                   mfc="white", ms=4.5, lw=1.2, label=f"ignorant, ε = {epsilon:g}")  # fmt: skip
    left.set(ylim=(0, 0.5), ylabel="least share of points changed",
             title="(a) Noise against any adversary")  # fmt: skip
    right.set(ylabel="changed points saved (%)", title="(b) Saved by correlated noise")
    for axes in (left, right):
        axes.set(xlim=(0, 0.5), xlabel="correlation parameter θ")
        axes.legend(fontsize=8, framealpha=0.9)
    return figure


EXPERIMENT = Experiment("correlated", "Correlated noise", parts, draw)
