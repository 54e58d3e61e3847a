"""How often to report with k states: within budget, and never worse than on every point."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.base import Noise
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.letters.loss import Closing
from chainveil.privacy.problem import Effort, read_problem

# Three states that mostly stay, and three that hardly depend on each other.
STAYING = cv.MarkovChain(np.full((3, 3), 0.1) + 0.7 * np.eye(3))
HASTY = cv.MarkovChain([[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.25, 0.35, 0.4]])
# Of the four levels in docs/finite-states.md.
LEVELS = cv.MarkovChain(
    [[0.95, 0.04, 0.01, 0.0], [0.06, 0.88, 0.05, 0.01], [0.01, 0.1, 0.84, 0.05],
     [0.0, 0.02, 0.1, 0.88]]
)  # fmt: skip
FAMILIES: list[dict[str, Any]] = [
    {}, {"shape": "ordinal"}, {"shape": "per-state"}, {"mechanism": "sticky"},
]  # fmt: skip


def test_the_best_rhythm_is_at_least_as_good_as_those_around_it() -> None:
    best = cv.calibrate(STAYING, 2.0, every="auto")
    assert best.loss.epsilon <= 2
    assert best.noise.every > 1
    for every in (1, best.noise.every - 1, best.noise.every + 1):
        other = cv.calibrate(STAYING, 2.0, every=every)
        assert best.expected_flips <= other.expected_flips * (1 + 2e-3)


@pytest.mark.parametrize("asked", FAMILIES)
@pytest.mark.parametrize("chain", [HASTY, pytest.param(STAYING, marks=pytest.mark.slow)])
def test_no_rhythm_is_worse_than_reports_on_every_point(
    chain: cv.MarkovChain, asked: dict[str, Any]
) -> None:
    best = cv.calibrate(chain, 2.0, every="auto", **asked)
    plain = cv.calibrate(chain, 2.0, **asked)
    assert best.loss.epsilon <= 2
    assert best.expected_flips <= plain.expected_flips * (1 + 1e-9)
    assert best.expected_flips == best.noise.expected_flips(chain)


def test_a_rhythm_is_no_longer_than_the_series() -> None:
    plan = cv.calibrate(STAYING, 1.0, max_length=3, every="auto")
    assert plan.noise.every <= 3
    assert plan.loss.epsilon <= 1


@pytest.mark.slow
def test_slow_levels_gain_most_from_silent_points() -> None:
    # 72.7 % of the points are wrong with reports on every point, 45.2 % with one in 26.
    plan = cv.calibrate(LEVELS, 4.0, every="auto")
    assert plan.expected_flips <= 0.455
    again = cv.privacy_loss(LEVELS, plan.noise)
    assert again.epsilon <= 4 * (1 + 1e-3)
    assert again.lower >= 4 * (1 - 1e-3)


THINNED = cv.Channel.randomized_response(3, 0.4).thinned(3)
STICKY = cv.StickyNoise.response(
    0.6, cv.Channel.randomized_response(3, 0.4), cv.Channel.randomized_response(3, 0.5), 3
)


@pytest.mark.parametrize("noise", [THINNED, STICKY])
def test_attacks_alone_are_attained_and_bounds_go_on_from_them(noise: Noise) -> None:
    closing = Closing(read_problem(STAYING, noise, None, "any"))
    quick = closing.to(replace(Effort(1e-3), attacks_only=True))
    assert quick.witness is not None
    assert quick.witness.replay(STAYING, noise) == quick.lower
    # Silent points were not looked at, so that there is no bound.
    assert quick.epsilon == math.inf
    full = closing.to(Effort(1e-3))
    assert quick.lower <= full.lower <= full.epsilon <= quick.lower + 1e-2


@pytest.mark.parametrize("noise", [THINNED, STICKY])
def test_attacks_of_all_lengths_are_weighed_together(noise: Noise) -> None:
    attacks, found = Attacks(STAYING, ()), []
    for length in (2, 9, 4, 30):
        loss = cv.privacy_loss(STAYING, noise, length=length)
        attacks.add(loss.witness, noise)
        found.append(loss.lower)
    assert len(attacks) == 4
    assert attacks.values([noise, noise])[:, 1] == pytest.approx(found, abs=1e-9)
