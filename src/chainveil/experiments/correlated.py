"""Can correlated noise help? The least flip rate against the ignorant and against any adversary."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from chainveil.chain import MarkovChain
from chainveil.experiments.parts import Experiment, Part, Place, Row, Settings
from chainveil.plan import calibrate
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
    """One panel a budget: flip rate over theta."""
    from chainveil.plot import style

    budgets = settings["budgets"]
    figure, panels = style.new_panels(len(budgets), 4.3 * len(budgets), 4.2)
    curves = (
        ("any", "independent_flips", "independent, any adversary", style.RED, "o", "-"),
        ("any", "correlated_flips", "correlated, any adversary", style.GREEN, "s", "-"),
        ("ignorant", "independent_flips", "independent, ignorant", style.BLACK, "", "--"),
        ("ignorant", "correlated_flips", "correlated, ignorant", style.ORANGE, "D", ":"),
    )
    for letter, axes, epsilon in zip("abcdef", panels, budgets, strict=False):
        for adversary, column, label, colour, marker, dash in curves:
            chosen = [r for r in rows if (r["epsilon"], r["adversary"]) == (epsilon, adversary)]
            axes.plot([row["theta"] for row in chosen], [row[column] for row in chosen], dash,
                      marker=marker, color=colour, ms=4.5, lw=1.5, label=label)  # fmt: skip
        axes.set(xlim=(0, 0.5), ylim=(0, 0.5), xlabel="correlation parameter θ",
                 ylabel="least share of points changed",
                 title=f"({letter}) ε = {epsilon:g}")  # fmt: skip
    panels[0].legend(fontsize=8, framealpha=0.9, loc="lower left")
    return figure


EXPERIMENT = Experiment("correlated", "Correlated noise", parts, draw)
