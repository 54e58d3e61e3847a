"""Least noise for chains of order 2: within the budget, and not much above what it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chainveil.errors import InvalidInput
from chainveil.noise.channel import Channel
from chainveil.privacy.orders.calibrate import least_noise
from chainveil.privacy.orders.loss import loss
from chainveil.privacy.problem import Aim, Effort, Problem
from tests.privacy.orders.test_loss import CHAIN

EMPTY = Problem(CHAIN, (), None, "any")


@pytest.mark.parametrize("family", ["response", "ordinal"])
@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_the_noise_keeps_the_budget_and_uses_it(epsilon: float, family: str) -> None:
    found = least_noise(EMPTY, Aim(epsilon, family=family))  # type: ignore[arg-type]
    assert found.loss.epsilon <= epsilon
    assert found.loss.lower >= 0.98 * epsilon
    again = replace(EMPTY.with_release(found.noise), effort=Effort(1e-3 * epsilon))
    assert loss(again).lower <= epsilon


def test_another_release_has_what_is_left() -> None:
    first = Channel.binary(0.4, 0.4)
    found = least_noise(replace(EMPTY, releases=(first,)), Aim(2.0))
    assert found.loss.epsilon <= 2.0
    alone = least_noise(EMPTY, Aim(2.0))
    assert found.noise.matrix[0, 1] > alone.noise.matrix[0, 1]  # type: ignore[attr-defined]


def test_families_that_are_not_offered_are_named() -> None:
    with pytest.raises(InvalidInput, match="family"):
        least_noise(EMPTY, Aim(1.0, family="per-state"))
