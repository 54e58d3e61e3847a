"""Figure 3: how much noise each method needs for a budget."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.calibration import calibrate
from chainveil.errors import UnreachableBudget
from chainveil.model.chain import MarkovChain
from chainveil.privacy import baselines, closed_form
from experiments.parts import Experiment, Part, Place, Row, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CORRELATED = "correlated noise, any adversary"
# Name of each method as it stands in the figure, from the most noise to the least.
METHODS = (
    "Zhao et al., Theorem 6",
    "Lange et al.",
    "Corollary 2's formula (ignorant)",
    "any adversary, every length",
    "any adversary, this length",
    CORRELATED,
    "Theorem 1 exactly (ignorant)",
    "DP (ignores dependence)",
)


def _noise(settings: Settings) -> dict[str, Callable[[float], float]]:
    theta, length = settings["theta"], settings["length"]
    chain = MarkovChain.symmetric(theta)

    def flips(epsilon: float, **how: Any) -> float:
        plan = calibrate(chain, epsilon, **how)
        return float(plan.expected_flips)

    methods: tuple[Callable[[float], float], ...] = (
        lambda epsilon: baselines.zhao6_noise(chain, epsilon, length),
        lambda epsilon: baselines.lange_noise(chain, epsilon),
        lambda epsilon: closed_form.corollary2_noise(theta, epsilon),
        flips,
        partial(flips, max_length=length),
        partial(flips, mechanism="correlated"),
        lambda epsilon: closed_form.symmetric_noise(theta, epsilon),
        baselines.dp_noise,
    )
    return dict(zip(METHODS, methods, strict=True))


def compute(method: str, settings: Settings) -> list[Row]:
    """Flip probability of one method at every budget; a budget out of reach has none."""
    noise = _noise(settings)[method]
    rows: list[Row] = []
    for epsilon in budgets(settings, method):
        try:
            rows.append({"method": method, "epsilon": epsilon, "flips": noise(epsilon)})
        except UnreachableBudget:
            rows.append({"method": method, "epsilon": epsilon})
    return rows


def budgets(settings: Settings, method: str = "") -> list[float]:
    """The budgets at which a method is asked; all of them are on the figure's grid."""
    step = settings["correlated_step"] if method == CORRELATED else settings["step"]
    first = step if method == CORRELATED else settings["first"]
    count = round((settings["last"] - first) / step) + 1
    return [round(float(value), 10) for value in np.linspace(first, settings["last"], count)]


def parts(settings: Settings, place: Place) -> list[Part]:
    """One part a method."""
    return [
        Part(f"method-{number}", settings | {"method": method}, partial(compute, method, settings))
        for number, method in enumerate(METHODS)
    ]


def draw(rows: list[Row], settings: Settings) -> Figure:
    """Every method as a curve; correlated noise, asked for at fewer budgets, as points."""
    from chainveil.plot import style, tradeoff

    grid = budgets(settings)
    found = {
        method: {row["epsilon"]: row.get("flips") for row in rows if row["method"] == method}
        for method in METHODS
    }
    curves = {
        method: [values[epsilon] for epsilon in grid]
        for method, values in found.items() if method != CORRELATED
    }  # fmt: skip
    title = f"Noise against budget, θ = {settings['theta']:g}, n = {settings['length']}"
    figure = tradeoff(grid, curves, title, "ρ: share of points changed")
    axes = figure.axes[0]
    points: Any = found[CORRELATED]
    axes.plot(list(points), list(points.values()), "o", mfc="none",
              mec=style.BLACK, ms=6, ls="none", label=CORRELATED)  # fmt: skip
    axes.set_xlim(0, settings["last"])
    axes.legend(fontsize=8, framealpha=0.9)
    return figure


EXPERIMENT = Experiment("fig3", "Noise that each method needs", parts, draw)
