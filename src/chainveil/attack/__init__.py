"""What an attacker can do with a release, and what an honest audit can say about it.

Importing this package loads neither torch nor any compiled kernel.
"""

from __future__ import annotations

from chainveil.attack.against import Attacked, attack_release
from chainveil.attack.audit import AuditResult, audit_release, audit_sanitizer
from chainveil.attack.base import Attack
from chainveil.attack.expected import ExpectedSuccess, expected_success
from chainveil.attack.lstm import LSTM, CrossValidation, LSTMSettings
from chainveil.attack.misfit import misfit
from chainveil.attack.own_models import OwnLoss, own_loss
from chainveil.attack.posterior import Posterior
from chainveil.attack.reading import Misfit, Reading
from chainveil.attack.series_check import SeriesCheck, series_check
from chainveil.attack.single_bit import SingleBit
from chainveil.attack.success import Success, estimated_epsilon, score
from chainveil.attack.viterbi import Viterbi

__all__ = [
    "LSTM",
    "Attack",
    "Attacked",
    "AuditResult",
    "CrossValidation",
    "ExpectedSuccess",
    "LSTMSettings",
    "Misfit",
    "OwnLoss",
    "Posterior",
    "Reading",
    "SeriesCheck",
    "SingleBit",
    "Success",
    "Viterbi",
    "attack_release",
    "audit_release",
    "audit_sanitizer",
    "estimated_epsilon",
    "expected_success",
    "misfit",
    "own_loss",
    "score",
    "series_check",
]
