"""How far the mechanisms are from the best of all: short series, by linear programming."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.model.chain import MarkovChain
from experiments.best_mechanism import best_mechanism
from experiments.mechanisms import offered, plan_of
from experiments.parts import Experiment, Part, Place, Row, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MECHANISMS = ("independent", "correlated", "tracking")
LIMIT = "limit"


def limit_name(ahead: int | None) -> str:
    """The limit of all mechanisms, or of those whose reports look so many points ahead."""
    return LIMIT if ahead is None else f"{LIMIT}, {ahead} ahead"


def wrong_reports(noise: Any, chain: MarkovChain, length: int) -> float:
    """Expected share of wrong reports in a series of that many points, ends included."""
    # Pr[x_t, z_t] at [x, z].
    joint = chain.start[:, None] * noise.first_law()
    wrong = 1 - float(np.trace(joint))
    for _ in range(1, length):
        joint = np.einsum("xz,xy,zxyw->yw", joint, chain.transition, noise.step_law())
        wrong += 1 - float(np.trace(joint))
    return wrong / length


def compute_mechanism(mechanism: str, epsilon: float, length: int, theta: float) -> list[Row]:
    """What a calibrated mechanism leaves wrong in a series of that length."""
    chain = MarkovChain.symmetric(theta)
    plan = plan_of(chain, epsilon, length, mechanism)
    return [{
        "epsilon": epsilon, "length": length, "mechanism": mechanism,
        "wrong": wrong_reports(plan.noise, chain, length), "loss": plan.loss.epsilon,
    }]  # fmt: skip


def compute_limit(
    epsilon: float, length: int, theta: float, ahead: int | None, place: Place
) -> list[Row]:
    """The best of all mechanisms, or of those that publish in turn."""
    best = best_mechanism(MarkovChain.symmetric(theta), epsilon, length, ahead, place.tell)
    return [{
        "epsilon": epsilon, "length": length, "mechanism": limit_name(ahead),
        "wrong": best.limit, "loss": best.loss, "attained": best.attained,
    }]  # fmt: skip


def parts(settings: Settings, place: Place) -> list[Part]:
    """One part a budget, length and mechanism, and one for each limit there."""
    theta, listed = settings["theta"], []
    mechanisms = [mechanism for mechanism in MECHANISMS if offered(mechanism)]
    for (epsilon, length), limits in cases(settings).items():
        case = {"theta": theta, "epsilon": epsilon, "length": length}
        work: dict[str, Callable[[], list[Row]]] = {
            mechanism: partial(compute_mechanism, mechanism, epsilon, length, theta)
            for mechanism in mechanisms
        }
        for ahead in limits:
            found = partial(compute_limit, epsilon, length, theta, ahead, place)
            work[limit_name(ahead)] = found
        for name, compute in work.items():
            told = f"epsilon-{epsilon:g}-length-{length}-{name}".replace(", ", "-")
            listed.append(Part(told.replace(" ", "-"), case, compute))
    return listed


def cases(settings: Settings) -> dict[tuple[float, int], list[int | None]]:
    """Budgets and lengths, each with the limits that are asked for: how far reports look ahead."""
    found: dict[tuple[float, int], list[int | None]] = {
        (epsilon, length): [0, None]
        for epsilon in settings["budgets"] for length in settings["lengths"]
    }  # fmt: skip
    for case in settings["more"]:
        key = case["epsilon"], case["length"]
        found[key] = [*case["ahead"], *found.get(key, [None])]
    return found


def draw(rows: list[Row], settings: Settings) -> Figure:
    """Wrong reports over the length at each budget, one panel a budget."""
    from chainveil.plot import style

    budgets = settings["budgets"]
    figure, panels = style.new_panels(len(budgets), 3.7 * len(budgets), 4.4, share_y=True)
    for letter, axes, epsilon in zip("abcdef", panels, budgets, strict=False):
        _draw_budget(axes, [row for row in rows if row["epsilon"] == epsilon])
        axes.set(xlabel="number of points n", ylim=(0, 0.5),
                 title=f"({letter}) ε = {epsilon:g}")  # fmt: skip
    panels[0].set_ylabel("share of wrong reports")
    style.legend_below(figure, columns=6)
    return figure


def _draw_budget(axes: Axes, rows: list[Row]) -> None:
    from chainveil.plot import style

    looks = {
        "independent": (style.BLUE, "o", "-"), "correlated": (style.ORANGE, "s", "--"),
        "tracking": (style.GREEN, "^", "-."), limit_name(0): (style.GREY, "v", ":"),
        LIMIT: (style.BLACK, "D", "-"),
    }  # fmt: skip
    labels = {LIMIT: "limit of every mechanism", limit_name(0): "limit without looking ahead"}
    for mechanism, (colour, marker, dash) in looks.items():
        own = sorted((row["length"], row["wrong"]) for row in rows if row["mechanism"] == mechanism)
        if not own:
            continue
        lengths, wrong = zip(*own, strict=True)
        axes.plot(lengths, wrong, dash, marker=marker, color=colour, ms=4.5, lw=1.5,
                  label=labels.get(mechanism, mechanism))  # fmt: skip
        if mechanism == LIMIT:
            axes.fill_between(lengths, wrong, color=style.GREY, alpha=0.15, lw=0,
                              label="out of reach")  # fmt: skip
    axes.set_xticks(sorted({row["length"] for row in rows}))


EXPERIMENT = Experiment("limit", "The limit of every mechanism", parts, draw)
