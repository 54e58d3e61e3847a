"""One test for a longer memory and one interval for a share, for everybody who needs them."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from chainveil.attack import misfit
from chainveil.counts import order_test, wilson
from chainveil.model.contexts import count_contexts
from chainveil.sequences import as_sequences

# A ladder: no step from the lowest to the highest rung, or back.
LADDER = cv.MarkovChain([[0.6, 0.4, 0.0], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]])


def test_degrees_of_freedom_leave_out_what_cannot_occur() -> None:
    """Under order 1 the statistic has the mean and the tail of its chi-square law.

    The mean of 400 has a standard error of 0.17 at 6 degrees; four of them are 0.7, a false
    alarm in 16,000. Counting impossible contexts or steps as free would say 8 or 12. Of the
    p-values 5% lie below 0.05, give or take 1.1%; four times that, again.
    """
    series = LADDER.sample(2_000, 400, rng=11)
    found = [order_test(count_contexts(as_sequences("x", x), 3, 2, 2)) for x in series]
    assert {test.degrees for test in found} == {6}
    assert np.mean([test.statistic for test in found]) == pytest.approx(6, abs=0.7)
    assert np.mean([test.p_value < 0.05 for test in found]) == pytest.approx(0.05, abs=0.044)


def test_tables_with_few_points_to_a_probability_raise_few_alarms() -> None:
    """12 points to each probability: a likelihood ratio alone rejects order 1 in all of them.

    With a rate of 1%, four of 40 or more have odds of 7e-4.
    """
    law = np.full((16, 16), 0.4 / 15)
    np.fill_diagonal(law, 0.6)
    series = cv.MarkovChain(law).sample(50_000, 40, rng=3)
    found = [order_test(count_contexts(as_sequences("x", x), 16, 2, 2)) for x in series]
    assert sum(test.p_value < 0.01 for test in found) < 4


@pytest.mark.parametrize(("order", "degrees"), [(1, 0), (2, 2), (3, 6), (4, 14)])
def test_degrees_of_freedom_of_two_states(order: int, degrees: int) -> None:
    """With every context seen: as many laws as contexts, less the two of order 1."""
    x = cv.MarkovChain.binary(0.4, 0.5).sample(5_000, rng=2)
    assert order_test(count_contexts(as_sequences("x", x), 2, order, order)).degrees == degrees


def test_the_audit_and_the_fit_ask_the_same_question() -> None:
    import pyarrow as pa

    from chainveil.table.read.frames import FrameSource
    from chainveil.table.request.request import Layout, StateRules
    from chainveil.table.states.fitting import fit_table

    x = LADDER.sample(3_000, rng=5)
    found = fit_table(
        FrameSource(pa.table({"x": x})), Layout("x"), StateRules(states=[0, 1, 2])
    ).memory
    noise = cv.Channel.randomized_response(3, 0.3)
    reading = misfit(x, noise, orders=[2], effort=10_000).readings[0]
    assert found is not None
    assert found.p_value == pytest.approx(reading.test.p_value, rel=1e-9)
    assert reading.test.degrees == 6


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (10, 10), (3, 10), (500, 1000)])
@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_wilson_intervals(hits: int, trials: int, confidence: float) -> None:
    from scipy.stats import binomtest

    expected = binomtest(hits, trials).proportion_ci(confidence, method="wilson")
    found = wilson(hits / trials, trials, confidence)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)
