"""Noise that remembers and noise that is silent at some points, against the definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from chainveil import Channel, CorrelatedNoise, InvalidInput, MarkovChain, NotSupported
from chainveil.inference import (
    filtered,
    hidden_model,
    log_likelihood,
    smoothed,
    viterbi,
)
from chainveil.inference.labels import report_labels
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise
from tests.inference.enumeration import joint_of, posterior
from tests.inference.remembering import KINDS, random_noise, random_order

Case = tuple[Any, Noise, Any, dict[int, int]]
STICKY = StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])
CHAIN = MarkovChain.binary(0.0893, 0.1092)


def cases(kind: str, count: int = 60) -> Iterator[Case]:
    rng = np.random.default_rng(KINDS.index(kind))
    for number in range(count):
        k, m = int(rng.integers(2, 4)), int(rng.integers(2, 4))
        n = int(rng.integers(1, 8 if k == 2 else 6))
        model: Any = MarkovChain(rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(k)))
        if number % 4 == 3:
            model = random_order(rng, k, 2)
        noise = random_noise(rng, kind, k, m, number % 5 == 4)
        if "tracking" not in kind:
            noise = noise.thinned(int(rng.integers(1, n + 1)))
        mask = rng.random(n) < (0.35 if number % 2 else 0.0)
        where = rng.choice(n, int(rng.integers(0, n)) if number % 3 else 0, replace=False)
        known = {int(t): int(rng.integers(0, k)) for t in where}
        yield model, noise, np.ma.MaskedArray(rng.integers(0, m, n), mask=mask), known


@pytest.mark.parametrize("kind", KINDS)
def test_definition(kind: str) -> None:
    possible = 0
    for model, noise, z, known in cases(kind):
        table = joint_of(model, noise, z, known)
        if sum(table.values()) == 0:
            for function in (smoothed, log_likelihood, viterbi):
                with pytest.raises(InvalidInput, match="probability zero"):
                    function(model, noise, z, known)
            continue
        possible += 1
        expected = posterior(table, len(z), model.states)
        np.testing.assert_allclose(smoothed(model, noise, z, known), expected, atol=1e-12)
        likelihood = log_likelihood(model, noise, z, known)
        assert likelihood == pytest.approx(np.log(sum(table.values())), abs=1e-10)
        path = tuple(viterbi(model, noise, z, known).tolist())
        if model.order == 1:
            assert table[path] == pytest.approx(max(table.values()), rel=1e-10)
    assert possible > 40


@pytest.mark.parametrize("kind", KINDS)
def test_filter_is_the_posterior_of_the_past(kind: str) -> None:
    for model, noise, z, known in cases(kind, 25):
        if sum(joint_of(model, noise, z, known).values()) == 0:
            continue
        found = filtered(model, noise, z, known)
        for t in range(len(z)):
            past = {where: value for where, value in known.items() if where <= t}
            table = joint_of(model, noise, z[: t + 1], past)
            expected = posterior(table, t + 1, model.states)[-1]
            np.testing.assert_allclose(found[t], expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["sticky", "independent"])
def test_one_point_in_any_number(kind: str) -> None:
    rng, n = np.random.default_rng(7), 7
    noise = random_noise(rng, kind, 2, 2, False)
    z = rng.integers(0, 2, n)
    for every in range(1, n + 3):
        thinned = noise.thinned(every)
        expected = posterior(joint_of(CHAIN, thinned, z, {}), n, 2)
        np.testing.assert_allclose(smoothed(CHAIN, thinned, z), expected, atol=1e-12)
        # Entries that are no reports are not looked at.
        other = 1 - z
        other[thinned.places(n)] = z[thinned.places(n)]
        np.testing.assert_array_equal(smoothed(CHAIN, thinned, other), smoothed(CHAIN, thinned, z))


@pytest.mark.parametrize("kind", KINDS)
def test_series_in_any_shape(kind: str) -> None:
    rng = np.random.default_rng(8)
    noise = random_noise(rng, kind, 2, 2, False)
    noise = noise if "tracking" in kind else noise.thinned(2)
    z = np.ma.MaskedArray(rng.integers(0, 2, (20, 9)), mask=rng.random((20, 9)) < 0.2)
    known = np.where(rng.random(z.shape) < 0.1, rng.integers(0, 2, z.shape), -1)
    for function in (smoothed, viterbi, filtered):
        together = function(CHAIN, noise, z, known)
        several = function(CHAIN, noise, list(z), list(known))
        for row in range(len(z)):
            alone = function(CHAIN, noise, z[row], known[row])
            np.testing.assert_allclose(together[row], alone, atol=1e-13)
            np.testing.assert_allclose(several[row], alone, atol=1e-13)
    assert log_likelihood(CHAIN, noise, z, known).shape == (20,)


def test_correlated_noise_over_gaps_has_a_likelihood() -> None:
    noise = CorrelatedNoise(0.15, 0.4)
    z = np.ma.MaskedArray([0, 1, 1, 0], mask=[False, True, False, False])
    wholes = [np.array([0, hidden, 1, 0]) for hidden in (0, 1)]
    expected = sum(np.exp(log_likelihood(CHAIN, noise, whole)) for whole in wholes)
    assert log_likelihood(CHAIN, noise, z) == pytest.approx(np.log(expected), abs=1e-12)


def test_labels_by_hand() -> None:
    z = np.array([0, 2, 1, 2, 2, 1, 0])
    offsets = np.array([0, 4, 7])
    assert report_labels(STICKY, True).of(z, offsets).tolist() == [0, 2, 1, 3, 4, 1, 0]
    thinned = report_labels(STICKY.thinned(2))
    assert thinned.of(z, offsets).tolist() == [0, 2, 1, 3, 4, 4, 0]
    plain = report_labels(Channel.binary(0.1, 0.2).thinned(3), True)
    assert plain.of(z, offsets).tolist() == [2, 2, 2, 2, 2, 1, 2]


def test_a_long_release_in_which_evidence_never_ends() -> None:
    """States that hardly meet: scaled weights of one would vanish, logarithms do not."""
    apart = MarkovChain.binary(1e-60, 1e-60)
    z = np.tile([0, 0, 1, 1], 3000)
    found = smoothed(apart, STICKY, z)
    steps = np.log(STICKY.kernel[z[:-1], :, z[1:]]).sum(axis=0) + np.log(STICKY.first[:, z[0]])
    assert log_likelihood(apart, STICKY, z) == pytest.approx(
        np.logaddexp(*steps) + np.log(0.5), rel=1e-12
    )
    np.testing.assert_allclose(np.diff(found, axis=0), 0.0, atol=1e-12)


def test_noise_that_holds_has_no_form_as_pairs_over_gaps() -> None:
    with pytest.raises(NotSupported, match="step_weights"):
        hidden_model(CHAIN, STICKY, gaps=True)
    with pytest.raises(NotSupported, match="step_weights"):
        hidden_model(CHAIN, STICKY.thinned(2))
