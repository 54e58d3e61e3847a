"""Forward-backward and Viterbi for any model and noise.

The kernels are compiled on first use and cached; importing this package compiles nothing.
"""

from __future__ import annotations

from chainveil.inference.hidden import HiddenModel, hidden_model
from chainveil.inference.path import viterbi
from chainveil.inference.posterior import filtered, log_likelihood, smoothed

__all__ = ["HiddenModel", "filtered", "hidden_model", "log_likelihood", "smoothed", "viterbi"]
