"""Chains of order 2 and 3 with every noise, against every series written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil.inference import filtered, log_likelihood, smoothed, viterbi
from tests.inference.enumeration import joint_of, posterior
from tests.inference.remembering import KINDS, random_noise, random_order


def _sparse(rng: np.random.Generator, k: int, order: int) -> Any:
    """A chain in which some states never follow some contexts; the last state follows all."""
    chain = random_order(rng, k, order)
    rows = np.array(chain.transition)
    rows[:, :-1][rng.random((len(rows), k - 1)) < 0.3] = 0
    return type(chain)(rows / rows.sum(axis=1, keepdims=True), order)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "order"), [(2, 3), (3, 2)])
def test_the_definition(kind: str, k: int, order: int) -> None:
    rng = np.random.default_rng([KINDS.index(kind), k])
    looked_at = 0
    for number in range(12):
        model = _sparse(rng, k, order) if number % 3 == 2 else random_order(rng, k, order)
        noise = random_noise(rng, kind, k, 2, False)
        n = int(rng.integers(1, 7 if k == 2 else 5))
        if "tracking" not in kind and number % 2:
            noise = noise.thinned(2)
        z = np.ma.MaskedArray(rng.integers(0, 2, n), mask=rng.random(n) < 0.2)
        known = {int(t): int(rng.integers(0, k)) for t in range(n) if rng.random() < 0.3}
        table = joint_of(model, noise, z, known)
        if sum(table.values()) == 0:
            continue
        looked_at += 1
        chances = posterior(table, n, k)
        np.testing.assert_allclose(smoothed(model, noise, z, known), chances, atol=1e-12)
        np.testing.assert_allclose(filtered(model, noise, z, known)[-1], chances[-1], atol=1e-12)
        total = sum(table.values())
        assert np.exp(log_likelihood(model, noise, z, known)) == pytest.approx(total, rel=1e-10)
    assert looked_at >= 6


def test_the_likeliest_series_is_the_likeliest_of_all() -> None:
    rng = np.random.default_rng(4)
    for order in (2, 3):
        model, noise = random_order(rng, 2, order), random_noise(rng, "sticky", 2, 2, False)
        for _ in range(10):
            z = rng.integers(0, 2, 7)
            table = joint_of(model, noise, z, {})
            found = tuple(viterbi(model, noise, z).tolist())
            assert table[found] == pytest.approx(max(table.values()), rel=1e-10)
    # A few points, fewer than the memory has.
    table = joint_of(model, noise, [1, 0], {0: 1})
    found = tuple(viterbi(model, noise, [1, 0], {0: 1}).tolist())
    assert table[found] == pytest.approx(max(table.values()), rel=1e-10)


def test_a_long_series_is_no_other_than_a_short_one() -> None:
    """The law of the middle of a long series settles: what is far away matters no more."""
    rng = np.random.default_rng(6)
    model, noise = random_order(rng, 2, 3), random_noise(rng, "sticky", 2, 2, False)
    z = rng.integers(0, 2, 4000)
    whole = smoothed(model, noise, z)
    part = smoothed(model, noise, z[1900:2100])
    np.testing.assert_allclose(whole[1990:2010], part[90:110], atol=1e-9)
