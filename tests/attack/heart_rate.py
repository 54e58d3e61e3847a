"""Heart rate as a binary series: 1 at or above the mean. Read where it is, never copied."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

RECORDS = ("N1", "N2", "N3", "N4", "N5", "N6", "N10")


def heart_rate(name: str) -> NDArray[Any]:
    """The record ``N5`` or ``N10``; the test is skipped where the data are absent."""
    rate = _rate(name)
    return np.asarray(rate >= rate.mean(), dtype=np.uint8)


def rates() -> list[NDArray[Any]]:
    """Beats per minute of all seven records; the test is skipped where the data are absent."""
    return [_rate(name) for name in RECORDS]


def _rate(name: str) -> NDArray[Any]:
    beside = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
    folder = Path(os.environ.get("CHAINVEIL_DATA", beside)) / "physionet-meditation"
    if not (folder / name).is_file():
        pytest.skip(f"no heart rate data: set CHAINVEIL_DATA to the folder above {folder.name}")
    return np.asarray(np.loadtxt(folder / name)[:, 1])
