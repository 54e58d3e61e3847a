"""Calibration of noise that remembers and of rare reports: within the budget, and as good as known.

The figures are shares of wrong reports that searches have reached before; they are to be
reached again, not to be proved least.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.costs import Cost

N10, N5 = (0.0893, 0.1092), (0.2384, 0.3831)
TENTH, FIFTH = (0.1, 0.1), (0.2, 0.2)
UNUSED = 0.01  # of the budget; what a plan may leave over where less noise would do


def calibrated(changes: tuple[float, float], epsilon: float, **asked: Any) -> cv.NoisePlan:
    plan = cv.calibrate(cv.MarkovChain.binary(*changes), epsilon, **asked)
    assert plan.loss.epsilon <= epsilon
    assert plan.loss.epsilon >= epsilon * (1 - UNUSED)
    assert plan.noise == plan.noise.on_grid()
    return plan


@pytest.mark.parametrize(
    ("changes", "epsilon", "mechanism", "most"),
    [
        (N10, 2, "sticky", 0.305), (N10, 4, "sticky", 0.151),
        (TENTH, 1, "sticky", 0.401), (TENTH, 2, "sticky", 0.305), (TENTH, 4, "sticky", 0.150),
        (FIFTH, 4, "sticky", 0.105),
        (N10, 2, "tracking", 0.300), (N5, 4, "tracking", 0.039),
        pytest.param(N10, 4, "tracking", 0.119, marks=pytest.mark.slow),
        pytest.param(N10, 6, "tracking", 0.023, marks=pytest.mark.slow),
        pytest.param(TENTH, 1, "tracking", 0.397, marks=pytest.mark.slow),
        pytest.param(TENTH, 2, "tracking", 0.299, marks=pytest.mark.slow),
        pytest.param(TENTH, 4, "tracking", 0.118, marks=pytest.mark.slow),
        pytest.param(FIFTH, 4, "tracking", 0.063, marks=pytest.mark.slow),
        pytest.param(N5, 2, "tracking", 0.193, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_every_point_reported(
    changes: tuple[float, float], epsilon: float, mechanism: str, most: float
) -> None:
    assert calibrated(changes, epsilon, mechanism=mechanism).expected_flips <= most


@pytest.mark.parametrize(
    ("changes", "epsilon", "mechanism", "most"),
    [
        (N10, 1, "independent", 0.384), (N10, 2, "independent", 0.292),
        (N10, 4, "independent", 0.174),
        (N10, 2, "sticky", 0.270), (N10, 4, "sticky", 0.138), (TENTH, 2, "sticky", 0.270),
        pytest.param(N10, 1, "sticky", 0.375, marks=pytest.mark.slow),
        pytest.param(TENTH, 1, "sticky", 0.374, marks=pytest.mark.slow),
        pytest.param(TENTH, 4, "sticky", 0.139, marks=pytest.mark.slow),
        pytest.param((0.01, 0.02), 2, "independent", 0.286, marks=pytest.mark.slow),
        pytest.param((0.01, 0.02), 2, "sticky", 0.268, marks=pytest.mark.slow),
        pytest.param((0.01, 0.02), 4, "sticky", 0.141, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_the_best_number_of_points_to_a_report(
    changes: tuple[float, float], epsilon: float, mechanism: str, most: float
) -> None:
    plan = calibrated(changes, epsilon, mechanism=mechanism, every="auto")
    assert plan.noise.every > 1
    assert plan.expected_flips <= most


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["sticky", "tracking"])
@pytest.mark.parametrize("pace", [1e-3, 1e-6])
def test_slow_chains(pace: float, mechanism: str) -> None:
    plan = calibrated((pace, 1.5 * pace), 4, mechanism=mechanism)
    # Independent noise on every point of such a chain leaves nothing but the guess of 0.4.
    assert plan.expected_flips < 0.21


def _cost(plan: cv.NoisePlan, objective: str) -> float:
    """What a plan costs on its chain by an objective."""
    form = type(plan.noise).parametrization(plan.chain.transition)
    kernel = np.asarray(plan.noise.step_law())
    pairs = np.einsum("xy,zxyw->zxwy", form.move, kernel).reshape(4, 4)
    return Cost(form, objective)(kernel, np.linalg.matrix_power(pairs, 1 << 40)[0].reshape(2, 2))


def test_objectives_reach_what_they_are_for() -> None:
    flips = calibrated(N10, 2, mechanism="sticky")
    shares = calibrated(N10, 2, mechanism="sticky", objective="share")
    smooth = calibrated(N10, 2, mechanism="sticky", objective="smoothed")
    variances, errors = ([_cost(plan, name) for plan in (flips, shares, smooth)]
                         for name in ("share", "smoothed"))  # fmt: skip
    assert variances[1] <= min(variances) + 1e-6
    assert errors[2] <= errors[0] + 1e-9
    assert flips.expected_flips <= min(shares.expected_flips, smooth.expected_flips) + 1e-9


@pytest.mark.parametrize(
    "mechanism",
    ["independent", "sticky", pytest.param("tracking", marks=pytest.mark.slow)],
)
def test_events_gaps_and_earlier_releases(mechanism: str) -> None:
    event = calibrated(N10, 4, mechanism=mechanism, unit=5)
    assert event.unit == 5
    assert cv.privacy_loss(event.chain, event.noise, unit=5).epsilon == event.loss.epsilon
    spent = [cv.Channel.binary(0.45, 0.45).thinned(3)]
    later = calibrated(N10, 3, mechanism=mechanism, earlier=spent)
    assert later.expected_flips > cv.calibrate(later.chain, 3, mechanism=mechanism).expected_flips
    if mechanism != "independent":
        over_gaps = calibrated(N10, 2, mechanism=mechanism, gaps=True)
        assert cv.privacy_loss(over_gaps.chain, over_gaps.noise, gaps=True).epsilon <= 2


@pytest.mark.slow
def test_short_series_need_less_noise() -> None:
    short = cv.calibrate(cv.MarkovChain.binary(*N10), 2, max_length=4, mechanism="sticky")
    assert short.loss.epsilon <= 2
    assert short.expected_flips < calibrated(N10, 2, mechanism="sticky").expected_flips


def test_a_region_costs_a_little() -> None:
    box = cv.ChainRegion((0.088, 0.091), (0.107, 0.111))
    plan = cv.calibrate(box, 2, mechanism="sticky")
    assert 2 * (1 - UNUSED) <= plan.loss.epsilon <= 2
    assert 0 < plan.cost_of_uncertainty < 0.01


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"mechanism": "tracking", "objective": "share"}, "objective"),
        ({"mechanism": "sticky", "every": "most"}, "every"),
        ({"mechanism": "sticky", "unit": 0}, "unit"),
    ],
)
def test_what_is_not_offered_is_said(asked: dict[str, Any], named: str) -> None:
    with pytest.raises(cv.InvalidInput, match=named):
        cv.calibrate(cv.MarkovChain.binary(*N10), 2, **asked)


def test_more_states_are_refused() -> None:
    three = cv.MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    with pytest.raises(cv.NotSupported, match="two-state chains"):
        cv.calibrate(three, 2, mechanism="tracking")


@pytest.mark.parametrize(
    ("epsilon", "asked", "most"),
    [
        (3, {"earlier": [cv.Channel.binary(0.45, 0.45)]}, 0.447),
        pytest.param(4, {"unit": 5}, 0.408, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_correlated_noise_for_events_and_after_releases(
    epsilon: float, asked: dict[str, Any], most: float
) -> None:
    plan = calibrated(N10, epsilon, mechanism="correlated", **asked)
    assert plan.noise.kind == "correlated"
    assert plan.loss.gap <= 1e-8
    assert plan.expected_flips <= most


def test_correlated_noise_refuses_what_it_is_not_made_for() -> None:
    with pytest.raises(cv.InvalidInput, match="objective"):
        cv.calibrate(
            cv.MarkovChain.binary(*N10), 2, mechanism="correlated", unit=2, objective="share"
        )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["independent", "sticky"])
def test_rare_reports_far_apart_are_found_over_a_region_too(mechanism: str) -> None:
    """From 13 points to a report on the search asks for losses in another way."""
    box = cv.ChainRegion((0.088, 0.091), (0.107, 0.111))
    plan = cv.calibrate(box, 2.0, mechanism=mechanism, every=13)
    assert (plan.noise.every, plan.region) == (13, box)
    assert 1.99 < plan.loss.epsilon <= 2.0
    known = cv.calibrate(box.likeliest, 2.0, mechanism=mechanism, every=13)
    assert known.expected_flips <= plan.expected_flips <= known.expected_flips + 0.02


@pytest.mark.parametrize("mechanism", ["tracking", "correlated"])
@pytest.mark.parametrize("every", [2, "auto"])
def test_noise_that_looks_at_points_before_is_for_every_point(mechanism: str, every: Any) -> None:
    """Whatever the model, and whatever is asked for besides."""
    box = cv.ChainRegion((0.088, 0.091), (0.107, 0.111))
    fast = cv.MarkovChain.binary(0.2, 0.3)
    three = cv.MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    for model in (box, fast, three, cv.ModelFamily([fast, box])):
        for asked in ({}, {"unit": 2}, {"gaps": True}, {"earlier": [cv.Channel.binary(0.4, 0.4)]}):
            with pytest.raises(cv.NotSupported, match="take independent or sticky noise$"):
                cv.calibrate(model, 2, mechanism=mechanism, every=every, **asked)


@pytest.mark.parametrize("mechanism", ["independent", "sticky"])
@pytest.mark.parametrize("every", [2, "auto"])
def test_chains_that_stand_still_from_report_to_report(mechanism: str, every: Any) -> None:
    chain = cv.MarkovChain.binary(1.0, 1.0)
    with pytest.raises(cv.NotSupported, match="an odd number of points"):
        cv.calibrate(chain, 1.0, max_length=9, mechanism=mechanism, every=every)
