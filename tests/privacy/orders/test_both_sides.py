"""Words on both sides of a target: what they attain, what they bound, and how far they go."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import chainveil as cv
from chainveil.model.higher_order import HigherOrderChain
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.orders import around
from chainveil.privacy.orders.both_sides import BothSides
from chainveil.privacy.orders.graph import make_tables
from chainveil.privacy.orders.loss import loss
from chainveil.privacy.orders.numbers import Alphabet, read_numbers
from chainveil.privacy.orders.witness import OrderWitness
from chainveil.privacy.problem import Effort, read_problem
from tests.oracle.letters import letters_loss
from tests.privacy.orders.test_loss import CHAIN, NOISE

STICKY = StickyNoise.response(0.3, NOISE.on_grid(), cv.Channel.binary(0.35, 0.4).on_grid())
# A heart rate, 1 above its mean: Pr[1] behind the last three and four values.
THREE = [0.2919, 0.5510, 0.0287, 0.3713, 0.2538, 0.8095, 0.1551, 0.7925]
FOUR = [
    0.1901, 0.4819, 0.0220, 0.3230, 0.1121, 0.7000, 0.0812, 0.5198,
    0.5388, 0.7540, 0.1667, 0.6618, 0.3730, 0.8243, 0.2806, 0.8639,
]  # fmt: skip
HEART_NOISE = cv.Channel.binary(0.29385, 0.25238)


def _heart(ones: list[float], order: int) -> HigherOrderChain:
    return HigherOrderChain([[1 - one, one] for one in ones], order=order)


def _words(noise: object, points: int | None, adversary: str = "any") -> BothSides:
    numbers = read_numbers(CHAIN, noise)  # type: ignore[arg-type]
    alphabet = Alphabet(numbers, adversary)
    return BothSides(alphabet, make_tables(numbers, alphabet), points)


@pytest.mark.parametrize("noise", [NOISE, STICKY], ids=["channel", "sticky"])
@pytest.mark.parametrize("adversary", ["any", "ignorant"])
@pytest.mark.parametrize("points", [1, 2, 5])
def test_all_words_of_short_series_are_looked_at(
    noise: object, adversary: str, points: int
) -> None:
    truth = letters_loss(CHAIN, noise, points, adversary)
    upper, attained, word = _words(noise, points, adversary).bound(0.0, 1e-9, 10**6)
    assert upper == pytest.approx(truth, abs=2e-9)
    assert truth <= upper
    assert attained == pytest.approx(truth, abs=2e-9)
    assert word is not None
    attack = OrderWitness(len(word.reports), word.target, word.known, *word.pair, word.reports)
    assert attack.replay(CHAIN, noise) == pytest.approx(attained, abs=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [NOISE, STICKY], ids=["channel", "sticky"])
def test_what_a_beam_attains_is_attained(noise: object) -> None:
    value, word = _words(noise, None).attack()
    assert word is not None
    attack = OrderWitness(len(word.reports), word.target, word.known, *word.pair, word.reports)
    assert attack.replay(CHAIN, noise) == pytest.approx(value, abs=1e-9)  # type: ignore[arg-type]
    short = letters_loss(CHAIN, noise, 5, "any")
    assert value > short


def test_too_few_words_give_no_bound() -> None:
    words = _words(NOISE, None)
    upper, _, _ = words.bound(0.0, 1e-3, 50)
    assert upper == np.inf
    assert 50 <= words.looked < 60


def test_order_three_of_a_heart_rate() -> None:
    found = loss(read_problem(_heart(THREE, 3), HEART_NOISE, None, "any", Effort(0.05)))
    assert found.gap <= 0.05
    assert 4.59 <= found.lower <= 4.61


@pytest.mark.slow
def test_order_four_of_a_heart_rate_to_one_per_cent() -> None:
    found = loss(read_problem(_heart(FOUR, 4), HEART_NOISE, None, "any", Effort(0.06)))
    assert found.gap <= 0.01 * found.lower
    assert 6.18 <= found.lower <= 6.21


def test_strong_noise_on_order_three_leaves_little_open() -> None:
    # Words of 80 points on either side count. Bounds by the values up to the next point, not by the
    # next ones, would take ten times the work.
    noise = cv.Channel.binary(0.4, 0.4)
    found = loss(read_problem(_heart(THREE, 3), noise, None, "any", Effort(0.21, 10_000)))
    assert found.gap <= 0.21
    assert 2.06 <= found.lower <= 2.07


def test_a_series_that_begins_near_its_target_may_be_long_behind_it() -> None:
    # The first report follows a law of its own: to begin there is a way of its own to go on.
    tables, begun = _words(STICKY, None).tables, _words(STICKY, None)._begin
    right, _, _, _ = around.grown(tables, begun, 0, False)
    left, _, _, _ = around.grown(tables, right, 1, False)
    ended = left.at(left.state[:, around.LEFT] == around.ENDED)
    assert len(ended.table)
    more, _, _, _ = around.grown(tables, ended, 2, False)
    assert (more.state[:, around.POINTS] > ended.state[:, around.POINTS].min()).any()
    independent, first = _words(NOISE, None).tables, _words(NOISE, None)._begin
    assert not (around.grown(independent, first, 1, False)[0].state == around.ENDED).any()


def test_without_a_limit_on_seconds_the_clock_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = read_problem(_heart(THREE, 3), HEART_NOISE, None, "any", Effort(1e-3, 1000))
    found = loss(problem)
    assert found.gap > 1e-3
    clock = itertools.count(0.0, 1e6)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert loss(problem) == found
