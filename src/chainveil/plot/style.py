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
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (6, 2)))


def new_figure(width: float = 6.0, height: float = 4.2) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes; no window, no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "drawing a figure") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.grid(True, linewidth=0.4, color="0.85")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Any, path: str | os.PathLike[str], dpi: int = 160) -> Path:
    """Write a figure to a file; the ending chooses the format. Complete or not at all."""
    target = Path(path)
    formats = figure.canvas.get_supported_filetypes()
    ending = target.suffix.lstrip(".").lower()
    if ending not in formats:
        raise InvalidInput("path", str(target), "a file ending in " + ", ".join(sorted(formats)))
    partial = target.with_name(f".{target.name}.partial")
    try:
        figure.savefig(partial, dpi=dpi, format=ending)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
