"""Bayesian differential privacy for time series whose points depend on each other."""

from __future__ import annotations

import importlib
from typing import Any

from chainveil.chain import MarkovChain
from chainveil.channel import Channel
from chainveil.errors import (
    ChainveilError,
    InvalidInput,
    MissingExtra,
    NotSupported,
    UnreachableBudget,
)
from chainveil.noise_chain import CorrelatedNoise
from chainveil.plan import NoisePlan, calibrate
from chainveil.privacy import baselines, closed_form
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.baselines import success_bound
from chainveil.privacy.loss import PrivacyLoss, privacy_loss
from chainveil.region import ChainRegion

__version__ = "0.1.0"

__all__ = [
    "Adversary",
    "ChainRegion",
    "ChainveilError",
    "Channel",
    "CorrelatedNoise",
    "InvalidInput",
    "MarkovChain",
    "MissingExtra",
    "NoisePlan",
    "NotSupported",
    "PrivacyLoss",
    "UnreachableBudget",
    "baselines",
    "calibrate",
    "closed_form",
    "privacy_loss",
    "success_bound",
]

# Rooms with heavy dependencies: `chainveil.plot` works without a further import statement.
_ROOMS = ("mechanism", "plot")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"chainveil.{name}")
    raise AttributeError(f"module 'chainveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS])
