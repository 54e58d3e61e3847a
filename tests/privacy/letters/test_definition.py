"""The search over words against the definition: random chains, noise and adversaries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.letters.loss import loss as loss_by_words
from chainveil.privacy.problem import read_problem
from tests.batches import batches
from tests.oracle.letters import letters_loss
from tests.oracle.letters_cases import STRUCTURES, random_case

MODELS = ("any", "ignorant", "informed", "named")
# The longest series, by the number of states: what the oracle goes through in a second.
LONGEST = {3: 5, 4: 4, 5: 3}
TOLERANCE, ROUNDING = 1e-6, 1e-11
CASES = 60


def _drawn(seed: int) -> tuple[cv.MarkovChain, Any, int, str | cv.Adversary]:
    """A chain, its noise, a length and an adversary; structure and adversary follow the seed."""
    rng = np.random.default_rng([11, seed])
    k = int(rng.choice([3, 3, 4, 4, 5]))
    chain, noise = random_case(rng, k, 1, STRUCTURES[seed % len(STRUCTURES)])
    n = int(rng.integers(1, LONGEST[k] + 1))
    who = MODELS[seed // len(STRUCTURES) % len(MODELS)]
    if who != "named":
        return chain, noise, n, who
    target = int(rng.integers(n))
    known = [t for t in range(n) if t != target and rng.random() < 0.4]
    return chain, noise, n, cv.Adversary(target, known)


def _check(seed: int) -> None:
    chain, noise, n, who = _drawn(seed)
    truth = letters_loss(chain, noise, n, who)
    found = loss_by_words(read_problem(chain, noise, n, who, tolerance=TOLERANCE))
    near = ROUNDING * (1 + abs(truth)) if math.isfinite(truth) else 0.0
    assert found.epsilon >= truth - near, f"seed {seed}: below the definition"
    if math.isinf(truth):
        assert found.lower == math.inf, f"seed {seed}: a loss without bound was not found"
    else:
        assert found.epsilon <= truth + TOLERANCE + near, f"seed {seed}: above the definition"
        assert truth - TOLERANCE - near <= found.lower <= truth + near, f"seed {seed}: attack"
    if found.lower > 0:
        assert found.witness is not None
        assert found.witness.replay(chain, noise) == found.lower, f"seed {seed}: replay"


@pytest.mark.parametrize("batch", batches(17, 1))
def test_random_cases(batch: int) -> None:
    for seed in range(CASES * batch, CASES * (batch + 1)):
        _check(seed)


def test_the_cases_are_of_every_kind() -> None:
    drawn = [_drawn(seed) for seed in range(CASES)]
    assert {chain.states for chain, *_ in drawn} == set(LONGEST)
    assert {noise.kind for _, noise, *_ in drawn} == {"independent", "sticky"}
    assert sum(noise.every > 1 for _, noise, *_ in drawn) >= CASES // 5
    assert sum(n >= 3 for _, _, n, _ in drawn) >= CASES // 4
    assert sum(isinstance(who, cv.Adversary) for *_, who in drawn) >= CASES // 5
    assert sum(chain.initial is not None for chain, *_ in drawn) >= 5
