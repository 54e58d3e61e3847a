"""The noise levels that meet a budget (the paper's Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plan import NoisePlan
from chainveil.plot import style
from chainveil.privacy.closed_form import HalfPlanes
from chainveil.privacy.rounding import exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def noise_region(
    plan: NoisePlan, others: Sequence[NoisePlan] = (), beside: NoisePlan | None = None
) -> Figure:
    """Draw the feasible noise levels of a plan, its two borders and its optimum.

    Parameters
    ----------
    plan : NoisePlan
        For a chain with q + r <= 1, whose feasible region has straight borders.
    others : sequence of NoisePlan
        More optima to mark in the same region, such as that of another objective.
    beside : NoisePlan, optional
        A plan for another adversary whose borders are drawn as dashed lines.
    """
    figure, axes = style.new_figure(5.4, 7.0)
    draw_noise_region(axes, plan, others, beside)
    style.legend_below(figure, 1)
    return figure


def draw_noise_region(
    axes: Axes, plan: NoisePlan, others: Sequence[NoisePlan] = (), beside: NoisePlan | None = None
) -> None:
    """As :func:`noise_region`, into axes that are there already; without a legend."""
    planes = _half_planes(plan)
    rho0 = np.linspace(0, 0.5, 501)
    lower = planes.u * (1 - rho0)
    upper = 1 - rho0 / planes.w
    inside = np.maximum(lower, upper)
    axes.fill_between(rho0, lower, 0.5, where=lower <= 0.5, color=style.BLUE, alpha=0.13, lw=0)
    axes.fill_between(rho0, upper, 0.5, where=upper <= 0.5, color=style.ORANGE, alpha=0.16, lw=0)
    axes.fill_between(rho0, inside, 0.5, where=inside <= 0.5, color=style.GREEN, alpha=0.35, lw=0,
                      label="both constraints met")  # fmt: skip
    _borders(axes, rho0, planes, "-", plan.loss.adversary)
    if beside is not None:
        _borders(axes, rho0, _half_planes(beside), "--", beside.loss.adversary)
        _mark(axes, beside, "D", "white", f"optimum, {_name(beside.loss.adversary)} adversary")
    for other in others:
        _mark(axes, other, "s", style.PURPLE, f"least {_goal(other)}")
    _mark(axes, plan, "o", style.BLACK, f"least {_goal(plan)}")
    q, r = plan.chain.transition[0, 1], plan.chain.transition[1, 0]
    axes.set(
        xlim=(0, 0.51),
        ylim=(0, 0.51),
        xlabel="ρ₀: probability to report 0 as 1",
        ylabel="ρ₁: probability to report 1 as 0",
        title=f"Feasible noise, q = {q:g}, r = {r:g}, ε = {exact(plan.epsilon)}",
    )
    axes.set_aspect("equal")


def _half_planes(plan: NoisePlan) -> HalfPlanes:
    if plan.half_planes is None:
        raise InvalidInput(
            "plan",
            "a chain with q + r > 1",
            "a chain with q + r <= 1, whose feasible region has straight borders",
        )
    return plan.half_planes


def _borders(
    axes: Axes, rho0: np.ndarray, planes: HalfPlanes, dash: str, adversary: object
) -> None:
    name = _name(adversary)
    axes.plot(rho0, planes.u * (1 - rho0), dash, color=style.BLUE, lw=1.6,
              label=f"0 over 1 within $e^ε$, {name} adversary")  # fmt: skip
    axes.plot(planes.w * (1 - rho0), rho0, dash, color=style.RED, lw=1.6,
              label=f"1 over 0 within $e^ε$, {name} adversary")  # fmt: skip


# Marks of optima that coincide show one around the other.
SIZES = {"s": 10, "D": 7, "o": 4.5}


def _mark(axes: Axes, plan: NoisePlan, marker: str, colour: str, label: str) -> None:
    rho0, rho1 = plan.channel.flip_probabilities
    axes.plot([rho0], [rho1], marker, mfc=colour, mec=style.BLACK, ms=SIZES[marker], ls="none",
              clip_on=False, label=f"{label}: ({rho0:.3f}, {rho1:.3f})", zorder=5)  # fmt: skip


def _goal(plan: NoisePlan) -> str:
    return {"wrong-reports": "expected flips", "share": "ρ₀ + ρ₁"}[plan.objective]


def _name(adversary: object) -> str:
    return adversary if isinstance(adversary, str) else "named"
