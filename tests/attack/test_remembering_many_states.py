"""Attackers and audits on noise of three states that remembers its reports or reports seldom."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chainveil import Channel, MarkovChain, privacy_loss, success_bound
from chainveil.attack import (
    Posterior,
    SingleBit,
    Viterbi,
    audit_release,
    audit_sanitizer,
    expected_success,
    misfit,
)
from chainveil.attack.longer_memory import worst_output
from chainveil.mechanism import sanitize, seeded
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise
from tests.attack.laws import output_law
from tests.inference.enumeration import joint_of, posterior
from tests.inference.remembering import drawn, random_order
from tests.oracle.letters import letters_loss

CHAIN = MarkovChain([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])
ANSWER = Channel.per_state_response([0.3, 0.45, 0.4])
STICKY = StickyNoise.response(0.5, ANSWER, Channel.ordinal(3, 0.5))
NOISES = {
    "sticky": STICKY,
    "sticky, one in three": STICKY.thinned(3),
    "one in two": Channel.ordinal(3, 0.5).thinned(2),
}
every_noise = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)


@every_noise
def test_the_posterior_and_the_path_are_those_of_the_definition(noise: Noise) -> None:
    rng = np.random.default_rng(1)
    x = np.ma.MaskedArray(CHAIN.sample(6, 5, rng=2), mask=rng.random((5, 6)) < 0.2)
    z, known = drawn(x, noise, rng), {2: 1}
    chances = Posterior(CHAIN, noise).probabilities(z, known)
    paths = Viterbi(CHAIN, noise).reconstruct(z, known)
    for row in range(len(z)):
        table = joint_of(CHAIN, noise, z[row], known)
        np.testing.assert_allclose(chances[row], posterior(table, 6, 3), atol=1e-12)
        assert table[tuple(paths[row])] == pytest.approx(max(table.values()), rel=1e-10)


@every_noise
def test_expected_success_is_that_of_the_definition(noise: Noise) -> None:
    n, places = 4, noise.places(4)
    for target in (0, 2, 3):
        best = 0.0
        for reports in product(range(3), repeat=len(places)):
            z = np.zeros(n, np.int64)
            z[places] = reports
            mass = np.zeros(3)
            for path, probability in joint_of(CHAIN, noise, z, {}).items():
                mass[path[target]] += probability
            best += mass.max()
        found = expected_success(CHAIN, noise, n, target)
        assert found.exact
        assert found.value == pytest.approx(best, abs=1e-13)
        loss = letters_loss(CHAIN, noise, n)
        assert found.value <= success_bound(CHAIN, loss)


@every_noise
def test_the_worst_output_is_the_loss_of_one_who_knows_nothing(noise: Noise) -> None:
    points = 3 * noise.every
    worst = worst_output(CHAIN, noise, 3)
    expected = letters_loss(CHAIN, noise, points, "ignorant") if points <= 6 else None
    laws = [
        [output_law(CHAIN, noise, points, target, a) for a in range(3)] for target in range(points)
    ]
    ratios = [np.log(one[a] / one[b]).max() for one in laws for a, b in product(range(3), repeat=2)]
    assert worst.loss == pytest.approx(max(ratios), abs=1e-12)
    assert expected is None or worst.loss == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@every_noise
def test_the_misfit_and_one_report_at_a_time(noise: Noise) -> None:
    x = random_order(np.random.default_rng(4), 3, 2).sample(20_000, rng=5)
    found = misfit(x, noise, orders=(1, 2), effort=2_000)
    assert found.readings[1].test.p_value < 1e-6
    assert 0 < found.readings[1].loss.lower <= found.readings[1].loss.epsilon
    z = sanitize(x, noise, rng=seeded(6))
    assert np.array_equal(SingleBit(noise).reconstruct(z), z)


def test_an_audit_comes_near_the_loss() -> None:
    """At 99% confidence; a fixed seed."""
    loss = privacy_loss(CHAIN, STICKY, length=2).epsilon
    found = audit_sanitizer(
        lambda x: sanitize(x, STICKY, rng=seeded(6)), CHAIN, STICKY, trials=50_000, length=2, rng=7
    )
    assert 0.8 * loss < found.lower_bound <= loss
    x = CHAIN.sample(200_000, rng=12)
    z = sanitize(x, STICKY, rng=seeded(13))
    one = audit_release(x, z, CHAIN, STICKY, length=2)
    assert 0.3 < one.lower_bound <= loss
