"""What an analyst may learn from a release, with honest intervals.

Importing this package compiles nothing.
"""

from __future__ import annotations

from chainveil.estimate.autocorrelation import autocorrelation
from chainveil.estimate.denoise import Denoised, denoise
from chainveil.estimate.durations import durations
from chainveil.estimate.frequency import frequency
from chainveil.estimate.packed import Packed
from chainveil.estimate.planning import ExpectedError, epsilon_for, error_at, rows_for
from chainveil.estimate.results import (
    Autocorrelation,
    Durations,
    Estimate,
    Frequency,
    Transitions,
)
from chainveil.estimate.transitions import transitions

__all__ = [
    "Autocorrelation",
    "Denoised",
    "Durations",
    "Estimate",
    "ExpectedError",
    "Frequency",
    "Packed",
    "Transitions",
    "autocorrelation",
    "denoise",
    "durations",
    "epsilon_for",
    "error_at",
    "frequency",
    "rows_for",
    "transitions",
]
