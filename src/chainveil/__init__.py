"""Bayesian differential privacy for time series whose points depend on each other."""

from __future__ import annotations

from chainveil.chain import MarkovChain
from chainveil.channel import Channel
from chainveil.errors import (
    ChainveilError,
    InvalidInput,
    MissingExtra,
    NotSupported,
    UnreachableBudget,
)

__version__ = "0.1.0"

__all__ = [
    "ChainveilError",
    "Channel",
    "InvalidInput",
    "MarkovChain",
    "MissingExtra",
    "NotSupported",
    "UnreachableBudget",
]
