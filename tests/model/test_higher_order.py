"""Chains with a longer memory, as a public model."""

from __future__ import annotations

import json

import numpy as np
import pytest

import chainveil as cv
from chainveil.model import read_model


def _alternating() -> cv.HigherOrderChain:
    """Order 2: the state of two points before comes back with probability .9."""
    rng = np.random.default_rng(1)
    x = [0, 0]
    for _ in range(20_000):
        x.append(x[-2] if rng.random() < 0.9 else 1 - x[-2])
    return cv.HigherOrderChain.fit(x, 2)


def test_fit_sample_and_laws_agree() -> None:
    """Pair frequencies of 200,000 sampled points within .02: over 10 standard errors."""
    chain = _alternating()
    assert (chain.order, chain.states, chain.single) == (2, 2, True)
    x = chain.sample(200_000, rng=2)
    law = chain.series_law(3)
    triples = np.bincount(4 * x[:-2] + 2 * x[1:-1] + x[2:], minlength=8) / (len(x) - 2)
    np.testing.assert_allclose(triples, law.ravel(), atol=0.02)
    assert chain.stationary == pytest.approx(law.sum(axis=(1, 2)))
    assert chain.sample(10, 3, rng=1).shape == (3, 10)


def test_a_longer_memory_tells_more_than_order_1_knows() -> None:
    chain = _alternating()
    channel = cv.Channel.binary(0.3, 0.3)
    first = cv.MarkovChain.fit(chain.sample(50_000, rng=3), public=True)
    longer = cv.privacy_loss(chain, channel, 5).epsilon
    assert longer > cv.privacy_loss(first, channel, 5).epsilon + 0.1


def test_json_and_bad_input() -> None:
    chain = _alternating()
    again = read_model(chain.kind, json.loads(json.dumps(chain.to_json())))
    assert np.array_equal(again.series_law(4), chain.series_law(4))
    with pytest.raises(cv.InvalidInput, match="more than 3 points"):
        cv.HigherOrderChain.fit([0, 1, 0], 3)
    with pytest.raises(cv.InvalidInput, match="fitted on private data"):
        cv.calibrate(chain, 2.0, 4)
    assert cv.calibrate(cv.HigherOrderChain.fit([0, 1, 1] * 30, 2, public=True), 2.0, 4)
    with pytest.raises(cv.InvalidInput, match="order"):
        cv.HigherOrderChain.fit([0, 1, 0], 1)
    with pytest.raises(cv.InvalidInput, match='model: found .*; allowed: .*"chain"'):
        read_model("seasonal-unknown", {})


def test_a_rare_state_stays_in_the_law_and_in_the_loss() -> None:
    """Of the same law as a chain of order 1, whose loss is known by another way."""
    for q in (1e-3, 1e-12, 1e-20):
        longer = cv.HigherOrderChain.from_json({"transition": [[1 - q, q], [0.3, 0.7]] * 2})
        chain, channel = cv.MarkovChain.binary(q, 0.3), cv.Channel.binary(0.1, 0.2)
        np.testing.assert_allclose(longer.stationary, chain.stationary, rtol=1e-12)
        truth = cv.privacy_loss(chain, channel, 4)
        assert truth.lower <= cv.privacy_loss(longer, channel, 4).epsilon <= truth.epsilon + 1e-9
    # Contexts that are left for ever have no share; several laws are no reason to fail.
    once = cv.HigherOrderChain.from_json({"transition": [[0, 1], [0, 1], [0.5, 0.5], [0, 1]]})
    assert once.stationary.tolist() == [0.0, 1.0]
    twice = cv.HigherOrderChain.from_json({"transition": [[1, 0], [0.5, 0.5], [0.5, 0.5], [0, 1]]})
    assert twice.contexts.sum() == pytest.approx(1)


def test_probabilities_whose_products_vanish_are_refused() -> None:
    with pytest.raises(cv.InvalidInput, match="doubles can hold"):
        cv.HigherOrderChain.from_json({"transition": [[1e-320, 1.0], [0.2, 0.8]] * 2})
    q = 1e-160
    longer = cv.HigherOrderChain.from_json({"transition": [[1 - q, q], [0.3, 0.7]] * 2})
    with pytest.raises(cv.NotSupported, match="from 1e-100 on"):
        cv.privacy_loss(longer, cv.Channel.binary(0.1, 0.2), 4)
    plain = cv.HigherOrderChain.from_json({"transition": [[0.8, 0.2], [0.3, 0.7]] * 2})
    with pytest.raises(cv.NotSupported, match="from 1e-100 on"):
        cv.privacy_loss(plain, cv.Channel.binary(q, q), 4)


def test_plans_for_short_series_alone_and_together_with_earlier_releases() -> None:
    chain = cv.HigherOrderChain.fit([0, 1, 1] * 30 + [0] * 9, 2, public=True)
    with pytest.raises(cv.NotSupported, match="give their length"):
        cv.calibrate(chain, 2.0)
    before = cv.Channel.binary(0.3, 0.3)
    plan = cv.calibrate(chain, 3.0, 3, spent=[before])
    together = cv.privacy_loss(chain, [before.on_grid(), plan.noise], 3)
    assert cv.privacy_loss(chain, before, 3).epsilon < together.epsilon <= 3.0
    assert cv.verify(plan.certificate()).holds
