"""The figures of a comparison against formulas, enumeration and simulation of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import chainveil as cv
from chainveil import estimate
from chainveil.attack import expected_success
from chainveil.comparison import simulated
from chainveil.comparison.figures import _movements, _shares, _silent, _some, figures, own_losses
from chainveil.comparison.study import Study
from chainveil.mechanism import sanitize, seeded

CHAIN = cv.MarkovChain.binary(q=0.09, r=0.14)


def _study(chain: cv.MarkovChain = CHAIN, count: int = 3, points: int = 4000) -> Study:
    runs = tuple((chain.sample(points, rng=n).astype(np.uint8),) for n in range(count))
    return Study(chain, chain, True, runs, (0, 1))


@pytest.mark.parametrize("every", [2, 5, 12])
def test_silent_points_add_what_the_covariances_of_two_states_say(every: int) -> None:
    shares, kept = CHAIN.stationary, 1 - 0.09 - 0.14
    rare, often = ((1 + kept**step) / (1 - kept**step) for step in (every, 1))
    wanted = shares[0] * shares[1] * (every * rare - often)
    assert _silent(CHAIN, every) == pytest.approx([wanted, wanted], rel=1e-9)


def test_the_error_of_a_share_is_what_releases_show() -> None:
    """400 releases: the ratio of variances strays by 0.07; four times that is a 1 in 10,000."""
    plan = cv.calibrate(CHAIN, 3.0, every=4)
    shares = _shares(plan)
    assert shares is not None
    x = CHAIN.sample(2000, 400, np.random.default_rng(3))
    z = sanitize(x, plan.noise, rng=seeded(4))
    found = estimate.frequency(z, plan, by="series").value[:, 1]
    expected = shares.of(2000)
    assert expected is not None
    ratio = np.mean((found - x.mean(axis=1)) ** 2) / expected.error**2
    assert abs(ratio - 1) < 0.28
    # The interval counts silent points on the safe side.
    assert expected.half_width > 1.96 * expected.error


def test_without_silent_points_the_interval_is_that_of_planning() -> None:
    plan = cv.calibrate(CHAIN, 3.0, mechanism="sticky")
    shares = _shares(plan)
    assert shares is not None
    found = shares.of(50_000)
    assert found is not None
    wanted = 1.96 * estimate.error_at(plan, 50_000).largest
    assert found.half_width == pytest.approx(wanted, rel=1e-3)
    assert shares.of(shares.needed - 1) is None


def test_reports_that_mix_two_points_answer_neither_shares_nor_movements() -> None:
    told = figures(cv.calibrate(CHAIN, 4.0, mechanism="tracking"), _study())
    assert (told.share, told.by_series, told.transitions, told.sojourns) == (None,) * 4


def test_movements_are_those_of_planning_and_rare_reports_have_none() -> None:
    often = cv.calibrate(CHAIN, 4.0, mechanism="sticky")
    moves, spells = _movements(often, 12_000)
    assert moves is not None
    assert spells is not None
    assert moves.error == estimate.error_at(often, 12_000, "transitions").largest
    counts = estimate.error_at(often, 12_000, "durations")
    assert spells.error == float(np.max(counts.standard_error / counts.value))
    assert _movements(often, 30) == (None, None)
    rare = cv.calibrate(CHAIN, 4.0, every=4)
    assert _movements(rare, 12_000) == (None, None)


@pytest.mark.parametrize(("mechanism", "every"), [("independent", 1), ("sticky", 1), ("sticky", 3)])
def test_smoothing_is_as_wrong_as_enumeration_says(mechanism: str, every: int) -> None:
    """Seven points: all reports are enumerated; four standard errors, 1 in 15,000."""
    plan = cv.calibrate(CHAIN, 3.0, mechanism=mechanism, every=every)
    found = simulated.decoded(CHAIN, plan.noise, 7)
    right = [expected_success(CHAIN, plan.noise, 7, target).value for target in range(7)]
    assert abs(found.wrong - (1 - np.mean(right))) < 4 * found.error
    by_place = [np.mean(right[place::every]) for place in range(every)]
    assert abs(found.success - max(by_place)) < 4 * found.success_error


def test_no_attacker_is_better_than_the_bound() -> None:
    told = figures(cv.calibrate(CHAIN, 3.0, every=3), _study()).attacked
    assert told.guess < told.success < told.bound


def test_own_losses_are_those_of_the_series_own_chains() -> None:
    study = _study(count=4)
    plan = cv.calibrate(CHAIN, 2.0)
    own = [cv.MarkovChain.fit(runs[0], public=True) for runs in study.runs]
    losses = [cv.privacy_loss(chain, plan.noise).epsilon for chain in own]
    found = own_losses(plan, study)
    assert (found.worst, found.median) == (max(losses), np.median(losses))
    assert (found.looked, found.unknown) == (4, 0)


def test_a_series_without_a_chain_of_its_own_is_said_to_have_no_loss() -> None:
    study = _study(count=2)
    constant = (np.zeros(100, np.uint8),)
    found = own_losses(cv.calibrate(CHAIN, 2.0), replace(study, runs=(*study.runs, constant)))
    assert (found.looked, found.unknown) == (3, 1)


def test_of_many_series_the_slowest_and_the_quickest_are_looked_at() -> None:
    runs = [
        (cv.MarkovChain.symmetric(pace).sample(200, rng=1),) for pace in np.linspace(0.1, 0.9, 9)
    ]
    some = _some(runs[::-1], 3)
    assert len(some) == 3
    assert some[0] is runs[0]
    assert some[-1] is runs[-1]
