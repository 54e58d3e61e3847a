"""What an attacker can do with a release, and what an honest audit can say about it."""

from __future__ import annotations

from chainveil.attack.base import Attack
from chainveil.attack.expected import ExpectedSuccess, expected_success
from chainveil.attack.posterior import Posterior
from chainveil.attack.simulation import simulate_release
from chainveil.attack.single_bit import SingleBit
from chainveil.attack.success import Success, estimated_epsilon, score
from chainveil.attack.viterbi import Viterbi

__all__ = [
    "Attack",
    "ExpectedSuccess",
    "Posterior",
    "SingleBit",
    "Success",
    "Viterbi",
    "estimated_epsilon",
    "expected_success",
    "score",
    "simulate_release",
]
