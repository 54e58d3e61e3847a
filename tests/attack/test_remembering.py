"""Attackers and audits on noise that remembers its reports or is silent at some points."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from chainveil import Channel, MarkovChain, NotSupported, privacy_loss, success_bound
from chainveil.attack import (
    LSTM,
    LSTMSettings,
    Posterior,
    SingleBit,
    Viterbi,
    audit,
    audit_release,
    audit_sanitizer,
    expected_success,
    misfit,
)
from chainveil.attack.audit import mixing_gap
from chainveil.attack.expected import _simulated
from chainveil.attack.longer_memory import worst_output
from chainveil.mechanism import sanitize, seeded
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise, TrackingNoise
from tests.attack.laws import output_law
from tests.inference.enumeration import joint_of, posterior, reports_given
from tests.inference.remembering import drawn, random_order

CHAIN = MarkovChain.binary(0.0893, 0.1092)
STICKY = StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])
TRACKING = TrackingNoise.binary(
    [[[0.1, 0.4], [0.2, 0.6]], [[0.5, 0.9], [0.3, 0.8]]], [0.3, 0.7], [[0.2, 0.4], [0.5, 0.7]]
)
CHANNEL = Channel.binary(0.3, 0.2)
NOISES = [STICKY, STICKY.thinned(3), TRACKING, CHANNEL.thinned(2)]
NAMES = ["sticky", "sticky, one in three", "tracking", "one in two"]
WRONG_BELIEF = 1e-9

every_noise = pytest.mark.parametrize("noise", NOISES, ids=NAMES)


@every_noise
def test_the_posterior_and_the_path_are_those_of_the_definition(noise: Noise) -> None:
    rng = np.random.default_rng(1)
    x = np.ma.MaskedArray(CHAIN.sample(7, 6, rng=2), mask=rng.random((6, 7)) < 0.2)
    z = drawn(x, noise, rng)
    known = {2: 1}
    guesses, paths = (attack(CHAIN, noise).reconstruct(z, known) for attack in (Posterior, Viterbi))
    for row in range(len(z)):
        table = joint_of(CHAIN, noise, z[row], known)
        chances = posterior(table, 7, 2)
        sure = np.abs(chances[:, 0] - 0.5) > WRONG_BELIEF
        assert np.array_equal(guesses[row][sure], chances.argmax(axis=1)[sure])
        assert table[tuple(paths[row])] == pytest.approx(max(table.values()), rel=1e-10)


def test_one_report_at_a_time_by_hand() -> None:
    """Reports agree with their point more often than not."""
    z = np.array([0, 1, 1, 0, 0])
    assert SingleBit(STICKY).reconstruct(z).tolist() == z.tolist()
    held = np.array([1, 1, 1, 0, 0])
    assert SingleBit(STICKY.thinned(3)).reconstruct(held).tolist() == held.tolist()
    found = SingleBit(TRACKING).reconstruct([z, z[:2]])
    assert [part.tolist() for part in found] == [z.tolist(), z[:2].tolist()]
    # Reports that speak for the other state at their own point, whatever the point before.
    other = TrackingNoise.binary([[[0.8, 0.2], [0.7, 0.1]], [[0.9, 0.5], [0.8, 0.3]]], [0.3, 0.7])
    assert SingleBit(other).reconstruct(z).tolist() == [1, 0, 0, 1, 1]
    gaps = np.ma.MaskedArray(z, mask=[False, False, True, False, True])
    assert SingleBit(TRACKING).reconstruct(gaps).tolist() == [0, 1, 0, 0, 0]


def _best(noise: Noise, n: int, target: int) -> float:
    total = 0.0
    places = noise.places(n)
    for reports in product(range(2), repeat=len(places)):
        z = np.zeros(n, np.int64)
        z[places] = reports
        mass = np.zeros(2)
        for path, probability in joint_of(CHAIN, noise, z, {}).items():
            mass[path[target]] += probability
        total += mass.max()
    return total


@pytest.mark.slow
@every_noise
def test_expected_success_is_that_of_the_definition(noise: Noise) -> None:
    for n, target in ((1, 0), (5, 0), (6, 2), (6, 5), (7, 3)):
        found = expected_success(CHAIN, noise, n, target)
        assert found.exact
        assert found.value == pytest.approx(_best(noise, n, target), abs=1e-13)


@pytest.mark.parametrize("noise", [STICKY, TRACKING, CHANNEL.thinned(3)])
def test_simulated_success_agrees_with_the_exact_one(noise: Noise) -> None:
    """A fixed seed; six standard errors are a false alarm of 2e-9."""
    exact = expected_success(CHAIN, noise, 15, 7)
    found = _simulated(CHAIN, noise, 15, 7, 20_000, 3)
    assert exact.exact
    assert abs(found.value - exact.value) < 6 * found.error


@pytest.mark.parametrize("noise", [STICKY, TRACKING], ids=["sticky", "tracking"])
@pytest.mark.parametrize("length", [3, 6])
def test_no_attacker_does_better_than_the_loss_allows(noise: Noise, length: int) -> None:
    loss = privacy_loss(CHAIN, noise, length=length).epsilon
    for target in range(length):
        assert expected_success(CHAIN, noise, length, target).value <= success_bound(CHAIN, loss)


@pytest.mark.slow
@every_noise
@pytest.mark.parametrize("order", [1, 2])
def test_the_law_of_every_output(noise: Noise, order: int) -> None:
    model: Any = CHAIN if order == 1 else random_order(np.random.default_rng(4), 2, 2)
    law, points = model.series_law(6), 6
    places = noise.places(points)
    outputs = np.zeros((2 ** len(places), points), np.int64)
    outputs[:, places] = list(product(range(2), repeat=len(places)))
    paths = list(product(range(2), repeat=points))
    both = {x: [law[x] * reports_given(noise, x, z) for z in outputs] for x in paths}
    for target, value in product(range(points), (0, 1)):
        expected = np.sum([both[x] for x in paths if x[target] == value], axis=0)
        found = output_law(model, noise, points, target, value)
        np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-13)


@pytest.mark.parametrize("noise", [STICKY, TRACKING], ids=["sticky", "tracking"])
def test_the_worst_output_of_order_one_is_the_loss_of_one_who_knows_nothing(noise: Noise) -> None:
    exact = privacy_loss(CHAIN, noise, length=5, adversary="ignorant").epsilon
    assert worst_output(CHAIN, noise, 5).loss == pytest.approx(exact, abs=1e-9)


@every_noise
def test_the_worst_output_of_every_noise(noise: Noise) -> None:
    """The largest ratio of every output of five reports, at every point."""
    x = random_order(np.random.default_rng(4), 2, 2).sample(20_000, rng=5)
    fitted = MarkovChain.fit(x, order=2, public=True)
    worst, points = worst_output(fitted, noise, 5), 5 * noise.every
    laws = [[output_law(fitted, noise, points, t, a) for a in (0, 1)] for t in range(points)]
    ratios = np.log(laws)[:, 0] - np.log(laws)[:, 1]
    assert worst.loss == pytest.approx(np.abs(ratios).max(), abs=1e-12)
    place = int("".join(map(str, worst.output)), 2)
    assert abs(ratios[worst.target, place]) == pytest.approx(worst.loss, abs=1e-12)


@pytest.mark.slow
@every_noise
def test_the_misfit_of_every_noise(noise: Noise) -> None:
    """Somebody who may know points learns no less than the worst output of a window tells."""
    x = random_order(np.random.default_rng(4), 2, 2).sample(20_000, rng=5)
    second = misfit(x, noise, orders=(2,), effort=2_000).reading(2)
    window = worst_output(second.model, noise, 5).loss
    assert window - 1e-8 <= second.loss.lower <= second.loss.epsilon
    assert second.test.p_value < 1e-6


@pytest.mark.parametrize("noise", [STICKY, TRACKING], ids=["sticky", "tracking"])
def test_an_audit_comes_near_the_loss(noise: Noise) -> None:
    """At 99% confidence; a fixed seed."""
    loss = privacy_loss(CHAIN, noise, length=5).epsilon
    found = audit_sanitizer(
        lambda x: sanitize(x, noise, rng=seeded(6)), CHAIN, noise, trials=50_000, length=5, rng=7
    )
    assert 0.8 * loss < found.lower_bound <= loss
    chosen = audit_sanitizer(
        lambda x: sanitize(x, noise, rng=seeded(6)), CHAIN, noise, trials=20_000, rng=7
    )
    assert chosen.lower_bound > 0.8 * found.lower_bound


def test_an_audit_finds_a_first_report_that_says_too_much() -> None:
    """The sanitizer begins with the truth, which the claim does not say; 99% confidence."""
    loose = StickyNoise(STICKY.kernel, [[0.98, 0.02], [0.02, 0.98]])
    nominal = privacy_loss(CHAIN, STICKY, length=1).epsilon
    found = audit_sanitizer(
        lambda x: sanitize(x, loose, rng=seeded(8)),
        CHAIN, STICKY, trials=20_000, length=1, nominal=nominal, rng=9,
    )  # fmt: skip
    assert found.exceeds_nominal


def test_an_audit_of_reports_on_one_point_in_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adversary of the same points without silence is played; a fixed seed, 99% confidence.

    Independent noise on a series of its own points: what points 1 and 4 report.
    """
    noise = CHANNEL.thinned(3)
    witness = privacy_loss(CHAIN, CHANNEL, length=6, adversary="ignorant").witness
    monkeypatch.setattr(audit, "_witness", lambda *_: witness)
    rng = np.random.default_rng(10)
    found = audit_sanitizer(
        lambda x: drawn(x, noise, rng), CHAIN, noise, trials=2000, length=6, rng=11
    )
    jump = np.log([output_law(CHAIN, noise, 6, found.witness.target, x) for x in (0, 1)])
    assert 0 < found.lower_bound <= np.abs(jump[0] - jump[1]).max()


