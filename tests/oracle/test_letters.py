"""The fast oracle against the slow ones: they share nothing but the definition."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from tests.oracle.enumeration import loss_of_every_adversary, loss_under_law, worst_loss
from tests.oracle.letters import letters_loss, reports_law
from tests.oracle.letters_cases import NOISES, STRUCTURES, random_case, random_model
from tests.oracle.memory import memory_loss, series_law

ADVERSARIES = ("any", "ignorant", "informed", cv.Adversary(0, [2]), cv.Adversary(1))


def _close(value: float) -> Any:
    return math.inf if math.isinf(value) else pytest.approx(value, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("states", [2, 3, 4])
def test_noise_with_and_without_memory(states: int, noise: str) -> None:
    rng = np.random.default_rng([states, NOISES.index(noise)])
    for kind in STRUCTURES:
        chain, one = random_case(rng, states, 1, kind, noise)
        for adversary in ADVERSARIES:
            n = 3 if states > 3 else 4
            expected = memory_loss(chain, [one], n, adversary=adversary)
            assert letters_loss(chain, one, n, adversary) == _close(expected)


@pytest.mark.parametrize("order", [2, 3])
def test_chains_of_higher_order(order: int) -> None:
    rng = np.random.default_rng([order, 5])
    for states, n in [(2, 5), (3, 3)]:
        for kind in STRUCTURES:
            chain, noise = random_case(rng, states, order, kind, "random")
            losses = loss_under_law(chain.series_law(n), noise.thinned(1).matrix)
            for adversary in ("any", "ignorant", "informed"):
                expected = worst_loss(losses, n, adversary)
                assert letters_loss(chain, noise.thinned(1), n, adversary) == _close(expected)


def test_sticky_noise_of_a_chain_of_order_two_attack_by_attack() -> None:
    rng = np.random.default_rng(6)
    chain, noise = random_case(rng, 2, 2, "dense", "sticky random")
    law = chain.series_law(4)
    reports = [np.indices((2,) * 4).reshape(4, -1).T]
    told = law[..., None] * reports_law([noise.thinned(1)], reports, 2, 4)
    worst, sets = 0.0, ((), (0,), (2,), (0, 2), (3,), (0, 3), (2, 3), (0, 2, 3))
    for known in sets:
        free = tuple(t for t in (0, 2, 3) if t not in known)
        likely = told.sum(axis=free) / law.sum(axis=free)[..., None]
        axis = sum(t < 1 for t in known)
        ratios = likely.take(1, axis) / likely.take(0, axis)
        worst = max(worst, float(np.abs(np.log(ratios)).max()))
    losses = [letters_loss(chain, noise.thinned(1), 4, cv.Adversary(1, known)) for known in sets]
    assert max(losses) == pytest.approx(worst, rel=1e-12)


def test_digits_against_fractions() -> None:
    transition = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 7), Fraction(6, 7)]]
    channel = [[Fraction(3, 5), Fraction(2, 5)], [Fraction(1, 3), Fraction(2, 3)]]
    start = [Fraction(10, 17), Fraction(7, 17)]
    laws = np.array(start), np.array(transition), np.array(channel)
    exact = loss_of_every_adversary(*laws, 5)
    chain = cv.MarkovChain(np.array(transition, float), np.array(start, float))
    noise = cv.Channel(np.array(channel, float))
    for adversary in ("any", "ignorant", "informed"):
        expected = worst_loss(exact, 5, adversary)
        assert letters_loss(chain, noise, 5, adversary) == pytest.approx(expected, rel=1e-12)


def test_two_releases_and_silent_series() -> None:
    rng = np.random.default_rng(7)
    chain, one = random_case(rng, 3, 1, "cyclic", "response")
    _, other = random_case(rng, 3, 1, "cyclic", "sticky response")
    pair = [one.thinned(2), other.thinned(1)]
    assert letters_loss(chain, pair, 3) == _close(memory_loss(chain, pair, 3))
    assert letters_loss(chain, one.thinned(7), 3) == 0.0


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, noise = random_case(np.random.default_rng(8), 3, 1, "sparse", "sticky random")
    whole = letters_loss(chain, noise, 4)
    monkeypatch.setattr("tests.oracle.letters.BLOCK", 1000)
    assert letters_loss(chain, noise, 4) == whole


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("order", [1, 2])
def test_laws_of_series(kind: str, order: int) -> None:
    from tests.oracle.letters import series_law as law_of

    model = random_model(np.random.default_rng(9), 4, order, kind)
    law = law_of(model, 3)
    assert law.sum() == pytest.approx(1.0, rel=1e-12)
    series = np.indices((4,) * 3).reshape(3, -1).T
    expected = model.series_law(3).ravel() if order > 1 else series_law(model, series)
    np.testing.assert_allclose(law.ravel(), expected, rtol=1e-12)


def test_structures_are_what_they_are_called() -> None:
    rng = np.random.default_rng(10)
    cyclic = random_model(rng, 5, 1, "cyclic").transition
    assert np.count_nonzero(cyclic) == 10
    births = random_model(rng, 5, 2, "birth-death").transition
    last, value = np.indices(births.shape)
    assert not births[np.abs(last % 5 - value) > 1].any()
    periodic = random_model(rng, 5, 1, "periodic").transition
    assert not np.diag(np.linalg.matrix_power(periodic, 4)).any()
    absorbing = random_model(rng, 5, 1, "absorbing").transition
    assert np.diag(absorbing).max() > 0.9
