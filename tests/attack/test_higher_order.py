"""Attackers, audits and bounds where the data have a longer memory, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import chainveil as cv
from chainveil.attack import (
    Posterior,
    Viterbi,
    audit_release,
    audit_sanitizer,
    expected_success,
)
from chainveil.attack.audit import mixing_gap
from chainveil.attack.expected import _simulated
from chainveil.attack.simulation import sample_given
from chainveil.mechanism import sanitize, seeded
from chainveil.noise.base import Noise
from tests.inference.enumeration import joint_of, posterior, reports_given

CHAIN = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], order=2)
THREE = cv.HigherOrderChain(np.random.default_rng(3).dirichlet([1, 1, 1], 9), order=2)
STICKY = cv.StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])
TRACKING = cv.TrackingNoise.binary([[[0.1, 0.4], [0.2, 0.6]], [[0.5, 0.9], [0.3, 0.8]]], [0.3, 0.7])
CHANNEL = cv.Channel.binary(0.3, 0.2)
NOISES = [CHANNEL, CHANNEL.thinned(2), STICKY, STICKY.thinned(3), TRACKING]
NAMES = ["independent", "one in two", "sticky", "sticky, one in three", "tracking"]

every_noise = pytest.mark.parametrize("noise", NOISES, ids=NAMES)


@every_noise
def test_attackers_know_what_the_definition_says(noise: Noise) -> None:
    x = CHAIN.sample(6, 5, rng=1)
    z = sanitize(x, noise, rng=seeded(2))
    guesses, paths = (attack(CHAIN, noise).reconstruct(z) for attack in (Posterior, Viterbi))
    for row, guess, path in zip(z, guesses, paths, strict=True):
        table = joint_of(CHAIN, noise, row, {})
        chances = posterior(table, 6, 2)
        sure = np.abs(chances[:, 0] - 0.5) > 1e-9
        assert np.array_equal(guess[sure], chances.argmax(axis=1)[sure])
        assert table[tuple(path)] == pytest.approx(max(table.values()), rel=1e-10)


@every_noise
@pytest.mark.parametrize("target", [0, 2, 4])
def test_the_best_success_is_that_of_every_output(noise: Noise, target: int) -> None:
    law = CHAIN.series_law(5)
    reports = noise.places(5)
    truth = 0.0
    for output in product((0, 1), repeat=len(reports)):
        z = np.zeros(5, int)
        z[reports] = output
        both = np.zeros(2)
        for x in product((0, 1), repeat=5):
            both[x[target]] += law[x] * reports_given(noise, x, z)
        truth += both.max()
    found = expected_success(CHAIN, noise, 5, target)
    assert found.exact
    assert found.value == pytest.approx(truth, abs=1e-12)


def test_more_states_and_longer_series() -> None:
    """The simulation is within five standard errors of the exact figure; fixed seed."""
    noise = cv.Channel.randomized_response(3, 0.4)
    exact = expected_success(THREE, noise, 7)
    assert exact.exact
    drawn = _simulated(THREE, noise, 7, 3, 20_000, 1)
    assert abs(drawn.value - exact.value) < 5 * drawn.error
    assert not expected_success(THREE, noise, 40, samples=100, rng=1).exact


@pytest.mark.parametrize("known", [{}, {0: 1, 3: 0}, {1: 1}])
def test_series_with_fixed_points_have_their_law(known: dict[int, int]) -> None:
    """40,000 draws: each share within five standard errors."""
    found = sample_given(CHAIN, known, 4, 40_000, rng=5)
    law = np.array(CHAIN.series_law(4))
    for t, value in known.items():
        kept = np.zeros_like(law)
        place = [slice(None)] * 4
        place[t] = value  # type: ignore[call-overload]
        kept[tuple(place)] = law[tuple(place)]
        law = kept
    law /= law.sum()
    shares = np.bincount(found @ [8, 4, 2, 1], minlength=16) / len(found)
    error = np.sqrt(law.ravel() * (1 - law.ravel()) / len(found))
    assert np.all(np.abs(shares - law.ravel()) <= 5 * error + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [CHANNEL, STICKY], ids=["independent", "sticky"])
def test_an_audit_comes_near_the_loss_and_not_above(noise: Noise) -> None:
    """At 99% confidence; fixed seeds."""
    loss = cv.privacy_loss(CHAIN, noise, length=4).epsilon
    found = audit_sanitizer(
        lambda x: sanitize(x, noise, rng=seeded(6)), CHAIN, noise, trials=30_000, length=4, rng=7
    )
    assert 0.75 * loss < found.lower_bound <= loss
    chosen = audit_sanitizer(
        lambda x: sanitize(x, noise, rng=seeded(6)), CHAIN, noise, trials=20_000, rng=7
    )
    assert chosen.lower_bound > 0
    x = CHAIN.sample(40_000, rng=8)
    released = audit_release(x, sanitize(x, noise, rng=seeded(9)), CHAIN, noise, length=3)
    assert (
        0
        < released.lower_bound
        <= cv.privacy_loss(CHAIN, noise, length=3, adversary="ignorant").epsilon
    )
    assert mixing_gap(CHAIN, noise) > 0


def test_the_bound_on_success_holds_and_baselines_say_what_they_are_for() -> None:
    loss = cv.privacy_loss(CHAIN, CHANNEL, length=7, adversary="ignorant").epsilon
    bound = cv.success_bound(CHAIN, loss)
    for target in range(7):
        assert expected_success(CHAIN, CHANNEL, 7, target).value <= bound
    plain = cv.HigherOrderChain([[0.8, 0.2], [0.3, 0.7]] * 2, order=2)
    same = cv.success_bound(cv.MarkovChain.binary(0.2, 0.3), 1.0)
    assert cv.success_bound(plain, 1.0) == pytest.approx(same, rel=1e-11)
    found = {one.method: one for one in cv.baselines.compare(CHAIN, 2.0, 5)}
    assert found["Lange et al."].rho is None
    assert "order 1" in found["Lange et al."].reason
    assert found["group privacy"].rho == cv.baselines.group_noise(2.0, 5)
    with pytest.raises(cv.InvalidInput, match="one chain"):
        cv.success_bound(cv.ChainRegion((0.1, 0.2), (0.1, 0.2)), 1.0)
