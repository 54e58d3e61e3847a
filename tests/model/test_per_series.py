"""What is counted in each series, and what follows from it, against plain loops over one series."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import chainveil as cv
from chainveil.model.per_series import GAP, count_series
from chainveil.sequences import as_sequences


def _with_gaps(states: int, lengths: tuple[int, ...]) -> list[np.ndarray]:
    """Series in which one point in ten is missing, and one that has none missing."""
    rng = np.random.default_rng(states)
    series = [rng.integers(0, states, n).astype(np.uint8) for n in lengths]
    for x in series[1:]:
        x[rng.random(len(x)) < 0.1] = GAP
    return series


@pytest.mark.parametrize("states", [2, 3, 4])
def test_words_and_transitions_are_counted_as_by_hand(states: int) -> None:
    x = _with_gaps(states, (20 * states**3 + 50, 301, 0, 1, 7, 20 * states**3 + 9))
    found = count_series(as_sequences("x", x), states)
    order = found.longest
    assert order > 1
    for number, series in enumerate(x):
        halves = np.zeros((2, *(states,) * (order + 1)), int)
        pairs = np.zeros((states, states), int)
        for t in range(len(series)):
            if t >= order and GAP not in series[t - order : t + 1]:
                halves[(int(t >= len(series) // 2), *series[t - order : t + 1])] += 1
            if t >= 1 and GAP not in series[t - 1 : t + 1]:
                pairs[series[t - 1], series[t]] += 1
        assert found.halves[number].ravel().tolist() == halves.ravel().tolist()
        assert found.pairs[number].tolist() == pairs.tolist()
        contexts = halves.sum(axis=0).reshape(-1, states**2, states).sum(axis=0)
        assert found.contexts(2)[number].tolist() == contexts.tolist()
        assert found.points[number] == (series != GAP).sum()


@pytest.mark.parametrize("states", [2, 3])
def test_orders_are_those_of_the_least_bic(states: int) -> None:
    rng = np.random.default_rng(states)
    x = []
    for order in (1, 1, 2, 2):
        law = rng.dirichlet(np.full(states, 0.3), states**order) + 0.01
        law /= law.sum(axis=1, keepdims=True)
        chain = cv.MarkovChain(law) if order == 1 else cv.HigherOrderChain(law, order=order)
        x.append(chain.sample(3000, rng=rng))
    # One of the states never follows another: it has no probability to fit.
    x.append(np.resize([0, 1, 1], 900))
    found = count_series(as_sequences("x", x), states).orders(0.01)
    assert found.tolist() == [min(cv.choose_order(series, states).order, 4) for series in x]
    assert set(found.tolist()) >= {1, 2}


@pytest.mark.parametrize(("states", "order"), [(2, 1), (3, 1), (2, 2), (2, 3)])
def test_drift_is_the_chance_of_halves_as_different(states: int, order: int) -> None:
    """By both statistics of scipy, added over contexts; the larger p-value counts."""
    from scipy.stats import chi2, chi2_contingency

    rng = np.random.default_rng(1)
    counts = count_series(as_sequences("x", rng.integers(0, states, 800)), states)
    table = counts.halves[0].reshape(2, -1, states**order, states).sum(axis=1)
    degrees = states**order * (states - 1)
    p_values = [
        chi2.sf(
            sum(
                chi2_contingency(table[:, context], correction=False, lambda_=kind).statistic
                for context in range(states**order)
            ),
            degrees,
        )
        for kind in ("log-likelihood", "pearson")
    ]
    found = counts.drift(np.array([order]))
    assert found[0] == pytest.approx(max(p_values))
    assert np.isnan(counts.drift(np.array([counts.longest + 1]))[0])


def test_counts_that_are_few_or_large_have_the_same_likelihood() -> None:
    """Of many counts ``n log n`` is looked up, of few it is computed."""
    x = cv.MarkovChain.binary(0.05, 0.3).sample(5000, 300, rng=1)
    many = count_series(as_sequences("x", x), 2)
    for number in range(3):
        one = count_series(as_sequences("x", x[number]), 2)
        assert one.orders(0.01)[0] == many.orders(0.01)[number]


@pytest.mark.parametrize("lag", [1, 3, 40])
def test_correlations_leave_gaps_out(lag: int) -> None:
    x = _with_gaps(3, (500, 301, 40, 5))
    found = count_series(as_sequences("x", x), 3).correlation(lag)
    for series, value in zip(x, found, strict=True):
        there = series[series != GAP].astype(float)
        pairs = [
            float(a) * float(b)
            for a, b in itertools.zip_longest(series[:-lag], series[lag:])
            if GAP not in (a, b)
        ]
        if not pairs:
            assert np.isnan(value)
            continue
        expected = (np.mean(pairs) - there.mean() ** 2) / there.var()
        assert value == pytest.approx(expected)
