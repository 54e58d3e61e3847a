"""The test of a model, by hand and by scipy's statistics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, power_divergence

import chainveil as cv
from chainveil.model.contexts import count_contexts
from chainveil.model.fit_test import p_value, p_values
from chainveil.sequences import Sequences, as_sequences

SLOW, QUICK = cv.MarkovChain.binary(0.05, 0.1), cv.MarkovChain.binary(0.3, 0.4)
SECOND = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], order=2)
THREE = cv.MarkovChain([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])


def _counts(x: np.ndarray, order: int, states: int = 2) -> np.ndarray:
    return count_contexts(as_sequences("x", x, states), states, order, order)


@pytest.mark.parametrize(
    ("model", "order"), [(SLOW, 1), (SLOW, 3), (SECOND, 2), (THREE, 1), (THREE, 2)]
)
def test_a_chain_has_the_larger_p_value_of_two_statistics(
    model: cv.MarkovChain, order: int
) -> None:
    x, k = model.sample(900, rng=3), model.states
    counts = _counts(x, order, k)
    expected = counts.sum(axis=1, keepdims=True) * np.tile(
        model.transition, (len(counts) // len(model.transition), 1)
    )
    seen = counts.sum(axis=1) > 0
    by_hand = [
        chi2.sf(
            power_divergence(counts[seen], expected[seen], axis=1, lambda_=kind).statistic.sum(),
            seen.sum() * (k - 1),
        )
        for kind in ("log-likelihood", "pearson")
    ]
    assert p_value(as_sequences("x", x, k), model, order) == pytest.approx(max(by_hand))
    assert p_values(counts[None], model)[0] == pytest.approx(max(by_hand))


def test_each_series_has_the_member_that_suits_it() -> None:
    family = cv.ModelFamily([SLOW, QUICK])
    x = [chain.sample(2000, rng=1) for chain in (SLOW, QUICK)]
    counts = np.array([_counts(one, 1) for one in x])
    found = p_values(counts, family)
    assert found[0] == p_values(counts[:1], SLOW)[0] > 0.01
    assert found[1] == p_values(counts[1:], QUICK)[0] > 0.01
    together = p_value(as_sequences("x", x), family)
    pooled = p_value(as_sequences("x", x), SLOW)
    assert together is not None
    assert pooled is not None
    assert together > 0.01 > 1e-9 > pooled


def test_a_box_has_the_chain_in_it_that_suits_best() -> None:
    counts = np.array([[[900, 100], [200, 800]]])
    assert p_values(counts, cv.ChainRegion((0.05, 0.2), (0.1, 0.3)))[0] == 1.0
    outside = cv.ChainRegion((0.12, 0.2), (0.1, 0.18))
    corner = cv.MarkovChain.binary(0.12, 0.18)
    assert p_values(counts, outside)[0] == pytest.approx(p_values(counts, corner)[0])


def test_what_the_model_rules_out_contradicts_it() -> None:
    ladder = cv.MarkovChain([[0.6, 0.4, 0.0], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]])
    assert p_value(as_sequences("x", [0, 1, 2, 0, 1, 2] * 5), ladder) == 0.0
    assert p_value(Sequences(np.zeros(1, np.uint8), np.array([0, 1])), ladder) == 1.0
