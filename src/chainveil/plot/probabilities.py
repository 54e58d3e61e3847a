"""What a release says about each point: probabilities along each series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Series that a figure has room for, and points that a line of it can show.
MOST_SERIES, MOST_POINTS = 8, 2000


def probabilities(
    series: Sequence[Any],
    labels: Sequence[Any] | None = None,
    *,
    names: Sequence[Any] | None = None,
    title: str = "",
    points: int = MOST_POINTS,
) -> Figure:
    """Draw the probability of each state along each series, one panel a series.

    Parameters
    ----------
    series : sequence of arrays (n, k)
        ``Pr[state | release]``, such as those of :func:`chainveil.estimate.denoise`. Of two
        states the last one is drawn: the other is what is left. NaN: nothing is known.
    labels : sequence of k, optional
        What the states are called.
    names : sequence, optional
        What the series are called, one each.
    title : str
        Words over the figure.
    points : int
        How many points of each series are drawn, from its first on.
    """
    drawn = [np.asarray(part, dtype=float)[:points] for part in series[:MOST_SERIES]]
    if not drawn or any(part.ndim != 2 or part.shape[1] < 2 for part in drawn):
        raise InvalidInput("series", [part.shape for part in drawn], "arrays of shape (n, k)")
    states = [str(label) for label in (range(drawn[0].shape[1]) if labels is None else labels)]
    height = 1.0 + 1.2 * len(drawn)
    figure, panels = style.new_panels(1, 8.4, height, len(drawn), share_y=True)
    for number, (axes, part) in enumerate(zip(panels, drawn, strict=True)):
        _panel(axes, part, states)
        name = f"series {number}" if names is None else str(names[number])
        if len(series) > 1 or names is not None:
            axes.set_title(name, loc="left", fontsize=9)
    panels[-1].set_xlabel("point")
    about = f"probability of {states[1]}" if len(states) == 2 else "probability of each state"
    figure.supylabel(about, fontsize=10)
    figure.suptitle(title or _size(series, drawn))
    if len(states) > 2:
        style.legend_below(figure, min(len(states), 6))
    return figure


def _size(series: Sequence[Any], drawn: Sequence[np.ndarray]) -> str:
    """How much of everything the figure shows, where it does not show all."""
    words = f"the first {len(drawn)} of {len(series):,} series" if len(series) > len(drawn) else ""
    cut = any(len(part) < len(whole) for part, whole in zip(drawn, series, strict=False))
    shown = f"the first {max(map(len, drawn)):,} points" if cut else ""
    return ", ".join(part for part in (words, shown) if part)


def _panel(axes: Axes, part: np.ndarray, states: Sequence[str]) -> None:
    points = np.arange(len(part) + 1)
    ends = np.vstack([part, part[-1:]])
    if len(states) == 2:
        axes.fill_between(points, 0, ends[:, 1], step="post", color=style.BLUE, alpha=0.25, lw=0)
        axes.step(points, ends[:, 1], where="post", color=style.BLUE, lw=0.9)
    else:
        below = np.zeros(len(points))
        for state, name in enumerate(states):
            colour = style.CYCLE[state % len(style.CYCLE)]
            axes.fill_between(points, below, below + ends[:, state], step="post", color=colour,
                              alpha=0.75, lw=0, label=name)  # fmt: skip
            below = below + ends[:, state]
    axes.set(xlim=(0, len(part)), ylim=(-0.02, 1.02), yticks=[0, 0.5, 1])
