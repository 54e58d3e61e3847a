"""Estimates with their intervals, one place a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 24


def intervals(
    curves: dict[str, tuple[Any, Any, Any]],
    places: Sequence[Any],
    *,
    truth: Any = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
) -> Figure:
    """Draw values with intervals, one colour a curve.

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
    if truth is not None:
        axes.plot(ground, np.asarray(truth, dtype=float), color=style.BLACK, lw=1.4, label="truth")
    for number, (name, parts) in enumerate(curves.items()):
        value, low, high = (np.asarray(part, dtype=float) for part in parts)
        if value.shape != ground.shape:
            raise InvalidInput("curves", f"{value.size} values for {name!r}", f"{ground.size}")
        shift = width * ((number + 0.5) / len(curves) - 0.5)
        with np.errstate(invalid="ignore"):
            ends = np.stack([value - low, high - value])
        ends = np.nan_to_num(ends, posinf=0.0, neginf=0.0)
        axes.errorbar(ground + shift, value, np.maximum(ends, 0.0), fmt="o", ms=3.5, lw=1.3,
                      capsize=2, color=style.CYCLE[number % len(style.CYCLE)],
                      label=name)  # fmt: skip
    if not numeric and len(places) <= MOST_NAMES:
        axes.set_xticks(ground, [str(place) for place in places], rotation=30, ha="right")
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.legend(fontsize=8, framealpha=0.9)
    return figure
