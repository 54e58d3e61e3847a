"""How a report is drawn, as numbers: a kernel for each kind of noise.

Nothing here draws randomness (``chainveil.mechanism`` does) or knows what the data follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainveil.noise.base import GRID, Noise, kinds, noise_class, read_noise, register
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.noise.memory import StickyNoise, TrackingNoise
from chainveil.noise.parametrization import Parametrization

if TYPE_CHECKING:
    from chainveil.contract import check_noise

__all__ = [
    "GRID",
    "Channel",
    "CorrelatedNoise",
    "Noise",
    "Parametrization",
    "StickyNoise",
    "TrackingNoise",
    "check_noise",
    "kinds",
    "noise_class",
    "read_noise",
    "register",
]


def __getattr__(name: str) -> Any:
    # It needs everything that works with noise, and is imported when it is asked for.
    if name == "check_noise":
        from chainveil.contract import check_noise

        return check_noise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
