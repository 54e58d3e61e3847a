"""Estimates with their intervals, one place a group; one panel where that reads better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, tuple[Any, Any, Any]]

# Names along an axis that can be read, and letters that fit without slanting them.
MOST_NAMES, MOST_LETTERS = 24, 70
# Panels of one figure, and those that stand above each other.
MOST_PANELS, HIGHEST = 24, 6
# Curves in a legend below the figure; more go beside it.
MOST_BELOW = 6
MARKERS = ("o", "s", "^", "D")
# Numbers up to 1 that reach so far up are shown with all of their scale.
FAR = 0.4


def intervals(
    curves: Curves,
    places: Sequence[Any],
    *,
    truth: Any = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    marks: Sequence[float] = (),
    log: bool = False,
) -> Figure:
    """Draw values with intervals, one colour a curve; an arrow where an interval has no end.

    Parameters
    ----------
    curves : mapping of name to (value, low, high), each of n numbers
        What was estimated, such as ``found.value[:, 1], found.low[:, 1], found.high[:, 1]``.
    places : sequence of n names or numbers
        The groups, along the horizontal axis.
    truth : sequence of n numbers, optional
        What the values should be, drawn as a line; a mapping of name to such, one a curve.
    title, xlabel, ylabel : str
        Words around the figure.
    marks : sequence of float
        Where lines go across, such as 0 and 1 for shares.
    log : bool
        Whether equal distances are equal ratios.
    """
    truths = None if truth is None else {"": truth}
    return interval_panels(
        {"": (curves, places)}, truths=truths, title=title, xlabel=xlabel, ylabel=ylabel,
        marks=marks, log=log,
    )  # fmt: skip


def interval_panels(
    panels: Mapping[str, tuple[Curves, Sequence[Any]]],
    *,
    truths: Mapping[str, Any] | None = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    marks: Sequence[float] = (),
    log: bool = False,
) -> Figure:
    """As :func:`intervals`, one panel a name, such as one a person over time.

    Of more than ``MOST_PANELS`` the first are drawn, and the title says so.
    """
    shown = list(panels)[:MOST_PANELS]
    if not shown:
        raise InvalidInput("panels", "none", "one or more")
    columns = -(-len(shown) // HIGHEST) if len(shown) > 1 else 1
    rows = -(-len(shown) // columns)
    height = 4.0 if rows == 1 else 1.0 + 1.45 * rows
    figure, axes = style.new_panels(columns, 7.2 + 1.6 * (columns - 1), height, rows, True, True)
    names = list(dict.fromkeys(name for part in shown for name in panels[part][0]))
    for one, name in zip(axes, shown, strict=False):
        curves, places = panels[name]
        _panel(one, curves, places, names, None if truths is None else truths.get(name), log)
        one.set_title(style.words(name), loc="left", fontsize=9)
    for empty in axes[len(shown) :]:
        empty.set_visible(False)
    _limits(axes[0], [panels[name][0] for name in shown], truths, marks, log)
    for one in axes:
        for mark in marks:
            one.axhline(mark, color="0.45", lw=0.9, ls=":", zorder=1)
    left = len(panels) - len(shown)
    more = f"{title}\n(the first {len(shown)} of {len(panels):,})" if left else title
    bottom = axes[: len(shown)][-columns:]
    _around(figure, bottom, more, xlabel, ylabel)
    _legend(figure, names, truths)
    return figure


def _around(figure: Figure, bottom: Sequence[Axes], title: str, xlabel: str, ylabel: str) -> None:
    """Words around one panel, or around all of them; ``bottom`` have nothing below them."""
    if len(figure.axes) == 1:
        bottom[0].set(title=title, ylabel=ylabel)
    else:
        figure.suptitle(title, fontsize=12)
        figure.supylabel(ylabel, fontsize=10)
    for one in bottom:
        one.xaxis.set_tick_params(labelbottom=True)
        one.set_xlabel(style.words(xlabel))


def _panel(
    axes: Axes, curves: Curves, places: Sequence[Any], names: list[str], truth: Any, log: bool
) -> None:
    numeric = all(isinstance(place, int | float | np.number) for place in places)
    ground = np.asarray(places, dtype=float) if numeric else np.arange(len(places), dtype=float)
    width = 0.6 * (np.diff(ground).min() if len(ground) > 1 else 1.0)
    top = _highest(curves, log)
    for name, (value, low, high) in _checked(curves, ground.shape).items():
        number = names.index(name)
        shift = width * ((number + 0.5) / len(names) - 0.5)
        colour = style.CYCLE[number % len(style.CYCLE)]
        marker = MARKERS[number // len(style.CYCLE) % len(MARKERS)]
        axes.plot(ground + shift, value, marker, ms=3.5, color=colour, label=style.words(name))
        _bars(axes, ground + shift, low, high, top, colour)
        if isinstance(truth, Mapping) and name in truth:
            _truth(axes, ground + shift, truth[name], numeric, colour)
    if truth is not None and not isinstance(truth, Mapping):
        _truth(axes, ground, truth, numeric, style.BLACK)
    _places(axes, places, ground, numeric)


def _truth(axes: Axes, ground: Any, truth: Any, numeric: bool, colour: str) -> None:
    """A line over numbers; over names, between which nothing lies, a cross each."""
    how: dict[str, Any] = {"lw": 1.3} if numeric else {"ls": "none", "marker": "x", "ms": 7}
    axes.plot(
        ground, np.asarray(truth, dtype=float), color=colour, label="truth", zorder=1.5, **how
    )


def _places(axes: Axes, places: Sequence[Any], ground: Any, numeric: bool) -> None:
    """What stands along the horizontal axis."""
    if numeric:
        if all(float(place).is_integer() for place in places):
            axes.locator_params(axis="x", integer=True)
        return
    # As many names as can be read; the others lie between.
    every = -(-len(places) // MOST_NAMES)
    named = [style.words(place, 24) for place in places[::every]]
    slanted = sum(map(len, named)) > MOST_LETTERS
    how: dict[str, Any] = {"rotation": 30, "ha": "right"} if slanted else {}
    axes.set_xticks(ground[::every], named, **how)
    axes.set_xlim(-0.6, len(places) - 0.4)


def _checked(curves: Curves, shape: tuple[int, ...]) -> dict[str, tuple[Any, Any, Any]]:
    """The same as arrays, one number a place."""
    found = {}
    for name, parts in curves.items():
        value, low, high = (np.asarray(part, dtype=float) for part in parts)
        if value.shape != shape:
            raise InvalidInput("curves", f"{value.size} values for {name!r}", f"{shape[0]}")
        found[name] = value, low, high
    return found


def _numbers(curves: Curves) -> Any:
    """All numbers of some curves that can be drawn."""
    parts = [np.asarray(part, float).ravel() for parts in curves.values() for part in parts]
    numbers = np.concatenate(parts) if parts else np.zeros(0)
    return numbers[np.isfinite(numbers)]


def _highest(curves: Curves, log: bool) -> float:
    """Where bars without an end leave the figure."""
    finite = _numbers(curves)
    if not finite.size:
        return 1.0
    return float(finite.max() * 1.5 if log else finite.max() + 0.05 * (np.ptp(finite) or 1.0))


def _limits(
    axes: Axes,
    curves: Sequence[Curves],
    truths: Mapping[str, Any] | None,
    marks: Sequence[float],
    log: bool,
) -> None:
    """How far the vertical axis of all panels goes."""
    numbers = np.concatenate([_numbers(part) for part in curves])
    for line in (truths or {}).values():
        several = line.values() if isinstance(line, Mapping) else [line]
        numbers = np.concatenate([numbers, *(np.asarray(one, float).ravel() for one in several)])
    numbers = numbers[np.isfinite(numbers)]
    if log and (not numbers.size or numbers.min() > 0):
        from matplotlib.ticker import LogLocator, NullFormatter

        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        return
    if not marks or not numbers.size:
        return
    # Lines that lie far above everything would leave the numbers no room.
    near = [mark for mark in marks if mark <= 0 or mark == min(marks) or numbers.max() > FAR]
    low, high = min([*near, numbers.min()]), max([*near, numbers.max()])
    room = 0.04 * (high - low or 1.0)
    axes.set_ylim(low - room, high + room)


def _legend(figure: Figure, names: list[str], truths: Mapping[str, Any] | None) -> None:
    """Beside or below the figure, never on it; none where there is nothing to tell apart."""
    if len(names) > MOST_BELOW:
        style.legend_outside(figure, "outside right center", 1)
    elif len(names) > 1 or truths is not None:
        style.legend_outside(figure, "outside lower center", len(names) + 1)


def _bars(axes: Axes, ground: Any, low: Any, high: Any, top: float, colour: str) -> None:
    """From the lower limit to the upper one, wherever the value lies; an arrow has no end."""
    known = ~np.isnan(low) & ~np.isnan(high)
    endless = known & np.isinf(high)
    ends = np.where(endless, top, high)
    axes.vlines(ground[known], low[known], ends[known], color=colour, lw=1.3)
    for limit, there in ((low, known), (high, known & ~endless)):
        axes.plot(ground[there], limit[there], "_", ms=4, color=colour)
    axes.plot(ground[endless], ends[endless], "^", ms=5, color=colour)
