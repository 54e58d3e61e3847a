"""The paper's formulas against the general algorithm."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy import closed_form
from tests.oracle.enumeration import loss_of_every_adversary

TOLERANCE = 1e-4  # relative distance of the bounds on a loss
ROUNDING = 1e-12  # relative; of the formulas, which are evaluated in floats
NOISE = 2e-5  # wrong reports by which a plan may be above the least ones
BORDERS = 1e-5  # relative accuracy of the borders of noise levels


def _lazy_parameters(count: int, seed: int) -> list[tuple[float, float, float, float]]:
    rng = np.random.default_rng(seed)
    found: list[tuple[float, float, float, float]] = []
    while len(found) < count:
        q, r, rho0, rho1 = (float(x) for x in rng.uniform(0.001, 0.95, 4))
        if q + r < 0.999 and rho0 + rho1 < 0.999:
            found.append((q, r, rho0, rho1))
    return found


@pytest.mark.parametrize(("q", "r", "rho0", "rho1"), _lazy_parameters(40, 1))
def test_theorem_1_is_the_ignorant_loss(q: float, r: float, rho0: float, rho1: float) -> None:
    exact = cv.privacy_loss(
        cv.MarkovChain.binary(q, r), cv.Channel.binary(rho0, rho1), adversary="ignorant"
    )
    formula = max(closed_form.theorem1(q, r, rho0, rho1))
    assert exact.lower * (1 - ROUNDING) <= formula <= exact.epsilon * (1 + ROUNDING)
    assert exact.epsilon <= formula * (1 + TOLERANCE)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2.0, 10.0, 600.0])
@pytest.mark.parametrize(("q", "r"), [(0.1, 0.1), (0.0893, 0.1092), (0.6, 0.2), (1e-6, 1e-3)])
def test_least_ratio_inverts_theorem_1(q: float, r: float, epsilon: float) -> None:
    u = closed_form.least_ratio(q, r, epsilon)
    # Any noise levels with rho1 = u (1 - rho0) will do: the loss depends on u alone.
    for rho0 in (0.01, 0.3):
        rho1 = u * (1 - rho0)
        if rho0 + rho1 < 1 and rho1 > 0:
            assert closed_form._theorem1(q, r, rho0, rho1) == pytest.approx(epsilon, rel=1e-6)


def test_symmetric_noise_is_exact_and_corollary_2_is_loose() -> None:
    for theta in (0.05, 0.2, 0.35):
        for epsilon in (0.5, 1.0, 3.0):
            exact = closed_form.symmetric_noise(theta, epsilon)
            assert closed_form.corollary2(theta, exact) == pytest.approx(epsilon, rel=1e-10)
            loose = closed_form.corollary2_noise(theta, epsilon)
            assert loose > exact
            printed = _corollary_2_as_printed(theta, epsilon)
            assert loose == pytest.approx(printed, rel=1e-12)
    plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), 1.0, adversary="ignorant")
    least = closed_form.symmetric_noise(0.2, 1.0)
    assert least * (1 - ROUNDING) <= plan.expected_flips <= least + NOISE


def _corollary_2_as_printed(theta: float, epsilon: float) -> float:
    e = math.exp(epsilon)
    root = math.sqrt(theta**2 * e * (4 + theta * (theta * e - 4)))
    return (4 + theta * (theta * e - 2) - root) / (8 + 2 * theta * (theta * e + theta - 4))


def test_corollary_2_fails_too() -> None:
    chain = cv.MarkovChain.symmetric(0.1)
    for epsilon, true_loss in ((4, 4.03), (5, 5.54)):
        rho = closed_form.corollary2_noise(0.1, epsilon)
        found = cv.privacy_loss(chain, cv.Channel.binary(rho, rho)).epsilon
        assert round(found, 2) == true_loss


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_middle_is_most_exposed(n: int) -> None:
    chain, channel = cv.MarkovChain.binary(0.1, 0.3), cv.Channel.binary(0.3, 0.2)
    losses = loss_of_every_adversary(chain.start, chain.transition, channel.matrix, n)
    ignorant = [losses[i, frozenset()] for i in range(n)]
    best = max(ignorant)
    exposed = tuple(i for i in range(n) if math.isclose(ignorant[i], best, rel_tol=1e-12))
    assert exposed == closed_form.most_exposed(n)


def test_half_planes_match_calibration() -> None:
    for q, r in ((0.2, 0.35), (0.0893, 0.1092)):
        for epsilon in (0.5, 2.0):
            planes = closed_form.half_planes(q, r, epsilon)
            plan = cv.calibrate(cv.MarkovChain.binary(q, r), epsilon, adversary="ignorant")
            assert plan.half_planes is not None
            assert plan.half_planes.u == pytest.approx(planes.u, rel=BORDERS)
            assert plan.half_planes.w == pytest.approx(planes.w, rel=BORDERS)
            rho0, rho1 = planes.corner
            assert planes.contains(rho0 + 1e-12, rho1 + 1e-12)
            assert not planes.contains(rho0 - 1e-9, rho1 - 1e-9)


def test_outside_the_regime_is_an_error() -> None:
    with pytest.raises(cv.InvalidInput, match="q \\+ r"):
        closed_form.theorem1(0.7, 0.4, 0.1, 0.1)
    with pytest.raises(cv.InvalidInput, match="rho0 \\+ rho1"):
        closed_form.theorem1(0.1, 0.1, 0.7, 0.4)
    with pytest.raises(cv.InvalidInput, match="epsilon"):
        closed_form.least_ratio(0.1, 0.1, -1.0)
