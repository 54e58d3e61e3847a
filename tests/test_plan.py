"""Plans: what calibrate promises is what sanitize applies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import chainveil as cv
from chainveil import mechanism
from chainveil.calibration import only_guesses, usual_plan
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise

CHAIN = cv.MarkovChain.binary(0.0893, 0.1092)
NOISE = 2e-5  # wrong reports by which a plan may be above the least ones


@pytest.mark.parametrize("kind", ["independent", "correlated"])
def test_a_plan_applies_its_own_noise(kind: str) -> None:
    plan = cv.calibrate(CHAIN, 3.0, mechanism=kind)
    assert plan.mechanism == kind
    series = CHAIN.sample(400_000, rng=3)
    before = series.copy()
    release = plan.release(series, rng=mechanism.seeded(5))
    assert np.array_equal(series, before)
    assert release.report.source == "study"
    assert release.report.mechanism == kind
    # Correlated flips are no more than twice as uncertain; six standard errors of both.
    assert (release.values != series).mean() == pytest.approx(plan.expected_flips, abs=0.01)


def test_a_plan_says_where_its_bounds_did_not_meet() -> None:
    plan = cv.calibrate(CHAIN, 2.0)
    assert "did not meet" not in str(plan) + plan._repr_html_()
    apart = replace(plan, loss=replace(plan.loss, lower=1.55559))
    # Rounded down: so much is attained at least.
    assert str(apart).endswith(
        "the bounds did not meet: attacks attain 1.555, so less noise may do"
    )
    assert "attacks attain 1.555" in apart._repr_html_()


def test_the_noise_of_a_plan_is_realised_exactly() -> None:
    plan = cv.calibrate(CHAIN, 1.5)
    assert plan.channel.on_grid() == plan.channel
    correlated = cv.calibrate(CHAIN, 1.5, mechanism="correlated")
    assert isinstance(correlated.noise, cv.CorrelatedNoise)
    assert correlated.noise.on_grid() == correlated.noise
    again = cv.privacy_loss(CHAIN, correlated.noise)
    assert again.epsilon == correlated.loss.epsilon <= 1.5


def test_correlated_noise_against_independent_noise() -> None:
    symmetric = cv.MarkovChain.symmetric(0.2)
    for epsilon, rate in ((4.0, 0.16415), (2.0, 0.35906)):
        plan = cv.calibrate(symmetric, epsilon, mechanism="correlated")
        assert plan.expected_flips == pytest.approx(rate, abs=NOISE)
        assert plan.expected_flips < cv.calibrate(symmetric, epsilon).expected_flips


def test_a_plan_for_a_length_refuses_longer_series() -> None:
    plan = cv.calibrate(CHAIN, 2.0, max_length=10)
    assert plan.sanitize(np.zeros((3, 10), dtype=np.uint8)).shape == (3, 10)
    with pytest.raises(cv.InvalidInput, match="a series of 11 points"):
        plan.sanitize(np.zeros(11, dtype=np.uint8))
    stream = plan.stream()
    stream.push(np.zeros(10, dtype=np.uint8))
    with pytest.raises(cv.InvalidInput, match="10 points"):
        stream.push(0)


def test_a_stream_gives_what_the_array_gives() -> None:
    plan = cv.calibrate(CHAIN, 2.0)
    series = CHAIN.sample(500, rng=1)
    stream = plan.stream(rng=mechanism.seeded(9))
    points = [stream.push(int(point)) for point in series]
    assert points == plan.sanitize(series, rng=mechanism.seeded(9)).tolist()


def test_a_release_is_secure_by_default_and_never_repeats() -> None:
    plan = cv.calibrate(CHAIN, 2.0)
    series = np.zeros(1000, dtype=np.uint8)
    assert plan.release(series).report.source == "release"
    assert not np.array_equal(plan.sanitize(series), plan.sanitize(series))


def test_questions_that_make_no_sense() -> None:
    correlated = cv.calibrate(CHAIN, 2.0, mechanism="correlated")
    with pytest.raises(cv.InvalidInput, match="channel"):
        _ = correlated.channel
    with pytest.raises(cv.InvalidInput, match='mechanism.*"correlated"'):
        cv.calibrate(CHAIN, 2.0, mechanism="laplace")
    with pytest.raises(cv.InvalidInput, match="objective"):
        cv.calibrate(CHAIN, 2.0, mechanism="correlated", objective="share")
    assert "begin flipping" in str(correlated)


STICKY = StickyNoise.binary([[0.1, 0.4], [0.6, 0.9]], [0.4, 0.6]).on_grid()


def _plan(noise: Noise, gaps: bool = False) -> cv.NoisePlan:
    """A plan with that noise, whatever it loses: what is tested here is how it is applied."""
    return replace(cv.calibrate(CHAIN, 2.0, max_length=600), noise=noise, gaps=gaps)


def test_gaps_that_a_plan_does_not_cover_are_refused() -> None:
    plan = _plan(STICKY)
    series = np.array([0, 1, -1, 1])
    attempts: list[Callable[[], object]] = [
        lambda: plan.sanitize(series, missing="keep"),
        lambda: plan.release(series, missing="keep"),
        lambda: plan.reports(series, missing="keep"),
        lambda: plan.stream(missing="keep"),
    ]
    for attempt in attempts:
        with pytest.raises(cv.InvalidInput, match=r"missing: .*gaps=True"):
            attempt()
    assert plan.sanitize(series[:2]).shape == (2,)
    covered = _plan(STICKY, gaps=True)
    assert covered.sanitize(series, missing="keep")[2] == -1
    assert covered.stream(missing="keep").push(-1) == -1
    assert _plan(cv.Channel.binary(0.1, 0.1)).sanitize(series, missing="keep")[2] == -1


def test_a_plan_hands_out_its_reports_alone() -> None:
    plan, series = _plan(STICKY.thinned(5)), CHAIN.sample(503, rng=1)
    alone = plan.reports(series, mechanism.seeded(9))
    assert isinstance(alone, mechanism.Reported)
    assert alone.places.tolist() == list(range(2, 503, 5))
    held = plan.sanitize(series, rng=mechanism.seeded(9))
    assert np.array_equal(held[alone.places], alone.values)
    stream = plan.stream(rng=mechanism.seeded(9))
    assert (stream.every, stream.next_report) == (5, 2)
    assert np.array_equal(stream.push(series), alone.values)
    several = plan.reports([series, series[:7]])
    assert isinstance(several, list)
    assert [len(part.values) for part in several] == [101, 1]
    with pytest.raises(cv.InvalidInput, match="at most 600 points"):
        plan.reports(np.zeros(601, np.uint8))


@pytest.mark.parametrize(("q", "r", "epsilon"), [(0.05, 0.1, 0.5), (0.02, 0.05, 1.0)])
def test_the_usual_noise_tells_something_and_more_than_independent_noise(
    q: float, r: float, epsilon: float
) -> None:
    """Where the fewest wrong reports repeat the commonest state, shares are what it is made for."""
    chain = cv.MarkovChain.binary(q, r)
    assert only_guesses(cv.calibrate(chain, epsilon, mechanism="sticky"))
    usual, alone = usual_plan(chain, epsilon), cv.calibrate(chain, epsilon)
    assert (usual.mechanism, usual.objective) == ("sticky", "share")
    assert usual.loss.epsilon <= epsilon
    error, independent = (
        float(cv.estimate.error_at(plan, 10**7).standard_error.max()) for plan in (usual, alone)
    )
    assert error < independent / 2
    # What is asked for is not changed.
    assert usual_plan(chain, epsilon, objective="share").noise == usual.noise