def test_an_audit_of_one_release() -> None:
    """Windows further apart than the noise remembers; a fixed seed, 99% confidence."""
    x = CHAIN.sample(400_000, rng=12)
    z = sanitize(x, STICKY, rng=seeded(13))
    found = audit_release(x, z, CHAIN, STICKY, length=3)
    assert 0.5 < found.lower_bound < 2.5
    # The report remembers longer than its point; blocks count as whole ones.
    assert mixing_gap(CHAIN, STICKY) >= mixing_gap(CHAIN, CHANNEL)
    assert mixing_gap(CHAIN, STICKY.thinned(7)) % 7 == 0


@pytest.mark.slow
def test_the_network_learns_from_such_releases() -> None:
    """It does better than chance, 0.55, on reports that it has not seen; a fixed seed."""
    torch = pytest.importorskip("torch", reason="the extra lstm (torch) is not installed")
    torch.set_num_threads(1)
    x = CHAIN.sample(2000, rng=14)
    attack = LSTM(settings=LSTMSettings(window=20, epochs=3, folds=2))
    for noise in (STICKY, CHANNEL.thinned(3)):
        z = drawn(x[None, :], noise, np.random.default_rng(15))[0]
        assert attack.success(x, z).rate > 0.6


def test_the_network_does_not_take_missing_points_for_reports() -> None:
    z = np.ma.MaskedArray([0, 1] * 100, mask=[True] + [False] * 199)
    with pytest.raises(NotSupported, match="missing points"):
        LSTM().fit([0, 1] * 100, z)
