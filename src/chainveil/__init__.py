"""Bayesian differential privacy for time series whose points depend on each other.

    import chainveil as cv

    chain = cv.MarkovChain.binary(q=0.09, r=0.11)               what the data follow
    plan = cv.calibrate(chain, epsilon=2, mechanism="sticky")   noise that meets a budget
    release = plan.sanitize(series)                             publish this
    plan.loss.epsilon                                           what it loses, at most

What the data follow   MarkovChain, HigherOrderChain, ChainRegion, ModelFamily (several at once);
                       choose_order -> OrderChoice
How a report is drawn  Channel, StickyNoise, TrackingNoise, CorrelatedNoise
What it gives away     privacy_loss -> PrivacyLoss; Adversary, success_bound
From budget to noise   calibrate -> NoisePlan: sanitize, stream, reports, certificate
Tables                 sanitize_table -> TableRelease; verify -> Verification; Certificate;
                       estimate_table, compare_table
Afterwards             estimate (what an analyst may learn), attack (attackers, audits), plot
Underneath             mechanism (the only module that draws), inference, device, spark

Errors are ChainveilErrors: InvalidInput, NotSupported, TooLarge, UnreachableBudget, ….
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainveil.calibration import calibrate
    from chainveil.certificate import Certificate, Verification
    from chainveil.errors import (
        ChainveilError,
        ChainveilWarning,
        EngineFailure,
        InvalidInput,
        MissingExtra,
        NotSupported,
        TooLarge,
        UnreachableBudget,
    )
    from chainveil.model.chain import MarkovChain
    from chainveil.model.family import ModelFamily
    from chainveil.model.higher_order import HigherOrderChain
    from chainveil.model.orders import OrderChoice, choose_order
    from chainveil.model.region import ChainRegion
    from chainveil.noise.channel import Channel
    from chainveil.noise.correlated import CorrelatedNoise
    from chainveil.noise.memory import StickyNoise, TrackingNoise
    from chainveil.plan import NoisePlan
    from chainveil.privacy import baselines, closed_form
    from chainveil.privacy.adversary import Adversary
    from chainveil.privacy.baselines import success_bound
    from chainveil.privacy.loss import privacy_loss
    from chainveil.privacy.result import PrivacyLoss
    from chainveil.table import (
        TableRelease,
        compare_table,
        estimate_table,
        sanitize_table,
        verify,
    )

__version__ = "0.2.0"

# Where each public name lives. Names are imported when they are first used, so that a
# program that only prints its help does not pay for the arithmetic.
_HOMES = {
    "Adversary": "chainveil.privacy.adversary",
    "Certificate": "chainveil.certificate",
    "ChainRegion": "chainveil.model.region",
    "ChainveilError": "chainveil.errors",
    "ChainveilWarning": "chainveil.errors",
    "Channel": "chainveil.noise.channel",
    "CorrelatedNoise": "chainveil.noise.correlated",
    "EngineFailure": "chainveil.errors",
    "HigherOrderChain": "chainveil.model.higher_order",
    "InvalidInput": "chainveil.errors",
    "MarkovChain": "chainveil.model.chain",
    "MissingExtra": "chainveil.errors",
    "ModelFamily": "chainveil.model.family",
    "NoisePlan": "chainveil.plan",
    "NotSupported": "chainveil.errors",
    "OrderChoice": "chainveil.model.orders",
    "PrivacyLoss": "chainveil.privacy.result",
    "StickyNoise": "chainveil.noise.memory",
    "TableRelease": "chainveil.table",
    "TooLarge": "chainveil.errors",
    "TrackingNoise": "chainveil.noise.memory",
    "UnreachableBudget": "chainveil.errors",
    "Verification": "chainveil.certificate",
    "calibrate": "chainveil.calibration",
    "choose_order": "chainveil.model.orders",
    "compare_table": "chainveil.table",
    "estimate_table": "chainveil.table",
    "privacy_loss": "chainveil.privacy.loss",
    "sanitize_table": "chainveil.table",
    "success_bound": "chainveil.privacy.baselines",
    "verify": "chainveil.table",
}

# Modules that are reached through the package, without a further import statement.
_ROOMS = {
    "attack": "chainveil.attack",
    "baselines": "chainveil.privacy.baselines",
    "closed_form": "chainveil.privacy.closed_form",
    "device": "chainveil.device",
    "estimate": "chainveil.estimate",
    "inference": "chainveil.inference",
    "mechanism": "chainveil.mechanism",
    "model": "chainveil.model",
    "noise": "chainveil.noise",
    "plot": "chainveil.plot",
    "spark": "chainveil.spark",
}

__all__ = [
    "Adversary",
    "Certificate",
    "ChainRegion",
    "ChainveilError",
    "ChainveilWarning",
    "Channel",
    "CorrelatedNoise",
    "EngineFailure",
    "HigherOrderChain",
    "InvalidInput",
    "MarkovChain",
    "MissingExtra",
    "ModelFamily",
    "NoisePlan",
    "NotSupported",
    "OrderChoice",
    "PrivacyLoss",
    "StickyNoise",
    "TableRelease",
    "TooLarge",
    "TrackingNoise",
    "UnreachableBudget",
    "Verification",
    "baselines",
    "calibrate",
    "choose_order",
    "closed_form",
    "compare_table",
    "estimate_table",
    "privacy_loss",
    "sanitize_table",
    "success_bound",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__version__"})
