"""One series, its release, and what the release still says about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def release_figure(
    original: Sequence[int] | np.ndarray,
    released: Sequence[int] | np.ndarray,
    posterior: Sequence[float] | np.ndarray,
    title: str = "",
) -> Figure:
    """Draw three rows over the same points: the truth, the release, the best guess.

    Parameters
    ----------
    original, released : sequences of n states, 0 or 1
        The series and its release.
    posterior : sequence of n floats
        Probability of state 1 at each point given the whole release.
    title : str
        Words over the figure.
    """
    rows = [np.asarray(part, dtype=float) for part in (original, released, posterior)]
    if len({row.shape for row in rows}) != 1 or rows[0].ndim != 1:
        raise InvalidInput("original, released, posterior", [r.shape for r in rows], "equal length")
    figure, axes = style.new_figure(8.0, 3.6)
    names = ("original", "release", "posterior")
    colours = (style.BLUE, style.ORANGE, style.GREEN)
    for place, (row, name, colour) in enumerate(zip(rows, names, colours, strict=True)):
        _band(axes, row, 2 - place, colour)
        axes.text(-0.01, 2 - place + 0.4, name, ha="right", va="center",
                  transform=axes.get_yaxis_transform())  # fmt: skip
    axes.set(xlabel="point", title=title, yticks=[], xlim=(0, len(rows[0])), ylim=(-0.1, 2.95))
    axes.spines["left"].set_visible(False)
    return figure


def _band(axes: Any, row: np.ndarray, base: float, colour: str) -> None:
    """A series between ``base`` and ``base + 0.8``, held from point to point."""
    points = np.arange(len(row) + 1)
    heights = base + 0.8 * np.append(row, row[-1])
    axes.step(points, heights, where="post", color=colour, lw=0.9)
    axes.fill_between(points, base, heights, step="post", color=colour, alpha=0.25, lw=0)
