"""Narrowed cones against all that follows words of a few letters, and against long words."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import chainveil as cv
from chainveil.privacy.letters.cone_kernel import Layers
from chainveil.privacy.letters.cones import Cones
from chainveil.privacy.letters.numbers import exact_emission, exact_transition, read_numbers
from chainveil.privacy.letters.priors import Priors
from chainveil.privacy.letters.sides import Script
from tests.machines import THREE
from tests.privacy.letters.test_cones import CASES

FloatArray = NDArray[np.float64]

LETTERS = 6
CYCLE = cv.MarkovChain(
    np.diag([0.3, 0.5, 0.2, 0.6, 0.4, 0.7])
    + np.roll(np.diag([0.7, 0.5, 0.8, 0.4, 0.6, 0.3]), 1, axis=1)
)
# One state is left at once, and the chain takes hundreds of points to forget.
STEPS = cv.MarkovChain(
    [[0.99, 0.01, 0.0, 0.0], [0.25, 0.35, 0.4, 0.0], [0.0, 0.01, 0.79, 0.2], [0.0, 0.0, 0.04, 0.96]]
)


def _cones(name_or_chain: str | cv.MarkovChain, is_left: bool, wrong: float = 0.5) -> Cones:
    if isinstance(name_or_chain, str):
        chain, releases, gaps = CASES[name_or_chain]
    else:
        chain, gaps = name_or_chain, False
        releases = (cv.Channel.randomized_response(chain.states, wrong),)
    script = Script(read_numbers(chain, releases), releases, gaps)
    return Cones(script.spelling(is_left), Priors(script.numbers, is_left))


def _all_that_follows(cones: Cones, end: int, letters: int) -> list[list[FloatArray]]:
    """By layer and label, all vectors (n, k) that words before an end leave."""
    spelling, k = cones.spelling, cones.states
    labels = range(spelling.labels)
    if end < k:
        now = [np.eye(k)[end][None] for _ in labels]
    else:
        ends = ([vector for vector, _ in spelling.ends[0, label]] for label in labels)
        now = [np.array(vectors).reshape(-1, k) for vectors in ends]
    found = [now]
    for _ in range(letters):
        flows = [vectors @ spelling.matrix.T for vectors in now]
        now = [
            np.concatenate(
                [letter.weight * flows[letter.following] for letter in spelling.letters[0, label]]
                or [np.zeros((0, k))]
            )
            for label in labels
        ]
        found.append([vectors[vectors.any(axis=1)] for vectors in now])
    return found


def _assert_holds(layers: Layers, end: int, layer: int, label: int, vectors: FloatArray) -> None:
    reference, share = layers.reference[end, layer], layers.share[end, layer, label]
    relative = np.zeros_like(vectors)
    np.divide(vectors, reference, out=relative, where=reference > 0)
    assert not vectors[:, reference == 0].any()
    assert share[0] >= 0
    assert np.all(relative >= share * relative.sum(axis=1, keepdims=True) * (1 - 1e-14))


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_cones_hold_all_that_follows(name: str, is_left: bool) -> None:
    cones = _cones(name, is_left)
    layers, k, checked = cones.layers(LETTERS, math.inf), cones.states, 0
    rng = np.random.default_rng(4)
    for end in range(k + 1):
        for layer, by_label in enumerate(_all_that_follows(cones, end, LETTERS)):
            for label, vectors in enumerate(by_label):
                if len(vectors):
                    _assert_holds(layers, end, layer, label, vectors)
                    checked += len(vectors)
    assert checked > 200
    # Whatever may follow is a mixture of what known values leave, behind one and the same word.
    spelling = cones.spelling
    for _ in range(300):
        label, word = int(rng.integers(spelling.labels)), np.eye(k)
        labels = [label]
        for _ in range(LETTERS):
            letters = spelling.letters[0, labels[-1]]
            if not letters:
                break
            letter = letters[int(rng.integers(len(letters)))]
            word = word @ (letter.weight[:, None] * spelling.matrix)
            labels.append(letter.following)
        mixed = (word @ rng.exponential(size=(k, 5)) ** 4).T
        if mixed.any(axis=1).all():
            _assert_holds(layers, k + 1, len(labels) - 1, label, mixed)


@pytest.mark.parametrize("is_left", [True, False])
def test_narrowed_shares_in_exact_arithmetic(is_left: bool) -> None:
    channel = cv.Channel.ordinal(3, 0.5)
    script = Script(read_numbers(THREE, (channel,)), (channel,), False)
    cones = Cones(script.spelling(is_left), Priors(script.numbers, is_left))
    layers, k = cones.layers(LETTERS, math.inf), 3
    transition, law = exact_transition(THREE), exact_emission(channel)
    matrix = [list(column) for column in zip(*transition, strict=True)] if is_left else transition
    for end in range(k):
        for word in product(range(k), repeat=LETTERS):
            vector = [Fraction(x == end) for x in range(k)]
            for layer, z in enumerate(word, start=1):
                vector = [
                    law[x][z] * sum(p * v for p, v in zip(matrix[x], vector, strict=True))
                    for x in range(k)
                ]
                reference = [Fraction(r) for r in layers.reference[end, layer].tolist()]
                relative = [v / r for v, r in zip(vector, reference, strict=True)]
                share = [Fraction(s) for s in layers.share[end, layer, 0].tolist()]
                assert all(v >= s * sum(relative) for v, s in zip(relative, share, strict=True))


def _least_share(cones: Cones, layers: Layers, end: int, state: int, word: list[int]) -> float:
    """The share of a state before an end, behind a word that is changed until it is the least."""

    def share(word: list[int]) -> float:
        vector = layers.reference[end, 0]
        for letter in word:
            vector = cones.letters.weight[0, 0, letter] * (cones.letters.matrix @ vector)
            vector = vector / vector.sum()
        relative = vector / layers.reference[end, len(word)]
        return float(relative[state] / relative.sum())

    best, changed = share(word), True
    while changed:
        changed = False
        for place, letter in product(range(len(word)), range(cones.states)):
            other = [*word[:place], letter, *word[place + 1 :]]
            if share(other) < best:
                best, word, changed = share(other), other, True
    return best


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize(("chain", "wrong"), [(CYCLE, 0.8), (STEPS, 0.73)])
def test_long_words_lie_in_narrow_cones(chain: cv.MarkovChain, wrong: float, is_left: bool) -> None:
    cones = _cones(chain, is_left, wrong)
    script = cones.spelling, cones.priors
    wide = Cones(*script, is_close=False).layers(32)
    layers, k, rng = cones.layers(32, math.inf), chain.states, np.random.default_rng(5)
    for layer, end in ((12, k), (32, k), (32, 0)):
        for state in range(0, k, 2):
            words = [[int(letter)] * layer for letter in rng.permutation(k)[:2]]
            least = min(_least_share(cones, layers, end, state, word) for word in words)
            share = layers.share[end, layer, 0, state]
            assert 0.75 * least < share <= least
    # From one layer to the next alone they come to hold nearly everything.
    assert wide.share[k, 32, 0].min() < layers.share[k, 32, 0].min() / 10


def test_narrowing_ends_with_its_steps_and_goes_on_with_more() -> None:
    cones = _cones(CYCLE, False, 0.8)
    few = cones.layers(64, 2000.0)
    assert 2000 <= cones.steps < 20_000
    assert cones.layers(64) is few
    steps, shares = cones.steps, few.share[7, 64, 0].copy()
    more = cones.layers(64, math.inf)
    assert cones.steps > steps
    assert np.all(more.share[6, 64, 0] > 2 * few.share[6, 64, 0])
    assert np.all(more.share[7, 64, 0] > shares)
    # There is nothing left to do.
    assert cones.layers(64, math.inf) is more


def test_a_cycle_of_many_states_is_bounded_closely() -> None:
    # Cones that are not narrowed leave 15 % open with as many nodes.
    loss = cv.privacy_loss(CYCLE, cv.Channel.randomized_response(6, 0.81), effort=100_000)
    assert loss.gap < 0.06 * loss.epsilon
