"""Results as figures. Computes nothing: every function draws what it is handed.

Needs the extra ``plot`` (matplotlib), which is imported when a figure is drawn.
"""

from __future__ import annotations

from chainveil.plot.answers import estimates
from chainveil.plot.budget import budget
from chainveil.plot.intervals import intervals
from chainveil.plot.noise_region import noise_region
from chainveil.plot.probabilities import probabilities
from chainveil.plot.release_figure import release_figure
from chainveil.plot.style import check_ending, save
from chainveil.plot.tradeoff import tradeoff

__all__ = [
    "budget",
    "check_ending",
    "estimates",
    "intervals",
    "noise_region",
    "probabilities",
    "release_figure",
    "save",
    "tradeoff",
]
