"""One look for every figure: colours that survive colour blindness and grey printing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chainveil.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by readers with any common colour blindness.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BLACK = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000",
)  # fmt: skip
GREY = "#7F7F7F"
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, GREY)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (6, 2)), (0, (3, 3)))


def new_figure(width: float = 6.0, height: float = 4.2) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes; no window, no global state."""
    figure, (axes,) = new_panels(1, width, height)
    return figure, axes


def new_panels(
    columns: int, width: float, height: float, rows: int = 1, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """An empty figure with several pairs of axes, row by row."""
    try:
        from chainveil.plot.chart import Chart
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "drawing a figure") from None
    figure = Chart(figsize=(width, height), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False, sharey=share_y).flat)
    for axes in panels:
        axes.grid(True, linewidth=0.4, color="0.85")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def legend_below(figure: Figure, columns: int) -> None:
    """One legend under all panels, each label once."""
    handles: dict[Any, Any] = {}
    for axes in figure.axes:
        found, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns, fontsize=9)


def check_ending(name: str, path: str | os.PathLike[str]) -> str:
    """The format that a file's ending asks for; an error if there is no such format."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "drawing a figure") from None
    formats = FigureCanvasBase.get_supported_filetypes()
    ending = Path(path).suffix.lstrip(".").lower()
    if ending not in formats:
        raise InvalidInput(name, str(path), "a file ending in " + ", ".join(sorted(formats)))
    return ending


def save(figure: Any, path: str | os.PathLike[str], dpi: int = 160) -> Path:
    """Write a figure to a file; the ending chooses the format. Complete or not at all.

    The same figure gives the same file: no date, and names in SVG that do not change.
    """
    from matplotlib import rc_context

    target = Path(path)
    ending = check_ending("path", target)
    partial = target.with_name(f".{target.name}.partial")
    try:
        undated = {"metadata": {"Date": None}} if ending == "svg" else {}
        with rc_context({"svg.hashsalt": "chainveil"}):
            figure.savefig(partial, dpi=dpi, format=ending, **undated)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
