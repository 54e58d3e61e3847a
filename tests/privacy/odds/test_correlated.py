"""Loss of correlated noise: against enumeration, against exact arithmetic, against the notes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.bounds import Attack
from chainveil.privacy.loss import privacy_loss
from chainveil.privacy.result import PrivacyLoss
from tests.batches import batches
from tests.oracle import correlated as oracle
from tests.oracle.memory import memory_loss

INSTANCES = 600
# Relative distance of the bounds: at one length, and at every length.
ROUNDING, TOLERANCE = 1e-9, 1e-4


def instances() -> Iterator[tuple[tuple[float, float, float, float], int, np.random.Generator]]:
    """Mild, extreme and deterministic parameters, lengths 1 to 6."""
    rng = np.random.default_rng(20240611)
    for number in range(INSTANCES):
        q, r, rho0, rho1 = (float(p) for p in rng.random(4))
        if number % 3 == 0:
            q, r, rho0, rho1 = (float(p) for p in rng.beta(0.3, 0.3, 4).clip(1e-4, 1 - 1e-4))
        if number % 17 == 0:
            rho0 = 1.0
        if number % 34 == 0:
            rho1 = 1.0
        yield (q, r, rho0, rho1), 1 + number % 6, rng


def attack(loss: PrivacyLoss) -> Attack:
    assert loss.witness is not None
    return loss.witness


def check(chain: MarkovChain, noise: CorrelatedNoise, loss: PrivacyLoss, truth: float) -> None:
    """Both bounds, and the attack, agree with the true loss."""
    assert loss.lower <= loss.epsilon
    if loss.witness is None:
        assert loss.lower == 0
        assert truth <= loss.epsilon + 1e-15 <= 1e-11
        return
    replayed = attack(loss).replay(chain, noise)
    if math.isinf(truth):
        assert loss.epsilon == loss.lower == replayed == math.inf
        return
    for value in (loss.epsilon, loss.lower, replayed):
        assert value == pytest.approx(truth, rel=ROUNDING, abs=1e-12)


def test_agrees_with_enumeration_for_every_kind_of_adversary() -> None:
    for parameters, n, _ in instances():
        losses = oracle.enumerate_losses(*parameters, n)
        chain, noise = MarkovChain.binary(*parameters[:2]), CorrelatedNoise(*parameters[2:])
        expected: dict[Any, float] = {
            "any": oracle.any_adversary(losses),
            "ignorant": oracle.ignorant(losses),
            "informed": oracle.informed(losses, n),
        }
        for adversary, truth in expected.items():
            loss = privacy_loss(chain, noise, length=n, adversary=adversary)
            check(chain, noise, loss, truth)
            assert loss.witness is None or loss.witness.length <= n


@pytest.mark.slow
def test_agrees_with_enumeration_for_single_adversaries() -> None:
    for parameters, n, rng in instances():
        losses = oracle.enumerate_losses(*parameters, n)
        chain, noise = MarkovChain.binary(*parameters[:2]), CorrelatedNoise(*parameters[2:])
        everyone = list(losses)
        for pick in rng.choice(len(everyone), min(len(everyone), 5), replace=False):
            target, known = everyone[pick]
            loss = privacy_loss(chain, noise, length=n, adversary=Adversary(target, known))
            check(chain, noise, loss, losses[target, known])
            if loss.witness is not None:
                assert loss.witness.target == target
                assert set(loss.witness.known) <= known


def exact_supremum(parameters: tuple[float, ...], steps: int) -> Any:
    """Loss against any adversary within ``steps`` points on either side, 200-bit balls."""
    q, r, rho0, rho1 = (arb(p) for p in parameters)
    data, noise = [[1 - q, q], [r, 1 - r]], [[1 - rho0, rho0], [rho1, 1 - rho1]]

    def image(z: int, after: int, message: tuple[Any, Any]) -> tuple[Any, Any]:
        first, second = (
            sum(data[a][b] * noise[z ^ a][after ^ b] * message[b] for b in range(2))
            for a in range(2)
        )
        return first, second

    def ends(messages: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        ordered = sorted(messages, key=lambda m: float(m[0] / m[1]))
        return [ordered[0], ordered[-1]]

    priors: list[list[Any]] = [[data[0][v], data[1][v]] for v in range(2)]
    known = [
        [
            ends([(data[0][v] * noise[z][u], data[1][v] * noise[1 - z][u]) for u in (0, 1)])
            for z in range(2)
        ]
        for v in range(2)
    ]
    best = [[arb(0)] * 2, [arb(0)] * 2]
    for _ in range(steps):
        for v in range(2):
            for z in range(2):
                low, high = (m[0] / m[1] * priors[v][1] / priors[v][0] for m in known[v][z])
                best[0][z] = best[0][z].max(high.log())
                best[1][z] = best[1][z].max(-low.log())
            known[v] = [
                ends([image(z, after, m) for after in (0, 1) for m in known[v][after]])
                for z in range(2)
            ]
            priors[v] = [sum(data[a][b] * priors[v][b] for b in range(2)) for a in range(2)]
    odds = [(rho1 / rho0).log(), (rho0 / rho1).log()]
    totals = [(1 - 2 * d) * odds[z] + 2 * best[d][z] for d in range(2) for z in range(2)]
    return totals[0].max(totals[1]).max(totals[2]).max(totals[3])


@pytest.mark.parametrize("seed", batches(12, 4))
def test_bounds_enclose_the_supremum_in_exact_arithmetic(seed: int) -> None:
    q, r, rho0, rho1 = (float(p) for p in np.random.default_rng(seed).uniform(0.1, 0.9, 4))
    before = ctx.prec
    ctx.prec = 200
    try:
        truth = exact_supremum((q, r, rho0, rho1), 150)
        loss = privacy_loss(MarkovChain.binary(q, r), CorrelatedNoise(rho0, rho1))
        # What the 150 points leave out is below 1e-14, since |1-q-r| and |1-rho0-rho1| < 0.8.
        assert truth <= arb(loss.epsilon)
        assert arb(loss.lower) <= truth + arb("1e-14")
    finally:
        ctx.prec = before


@pytest.mark.parametrize("adversary", ["any", "ignorant", "informed"])
def test_the_loss_grows_with_the_length_up_to_the_supremum(adversary: Any) -> None:
    chain, noise = MarkovChain.binary(0.15, 0.3), CorrelatedNoise(0.1, 0.45)
    lengths: list[int | None] = [1, 2, 3, 5, 9, 20, 100, 1000, None]
    losses = [privacy_loss(chain, noise, length=n, adversary=adversary) for n in lengths]
    for shorter, longer in itertools.pairwise(losses):
        assert shorter.lower <= longer.epsilon
    assert losses[-1].epsilon <= losses[-2].lower * (1 + TOLERANCE)


@pytest.mark.parametrize("adversary", ["any", "ignorant", "informed"])
@pytest.mark.parametrize("length", [None, 7, 400])
@pytest.mark.parametrize("q", [0.001, 0.2, 0.97])
def test_witness_replays_and_bounds_meet(q: float, length: int | None, adversary: Any) -> None:
    chain, noise = MarkovChain.binary(q, 0.3 * q), CorrelatedNoise(0.3, 0.4)
    loss = privacy_loss(chain, noise, length=length, adversary=adversary)
    apart = TOLERANCE if length is None else ROUNDING
    assert loss.lower <= loss.epsilon <= loss.lower * (1 + apart)
    assert attack(loss).replay(chain, noise) == pytest.approx(loss.lower, rel=1e-9)


def test_without_memory_it_is_independent_noise() -> None:
    """With rho0 + rho1 = 1: the figures of the plain randomised response."""
    chain, noise = MarkovChain.symmetric(0.1), CorrelatedNoise(0.02, 0.98)
    # Both ends known and opposite to the value tested, five points: 9.41; nobody known: 8.24.
    ends = privacy_loss(chain, noise, length=5, adversary=Adversary(2, frozenset({0, 4})))
    assert ends.epsilon == pytest.approx(9.41, abs=5e-3)
    assert privacy_loss(chain, noise, length=5, adversary="ignorant").epsilon == pytest.approx(
        8.24, abs=6e-3
    )
    assert privacy_loss(chain, noise, adversary="ignorant").epsilon == pytest.approx(
        8.246, abs=1e-3
    )
    assert privacy_loss(chain, noise).epsilon == pytest.approx(10.45, abs=5e-3)


def test_fair_independent_flips_reveal_nothing() -> None:
    loss = privacy_loss(MarkovChain.binary(0.1, 0.7), CorrelatedNoise(0.5, 0.5))
    assert loss.epsilon == loss.lower == 0


def test_noise_that_must_change_can_rule_a_value_out() -> None:
    loss = privacy_loss(MarkovChain.binary(0.1, 0.7), CorrelatedNoise(1.0, 0.5))
    assert loss.epsilon == loss.lower == math.inf


def test_a_series_with_alternating_signs_is_as_private_as_the_plain_one() -> None:
    """Flipping every second point of x and z turns theta into 1 - theta."""
    noise = CorrelatedNoise(0.12, 0.5)
    plain = privacy_loss(MarkovChain.symmetric(0.2), noise)
    turned = privacy_loss(MarkovChain.symmetric(0.8), noise)
    assert turned.epsilon == pytest.approx(plain.epsilon, rel=TOLERANCE)


def test_swapping_the_states_changes_nothing() -> None:
    noise = CorrelatedNoise(0.12, 0.5)
    one = privacy_loss(MarkovChain.binary(0.2, 0.35), noise)
    other = privacy_loss(MarkovChain.binary(0.35, 0.2), noise)
    assert one.epsilon == pytest.approx(other.epsilon, rel=TOLERANCE)


def test_single_adversary_without_length_is_the_limit_of_long_series() -> None:
    chain, noise = MarkovChain.binary(0.2, 0.3), CorrelatedNoise(0.2, 0.5)
    adversary = Adversary(3, frozenset({1}))
    endless = privacy_loss(chain, noise, adversary=adversary)
    long = privacy_loss(chain, noise, length=300, adversary=adversary)
    assert long.lower <= endless.epsilon <= long.epsilon * (1 + TOLERANCE)
    replayed = attack(endless).replay(chain, noise)
    assert replayed == pytest.approx(endless.lower, rel=1e-9)


CHAIN, NOISE = MarkovChain.symmetric(0.2), CorrelatedNoise(0.2, 0.6)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"model": "chain"}, "model"),
        ({"noise": (0.2, 0.6)}, "noise"),
        ({"length": 0}, "length"),
        ({"length": 2.5}, "length"),
        ({"adversary": "everyone"}, "adversary"),
        ({"adversary": 3}, "adversary"),
        ({"length": 5, "adversary": Adversary(5, frozenset())}, "target"),
        ({"length": 5, "adversary": Adversary(1, frozenset({6}))}, "known"),
    ],
)
def test_bad_input_names_the_argument(asked: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as error:
        privacy_loss(**{"model": CHAIN, "noise": NOISE} | asked)
    assert error.value.argument == name


@pytest.mark.parametrize(
    ("chain", "noise"),
    [
        (MarkovChain.binary(0.2, 0.2, initial=[0.9, 0.1]), NOISE),
        (MarkovChain.binary(0.3, 0.1, initial=[0.0, 1.0]), NOISE),
        (MarkovChain.binary(1.0, 0.5), NOISE),
        (CHAIN, CorrelatedNoise(1e-40, 0.5)),
    ],
    ids=str,
)
def test_any_first_point_and_zeros(chain: MarkovChain, noise: CorrelatedNoise) -> None:
    every = privacy_loss(chain, noise)
    for n in (1, 2, 4, 6):
        truth = memory_loss(chain, [noise], n)
        found = privacy_loss(chain, noise, length=n)
        check(chain, noise, found, truth)
        assert found.lower <= every.epsilon
    long = privacy_loss(chain, noise, length=300)
    assert long.lower <= every.epsilon <= long.epsilon * (1 + TOLERANCE)


def test_very_long_series_lose_what_every_length_loses() -> None:
    long, shorter = (
        privacy_loss(CHAIN, NOISE, length=10_000_000),
        privacy_loss(CHAIN, NOISE, length=1000),
    )
    assert shorter.lower <= long.epsilon <= privacy_loss(CHAIN, NOISE).epsilon


def test_fair_points_hide_all_flips_but_their_own() -> None:
    """Reports of fair, independent points are fair whatever the flips."""
    chain, noise = MarkovChain.symmetric(0.5), CorrelatedNoise(3e-7, 7e-7)
    for length in (1, 4, 300, None):
        loss = privacy_loss(chain, noise, length=length, adversary="ignorant")
        assert loss.lower <= math.log(7 / 3) <= loss.epsilon <= math.log(7 / 3) * (1 + TOLERANCE)


@pytest.mark.parametrize("length", [1, 5, 300])
def test_flips_that_alternate_tell_an_ignorant_adversary_nothing(length: int) -> None:
    """A series of a symmetric chain is published, or its opposite."""
    loss = privacy_loss(
        MarkovChain.symmetric(0.3), CorrelatedNoise(1, 1), length=length, adversary="ignorant"
    )
    assert 0 == loss.lower <= loss.epsilon <= ROUNDING
