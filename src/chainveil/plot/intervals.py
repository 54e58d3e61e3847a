"""Estimates with their intervals, one place a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMES = 24
# Past as many curves the legend would hide some of them.
MOST_INSIDE = 6
MARKERS = ("o", "s", "^", "D")


def intervals(
    curves: dict[str, tuple[Any, Any, Any]],
    places: Sequence[Any],
    *,
    truth: Any = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
) -> Figure:
    """Draw values with intervals, one colour a curve; an arrow where an interval has no end.

    Parameters
    ----------
    curves : mapping of name to (value, low, high), each of n numbers
        What was estimated, such as ``found.value[:, 1], found.low[:, 1], found.high[:, 1]``.
    places : sequence of n names or numbers
        The groups, along the horizontal axis.
    truth : sequence of n numbers, optional
        What the values should be, drawn as a line.
    title, xlabel, ylabel : str
        Words around the figure.
    """
    figure, axes = style.new_figure(7.2, 4.0)
    numeric = all(isinstance(place, int | float | np.number) for place in places)
    ground = np.asarray(places, dtype=float) if numeric else np.arange(len(places), dtype=float)
    width = 0.6 * (np.diff(ground).min() if len(ground) > 1 else 1.0)
    top = _highest(curves)
    if truth is not None:
        axes.plot(ground, np.asarray(truth, dtype=float), color=style.BLACK, lw=1.4, label="truth")
    for number, (name, parts) in enumerate(curves.items()):
        value, low, high = (np.asarray(part, dtype=float) for part in parts)
        if value.shape != ground.shape:
            raise InvalidInput("curves", f"{value.size} values for {name!r}", f"{ground.size}")
        shift = width * ((number + 0.5) / len(curves) - 0.5)
        colour = style.CYCLE[number % len(style.CYCLE)]
        marker = MARKERS[number // len(style.CYCLE) % len(MARKERS)]
        axes.plot(ground + shift, value, marker, ms=3.5, color=colour, label=name)
        _bars(axes, ground + shift, low, high, top, colour)
    if numeric and all(float(place).is_integer() for place in places):
        axes.locator_params(axis="x", integer=True)
    elif not numeric:
        # As many names as can be read; the others lie between.
        every = -(-len(places) // MOST_NAMES)
        named = [str(place) for place in places[::every]]
        axes.set_xticks(ground[::every], named, rotation=30, ha="right")
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if len(curves) > MOST_INSIDE:
        figure.legend(loc="outside right center", fontsize=8)
    else:
        axes.legend(fontsize=8, framealpha=0.9)
    return figure


def _highest(curves: dict[str, tuple[Any, Any, Any]]) -> float:
    """Where bars without an end leave the figure."""
    numbers = np.concatenate([np.asarray(part, float).ravel() for parts in curves.values()
                              for part in parts])  # fmt: skip
    finite = numbers[np.isfinite(numbers)]
    return float(finite.max() + 0.05 * (np.ptp(finite) or 1.0)) if finite.size else 1.0


def _bars(axes: Axes, ground: Any, low: Any, high: Any, top: float, colour: str) -> None:
    """From the lower limit to the upper one, wherever the value lies; an arrow has no end."""
    known = ~np.isnan(low) & ~np.isnan(high)
    endless = known & np.isinf(high)
    ends = np.where(endless, top, high)
    axes.vlines(ground[known], low[known], ends[known], color=colour, lw=1.3)
    for limit, there in ((low, known), (high, known & ~endless)):
        axes.plot(ground[there], limit[there], "_", ms=4, color=colour)
    axes.plot(ground[endless], ends[endless], "^", ms=5, color=colour)
