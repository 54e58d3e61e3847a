"""Intervals and the estimated privacy of the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chainveil import InvalidInput
from chainveil.attack import estimated_epsilon, score
from chainveil.attack.success import clopper_pearson
from chainveil.counts import wilson


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (3, 10), (10, 10), (622, 1000)])
def test_clopper_pearson_is_where_the_binomial_tails_are_small(hits: int, trials: int) -> None:
    from scipy.stats import binom

    low, high = clopper_pearson(hits, trials, 0.99)
    assert low <= hits / trials <= high
    if hits > 0:
        assert binom.sf(hits - 1, trials, low) == pytest.approx(0.005)
    if hits < trials:
        assert binom.cdf(hits, trials, high) == pytest.approx(0.005)


def test_wilson_solves_its_equation() -> None:
    for end in wilson(0.3, 50, 0.95):
        assert abs(0.3 - end) / math.sqrt(end * (1 - end) / 50) == pytest.approx(1.959964, 1e-6)


def test_estimated_epsilon() -> None:
    assert estimated_epsilon(0.5) == 0
    assert estimated_epsilon(math.exp(0.5) / (1 + math.exp(0.5))) == pytest.approx(0.5)
    assert estimated_epsilon(1.0) == math.inf
    assert estimated_epsilon(0.0) == -math.inf


def test_score_counts() -> None:
    success = score([[0, 1, 1], [1, 1, 1]], [[0, 0, 1], [1, 1, 0]])
    assert (success.successes, success.trials) == (4, 6)
    assert success.rate == pytest.approx(4 / 6)
    assert success.estimated_epsilon == pytest.approx(math.log(2))
    assert "right in 0.6667 of 6 guesses" in str(success)


def test_dependent_guesses_have_wider_intervals() -> None:
    """Every coin thrown once and read ten times is worth one throw."""
    throws = np.random.default_rng(0).random(5000) < 0.7
    apart = score(np.ones(5000, dtype=int), throws)
    copied = score(np.ones(50_000, dtype=int), np.repeat(throws, 10))
    assert copied.rate == apart.rate
    assert apart.effective_trials > 3000
    assert 2500 < copied.effective_trials < 10_000
    assert copied.high - copied.low == pytest.approx(apart.high - apart.low, rel=0.4)


def test_errors() -> None:
    with pytest.raises(InvalidInput, match="confidence: found 1"):
        score([0, 1], [0, 1], confidence=1)
