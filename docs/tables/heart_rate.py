"""Reading the heart-rate records for the tables. Not a part of the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def heart_rate(name: str) -> NDArray[Any]:
    """Record ``N5`` or ``N10`` of PhysioNet's meditation database, 1 at or above its mean."""
    rate = recorded(name)
    return np.asarray(rate >= rate.mean(), dtype=np.uint8)


def quarters(name: str) -> NDArray[Any]:
    """A record in four levels, cut at its quartiles."""
    rate = recorded(name)
    return np.searchsorted(np.quantile(rate, [0.25, 0.5, 0.75]), rate, side="right")


def recorded(name: str) -> NDArray[np.float64]:
    """The heart rates of a record, beat by beat."""
    beside = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
    folder = Path(os.environ.get("CHAINVEIL_DATA", beside)) / "physionet-meditation"
    if not (folder / name).is_file():
        sys.exit(
            f"No file {name}. Get it from PhysioNet (Heart Rate Oscillations during Meditation "
            "1.0.0, data/normal), put it into a folder physionet-meditation, and set "
            "CHAINVEIL_DATA to the folder above."
        )
    return np.asarray(np.loadtxt(folder / name)[:, 1], dtype=np.float64)
