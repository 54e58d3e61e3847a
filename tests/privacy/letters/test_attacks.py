"""Attacks read back into letters, sought in blocks of points, and weighed in blocks they share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.bounds import Attack, attack_on
from chainveil.privacy.letters.attack import in_letters
from chainveil.privacy.letters.attacks import Attacks, Blocks, Points
from chainveil.privacy.letters.coarse import Coarse, points_of_a_block
from chainveil.privacy.letters.loss import Closing
from chainveil.privacy.letters.numbers import read_numbers
from chainveil.privacy.letters.priors import Priors
from chainveil.privacy.letters.sides import Script
from chainveil.privacy.problem import Effort, Problem
from tests.machines import LEVELS, THREE

PLAIN = cv.Channel.randomized_response(4, 0.735)
REPEATING = StickyNoise.response(0.4, PLAIN, PLAIN)
NOISES: dict[str, Noise] = {"channel": PLAIN, "sticky": REPEATING}


def _closing(noise: Noise) -> Closing:
    return Closing(Problem(LEVELS, (noise,), None, "any"))


@pytest.mark.parametrize("name", NOISES)
def test_attack_read_back_is_worth_the_same(name: str) -> None:
    """The words of an attack, laid out again, are worth what its replay is, or more."""
    noise = NOISES[name]
    found = _closing(noise).to(Effort(0.02, 60_000, attacks_only=True))
    assert found.witness is not None
    again = _closing(noise)
    again.begin_with(found.witness)
    search = again._search
    best = search.best
    assert best is not None
    assert best.pair == (*found.witness.value, *found.witness.other)
    assert best.lower >= found.lower - 1e-9
    assert found.lower <= again.to(Effort(0.02, 1)).lower + 1e-12


@pytest.mark.parametrize("name", NOISES)
def test_attack_read_back_has_its_reports(name: str) -> None:
    noise = NOISES[name]
    found = _closing(noise).to(Effort(0.02, 60_000, attacks_only=True))
    attack = found.witness
    assert attack is not None
    script = Script(read_numbers(LEVELS, (noise,)), (noise,), False)
    spelled = in_letters(script, (script.spelling(True), script.spelling(False)), attack)
    assert spelled is not None
    label, words = spelled
    output, target = attack.output(), attack.target
    read = []
    for is_left, word in zip((True, False), words, strict=True):
        letters, at, reports = script.spelling(is_left).letters, label, []
        for number in word:
            letter = letters[0, at][number]
            reports.append(letter.reports[0])
            at = letter.following
        read.append(reports)
    before, behind = read
    assert before[::-1] == output[target - len(before) + 1 : target + 1]
    assert behind == output[target + 1 : target + 1 + len(behind)]


def test_thinned_attacks_are_not_read_back() -> None:
    thinned = PLAIN.thinned(3)
    script = Script(read_numbers(LEVELS, (thinned,)), (thinned,), False)
    spellings = script.spelling(True), script.spelling(False)
    assert in_letters(script, spellings, attack_on(0, (0, 1), {}, [0, 0, 0])) is None


def test_blocks_of_equal_points_are_one() -> None:
    """64 points alike are one block; 64 of two kinds in turn take two kinds and one block more."""
    one, two = Points(1, 0, 0, (0, 1)), Points(1, 1, 1, (0, 1))
    blocks = Blocks()
    assert blocks.repeated(one, 64) == (6, 0)
    assert [len(some) for some in blocks.of] == [1] * 7
    assert blocks.repeated(one, 64) == (6, 0)
    in_turn = [blocks.repeated(point, 1) for point in [one, two] * 32]
    assert blocks.joined(in_turn) == (6, 1)
    assert [len(some) for some in blocks.of] == [2] * 7
    assert blocks.pairs(6).tolist() == [[[5, 0], [5, 0]], [[5, 1], [5, 1]]]


@pytest.mark.parametrize("name", NOISES)
def test_gain_in_blocks_is_that_of_the_replay(name: str) -> None:
    """Runs, reports in turn, known points and a target at either end, for several noises."""
    rng = np.random.default_rng(5)
    noise = NOISES[name]
    others = [PLAIN, cv.Channel.randomized_response(4, 0.6), cv.Channel.ordinal(4, 0.3)]
    if isinstance(noise, StickyNoise):
        others = [StickyNoise.response(0.3, one, one) for one in others]  # type: ignore[misc]
    attacks, made = Attacks(LEVELS, ()), []
    for seed in range(12):
        found = _closing(noise).to(Effort(0.5, 400 * (seed + 1), attacks_only=True))
        if found.witness is not None and found.witness not in made:
            made.append(found.witness)
            attacks.add(found.witness, noise)
    if not isinstance(noise, StickyNoise):
        for _ in range(12):
            symbols = np.repeat(rng.integers(0, 4, 30), rng.integers(1, 9, 30)).tolist()
            target = int(rng.integers(len(symbols)))
            # So far apart that all values are possible.
            places = [place for place in (target - 7, target + 4) if 0 <= place < len(symbols)]
            known = {place: int(rng.integers(4)) for place in places}
            made.append(attack_on(target, (0, 3), known, symbols))
            attacks.add(made[-1], noise)
    assert len(attacks) == len(made) > 0
    gained = attacks.values(others)
    for attack, row in zip(made, gained, strict=True):
        for one, value in zip(others, row, strict=True):
            expected = attack.replay(LEVELS, one)
            assert value == pytest.approx(expected, abs=1e-9)


def test_replay_of_runs_is_that_of_points() -> None:
    """Powers of a matrix and point by point, in floats."""
    rng = np.random.default_rng(11)
    for case in range(40):
        n = int(rng.integers(1, 12))
        symbols = np.repeat(rng.integers(0, 3, n), rng.integers(1, 5, n)).tolist()
        target = int(rng.integers(len(symbols)))
        known = {int(place): int(rng.integers(3)) for place in rng.integers(0, len(symbols), 2)}
        known.pop(target, None)
        start = rng.dirichlet(np.ones(3)) if case % 2 else None
        chain = cv.MarkovChain(THREE.transition, start)
        channel = cv.Channel.ordinal(3, 0.4)
        attack = attack_on(target, (0, 2), known, symbols)
        seen, prior = (_log_odds(attack, chain, law) for law in (channel.matrix, np.ones((3, 3))))
        assert attack.replay(chain, channel) == pytest.approx(seen - prior, abs=1e-9)


def _log_odds(attack: Attack, chain: cv.MarkovChain, law: Any) -> float:
    """Of the two values of the target, by the plain recursion."""
    rows = np.tile(chain.start if chain.initial is None else chain.initial, (2, 1))
    for index, symbol in enumerate(attack.output()):
        rows = (rows if index == 0 else rows @ chain.transition) * law[:, symbol]
        for line, value in enumerate((*attack.value, *attack.other)):
            kept = value if index == attack.target else attack.known.get(index)
            if kept is not None:
                rows[line] = np.where(np.arange(3) == kept, rows[line], 0.0)
    one, other = rows.sum(axis=1)
    return math.log(one) - math.log(other)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("is_left", [True, False])
def test_blocks_of_a_side_are_written_out(name: str, is_left: bool) -> None:
    """A block weighs what its letters weigh together, and leads where they lead."""
    noise = NOISES[name]
    numbers = read_numbers(LEVELS, (noise,))
    spelling = Script(numbers, (noise,), False).spelling(is_left)
    coarse = Coarse(spelling, numbers, 4)
    for label in range(spelling.labels):
        for number, block in enumerate(coarse.cones.spelling.letters[0, label]):
            word, at, weight = coarse.written_out([number], label), label, np.ones(4)
            assert len(word) == 4
            for letter in word:
                found = spelling.letters[0, at][letter]
                weight, at = weight * found.weight, found.following
            assert at == block.following
            assert weight == pytest.approx(block.weight, rel=1e-12)


def test_points_of_a_block() -> None:
    """One where a chain forgets at once, more where it takes long."""
    quick = cv.MarkovChain(np.full((3, 3), 1 / 3))
    noise = cv.Channel.ordinal(3, 0.4)
    assert points_of_a_block(read_numbers(quick, (noise,))) == 1
    assert points_of_a_block(read_numbers(LEVELS, (PLAIN,))) == 8


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("stationary", [True, False])
def test_powers_of_the_chain(is_left: bool, stationary: bool) -> None:
    """By doubling, as step by step, within the rounding that is allowed for."""
    chain = LEVELS if stationary else cv.MarkovChain(LEVELS.transition, [0.7, 0.1, 0.1, 0.1])
    numbers = read_numbers(chain, (PLAIN,))
    priors = Priors(numbers, is_left)
    priors.upto(3)
    rows, starts = priors.upto(100)
    step = numbers.transition.T if is_left else numbers.transition
    row, start = np.eye(4) if is_left else step, numbers.start
    for depth in range(100):
        assert rows[depth] == pytest.approx(row, rel=1e-13, abs=1e-300)
        assert starts[depth] == pytest.approx(start, rel=1e-13)
        row = row @ step
        start = start if stationary else start @ numbers.transition


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize(("target", "known"), [(2, [0, 1]), (4, [3])])
def test_noise_that_never_repeats_its_report_has_an_attack(
    every: int, target: int, known: list[int]
) -> None:
    # Before the known point the attack said the report of that point all the time: it could not be.
    answer = cv.Channel.randomized_response(3, 0.5).matrix
    kernel = answer * (1 - np.eye(3))[:, None, :]
    noise = StickyNoise(kernel / kernel.sum(axis=2, keepdims=True), answer, every)
    chain = cv.MarkovChain([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])
    loss = cv.privacy_loss(chain, noise, length=5, adversary=cv.Adversary(target, known))
    assert loss.witness is not None
    assert loss.lower == loss.witness.replay(chain, noise)
    assert 0.6 < loss.epsilon < loss.lower + 1e-6
