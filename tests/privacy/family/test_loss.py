"""The loss of a family is the largest of its members'."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import (
    Adversary,
    Channel,
    CorrelatedNoise,
    MarkovChain,
    ModelFamily,
    NotSupported,
    StickyNoise,
    privacy_loss,
)
from chainveil.noise.base import Noise
from chainveil.privacy.odds import loss as solver
from tests.batches import batches
from tests.privacy.family.families import box as some_box
from tests.privacy.family.families import chain, family, inside, second_order

STICKY = StickyNoise.binary([[0.1, 0.25], [0.7, 0.9]], first=[0.3, 0.6])


def _noise(rng: np.random.Generator) -> Noise:
    kind = rng.integers(4)
    if kind == 0:
        return STICKY
    if kind == 1:
        return CorrelatedNoise(0.2, 0.35)
    rho = rng.uniform(0.2, 0.48, 2)
    return Channel.binary(float(rho[0]), float(rho[1])).thinned(1 if kind == 2 else 3)


def _largest(models: ModelFamily, noise: Noise, **asked: object) -> float:
    return max(privacy_loss(one, noise, **asked).epsilon for one in models.members)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", batches(60, 20))
def test_the_loss_is_the_largest_of_the_members(seed: int) -> None:
    _same_as_members(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 500))
def test_the_loss_is_the_largest_of_the_members_in_500_families(seed: int) -> None:
    _same_as_members(seed)


def _same_as_members(seed: int) -> None:
    rng = np.random.default_rng(seed)
    models, noise = family(rng), _noise(rng)
    found = privacy_loss(models, noise)
    assert found.epsilon == pytest.approx(_largest(models, noise), rel=2e-4)
    assert found.epsilon >= max(privacy_loss(one, noise).lower for one in models.members)
    assert found.member is not None
    assert found.lower <= found.epsilon
    assert found.chain in models.members
    assert models[found.member] == found.chain
    assert found.witness is not None
    assert found.witness.replay(found.chain, noise) == pytest.approx(found.lower, rel=1e-12)
    assert found.member in str(found.attack_in_words)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_boxes_are_members_like_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    models = ModelFamily([*family(rng).members, some_box(rng), some_box(rng)])
    for noise in (Channel.binary(0.3, 0.4), STICKY):
        found = privacy_loss(models, noise)
        assert found.epsilon >= _largest(models, noise) - 2e-5
        some = [inside(one, rng) for one in models.members for _ in range(10)]
        assert max(privacy_loss(one, noise).lower for one in some) <= found.epsilon
        assert found.epsilon - found.lower <= 1e-5


@pytest.mark.parametrize(
    "asked",
    [
        {"length": 5}, {"adversary": "ignorant"}, {"adversary": "informed"}, {"unit": 2},
        {"length": 6, "adversary": Adversary(2, [0, 5])}, {"gaps": True},
    ],
    ids=str,
)  # fmt: skip
def test_every_question_is_answered_member_by_member(asked: dict[str, object]) -> None:
    models = family(np.random.default_rng(7), most=8)
    for noise in (Channel.binary(0.3, 0.4), STICKY):
        found = privacy_loss(models, noise, **asked)  # type: ignore[arg-type]
        assert found.epsilon == pytest.approx(_largest(models, noise, **asked), rel=1e-8)


def test_members_of_a_higher_order_are_asked_their_own_engine() -> None:
    rng = np.random.default_rng(3)
    long = second_order(rng)
    quick = MarkovChain.binary(0.3, 0.4)
    noise = Channel.binary(0.3, 0.3)
    found = privacy_loss(ModelFamily([quick, long], ["quick", "long"]), noise)
    alone = privacy_loss(long, noise)
    assert found.member == "long"
    assert found.lower <= alone.epsilon
    assert found.epsilon >= alone.lower


def test_many_members_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,000 members some dozens of boxes and chains are bounded, whatever the seed."""
    rng = np.random.default_rng(1)
    models = ModelFamily([chain(rng) for _ in range(1000)])
    asked: list[object] = []
    hull, single = solver._hull_bound, solver.bounds

    def bounded(*arguments: Any) -> Any:
        asked.append(arguments)
        return hull(*arguments)

    def looked(*arguments: Any) -> Any:
        asked.append(arguments)
        return single(*arguments)

    monkeypatch.setattr(solver, "_hull_bound", bounded)
    monkeypatch.setattr(solver, "bounds", looked)
    privacy_loss(models, STICKY)
    assert 5 < len(asked) < 250


def test_a_member_that_no_engine_solves_is_named() -> None:
    rng = np.random.default_rng(3)
    models = ModelFamily([chain(rng), second_order(rng)], ["Ann", "Bob"])
    with pytest.raises(NotSupported, match="Bob"):
        privacy_loss(models, CorrelatedNoise(0.2, 0.3))


@pytest.mark.parametrize("adversary", ["any", "ignorant"])
def test_many_chains_bounded_at_once_leave_the_worst(adversary: Any) -> None:
    """Chains next to the worst, and far from it: what is settled in floats is never above."""
    rng = np.random.default_rng(3)
    ends = np.concatenate([
        np.exp(rng.uniform(np.log(0.02), np.log(0.45), (40, 2))),
        0.03 * np.exp(rng.uniform(0, 1e-3, (10, 2))),
    ])  # fmt: skip
    chains = [MarkovChain.binary(float(q), float(r)) for q, r in ends]
    noise = Channel.binary(0.3, 0.35)
    found = privacy_loss(ModelFamily(chains), noise, adversary=adversary)
    each = [privacy_loss(chain, noise, adversary=adversary) for chain in chains]
    worst = int(np.argmax([one.epsilon for one in each]))
    assert found.epsilon == pytest.approx(each[worst].epsilon, rel=2e-4)
    assert found.member == f"member {worst + 1}"
