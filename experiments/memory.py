"""Mechanisms that remember, on synthetic and real series: wrong reports, and what smoothing leaves.

Noise is calibrated for the chain fitted to each record, for every length and any adversary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from chainveil import mechanism as drawing
from chainveil.attack import Posterior
from chainveil.plan import NoisePlan
from experiments import records
from experiments.fig4 import series as made
from experiments.fig4.figure import TITLES
from experiments.mechanisms import offered, plan_of
from experiments.parts import Experiment, Part, Place, Row, Settings, file_digest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Contender:
    """A mechanism as the figure names it; thinned ones report one point in several."""

    name: str
    mechanism: str
    thinned: bool = False

    def blocks(self, settings: Settings) -> list[int]:
        """How many points a report may stand for, as far as that is offered."""
        asked = settings["every"] if self.thinned else [1]
        return [every for every in asked if offered(self.mechanism, every)]


# The place of each is part of its seed: new ones go to the end.
CONTENDERS = (
    Contender("independent", "independent"),
    Contender("thinned independent", "independent", thinned=True),
    Contender("correlated", "correlated"),
    Contender("sticky", "sticky"),
    Contender("thinned sticky", "sticky", thinned=True),
    Contender("tracking", "tracking"),
)


def _series(name: str, path: Path | None, settings: Settings) -> made.Series:
    if path is None:
        return made.synthetic_series(settings)
    return made.recorded_series(name, path, settings)


def best_plan(
    contender: Contender, series: made.Series, epsilon: float, settings: Settings
) -> NoisePlan:
    """The plan with the fewest wrong reports over the block sizes, as the chain expects them."""
    plans = [
        plan_of(series.chain, epsilon, None, contender.mechanism, every)
        for every in contender.blocks(settings)
    ]
    return min(plans, key=lambda plan: plan.expected_flips)


def compute(
    contender: Contender, name: str, path: Path | None, settings: Settings, epsilon: float
) -> list[Row]:
    """Wrong reports before and after smoothing, over several releases; seeded, for study only."""
    series = _series(name, path, settings)
    plan = best_plan(contender, series, epsilon, settings)
    attack = Posterior(series.chain, plan.noise)
    source = drawing.seeded(settings["seed"]).child(series.number)
    source = source.child(CONTENDERS.index(contender)).child(settings["budgets"].index(epsilon))
    wrong, smoothed = [], []
    for number in range(settings["releases"]):
        z = np.asarray(plan.sanitize(series.states, rng=source.child(number)))
        wrong.append(float(np.mean(z != series.states)))
        smoothed.append(float(np.mean(attack.reconstruct(z) != series.states)))
    share = float(np.mean(series.states))
    return [{
        "series": series.name, "mechanism": contender.name, "epsilon": epsilon,
        "every": plan.noise.every, "expected": plan.expected_flips,
        "loss": plan.loss.epsilon, "wrong": float(np.mean(wrong)), "deviation": _spread(wrong),
        "smoothed": float(np.mean(smoothed)), "smoothed_deviation": _spread(smoothed),
        "guessing": min(share, 1 - share), "releases": settings["releases"],
    }]  # fmt: skip


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1))


def parts(settings: Settings, place: Place) -> list[Part]:
    """One part a series, mechanism and budget."""
    found = made.available(settings)
    absent = [name for name in settings["records"] if name not in found]
    place.missing.extend(records.missing_record(name) for name in absent)
    listed = []
    for name, path in {made.SYNTHETIC: None, **found}.items():
        held = {} if path is None else {"data": file_digest(path)}
        for contender in CONTENDERS:
            if blocks := contender.blocks(settings):
                told = settings | held | {"blocks": blocks}
                work = partial(compute, contender, name, path, settings)
                listed += _budget_parts(f"{name}-{contender.name}".replace(" ", "-"), told, work)
    return listed


def _budget_parts(name: str, told: Settings, work: Callable[[float], list[Row]]) -> list[Part]:
    return [
        Part(f"{name}-epsilon-{epsilon:g}", told | {"epsilon": epsilon}, partial(work, epsilon))
        for epsilon in told["budgets"]
    ]


def draw(rows: list[Row], settings: Settings) -> Figure:
    """Reports as they are above, after smoothing below; one column a series."""
    from chainveil.plot import style

    names = list(dict.fromkeys(row["series"] for row in rows))
    figure, panels = style.new_panels(len(names), 4.3 * len(names), 8.2, rows=2, share_y=True)
    letters = iter("abcdefgh")
    for axes, (column, name) in zip(panels, product(("wrong", "smoothed"), names), strict=True):
        _draw_panel(axes, [row for row in rows if row["series"] == name], column)
        what = "reports" if column == "wrong" else "after smoothing"
        axes.set(ylim=(0, 0.5), xlabel="privacy budget ε (nats)",
                 title=f"({next(letters)}) {TITLES.get(name, name)}, {what}")  # fmt: skip
    for row in range(2):
        panels[row * len(names)].set_ylabel("share of points that are wrong")
    style.legend_below(figure, columns=4)
    return figure


def _draw_panel(axes: Axes, rows: list[Row], column: str) -> None:
    from chainveil.plot import style

    looks = {
        "independent": (style.BLUE, "o", "-"), "thinned independent": (style.BLUE, "o", ":"),
        "correlated": (style.ORANGE, "s", "--"), "sticky": (style.GREEN, "^", "-"),
        "thinned sticky": (style.GREEN, "^", ":"), "tracking": (style.RED, "D", "-."),
    }  # fmt: skip
    for name, (colour, marker, dash) in looks.items():
        own = [row for row in rows if row["mechanism"] == name]
        if own:
            axes.plot([row["epsilon"] for row in own], [row[column] for row in own], dash,
                      marker=marker, color=colour, ms=4.5, lw=1.5, label=name,
                      mfc="white" if dash == ":" else colour)  # fmt: skip
    axes.axhline(rows[0]["guessing"], color=style.GREY, lw=1, ls=(0, (1, 2)),
                 label="always the more frequent state")  # fmt: skip


EXPERIMENT = Experiment("memory", "Mechanisms that remember", parts, draw)
