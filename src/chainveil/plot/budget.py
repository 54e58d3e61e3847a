"""What a budget buys: the analyst's error and the attacker's success in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plot import style
from chainveil.privacy.rounding import upper

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def budget(
    epsilon: Sequence[float] | np.ndarray,
    errors: Sequence[float] | np.ndarray,
    success: Sequence[float] | np.ndarray,
    *,
    guess: float | None = None,
    chosen: float | None = None,
    title: str = "",
    ylabel: str = "standard error of a share",
) -> Figure:
    """Draw the error of an estimate, and the success of the best attacker, against the budget.

    Parameters
    ----------
    epsilon : sequence of n floats
        The budgets.
    errors : sequence of n floats
        Standard errors, such as those of :func:`chainveil.estimate.error_at`.
    success : sequence of n floats
        How often the best attacker guesses a point right, such as
        :func:`chainveil.attack.expected_success` says.
    guess : float, optional
        Success without a release, drawn as a line.
    chosen : float, optional
        A budget to mark.
    title, ylabel : str
        Words over the figure and beside its left axis.
    """
    budgets, left, right = (np.asarray(part, dtype=float) for part in (epsilon, errors, success))
    if budgets.ndim != 1 or not budgets.size:
        raise InvalidInput("epsilon", epsilon, "one or more budgets")
    if left.shape != budgets.shape or right.shape != budgets.shape:
        raise InvalidInput(
            "errors, success", f"{left.size} and {right.size} values",
            f"{budgets.size} values each, one a budget",
        )  # fmt: skip
    figure, axes = style.new_figure(6.4, 4.4)
    axes.plot(budgets, left, color=style.BLUE, lw=1.9, label="error of the analyst (left)")
    axes.set_yscale("log")
    other = axes.twinx()
    other.spines["top"].set_visible(False)
    other.plot(budgets, right, color=style.RED, ls="--", lw=1.9,
               label="success of the best attacker (right)")  # fmt: skip
    if guess is not None:
        other.axhline(guess, color="0.45", ls=":", lw=1.2, label="without a release (right)")
    if chosen is not None:
        axes.axvline(chosen, color="0.45", lw=1.0, ls="-.", label=f"ε = {upper(chosen, 4)}")
    axes.set(xlabel="privacy budget ε (nats)", ylabel=ylabel)
    axes.set_title(title, fontsize=11)
    other.set(ylabel="share of points guessed right", ylim=(min(0.5, right.min()) - 0.02, 1.0))
    axes.set_xlim(float(budgets.min()), float(budgets.max()))
    axes.yaxis.label.set_color(style.BLUE)
    other.yaxis.label.set_color(style.RED)
    style.legend_below(figure, 2)
    return figure
