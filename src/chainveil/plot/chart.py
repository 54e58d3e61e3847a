"""A figure that notebooks show without further ado. Imports matplotlib."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

# Points to the inch in a notebook.
DPI = 110


class Chart(Figure):
    """A figure of matplotlib; as the last line of a cell it shows itself.

    Figures that are made without ``pyplot`` appear in notebooks as a line of text unless
    ``pyplot`` was imported before; this one does not lean on that.
    """

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=DPI)
        return drawn.getvalue()
