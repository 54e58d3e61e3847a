"""Figure 1: the feasible noise, its two borders, and the optimum for each objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainveil.calibration import calibrate
from chainveil.model.chain import MarkovChain
from chainveil.plan import NoisePlan
from chainveil.privacy.loss import privacy_loss
from experiments.parts import Experiment, Part, Place, Row, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# What can be least on two states.
OBJECTIVES = ("wrong-reports", "share")


def _chain(settings: Settings) -> MarkovChain:
    return MarkovChain.binary(settings["q"], settings["r"])


def _plan(settings: Settings, epsilon: float, adversary: Any, objective: Any) -> NoisePlan:
    return calibrate(_chain(settings), epsilon, adversary=adversary, objective=objective)


def compute(settings: Settings) -> list[Row]:
    """Borders and optimum for every budget, adversary and objective."""
    rows = []
    for epsilon in settings["budgets"]:
        for adversary in ("ignorant", "any"):
            for objective in OBJECTIVES:
                plan = _plan(settings, epsilon, adversary, objective)
                assert plan.half_planes is not None  # q + r < 1
                rho0, rho1 = (float(rho) for rho in plan.channel.flip_probabilities)
                rows.append({
                    "epsilon": epsilon, "adversary": adversary, "objective": objective,
                    "u": plan.half_planes.u, "w": plan.half_planes.w, "rho0": rho0, "rho1": rho1,
                    "flips": plan.expected_flips, "rho_sum": rho0 + rho1,
                    "loss_any": privacy_loss(plan.chain, plan.channel).epsilon,
                })  # fmt: skip
    return rows


def parts(settings: Settings, place: Place) -> list[Part]:
    """All of it at once."""
    return [Part("regions", settings, lambda: compute(settings))]


def draw(rows: list[Row], settings: Settings) -> Figure:
    """One panel a budget, as in the paper; Theorem 1's borders dashed."""
    from chainveil.plot import style
    from chainveil.plot.noise_region import draw_noise_region

    budgets = settings["budgets"]
    figure, panels = style.new_panels(len(budgets), 5.4 * len(budgets), 5.7)
    for letter, axes, epsilon in zip("abcdef", panels, budgets, strict=False):
        share = _plan(settings, epsilon, "any", "share")
        ignorant = _plan(settings, epsilon, "ignorant", "wrong-reports")
        draw_noise_region(axes, _plan(settings, epsilon, "any", "wrong-reports"), [share], ignorant)
        # Little noise meets no small budget: the corner is empty.
        axes.legend(loc="lower left", fontsize=8, framealpha=0.9)
        axes.set_title(f"({letter}) {axes.get_title()}")
    return figure


EXPERIMENT = Experiment("fig1", "Feasible noise", parts, draw)
