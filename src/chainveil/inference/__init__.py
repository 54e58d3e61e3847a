"""Forward-backward and Viterbi for any chain and channel.

The kernels are compiled on first use and cached; importing this package compiles nothing.
"""

from __future__ import annotations

from chainveil.inference.path import viterbi
from chainveil.inference.posterior import filtered, log_likelihood, smoothed

__all__ = ["filtered", "log_likelihood", "smoothed", "viterbi"]
