"""Chains with a longer memory, as a public model."""

from __future__ import annotations

import json
import pickle
from typing import Any

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
    longer = cv.privacy_loss(chain, channel, length=5).epsilon
    assert longer > cv.privacy_loss(first, channel, length=5).epsilon + 0.1


def test_json_and_bad_input() -> None:
    chain = _alternating()
    again = read_model(chain.kind, json.loads(json.dumps(chain.to_json())))
    assert np.array_equal(again.series_law(4), chain.series_law(4))
    with pytest.raises(cv.InvalidInput, match="more than 3 points"):
        cv.HigherOrderChain.fit([0, 1, 0], 3)
    assert cv.calibrate(cv.HigherOrderChain.fit([0, 1, 1] * 30, 2, public=True), 2.0, max_length=4)
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
        truth = cv.privacy_loss(chain, channel, length=4)
        assert (
            truth.lower
            <= cv.privacy_loss(longer, channel, length=4).epsilon
            <= truth.epsilon + 1e-9
        )
    # Contexts that are left for ever have no share.
    once = cv.HigherOrderChain([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5], [0.0, 1.0]], order=2)
    assert once.stationary.tolist() == [0.0, 1.0]


def test_several_stationary_laws_are_an_error_that_says_what_to_do() -> None:
    with pytest.raises(cv.InvalidInput, match="several sets of contexts.*pseudocount"):
        cv.HigherOrderChain([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]], order=2)
    apart = [[0] * 9, [1] * 9]
    with pytest.raises(cv.InvalidInput, match="several sets"):
        cv.HigherOrderChain.fit(apart, 2, public=True)
    assert cv.HigherOrderChain.fit(apart, 2, public=True, pseudocount=0.5).contexts.min() > 0


def test_a_chain_given_by_hand() -> None:
    rows = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]]
    chain = cv.HigherOrderChain(rows, order=2)
    assert (chain.states, chain.order, chain.origin, chain.counts) == (2, 2, "given", None)
    # After 01 (the older point first) comes a 1 with probability 0.8.
    law = chain.series_law(3)
    assert law[0, 1, 1] / law[0, 1].sum() == pytest.approx(0.8)
    assert law.sum(axis=0) == pytest.approx(law.sum(axis=2))
    again = eval(repr(chain), {"HigherOrderChain": cv.HigherOrderChain})
    assert again == chain
    assert hash(again) == hash(chain)
    assert chain != cv.HigherOrderChain(rows[::-1], order=2)
    assert chain != cv.MarkovChain.binary(0.1, 0.2)
    assert pickle.loads(pickle.dumps(chain)) == chain
    assert "order 2 on 2 states" in chain.describe()
    three = cv.HigherOrderChain(np.full((9, 3), 1 / 3), order=2)
    assert three.stationary == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("rows", "order", "match"),
    [
        ([[0.5, 0.5]] * 4, 3, r"shape \(4, 2\).*k\^3"),
        ([[0.5, 0.5]] * 2, 1, "order 1 is MarkovChain"),
        ([[0.5, 0.5]] * 3, 2, r"shape \(3, 2\)"),
        ([[0.5, 0.6]] * 4, 2, "sum to"),
        ([[1.0]], 2, "at least 2"),
        ([[0.5, 0.5]] * 4, 2.5, "order"),
        ([[0.5, 0.5]] * 4, "auto", "order"),
    ],
)
def test_what_is_no_chain_of_that_order(rows: Any, order: Any, match: str) -> None:
    with pytest.raises(cv.InvalidInput, match=match):
        cv.HigherOrderChain(rows, order=order)


def test_a_fit_that_never_comes_back_is_refused() -> None:
    """Else the chain would stay in 0 for ever, have nothing to hide, and need no noise."""
    x = [0, 1, 1] * 30 + [0] * 9
    for public in (True, False):
        with pytest.raises(cv.InvalidInput, match=r"never come back.*pseudocount"):
            cv.HigherOrderChain.fit(x, 2, public=public)
    smooth = cv.HigherOrderChain.fit(x, 2, public=True, pseudocount=0.1)
    assert smooth.contexts.min() > 0
    assert cv.calibrate(smooth, 2.0, max_length=4).expected_flips > 0.1


def test_orders_that_cannot_be_held() -> None:
    x = np.arange(200) % 2
    for order in (13, 100):
        with pytest.raises(cv.InvalidInput, match="at most 256 contexts"):
            cv.MarkovChain.fit(x, order=order)


