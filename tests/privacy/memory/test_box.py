"""Bounds over boxes of chains hold for every chain in them, and few boxes are enough."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.privacy.memory import box
from chainveil.privacy.memory.layout import layout
from chainveil.privacy.problem import Problem
from tests.oracle.memory_cases import random_noise


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["independent", "sticky", "tracking"]),
    adversary=st.sampled_from(["any", "ignorant"]),
    gaps=st.booleans(),
)
def test_no_chain_of_a_box_loses_more_than_its_bound(
    seed: int, kind: str, adversary: Any, gaps: bool
) -> None:
    rng = np.random.default_rng(seed)
    noise = random_noise(rng, kind, outputs=int(rng.integers(2, 4)))
    low = np.exp(rng.uniform(math.log(0.01), math.log(0.4), 2))
    high = np.minimum(low * np.exp(rng.exponential(0.3, 2)), 0.49)
    region = cv.ChainRegion(q=(low[0], high[0]), r=(low[1], high[1]))
    problem = Problem(region, (noise,), None, adversary, gaps=gaps)
    bound = box.box_bound((*region.q, *region.r), layout(problem.releases, gaps), problem)
    inside = rng.uniform(low, high, (2, 2))
    for q, r in (low, *inside):
        chain = cv.MarkovChain.binary(float(q), float(r))
        loss = cv.privacy_loss(chain, noise, 30, adversary=adversary, gaps=gaps)
        assert loss.lower <= bound


@pytest.mark.parametrize("mechanism", ["sticky", "tracking"])
@pytest.mark.parametrize(
    "region",
    [
        cv.ChainRegion(q=(0.0895, 0.0912), r=(0.1117, 0.1136)),
        cv.ChainRegion((0.03, 0.2), (0.05, 0.3)),
    ],
    ids=["narrow", "wide"],
)
def test_few_boxes_are_enough_for_six_digits(
    mechanism: Any, region: cv.ChainRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = []

    def counting(*arguments: Any) -> float:
        looked_at.append(arguments)
        return one(*arguments)

    one = box.box_bound
    monkeypatch.setattr(box, "box_bound", counting)
    plan = cv.calibrate(region, 4.0, mechanism=mechanism)
    assert plan.loss.epsilon <= 4.0
    assert plan.loss.epsilon - plan.loss.lower <= 1e-6
    assert plan.loss.lower >= 4.0 * (1 - 2e-6)
    # Where odds and prior odds were bounded apart, thousands were not.
    assert len(looked_at) <= 100
