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
from chainveil.noise_chain import CorrelatedNoise
from chainveil.plan import NoisePlan, calibrate
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.baselines import success_bound
from chainveil.privacy.loss import PrivacyLoss, privacy_loss

__version__ = "0.1.0"

__all__ = [
    "Adversary",
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
    "calibrate",
    "privacy_loss",
    "success_bound",
]
