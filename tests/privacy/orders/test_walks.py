"""Functionals that are followed from a target outwards: what they rule out, and what not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import chainveil as cv
from chainveil.checks import FloatArray
from chainveil.model.higher_order import HigherOrderChain
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.orders import around, kernel
from chainveil.privacy.orders.alphabet import Alphabet
from chainveil.privacy.orders.cones import Cones
from chainveil.privacy.orders.looks import Look
from chainveil.privacy.orders.numbers import read_numbers
from chainveil.privacy.orders.search import Search
from chainveil.privacy.orders.tables import Tables, make_tables
from chainveil.privacy.orders.walks import Walk
from chainveil.privacy.problem import Effort
from tests.oracle.letters import letters_loss
from tests.privacy.orders.test_beam import KINDS
from tests.privacy.orders.test_loss import CHAIN, NOISE


def _search(noise: Noise, points: int | None = None, adversary: str = "any") -> Search:
    alphabet = Alphabet(read_numbers(CHAIN, noise), adversary)
    return Search(alphabet, points, Effort(1e-3))


def _is_ruled_out(search: Search, loss: float, kept: int) -> bool:
    """Whether a walk shows that no word is worth more."""
    rays = Cones(search.tables).rays
    beside = None if search.points is None else search.points - 1
    walk = Walk(search.tables, rays, beside, kept, 1e8)
    roots = np.arange(len(search.alphabet.roots))
    return not walk.fails(search._roots(roots, math.exp(loss)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adversary", ["any", "ignorant"])
@pytest.mark.parametrize("points", [1, 3, 5])
def test_short_series_are_ruled_out_above_the_truth_and_not_below(
    kind: str, adversary: str, points: int
) -> None:
    truth = letters_loss(CHAIN, KINDS[kind], points, adversary)
    search = _search(KINDS[kind], points, adversary)
    assert _is_ruled_out(search, truth + 1e-9, 64)
    if truth > 0:
        assert not _is_ruled_out(search, truth - 1e-9, 64)


@pytest.mark.parametrize("kind", KINDS)
def test_no_walk_rules_out_what_a_series_of_a_few_points_attains(kind: str) -> None:
    truth = letters_loss(CHAIN, KINDS[kind], 6, "any")
    for kept in (1, 4):
        assert not _is_ruled_out(_search(KINDS[kind]), truth - 1e-9, kept)


@pytest.mark.parametrize("kept", [1, 4])
@pytest.mark.parametrize("every", [1, 2])
def test_targets_that_a_series_begins_with_are_followed_to_the_right(kept: int, every: int) -> None:
    # The first report tells far more than all others: the first points lose the most.
    kernel_law = np.stack(
        [cv.Channel.binary(0.45, 0.45).matrix, cv.Channel.binary(0.4, 0.45).matrix]
    )
    noise = StickyNoise(kernel_law, cv.Channel.binary(0.1, 0.1).matrix, every)
    truth = letters_loss(CHAIN, noise, 5, "any")
    search = _search(noise)
    rays = Cones(search.tables).rays
    first = [n for n, x in enumerate(search.alphabet.roots) if x.left == search.alphabet.begun]
    walk = Walk(search.tables, rays, None, kept, 1e7)
    assert walk.fails(search._roots(np.array(first), math.exp(truth - 1e-9)))


def test_no_cone_is_guessed_from_reports_that_rule_values_out() -> None:
    # The value 2 never occurs: reports that rule it out cost nothing.
    stays = np.tile([0.6, 0.4, 0.0], (9, 1))
    stays[[1, 4, 7]] = 0.3, 0.7, 0.0
    chain = HigherOrderChain(stays, order=2)
    last = None
    for level in (0.4, 0.45):
        noise = cv.Channel([[1 - level, level, 0], [level, 1 - level, 0], [0, 0.5, 0.5]])
        tables = make_tables(Alphabet(read_numbers(chain, noise), "any"))
        last = Cones(tables, last)
        assert not np.isnan(last.factors).any()


@pytest.mark.parametrize("kind", KINDS)
def test_what_follows_lies_in_its_cone(kind: str) -> None:
    # All words of up to four letters to the right of a context, and to the left of one.
    alphabet = Alphabet(read_numbers(CHAIN, KINDS[kind]), "any")
    tables = make_tables(alphabet)
    factors = Cones(tables).factors
    for label in range(alphabet.labels):
        for told, known in _messages(tables, label, 4):
            there = known > 0
            odds = np.log(told[there][:, None] / known[there][:, None])
            odds = odds - odds.T
            assert np.all(odds <= factors[label][np.ix_(there, there)] + 1e-12)


def _messages(tables: Tables, label: int, most: int) -> list[tuple[FloatArray, FloatArray]]:
    """What words of so many letters say of each context, with and without reports."""
    contexts, k = tables.transition.shape
    rest, is_right = contexts // k, label < tables.right
    if is_right or tables.begins[label]:
        end = np.ones(contexts) if is_right else tables.start
        found = [(end, end)]
    else:
        found = []
    if most == 0:
        return found
    for letter in range(int(tables.counts[label])):
        weight = tables.weight[label, letter]
        prior = weight if tables.known[label, letter] >= 0 else np.ones(k)
        for two in _messages(tables, int(tables.following[label, letter]), most - 1):
            new = []
            for message, share in zip(two, (weight, prior), strict=True):
                after = np.zeros(contexts)
                for s, x in itertools.product(range(contexts), range(k)):
                    if is_right:
                        # The letter weighs the oldest value; a new one follows.
                        to = s % rest * k + x
                        after[s] += share[s // rest] * tables.transition[s, x] * message[to]
                    else:
                        to = s % rest * k + x
                        after[to] += message[s] * tables.transition[s, x] * share[x]
                new.append(after)
            found.append((new[0], new[1]))
    return found


def test_values_on_rays_and_back_are_at_least_what_they_were() -> None:
    rng = np.random.default_rng(5)
    rays = rng.uniform(0.51, 0.999, (1, 4, 4))
    values = rng.standard_normal((1, 256))
    kept = values.copy().reshape(16, 16)
    label = np.zeros((1, 2), np.int64)
    kernel.restore(values, np.array([16, 16]), rays, label)
    back = values.reshape(16, 16)
    # On each ray the functional is what it was asked to be, or a little more.
    for (s, t), (u, v) in itertools.product(itertools.product(range(4), repeat=2), repeat=2):
        one = rays[0, u, v] if u != v else 1.0
        other = rays[0, s, t] if s != t else 1.0
        row, column = s * 4 + t, u * 4 + v
        mixed = one * back[:, column] + (1 - one) * back[:, v * 4 + u]
        value = other * mixed[row] + (1 - other) * mixed[t * 4 + s]
        assert kept[row, column] - 1e-15 <= value <= kept[row, column] + 1e-9


def test_joined_functionals_are_at_least_both() -> None:
    rng = np.random.default_rng(6)
    values = rng.standard_normal((5, 64))
    before, alive = values.copy(), np.full(4, True)
    place = np.array([0, 2, 3, 4])
    kernel.join(values, place, np.array([0, 3, 4]), 1, alive, np.empty((2, 3, 3)))
    assert alive.sum() == 2
    assert alive[3]
    left = values[place[np.flatnonzero(alive[:3])[0]]]
    for one in (0, 2, 3):
        scales = left[before[one] < 0] / before[one][before[one] < 0]
        least = (left[before[one] > 0] / before[one][before[one] > 0]).min()
        # Some multiple of each is below it everywhere.
        assert scales.max() <= least + 1e-9 or least > 0
    np.testing.assert_array_equal(values[1], before[1])


def test_one_functional_speaks_for_another_only_where_a_multiple_covers_it() -> None:
    one = np.array([[1.0, -1.0, 0.0, 2.0], [0.4, -0.6, -1.0, 0.9], [0.4, -0.3, -1.0, 0.9]])
    alive = np.full(3, True)
    kernel.prune(one, np.arange(3), np.zeros(3, np.int64), np.arange(3), 8, alive)
    # Half of the first is above the second; no multiple of it is above the third.
    assert alive.tolist() == [True, False, True]


@pytest.mark.parametrize("points", [1, 3, 5])
def test_looks_at_single_words_bound_short_series(points: int) -> None:
    truth = letters_loss(CHAIN, NOISE, points, "any")
    search = _search(NOISE, points)
    look = Look(search.alphabet, search.tables, points, truth + 1e-9)
    assert look.through(1e8)
    assert truth - 1e-12 <= look.top <= truth + 1e-9
    below = Look(search.alphabet, search.tables, points, truth - 1e-6)
    assert not below.through(1e8) or below.top >= truth - 1e-12


def test_looks_and_walks_agree_on_every_length() -> None:
    search = _search(cv.Channel.binary(0.2, 0.2))
    search.run()
    look = Look(search.alphabet, search.tables, None, search.upper + 0.05)
    assert look.through(1e8)
    assert search.lower <= look.top <= search.upper + 0.05
    assert around.slack(search.tables, 0.0) < 1e-12
