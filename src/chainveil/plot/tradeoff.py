"""Noise against budget for several methods (the paper's Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def tradeoff(
    epsilon: Sequence[float] | np.ndarray,
    curves: Mapping[str, Sequence[float | None]],
    title: str = "",
    ylabel: str = "share of points changed",
) -> Figure:
    """Draw noise against the budget, one curve a method; lower is better.

    Parameters
    ----------
    epsilon : sequence of n floats
        The budgets.
    curves : mapping of name to n values
        Noise of each method; None or NaN where a method cannot reach the budget.
    title, ylabel : str
        Words over the figure and beside its vertical axis.
    """
    figure, axes = style.new_figure(6.4, 4.8)
    draw_tradeoff(axes, epsilon, curves, title)
    axes.set_ylabel(ylabel)
    style.legend_below(figure, 3)
    return figure


def draw_tradeoff(
    axes: Axes,
    epsilon: Sequence[float] | np.ndarray,
    curves: Mapping[str, Sequence[float | None]],
    title: str = "",
) -> None:
    """As :func:`tradeoff`, into axes that are there already; without a legend."""
    budgets = np.asarray(epsilon, dtype=float)
    for number, (name, values) in enumerate(curves.items()):
        noise = np.array([np.nan if value is None else value for value in values], dtype=float)
        if noise.shape != budgets.shape:
            raise InvalidInput(
                "curves",
                f"{noise.size} values for {name!r}",
                f"{budgets.size} values, one a budget",
            )
        axes.plot(budgets, noise, color=style.CYCLE[number % len(style.CYCLE)],
                  ls=style.DASHES[number % len(style.DASHES)], lw=1.8, label=name)  # fmt: skip
    axes.set(xlabel="privacy budget ε (nats)", title=title, ylim=(0, 0.52))
    axes.set_xlim(float(budgets.min()), float(budgets.max()))
