"""Noise for a family keeps the budget for each member."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import (
    Adversary,
    Channel,
    MarkovChain,
    ModelFamily,
    NotSupported,
    UnreachableBudget,
    calibrate,
    privacy_loss,
)
from chainveil.privacy.family.hush import hushed
from tests.oracle.memory import memory_loss
from tests.privacy.family.families import box, family, inside, second_order

SOME = ModelFamily(
    [
        MarkovChain.binary(0.06, 0.3), MarkovChain.binary(0.25, 0.08), MarkovChain.binary(0.3, 0.4),
        MarkovChain.binary(0.12, 0.14),
    ]
)  # fmt: skip


def _keeps(models: ModelFamily, epsilon: float, **asked: Any) -> float:
    """The share of wrong reports, having checked each member by its own engine."""
    plan = calibrate(models, epsilon, **asked)
    assert plan.loss.epsilon <= epsilon
    assert plan.family == models
    releases, length = [*plan.earlier, plan.noise], asked.get("max_length")
    question = {key: asked[key] for key in ("adversary", "unit", "gaps") if key in asked}
    for member in models.members:
        found = privacy_loss(member, releases, length=length, **question)
        assert found.lower <= plan.loss.epsilon
    return plan.expected_flips


@pytest.mark.parametrize(
    "asked",
    [
        {}, {"max_length": 8}, {"adversary": "ignorant"}, {"adversary": "informed"},
        {"adversary": Adversary(3, [1, 6]), "max_length": 8}, {"objective": "share"},
        {"earlier": [Channel.binary(0.45, 0.45)]}, {"every": 3}, {"unit": 2},
        {"mechanism": "sticky"}, {"mechanism": "sticky", "gaps": True},
        {"mechanism": "sticky", "every": 2}, {"mechanism": "correlated"},
        pytest.param({"mechanism": "tracking"}, marks=pytest.mark.slow),
        pytest.param({"mechanism": "sticky", "earlier": [Channel.binary(0.45, 0.45)]},
                     marks=pytest.mark.slow),
    ],
    ids=str,
)  # fmt: skip
def test_the_budget_is_kept_for_each_member(asked: dict[str, Any]) -> None:
    _keeps(SOME, 2.0, **asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {"every": "auto"}, {"mechanism": "sticky", "every": "auto"}, {"mechanism": "sticky",
        "unit": 3}, {"mechanism": "tracking"},
        {"mechanism": "sticky", "objective": "smoothed"},
    ],
    ids=str,
)  # fmt: skip
def test_the_budget_is_kept_for_each_member_when_more_is_looked_for(asked: dict[str, Any]) -> None:
    _keeps(SOME, 2.0, **asked)


def test_independent_noise_for_chains_that_change_slowly_is_the_least() -> None:
    """No direction can be given more: one of the two bounds is met by some member."""
    plan = calibrate(SOME, 2.0, objective="share")
    assert plan.loss.epsilon == pytest.approx(2.0, rel=1e-3)
    assert plan.half_planes is not None
    alone = [calibrate(one, 2.0).half_planes for one in SOME.members]
    for side in ("u", "w"):
        worst = max(getattr(one, side) for one in alone)
        assert getattr(plan.half_planes, side) == pytest.approx(worst, rel=1e-3)


def _in_boxes(seed: int, **asked: Any) -> None:
    """Chains sampled in the boxes of a family lose no more than the budget."""
    rng = np.random.default_rng(seed)
    models = ModelFamily([*family(rng, most=6).members, box(rng)])
    epsilon = float(rng.uniform(0.5, 4))
    plan = calibrate(models, epsilon, **asked)
    assert plan.loss.epsilon <= epsilon
    for member in models.members:
        for _ in range(5):
            assert privacy_loss(inside(member, rng), plan.noise).lower <= plan.loss.epsilon


@pytest.mark.parametrize("seed", range(6))
def test_chains_sampled_in_boxes_stay_within_the_budget(seed: int) -> None:
    _in_boxes(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 80))
def test_chains_sampled_in_boxes_of_many_families_stay_within_the_budget(seed: int) -> None:
    _in_boxes(seed, mechanism="independent" if seed % 8 else "sticky")


@pytest.mark.parametrize(
    "mechanism", ["independent", pytest.param("sticky", marks=pytest.mark.slow)]
)
def test_short_series_stay_within_the_budget_by_enumeration(mechanism: str) -> None:
    plan = calibrate(SOME, 2.0, max_length=4, mechanism=mechanism)
    for member in SOME.members:
        assert memory_loss(member, [plan.noise], 4) <= plan.loss.epsilon + 1e-9  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_member_of_order_two_is_kept_too() -> None:
    long = second_order(np.random.default_rng(1))
    models = ModelFamily([MarkovChain.binary(0.2, 0.3), long])
    plan = calibrate(models, 2.0)
    assert plan.loss.epsilon <= 2
    assert privacy_loss(long, plan.noise).lower <= 2
    assert plan.loss.epsilon > 1.95
    with pytest.raises(NotSupported, match="two states and order 1"):
        calibrate(ModelFamily([long, models.members[0]]), 2.0).cost_of_uncertainty  # noqa: B018


@pytest.mark.slow
def test_three_states() -> None:
    rows = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]
    other = [[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    models = ModelFamily([MarkovChain(rows), MarkovChain(other)])
    plan = calibrate(models, 2.0)
    alone = [calibrate(one, 2.0).expected_flips for one in models.members]
    assert plan.loss.epsilon <= 2
    assert plan.noise.flip_probabilities[0] == pytest.approx(max(alone), rel=1e-3)


def test_the_noise_of_one_member_alone_is_not_enough() -> None:
    """The family needs more than its typical chain; that is what uncertainty costs."""
    plan = calibrate(SOME, 2.0)
    assert plan.cost_of_uncertainty > 0.02
    assert privacy_loss(SOME, plan.if_known).epsilon > 2.5  # type: ignore[arg-type]


def test_a_budget_that_is_spent_is_refused() -> None:
    with pytest.raises(UnreachableBudget):
        calibrate(SOME, 1.0, earlier=[Channel.binary(0.1, 0.1)])


def test_noise_is_hushed_no_more_than_it_takes() -> None:
    noise = Channel.binary(0.1, 0.2)
    chain = SOME.members[0]

    def loss(one: Any) -> float:
        return privacy_loss(chain, one).epsilon

    found = hushed(noise, chain.stationary, loss, 2.0)
    assert 2 - 1e-6 < loss(found) <= 2
    assert hushed(noise, chain.stationary, loss, 100.0) == noise.on_grid()
