"""The oracle of noise with memory against attacks weighed one by one, and against the engines."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import chain as joined
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.memory import StickyNoise, TrackingNoise
from tests.oracle.memory import memory_loss, report_law
from tests.oracle.memory_attack import Attack, attack_loss
from tests.oracle.memory_cases import KINDS, random_chain, random_noise


def _outputs(noise: Any, n: int, gaps: Collection[int]) -> Iterator[list[int | None]]:
    places = [t for t in noise.places(n).tolist() if t not in gaps]
    for found in product(range(noise.outputs), repeat=len(places)):
        told = dict(zip(places, found, strict=True))
        yield [told.get(t) for t in range(n)]


def _attacks(
    states: int, releases: Sequence[Any], n: int, unit: int, gaps: Collection[int]
) -> Iterator[Attack]:
    """Every attack there is."""
    reports = list(product(*(_outputs(noise, n, gaps) for noise in releases)))
    for start in range(n - unit + 1):
        rest = [t for t in range(n) if not start <= t < start + unit]
        sets = joined.from_iterable(combinations(rest, size) for size in range(len(rest) + 1))
        for points in sets:
            for values in product(range(states), repeat=len(points)):
                known = dict(zip(points, values, strict=True))
                for a, b in permutations(product(range(states), repeat=unit), 2):
                    yield from (Attack(start, a, b, row, known, gaps) for row in reports)


def _worst(chain: cv.MarkovChain, releases: Sequence[Any], attacks: Iterator[Attack]) -> float:
    worst = 0.0
    for attack in attacks:
        try:
            worst = max(worst, float(attack_loss(chain, releases, attack)))
        except ValueError:  # no such pair of values, or no such output
            continue
    return worst


def _close(value: float) -> Any:
    return math.inf if math.isinf(value) else pytest.approx(value, rel=1e-12, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gaps", [(), (1,), (0,)])
def test_every_attack_one_by_one(kind: str, gaps: tuple[int, ...]) -> None:
    rng = np.random.default_rng([KINDS.index(kind), *gaps, 77])
    for zeros in (0.0, 0.3):
        chain, noise = random_chain(rng, zeros=zeros), random_noise(rng, kind, zeros=zeros)
        expected = _worst(chain, [noise], _attacks(2, [noise], 3, 1, gaps))
        assert memory_loss(chain, [noise], 3, gaps=gaps) == _close(expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_events_gaps_and_two_releases(kind: str) -> None:
    rng = np.random.default_rng([KINDS.index(kind), 78])
    for unit, gaps, other in [(2, (1,), None), (2, (), None), (1, (1,), "tracking")]:
        chain = random_chain(rng)
        n = 4 if other is None else 3
        releases = [random_noise(rng, name) for name in (kind, other) if name]
        expected = _worst(chain, releases, _attacks(2, releases, n, unit, gaps))
        assert memory_loss(chain, releases, n, unit=unit, gaps=gaps) == _close(expected)


@pytest.mark.parametrize("kind", ["independent", "sticky", "tracking"])
def test_three_states_and_three_reports(kind: str) -> None:
    rng = np.random.default_rng([KINDS.index(kind), 79])
    chain, noise = random_chain(rng, 3), random_noise(rng, kind, 3, 3)
    expected = _worst(chain, [noise], _attacks(3, [noise], 2, 1, ()))
    assert memory_loss(chain, [noise], 2) == _close(expected)


@pytest.mark.parametrize("adversary", ["any", "ignorant", "informed", cv.Adversary(1, [3])])
@pytest.mark.parametrize("kind", ["independent", "correlated"])
def test_the_engines_that_there_are(kind: str, adversary: Any) -> None:
    rng = np.random.default_rng([KINDS.index(kind), 80])
    for n in (4, 5):
        chain = cv.MarkovChain.binary(*rng.uniform(0.02, 0.98, 2))
        noise = random_noise(rng, kind).thinned(1)
        found = cv.privacy_loss(chain, noise, length=n, adversary=adversary).epsilon
        assert memory_loss(chain, [noise], n, adversary=adversary) == pytest.approx(found, rel=1e-9)


def test_any_gaps_are_the_worst_of_all_gaps() -> None:
    rng = np.random.default_rng(81)
    chain, noise = random_chain(rng), random_noise(rng, "tracking")
    sets = [found for size in range(4) for found in combinations(range(3), size)]
    losses = [memory_loss(chain, [noise], 3, gaps=found) for found in sets]
    assert memory_loss(chain, [noise], 3, gaps="any") == max(losses)
    assert memory_loss(chain, [noise], 3, gaps=(0, 1, 2)) == 0.0


def test_noise_with_memory_that_does_not_use_it_is_independent() -> None:
    rng = np.random.default_rng(82)
    chain, channel = random_chain(rng), cv.Channel.binary(0.2, 0.3)
    first, every = channel.matrix, 2
    sticky = StickyNoise(np.stack([first, first]), first, every)
    expected = memory_loss(chain, [channel.thinned(every)], 5, gaps=(3,))
    assert memory_loss(chain, [sticky], 5, gaps=(3,)) == pytest.approx(expected, rel=1e-12)


def test_the_noise_chain_is_tracking_but_runs_on_beneath_gaps() -> None:
    chain, flips = cv.MarkovChain.binary(0.2, 0.1), cv.CorrelatedNoise(0.1, 0.3)
    kernel = TrackingNoise(flips.step_law(), flips.first_law())
    expected = memory_loss(chain, [flips], 4)
    assert memory_loss(chain, [kernel], 4) == pytest.approx(expected, rel=1e-12)
    held, beneath = (memory_loss(chain, [noise], 4, gaps=(1,)) for noise in (kernel, flips))
    assert held != pytest.approx(beneath, rel=1e-3)


def test_silent_points_are_secret_too() -> None:
    chain, channel = cv.MarkovChain.binary(0.01, 0.02), cv.Channel.binary(0.1, 0.1).thinned(3)
    assert channel.places(3).tolist() == [1]
    own = memory_loss(chain, [channel], 3, adversary=cv.Adversary(1))
    silent = memory_loss(chain, [channel], 3, adversary=cv.Adversary(0))
    assert 0.5 * own < silent < own


def test_laws_of_reports_sum_to_one() -> None:
    rng = np.random.default_rng(83)
    series = np.array(list(product(range(2), repeat=5)))
    for kind in KINDS:
        law = report_law(random_noise(rng, kind), series, {1, 3})
        np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)


def test_impossible_values_are_not_compared_and_impossible_outputs_are_told() -> None:
    chain = cv.MarkovChain([[0.5, 0.5], [1.0, 0.0]], [1.0, 0.0])
    plain = cv.Channel.binary(0.3, 0.3)
    # The first point is 0 for sure: its own report tells nothing about it.
    assert memory_loss(chain, [plain], 1) == 0.0
    assert memory_loss(chain, [cv.Channel.binary(0.0, 0.3)], 1) == 0.0
    assert memory_loss(chain, [cv.Channel.binary(0.0, 0.3)], 2) == math.inf
    assert memory_loss(chain, [plain], 2) == pytest.approx(math.log(0.7 / 0.3))
    attack = Attack(1, (1,), (0,), [[1, 1]])
    assert float(attack_loss(chain, [plain], attack)) == pytest.approx(math.log(0.7 / 0.3))
    told = attack_loss(chain, [cv.Channel.binary(0.0, 0.3)], Attack(1, (1,), (0,), [[0, 1]]))
    assert float(told) == math.inf
    with pytest.raises(ValueError, match="together with the known"):
        attack_loss(chain, [plain], Attack(0, (1,), (0,), [[1, 1]]))
