"""The loss of noise with labels against the definition, against 60 digits, and against itself."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.odds.loss import LONG
from chainveil.privacy.odds.loss import loss as engine
from chainveil.privacy.problem import read_problem
from tests.batches import batches
from tests.oracle.memory import memory_loss
from tests.oracle.memory_attack import Attack, attack_loss
from tests.oracle.memory_cases import KINDS, random_chain, random_noise

N10 = cv.MarkovChain.binary(0.0893, 0.1092)
STICKY = cv.StickyNoise.binary([[0.1, 0.45], [0.55, 0.9]], [0.4, 0.6])
CLOSE = 4e-3  # relative distance of the bounds on slow chains


def computed(chain: Any, releases: Any, length: int | None = None, **asked: Any) -> Any:
    """The loss by the solver of two states."""
    adversary = asked.pop("adversary", "any")
    return engine(read_problem(chain, releases, length, adversary, **asked))


def random_question(rng: np.random.Generator) -> tuple[Any, list[Any], int, dict[str, Any]]:
    zeros = float(rng.choice([0.0, 0.0, 0.1]))
    length = int(rng.integers(1, 6))
    count = 2 if length <= 3 and rng.random() < 0.2 else 1
    outputs = 3 if length <= 4 and count == 1 and rng.random() < 0.4 else 2
    releases = [random_noise(rng, str(rng.choice(KINDS)), 2, outputs, zeros) for _ in range(count)]
    unit = int(rng.integers(1, min(3, length) + 1))
    adversary: Any = rng.choice(["any", "any", "any", "ignorant", "informed", "named"])
    if adversary == "named":
        begin = int(rng.integers(0, length - unit + 1))
        others = [point for point in range(length) if not begin <= point < begin + unit]
        adversary = cv.Adversary(begin, [point for point in others if rng.random() < 0.4])
    # Beneath missing points a noise chain runs on, which the engine bounds and does not follow.
    gaps = bool(rng.random() < 0.4) and all(noise.kind != "correlated" for noise in releases)
    asked = {"adversary": adversary, "unit": unit, "gaps": gaps}
    return random_chain(rng, 2, zeros), releases, length, asked


@pytest.mark.parametrize("seed", batches(12, 4))
def test_loss_is_that_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        chain, releases, length, asked = random_question(rng)
        found = computed(chain, releases, length, **asked)
        expected = memory_loss(
            chain, releases, length, unit=asked["unit"], adversary=asked["adversary"],
            gaps="any" if asked["gaps"] else (),
        )  # fmt: skip
        expected = max(expected, 0.0)
        assert found.epsilon == pytest.approx(expected, abs=1e-9, rel=1e-9), (
            chain,
            releases,
            length,
            asked,
        )
        assert found.lower <= found.epsilon
        if math.isfinite(expected):
            assert found.gap <= 1e-8 * max(1.0, expected), (chain, releases, length, asked)


def extreme(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Any:
    """Probabilities over nine orders of magnitude, close to 0 or to 1."""
    small = 10.0 ** rng.uniform(-9, -0.31, shape)
    return np.where(rng.random(shape) < 0.5, small, 1 - small)


def in_sixty_digits(chain: Any, noise: Any) -> float:
    """The loss of two points: every target, known value and output, in balls of 300 bits."""
    worst = 0.0
    for target, outputs in itertools.product(range(2), itertools.product(range(2), repeat=2)):
        for known in ({}, {1 - target: 0}, {1 - target: 1}):
            attack = Attack(target, (0,), (1,), [outputs], known)
            ratio = abs(attack_loss(chain, [noise], attack))
            worst = max(worst, float(ratio.lower()))
    return worst


def never_below(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(count):
        chain = cv.MarkovChain.binary(*extreme(rng, (2,)))
        first = extreme(rng, (2,))
        if number % 2:
            noise: Any = cv.StickyNoise.binary(extreme(rng, (2, 2)), first)
        else:
            noise = cv.TrackingNoise.binary(extreme(rng, (2, 2, 2)), first)
        noise = noise.on_grid()
        true = in_sixty_digits(chain, noise)
        found = computed(chain, noise, 2).epsilon
        assert true <= found <= true + 1e-9 * max(1.0, true)


def test_loss_is_not_below_sixty_digits() -> None:
    never_below(1, 60)


@pytest.mark.slow
def test_loss_is_not_below_sixty_digits_at_length() -> None:
    never_below(2, 2000)


def test_longer_series_lose_more_up_to_the_loss_of_every_length() -> None:
    losses = [
        cv.privacy_loss(N10, STICKY, length=n).epsilon
        for n in (1, 2, 3, 5, 8, 20, 100, 5000, 10**9)
    ]
    everywhere = cv.privacy_loss(N10, STICKY).epsilon
    assert all(after >= before - 1e-9 for before, after in itertools.pairwise(losses))
    assert losses[-1] == pytest.approx(everywhere, abs=1e-9)
    assert max(losses) <= everywhere + 1e-9


def test_an_attack_can_be_replayed() -> None:
    for asked in ({}, {"unit": 4}, {"gaps": True}):
        loss = cv.privacy_loss(N10, STICKY.thinned(3), **asked)
        assert loss.witness is not None
        assert loss.witness.replay(N10, STICKY.thinned(3), "gaps" in asked) == loss.lower
        assert loss.gap <= 1e-8


def slow_noise(rng: np.random.Generator, pace: float) -> Any:
    """Sticky noise whose reports change as rarely as a slow chain does."""
    low, high = np.sort(rng.uniform(0.2, 2.0, 2)) * pace
    return cv.StickyNoise.binary([[low, high], [1 - high, 1 - low]], [0.4, 0.6])


@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_steps_come_to_where_single_steps_come(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pace = 10.0 ** rng.uniform(-3.3, -2.2)
    chain = cv.MarkovChain.binary(*(pace * rng.uniform(0.3, 1.0, 2)))
    noise = slow_noise(rng, pace)
    every = computed(chain, noise)
    # Series of a given length are stepped point by point.
    long = computed(chain, noise, LONG)
    assert every.epsilon == pytest.approx(long.epsilon, rel=1e-4)
    assert every.epsilon >= long.lower - 1e-9
    assert every.gap <= 1e-4 * every.epsilon


def test_a_chain_that_changes_once_in_a_million_points() -> None:
    chain = cv.MarkovChain.symmetric(1e-6)
    loss = cv.privacy_loss(chain, slow_noise(np.random.default_rng(3), 1e-6))
    assert loss.gap <= CLOSE * loss.epsilon
    assert loss.witness is not None
    assert loss.witness.length > 1_000_000


@pytest.mark.parametrize("pace", [1e-3, 1e-5, 1e-6])
def test_slow_chains_whose_worst_reports_turn_at_every_point(pace: float) -> None:
    """Where one value is rarer than the other, staying and turning compete for long."""
    plan = cv.calibrate(cv.MarkovChain.binary(pace, 2 * pace), 2.0, mechanism="sticky")
    assert 0.99 * 2.0 <= plan.loss.epsilon <= 2.0
    assert plan.loss.gap <= CLOSE * 2.0
    assert plan.expected_flips == pytest.approx(0.3143, abs=5e-4)


def test_reports_that_say_nothing_lose_nothing() -> None:
    silent = cv.StickyNoise.binary([[0.2, 0.2], [0.9, 0.9]], [0.5, 0.5])
    assert cv.privacy_loss(N10, silent).epsilon == 0.0


@pytest.mark.parametrize("noise", [STICKY, STICKY.thinned(2)], ids=["all", "thinned"])
def test_the_loss_of_a_box_covers_its_chains(noise: Any) -> None:
    box = cv.ChainRegion((0.085, 0.095), (0.1, 0.115))
    loss = cv.privacy_loss(box, noise)
    assert loss.gap <= 1e-4 * loss.epsilon
    rng = np.random.default_rng(5)
    for _ in range(20):
        chain = cv.MarkovChain.binary(rng.uniform(*box.q), rng.uniform(*box.r))
        assert cv.privacy_loss(chain, noise).lower <= loss.epsilon


def test_what_is_not_offered_is_said() -> None:
    with pytest.raises(cv.NotSupported, match="count fewer releases"):
        cv.privacy_loss(N10, [STICKY] * 9)
    with pytest.raises(cv.InvalidInput, match="unit"):
        cv.privacy_loss(N10, STICKY, length=3, unit=4)
