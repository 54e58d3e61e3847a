"""One series, what is released of it, and what the releases still say about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours of releases: red is left for what is wrong in them.
RELEASES = (style.GREY, style.GREEN, style.PURPLE, style.SKY, style.BLACK, style.YELLOW)
Points = Sequence[float] | np.ndarray


def release_figure(
    original: Points,
    released: Points | Mapping[str, Points],
    posterior: Points | None = None,
    title: str = "",
) -> Figure:
    """Draw rows over the same points: the truth, each release, the best guess.

    Wrong reports are marked in red, and counted beside their row: releases of one series with
    several kinds of noise can be compared at a glance.

    Parameters
    ----------
    original : sequence of n states, 0 … k-1
        The series. It makes the figure as private as the data.
    released : sequence of n reports, or mapping of name to such sequences
        One release or several. Points without a report may be NaN or masked.
    posterior : sequence of n floats, optional
        Of two states: probability of state 1 at each point given the whole release (the last of
        several).
    title : str
        Words over the figure.
    """
    named = released if isinstance(released, Mapping) else {"release": released}
    truth = _row(original)
    rows = {name: _row(part) for name, part in named.items()}
    guess = {} if posterior is None else {"posterior\nof state 1": _row(posterior)}
    shapes = [row.shape for row in (truth, *rows.values(), *guess.values())]
    if len(set(shapes)) != 1 or truth.ndim != 1 or not truth.size:
        raise InvalidInput("original, released, posterior", shapes, "equal length")
    figure, axes = style.new_figure(8.4, 0.8 + 0.85 * len(shapes))
    everything = {"original": truth} | rows | guess
    # The last state that is seen reaches to the top of its row.
    top = max(1.0, *(np.nanmax(row, initial=0.0) for row in (truth, *rows.values())))
    for place, (name, row) in enumerate(everything.items()):
        base = len(shapes) - 1 - place
        height = row if name in guess else row / top
        colour = style.BLUE if name in ("original", *guess) else _colour(rows, name)
        _band(axes, height, base, colour)
        if name in rows:
            _wrong(axes, row, truth, base)
        elif name in guess:
            _scale(axes, base)
        lines = "\n".join(style.words(line) for line in name.split("\n"))
        axes.text(-0.01, base + 0.4, lines, ha="right", va="center",
                  transform=axes.get_yaxis_transform())  # fmt: skip
    axes.set(xlabel="point", title=title, yticks=[], xlim=(0, len(truth)),
             ylim=(-0.1, len(shapes) - 0.05))  # fmt: skip
    axes.spines["left"].set_visible(False)
    return figure


def _row(values: Any) -> np.ndarray:
    """Numbers, with NaN where there is none."""
    return np.asarray(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))


def _colour(rows: Mapping[str, Any], name: str) -> str:
    return RELEASES[list(rows).index(name) % len(RELEASES)]


def _band(axes: Any, row: np.ndarray, base: float, colour: str) -> None:
    """A series between ``base`` and ``base + 0.8``, held from point to point."""
    points = np.arange(len(row) + 1)
    heights = base + 0.8 * np.append(row, row[-1])
    axes.step(points, heights, where="post", color=colour, lw=0.9)
    axes.fill_between(points, base, heights, step="post", color=colour, alpha=0.25, lw=0)


def _scale(axes: Any, base: float) -> None:
    """Where 0, a half and 1 lie in a row of probabilities."""
    for share in (0.0, 0.5, 1.0):
        axes.axhline(base + 0.8 * share, color="0.45", lw=0.6, ls=":")
        axes.text(1.01, base + 0.8 * share, f"{share:g}", ha="left", va="center", fontsize=8,
                  transform=axes.get_yaxis_transform())  # fmt: skip


def _wrong(axes: Any, row: np.ndarray, truth: np.ndarray, base: float) -> None:
    """Points whose report is not their state, from top to bottom of the row, and their share."""
    made = ~np.isnan(row)
    wrong = made & (row != truth)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wrong, [False]])))
    begins, ends = edges[::2], edges[1::2]
    axes.broken_barh(list(zip(begins, ends - begins, strict=True)), (base, 0.8), color=style.RED,
                     alpha=0.45, lw=0, label="wrong")  # fmt: skip
    share = f"{wrong.sum() / made.sum():.0%}\nwrong" if made.any() else "no report"
    axes.text(1.01, base + 0.4, share, ha="left", va="center", color=style.RED,
              transform=axes.get_yaxis_transform())  # fmt: skip
