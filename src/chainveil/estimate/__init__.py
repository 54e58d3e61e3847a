"""What an analyst may learn from a release, with honest intervals.

Importing this package compiles nothing.
"""

from __future__ import annotations

from chainveil.estimate.counts.packed import Packed
from chainveil.estimate.planning import ExpectedError, epsilon_for, error_at, rows_for
from chainveil.estimate.price import Price, PriceTable, prices
from chainveil.estimate.questions.accuracy import Accuracy
from chainveil.estimate.questions.autocorrelation import autocorrelation
from chainveil.estimate.questions.comparison import Comparison, compare
from chainveil.estimate.questions.denoise import denoise
from chainveil.estimate.questions.denoised import Denoised
from chainveil.estimate.questions.durations import durations
from chainveil.estimate.questions.frequency import frequency
from chainveil.estimate.questions.pairs import pairs
from chainveil.estimate.questions.transitions import transitions
from chainveil.estimate.results import (
    Autocorrelation,
    Durations,
    Estimate,
    Frequency,
    Pairs,
    Transitions,
)

__all__ = [
    "Accuracy",
    "Autocorrelation",
    "Comparison",
    "Denoised",
    "Durations",
    "Estimate",
    "ExpectedError",
    "Frequency",
    "Packed",
    "Pairs",
    "Price",
    "PriceTable",
    "Transitions",
    "autocorrelation",
    "compare",
    "denoise",
    "durations",
    "epsilon_for",
    "error_at",
    "frequency",
    "pairs",
    "prices",
    "rows_for",
    "transitions",
]
