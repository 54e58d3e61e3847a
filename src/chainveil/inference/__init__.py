"""Forward-backward and Viterbi for any model and noise: every such recursion is in this room.

The kernels are compiled on first use and cached; importing this package compiles nothing.
"""

from __future__ import annotations

from chainveil.inference.hidden import (
    HiddenModel,
    ReportLaws,
    StepWeights,
    hidden_model,
    report_laws,
    step_weights,
)
from chainveil.inference.labels import Labels, report_labels
from chainveil.inference.path import viterbi
from chainveil.inference.posterior import filtered, log_likelihood, smoothed

__all__ = [
    "HiddenModel",
    "Labels",
    "ReportLaws",
    "StepWeights",
    "filtered",
    "hidden_model",
    "log_likelihood",
    "report_labels",
    "report_laws",
    "smoothed",
    "step_weights",
    "viterbi",
]
