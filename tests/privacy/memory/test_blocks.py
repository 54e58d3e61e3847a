"""The loss of reports on one point in several, from report to report: against the definition, the
engine that goes from point to point, and attacks weighed one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.inference import smoothed
from chainveil.privacy.memory import block_places
from chainveil.privacy.memory.block_loss import Blocks
from chainveil.privacy.memory.blocks import powers
from chainveil.privacy.memory.loss import Setting, loss
from chainveil.privacy.memory.witness import digits_of
from chainveil.privacy.problem import Problem, read_problem
from tests.oracle.memory import memory_loss
from tests.oracle.memory_attack import Attack, attack_loss
from tests.oracle.memory_cases import random_noise

N10 = cv.MarkovChain.binary(0.0893, 0.1092)


KINDS = ("sticky", "sticky", "independent")


def random_case(rng: np.random.Generator, kinds: tuple[str, ...] = KINDS) -> tuple[Any, Any]:
    """A chain, lazy or not, stationary or not, and noise on every second to fourth point."""
    q, r = rng.uniform(0.02, 0.98, 2)
    start = None if rng.random() < 0.5 else rng.dirichlet(np.ones(2))
    kind = str(rng.choice(kinds))
    noise = random_noise(rng, kind).thinned(int(rng.integers(2, 5)))
    return cv.MarkovChain([[1 - q, q], [r, 1 - r]], start), noise


@pytest.mark.parametrize("seed", range(4))
def test_loss_of_a_short_series_is_that_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng([seed, 90])
    for _ in range(40):
        chain, noise = random_case(rng)
        length = int(rng.integers(1, 8))
        event = int(rng.integers(1, min(4, length) + 1))
        adversary = str(rng.choice(["any", "any", "ignorant", "informed"]))
        gaps = noise.kind == "sticky" and length < 6 and bool(rng.random() < 0.3)
        problem = read_problem(chain, noise, length, adversary, event=event, gaps=gaps)
        assert block_places.solves(problem)
        found = loss(problem)
        expected = memory_loss(
            chain, [noise], length, event=event, adversary=adversary, gaps="any" if gaps else ()
        )
        assert found.epsilon == pytest.approx(max(expected, 0.0), abs=1e-9), problem
        assert 0 <= found.gap <= 1e-9, problem


@pytest.mark.parametrize("seed", range(2))
def test_two_releases_on_the_same_points(seed: int) -> None:
    rng = np.random.default_rng([seed, 91])
    for _ in range(10):
        chain, noise = random_case(rng)
        other = random_noise(rng, str(rng.choice(KINDS))).thinned(noise.every)
        releases, length = [noise, other], int(rng.integers(2, 6))
        problem = read_problem(chain, releases, length, "any")
        assert block_places.solves(problem)
        found = loss(problem)
        assert found.epsilon == pytest.approx(memory_loss(chain, releases, length), abs=1e-9)
        assert found.gap <= 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_every_length_is_attained_by_an_attack(seed: int) -> None:
    rng = np.random.default_rng([seed, 92])
    for _ in range(20):
        chain, noise = random_case(rng)
        event = int(rng.integers(1, 4))
        adversary = str(rng.choice(["any", "ignorant", "informed"]))
        found = loss(read_problem(chain, noise, None, adversary, event=event))
        assert 0 <= found.gap <= 1e-9
        short = loss(read_problem(chain, noise, 5, adversary, event=event))
        # With every other point known a longer series can tell less: an end tells too.
        assert short.epsilon <= found.epsilon + 1e-9
        witness: Any = found.witness
        assert adversary != "ignorant" or not witness.known


def test_the_attack_weighs_what_it_says() -> None:
    rng = np.random.default_rng(93)
    for _ in range(10):
        chain, noise = random_case(rng, ("independent", "sticky"))
        found = loss(read_problem(chain, noise, 9, "any", event=2))
        witness: Any = found.witness
        digits = [digits_of(int(z), (noise,))[0] for z in witness.output_array()]
        row = [None if digit == noise.outputs else digit for digit in digits]
        value, other = (
            tuple(int(bit) for bit in f"{number:02b}") for number in (witness.value, witness.other)
        )
        attack = Attack(witness.target, value, other, [row], dict(witness.known))
        weighed = float(attack_loss(chain, [noise], attack))
        assert weighed == pytest.approx(found.lower, abs=1e-12)


@pytest.mark.parametrize("every", [2, 5, 8])
@pytest.mark.parametrize("event", [1, 3])
@pytest.mark.parametrize("chain", [N10, cv.MarkovChain.binary(0.9, 0.7)])
def test_it_agrees_with_the_engine_from_point_to_point(
    every: int, event: int, chain: cv.MarkovChain
) -> None:
    sticky = cv.StickyNoise.binary([[0.15, 0.7], [0.3, 0.85]], [0.29, 0.68], every)
    for noise in (sticky, cv.Channel.binary(0.2, 0.3).thinned(every)):
        for adversary in ("any", "ignorant"):
            problem = read_problem(chain, noise, None, adversary, event=event)
            by_report, _ = Blocks.of(problem).worst()
            by_point = Setting.of(problem).worst_case().worst.log
            assert by_report == pytest.approx(by_point, rel=1e-11)


def test_sticky_noise_without_memory_is_independent() -> None:
    channel = cv.Channel.binary(0.25, 0.25)
    sticky = cv.StickyNoise(np.stack([channel.matrix] * 2), channel.matrix)
    losses = [cv.privacy_loss(N10, noise.thinned(5)).epsilon for noise in (sticky, channel)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-11)
    coin = cv.privacy_loss(N10, cv.Channel.binary(0.5, 0.5).thinned(3))
    assert coin.epsilon == coin.lower == 0.0


def test_reports_on_fewer_points_tell_less() -> None:
    sticky = cv.StickyNoise.binary([[0.15, 0.7], [0.3, 0.85]], [0.29, 0.68])
    losses = [cv.privacy_loss(N10, sticky.thinned(every)).epsilon for every in (1, 2, 4, 9)]
    assert losses == sorted(losses, reverse=True)


def test_rare_reports_of_slow_chains() -> None:
    noise = cv.StickyNoise.binary([[0.03, 0.06], [0.94, 0.97]], [0.4, 0.6]).thinned(5)
    found = cv.privacy_loss(cv.MarkovChain.symmetric(1e-3), noise)
    assert found.gap <= 1e-9
    short = cv.privacy_loss(cv.MarkovChain.symmetric(1e-3), noise, 60)
    assert short.epsilon < found.lower
    with pytest.raises(cv.NotSupported, match="forgets 1.0e-06"):
        cv.privacy_loss(cv.MarkovChain.symmetric(1e-7), noise)


@pytest.mark.parametrize("rate", [1e-17, 1e-300])
def test_chains_that_hardly_ever_change_are_refused(rate: float) -> None:
    """In doubles 1 - q is 1 for them, and families never agree."""
    with pytest.raises(cv.NotSupported, match="forgets 4.0e-"):
        cv.privacy_loss(cv.MarkovChain.binary(rate, rate), cv.Channel.binary(0.3, 0.2).thinned(2))


class Rare(cv.TrackingNoise):
    """Noise that looks at the point before and reports some points only, as no kind here does."""

    every = 3

    def thinned(self, every: int) -> cv.TrackingNoise:
        return self if every == 3 else cv.TrackingNoise(self.kernel, self.first, self.after_gap)


def test_noise_that_looks_at_points_before_reports_every_point() -> None:
    rare = Rare.binary([[[0.1, 0.3], [0.2, 0.4]], [[0.6, 0.8], [0.7, 0.9]]], [0.3, 0.6])
    assert not block_places.solves(Problem(N10, (rare,), None, "any"))
    with pytest.raises(cv.NotSupported, match="one point in 3"):
        loss(Problem(N10, (rare,), None, "any"))
    for asked in (lambda: cv.privacy_loss(N10, rare), lambda: smoothed(N10, rare, [0, 1, 1])):
        with pytest.raises(cv.NotSupported, match="independent or sticky noise"):
            asked()


def test_powers_are_rounded_once() -> None:
    q, r = 0.001, 0.0005
    found = powers(q, r, 400)
    step = np.array([[1 - q, q], [r, 1 - r]], np.longdouble)
    power = np.eye(2, dtype=np.longdouble)
    for exponent in range(401):
        np.testing.assert_allclose(found[exponent], power.astype(float), rtol=1e-13)
        power = power @ step
    np.testing.assert_allclose(powers(0.9, 0.8, 3)[3], [[0.289, 0.711], [0.632, 0.368]])
