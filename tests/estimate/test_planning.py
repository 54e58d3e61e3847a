"""The error to expect before a release is the error that is found after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chainveil import (
    InvalidInput,
    MarkovChain,
    NotSupported,
    UnreachableBudget,
    calibrate,
    estimate,
)
from chainveil.estimate.planning import Question
from chainveil.estimate.results import Covers
from chainveil.mechanism import sanitize, seeded
from chainveil.noise.memory import StickyNoise

CHAIN = MarkovChain.binary(0.3, 0.4)


@pytest.mark.parametrize("mechanism", ["independent", "correlated"])
@pytest.mark.parametrize("covers", ["noise", "sampling"])
@pytest.mark.parametrize("question", ["frequency", "transitions", "durations", "autocorrelation"])
def test_expected_error(mechanism: str, covers: Covers, question: Question) -> None:
    plan = calibrate(CHAIN, 4, mechanism=mechanism)
    expected = estimate.error_at(plan, 4000, question, covers)
    z = plan.sanitize(CHAIN.sample(4000, 200, 1), rng=seeded(1))
    ask = getattr(estimate, question)
    how = {"lags": 1, "chain": CHAIN} if question == "autocorrelation" else {}
    found = ask(z, plan, by="series", covers=covers, **how)
    error, value = (
        part.reshape(200, *expected.value.shape) for part in (found.standard_error, found.value)
    )
    np.testing.assert_allclose(expected.standard_error, np.median(error, axis=0), rtol=0.05)
    if covers == "sampling":
        # 200 repetitions: the standard deviation is within 25% but once in a million runs.
        np.testing.assert_allclose(value.std(axis=0), expected.standard_error, rtol=0.25)


@pytest.mark.parametrize("covers", ["noise", "sampling"])
@pytest.mark.parametrize("question", ["frequency", "transitions", "durations", "autocorrelation"])
def test_expected_error_of_reports_that_look_back(covers: Covers, question: Question) -> None:
    """As above, for a kernel that leaves transitions well known."""
    noise = StickyNoise.binary([[0.05, 0.75], [0.3, 0.95]], [0.2, 0.8])
    plan = replace(calibrate(CHAIN, 4), noise=noise)
    expected = estimate.error_at(plan, 4000, question, covers)
    z = sanitize(CHAIN.sample(4000, 200, 1), noise, rng=seeded(1))
    how = {"lags": 1, "chain": CHAIN} if question == "autocorrelation" else {}
    found = getattr(estimate, question)(z, noise, by="series", covers=covers, **how)
    error = found.standard_error.reshape(200, *expected.value.shape)
    np.testing.assert_allclose(expected.standard_error, np.median(error, axis=0), rtol=0.05)
    assert expected.needed < 4000


def test_expected_error_of_reports_on_one_point_in_several() -> None:
    """That of as many reports of the chain from one to the next, and of the silent points."""
    plan = calibrate(CHAIN, 4)
    thinned = replace(plan, noise=plan.noise.thinned(4))
    for covers in ("noise", "sampling"):
        chain = MarkovChain(np.linalg.matrix_power(CHAIN.transition, 4))
        alone = estimate.error_at(replace(plan, model=chain), 1000, covers=covers)
        found = estimate.error_at(thinned, 4000, covers=covers)
        # The series as it was: three points in four are silent.
        silent = 0.75 * alone.value * (1 - np.diag(chain.transition)) / 1000
        square = found.standard_error**2 - (silent if covers == "noise" else 0)
        np.testing.assert_allclose(np.sqrt(square), alone.standard_error)
        assert found.needed == 4 * alone.needed
    with pytest.raises(NotSupported, match="no two neighbours report"):
        estimate.error_at(thinned, 4000, "transitions")


def test_rows_and_budget_for_an_error() -> None:
    plan = estimate.epsilon_for(CHAIN, 0.02, 5000)
    assert 0.97 * 0.02 < estimate.error_at(plan, 5000).largest <= 0.02
    rows = estimate.rows_for(plan, 0.02)
    assert estimate.error_at(plan, rows).largest <= 0.02 < estimate.error_at(plan, rows - 1).largest
    assert rows <= 5000
    for question in ("transitions", "durations"):
        needed = estimate.rows_for(plan, 0.05, question, "sampling")
        assert estimate.error_at(plan, needed, question, "sampling").largest <= 0.05


def test_what_is_planned_will_be_answered() -> None:
    """A standard error that is met by numbers nobody gets is not met."""
    plan = calibrate(CHAIN, 0.3)
    few = estimate.error_at(plan, 50, "transitions")
    assert few.refused
    z = plan.sanitize(CHAIN.sample(few.needed, rng=1), rng=seeded(1))
    with pytest.raises(InvalidInput, match=f"at least {few.needed - 1:,} of them"):
        estimate.transitions(z[:-1], plan)
    assert not estimate.error_at(plan, few.needed, "transitions").refused
    estimate.transitions(z, plan)
    assert estimate.rows_for(plan, 1e3, "transitions") == few.needed


def test_small_budgets_are_tried_down_to_a_hundredth() -> None:
    assert estimate.epsilon_for(CHAIN, 0.4, 10**9).epsilon == 0.01


def test_what_cannot_be_planned() -> None:
    plan = calibrate(CHAIN, 2)
    with pytest.raises(InvalidInput, match="question"):
        estimate.error_at(plan, 100, "mood")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="error"):
        estimate.rows_for(plan, 0)
    with pytest.raises(InvalidInput, match="length"):
        estimate.error_at(plan, 1)
    with pytest.raises(UnreachableBudget, match="100 rows"):
        estimate.epsilon_for(CHAIN, 0.01, 100, covers="sampling")
    with pytest.raises(UnreachableBudget, match="rows"):
        estimate.rows_for(plan, 1e-9)


def test_the_part_of_silent_points_is_told_apart() -> None:
    plans = [calibrate(CHAIN, 2.0, every=every) for every in (1, 5)]
    often, rare = (estimate.error_at(plan, 10_000) for plan in plans)
    assert often.sampling_error is None
    assert often.noise_error is often.standard_error
    assert rare.sampling_error is not None
    both = rare.noise_error**2 + rare.sampling_error**2
    assert both == pytest.approx(rare.standard_error**2)
