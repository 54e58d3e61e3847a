"""How a report is drawn, as numbers: a kernel for each kind of noise.

Nothing here draws randomness (``chainveil.mechanism`` does) or knows what the data follow.
"""

from __future__ import annotations

from chainveil.noise.base import GRID, Noise, kinds, noise_class, read_noise, register
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.noise.memory import StickyNoise, TrackingNoise

__all__ = [
    "GRID",
    "Channel",
    "CorrelatedNoise",
    "Noise",
    "StickyNoise",
    "TrackingNoise",
    "kinds",
    "noise_class",
    "read_noise",
    "register",
]