def test_every_way_to_fit_an_order() -> None:
    x = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], 2).sample(300, 4, 1)
    one, other = cv.MarkovChain.fit(x, order=2), cv.HigherOrderChain.fit(x, 2)
    assert one == other
    assert isinstance(one, cv.HigherOrderChain)
    assert one.counts is not None
    assert one.counts.sum() == 4 * 298
    assert one.origin == "private"
    assert cv.MarkovChain.fit(x, order=1) == cv.MarkovChain.fit(x)
    for order in ("best", 0, 1.5, None):
        with pytest.raises(cv.InvalidInput, match="order"):
            cv.MarkovChain.fit(x, order=order)  # type: ignore[arg-type]


def test_a_pseudocount_is_shared_out_as_a_shorter_memory_says() -> None:
    x = [0, 0, 1, 0, 0, 1, 0, 0]
    plain = cv.HigherOrderChain.fit(x, 2, public=True)
    # 11 never occurs: what follows 1 does. 1 never follows 10.
    assert plain.transition[3].tolist() == plain.transition[1].tolist() == [1, 0]
    added = cv.HigherOrderChain.fit(x, 2, public=True, pseudocount=0.5)
    counts = plain.counts
    assert counts is not None
    none = (counts.sum(axis=0) + 0.5) / (counts.sum() + 1)
    one = (counts.reshape(2, 2, 2).sum(axis=0) + none) / (
        counts.reshape(2, 2, 2).sum(axis=0).sum(axis=1, keepdims=True) + 1
    )
    two = (counts + np.tile(one, (2, 1))) / (counts.sum(axis=1, keepdims=True) + 1)
    np.testing.assert_allclose(added.transition, two, rtol=1e-14)
    assert added.transition.min() > 0
    never = cv.MarkovChain.fit([0, 1, 0, 1, 2], states=3, pseudocount=1.0, public=True)
    assert never.transition.min() > 0
    with pytest.raises(cv.InvalidInput, match="pseudocount"):
        cv.MarkovChain.fit(x, pseudocount=-1)


def test_a_fit_keeps_counts_and_origin_through_json() -> None:
    chain = cv.HigherOrderChain.fit([0, 1, 1] * 30 + [0, 0, 0, 1] * 3, 2, public=True)
    again = read_model(chain.kind, json.loads(json.dumps(chain.to_json())))
    assert again == chain
    assert again.origin == "reference"
    assert again.to_json() == chain.to_json()
    assert chain.to_json()["counts"] is not None
    # Documents of before have no order of their own.
    older = cv.HigherOrderChain.from_json({"transition": chain.transition.tolist()})
    assert older.order == 2
    with pytest.raises(cv.InvalidInput, match="a row for each context"):
        cv.HigherOrderChain.from_json({"transition": [[0.5, 0.5]] * 3})


def test_probabilities_whose_products_vanish_are_refused() -> None:
    with pytest.raises(cv.InvalidInput, match="doubles can hold"):
        cv.HigherOrderChain.from_json({"transition": [[1e-320, 1.0], [0.2, 0.8]] * 2})
    q = 1e-160
    longer = cv.HigherOrderChain.from_json({"transition": [[1 - q, q], [0.3, 0.7]] * 2})
    with pytest.raises(cv.NotSupported, match="below 1e-50"):
        cv.privacy_loss(longer, cv.Channel.binary(0.1, 0.2), length=4)
    plain = cv.HigherOrderChain.from_json({"transition": [[0.8, 0.2], [0.3, 0.7]] * 2})
    with pytest.raises(cv.NotSupported, match="below 1e-50"):
        cv.privacy_loss(plain, cv.Channel.binary(q, q), length=4)


@pytest.mark.slow
def test_plans_for_short_series_alone_and_together_with_earlier_releases() -> None:
    chain = cv.HigherOrderChain.fit([0, 1, 1] * 30 + [0, 0, 0, 1] * 3, 2, public=True)
    before = cv.Channel.binary(0.3, 0.3)
    plan = cv.calibrate(chain, 3.0, max_length=3, earlier=[before])
    together = cv.privacy_loss(chain, [before.on_grid(), plan.noise], length=3)
    assert cv.privacy_loss(chain, before, length=3).epsilon < together.epsilon <= 3.0
    assert cv.verify(plan.certificate()).holds
