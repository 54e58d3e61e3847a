"""Bounds by cones against all words of a few letters, exact arithmetic, and the graphs alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import chainveil as cv
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.letters import cone_kernel, lane_kernel, search
from chainveil.privacy.letters import walks as walks_file
from chainveil.privacy.letters.cones import Cones, _largest
from chainveil.privacy.letters.ends import joined
from chainveil.privacy.letters.lane_kernel import ANY
from chainveil.privacy.letters.loss import loss as loss_by_words
from chainveil.privacy.letters.numbers import exact_emission, exact_transition, read_numbers
from chainveil.privacy.letters.priors import Priors
from chainveil.privacy.letters.sides import Script, Spelling
from chainveil.privacy.letters.walks import Walks
from chainveil.privacy.problem import read_problem
from tests.machines import LEVELS, THREE
from tests.oracle.letters import letters_loss

FloatArray = NDArray[np.float64]

# Rounding of the words that are gone through.
NEAR = 1e-13
# Layers for which room is made.
UPTO = 32
HIDING = cv.Channel.per_state_response([0.7424, 0.7251, 0.732, 0.75])
ZEROS = cv.Channel([[0.5, 0.5, 0.0], [0.0, 0.6, 0.4], [0.3, 0.0, 0.7]])
PAIRED = cv.Channel([[0.7, 0.3], [0.5, 0.5], [0.2, 0.8]])
SPARSE = cv.MarkovChain([[0.0, 0.9, 0.1], [0.6, 0.4, 0.0], [0.0, 1e-40, 1.0]], [0.2, 0.0, 0.8])
NEAR_PERIODIC = cv.MarkovChain(np.roll(np.eye(3), 1, axis=1) * 0.9997 + 1e-4)
DRAWN_IN = cv.MarkovChain([[0.998, 1e-3, 1e-3], [0.99, 4e-3, 6e-3], [0.985, 1e-2, 5e-3]])


def _sticky(channel: cv.Channel, fresh: float) -> StickyNoise:
    kernel = (1 - fresh) * np.eye(channel.outputs)[:, None, :] + fresh * channel.matrix
    return StickyNoise(kernel, channel.matrix)


ORDINAL = cv.Channel.ordinal(3, 0.5)
STICKY = _sticky(ORDINAL, 0.6)
CASES: dict[str, tuple[cv.MarkovChain, tuple[Any, ...], bool]] = {
    "channel": (THREE, (ORDINAL,), False),
    "zeros": (THREE, (ZEROS,), False),
    "fewer outputs": (DRAWN_IN, (PAIRED,), False),
    "tiny probability": (SPARSE, (ORDINAL,), False),
    "near periodic": (NEAR_PERIODIC, (cv.Channel.randomized_response(3, 0.5),), False),
    "sticky": (SPARSE, (STICKY,), False),
    "two releases": (THREE, (PAIRED, _sticky(PAIRED, 0.7)), False),
    "missing points": (THREE, (STICKY,), True),
}


def _walks(cones: Cones, pair: tuple[int, int], label: int, width: int) -> Walks:
    """Walks up to a distance, of which each can be asked for by itself."""
    walks = Walks(cones, pair, label, width)
    walks._set_out(UPTO, math.inf)
    return walks


def _sides(name: str) -> Iterator[tuple[Cones, tuple[int, int], int]]:
    """Both sides of a few pairs of values and labels of a case."""
    chain, releases, gaps = CASES[name]
    script = Script(read_numbers(chain, releases), releases, gaps)
    for is_left in (True, False):
        cones = Cones(script.spelling(is_left), Priors(script.numbers, is_left))
        for number, pair in enumerate(permutations(range(chain.states), 2)):
            label = number % cones.spelling.labels
            if not (is_left and label == cones.spelling.none):
                yield cones, pair, label


def _words(spelling: Spelling, pair: tuple[int, int], label: int, letters: int) -> Iterator[Any]:
    """Labels and rows for a and b of all words of 0, 1, … letters."""
    rows = (np.eye(len(spelling.matrix)) if spelling.is_left else spelling.matrix)[list(pair)]
    labels, words = np.array([label]), rows[None]
    for _ in range(letters + 1):
        yield labels, words
        parts = [
            (words[labels == one] * letter.weight) @ spelling.matrix
            for one in range(spelling.labels)
            for letter in spelling.letters[0, one]
        ]
        following = [
            np.full(np.count_nonzero(labels == one), letter.following)
            for one in range(spelling.labels)
            for letter in spelling.letters[0, one]
        ]
        labels, words = np.concatenate(following), np.concatenate(parts)


def _best(cones: Cones, pair: tuple[int, int], label: int, letters: int) -> FloatArray:
    """What the best word is worth, by letters and end: every known value, and the end."""
    spelling, start = cones.spelling, cones.priors.numbers.start
    k, power = cones.states, np.eye(cones.states) if spelling.is_left else spelling.matrix
    found = np.full((letters + 1, k + 1), -np.inf)
    for j, (labels, words) in enumerate(_words(spelling, pair, label, letters)):
        for y in range(k):
            found[j, y] = _worth(words[:, :, y], power[pair, y])
        for one in range(spelling.labels):
            for vector, _ in spelling.ends[0, one]:
                law = start[list(pair)] if spelling.is_left else np.ones(2)
                worth = _worth(words[labels == one] @ vector, law)
                found[j, k] = max(found[j, k], worth)
        power, start = power @ spelling.matrix, start @ cones.priors.numbers.transition
    return found


def _worth(weights: FloatArray, law: FloatArray) -> float:
    """The largest log quotient of (n, 2) weights, relative to what the chain says of both."""
    weights = weights[weights[:, 0] > 0]
    if not law.all() or not len(weights):
        return -math.inf
    if not weights[:, 1].all():
        return math.inf
    return float(np.log(weights[:, 0] / weights[:, 1]).max() + math.log(law[1] / law[0]))


@pytest.mark.parametrize("name", CASES)
def test_no_bound_is_below_any_word(name: str) -> None:
    checked = 0
    for cones, pair, label in _sides(name):
        best = _best(cones, pair, label, 3)
        for width, start in ((1, 0.0), (1, -1.0), (5, 0.0), (2, 0.5)):
            bound = Walks(cones, pair, label, width).enclose(start, 1e-6, 30_000)
            assert bound >= max(start, best.max() - NEAR)
            checked += bound < math.inf
        for j, end in zip(*np.nonzero(np.isfinite(best)), strict=True):
            truth = best[j, end]
            for width in (1, 3):
                walks = _walks(cones, pair, label, width)
                walks.bound = truth - NEAR * (1 + abs(truth))
                assert walks._sweep(np.array([(j, end)])) == 0
                if width == 1:
                    assert len(walks._abreast(np.array([(j, end)]))) == 1
                # Whatever follows so many letters includes what does.
                walks.bound = best[j:].max() - NEAR * (1 + abs(best[j:].max()))
                assert walks._sweep(np.array([(j, cones.states + 1)])) == 0
    # Nothing keeps below a word that reveals, and next to nothing where one transition is so rare.
    assert checked or name in ("zeros", "tiny probability")


@pytest.mark.parametrize("name", ["sticky", "two releases"])
def test_no_bound_for_any_label_is_below_a_word_of_one(name: str) -> None:
    checked = 0
    for cones, pair, _ in _sides(name):
        best = np.max(
            [_best(cones, pair, label, 3) for label in range(cones.spelling.labels)], axis=0
        )
        for width, start in ((1, 0.0), (3, 0.2)):
            walks = Walks(cones, pair, ANY, width)
            bound = walks.enclose(start, 1e-6, 30_000)
            assert bound >= max(start, best.max() - NEAR)
            label, word = walks.word()
            assert not word or 0 <= label < cones.spelling.labels
            checked += bound < math.inf and len(word) > 0
        for j, end in zip(*np.nonzero(np.isfinite(best)), strict=True):
            walks = _walks(cones, pair, ANY, 1)
            walks.bound = best[j, end] - NEAR * (1 + abs(best[j, end]))
            assert walks._sweep(np.array([(j, end)])) == 0
            assert len(walks._abreast(np.array([(j, end)]))) == 1
            # Nothing more is asked for than by the labels one by one.
            walks.bound = best[j, end] + 2.0
            for label in range(cones.spelling.labels):
                alone = _walks(cones, pair, label, 1)
                alone.bound = walks.bound
                if len(alone._abreast(np.array([(j, end)]))):
                    break
            else:
                assert not len(walks._abreast(np.array([(j, end)])))
    assert checked


@pytest.mark.parametrize("name", ["channel", "sticky", "near periodic"])
def test_one_functional_for_each_word_is_exact_where_a_value_is_known(name: str) -> None:
    for cones, pair, label in _sides(name):
        best = _best(cones, pair, label, 3)[:, :-1]
        walks = _walks(cones, pair, label, 30)
        for j, end in zip(*np.nonzero(np.isfinite(best)), strict=True):
            walks.bound = best[j, end] + 1e-9
            assert walks._sweep(np.array([(j, end)])) == 1


@pytest.mark.parametrize("name", ["channel", "fewer outputs", "missing points"])
def test_bounds_of_a_chain_that_forgets_are_close(name: str) -> None:
    # On the right; on the left the first report of a series is read as one of a whole cone.
    for cones, pair, label in _sides(name):
        if not cones.spelling.is_left:
            attained = max(0.0, _best(cones, pair, label, 4).max())
            for width in (1, 8):
                bound = Walks(cones, pair, label, width).enclose(attained, 1e-2, 100_000)
                assert bound <= attained + 0.05


@pytest.mark.parametrize("name", CASES)
def test_walks_side_by_side_say_what_single_ones_do(name: str) -> None:
    rng = np.random.default_rng(3)
    verdicts = []
    for cones, pair, label in _sides(name):
        walks = _walks(cones, pair, label, 1)
        for end in range(cones.states + 1):
            walks.bound = float(rng.uniform(0.0, 6.0))
            one_by_one = [not walks._sweep(np.array([(j, end)])) for j in range(UPTO + 1)]
            order = np.array([(j, end) for j in range(UPTO + 1)])
            failed = walks._abreast(order)[:, 0].tolist()
            assert set(failed) >= set(np.flatnonzero(one_by_one).tolist())
            # With so rare a transition, layers of very different sizes are raised alike.
            if name != "tiny probability":
                assert len(failed) == sum(one_by_one)
            verdicts += one_by_one
    assert any(verdicts)
    assert not all(verdicts)


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize(
    "case",
    [
        (DRAWN_IN, cv.Channel.randomized_response(3, 0.6)),
        (THREE, cv.Channel.randomized_response(3, 0.6665)),
        (SPARSE, ORDINAL),
    ],
)
def test_layers_in_exact_arithmetic(case: tuple[cv.MarkovChain, cv.Channel], is_left: bool) -> None:
    # Images of exact rays lie in the cones, but for narrowed ones, and an exact functional, times
    # some number, is on no ray above the one that stands for it.
    chain, channel = case
    script = Script(read_numbers(chain, (channel,)), (channel,), False)
    cones = Cones(script.spelling(is_left), Priors(script.numbers, is_left), False)
    exact, law, k = exact_transition(chain), exact_emission(channel), chain.states
    matrix = [list(column) for column in zip(*exact, strict=True)] if is_left else exact
    walks, layers, distance = _walks(cones, (0, 2), 0, 1), cones.layers(UPTO), 10
    for end in (1, k, k + 1):
        reference, share = _exact(layers.reference[end]), _exact(layers.share[end, :, 0])
        for bound in (1e-12, 0.02, 0.5):
            walks.bound = bound
            walks._sweep(np.array([(distance, end)]))
            left = distance + 1
            while left > 0 and walks._room.counts[left - 1, 0]:
                left -= 1
            slopes = _exact(walks._room.slopes[:, 0, 0, 0])
            for i in range(distance):
                rest = 1 - sum(share[i])
                rays = [
                    [reference[i][u] * (share[i][u] + rest * (u == x)) for u in range(k)]
                    for x in range(k)
                    if reference[i][x]
                ]
                for z in range(k):
                    images = []
                    for ray in rays:
                        image = [law[x][z] * _dot(matrix[x], ray) for x in range(k)]
                        relative = [image[x] / (reference[i + 1][x] or 1) for x in range(k)]
                        for x in range(k):
                            assert end > k or relative[x] >= share[i + 1][x] * sum(relative)
                        images.append(_dot(slopes[i + 1], image))
                    if i + 1 < left or max(images) <= 0:
                        continue
                    assert i >= left
                    if i > 0:
                        _assert_some_multiple_is_below(images, [_dot(slopes[i], r) for r in rays])


def _exact(numbers: FloatArray) -> list[list[Fraction]]:
    return [[Fraction(entry) for entry in row] for row in numbers.tolist()]


def _dot(one: Sequence[Fraction], two: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(one, two, strict=True)), Fraction(0))


def _assert_some_multiple_is_below(images: list[Fraction], values: list[Fraction]) -> None:
    most = min(value / image for image, value in zip(images, values, strict=True) if image > 0)
    least = [value / image for image, value in zip(images, values, strict=True) if image < 0]
    assert most > 0
    assert most >= max(least, default=Fraction(0))
    assert all(value >= 0 for image, value in zip(images, values, strict=True) if image == 0)


def test_functionals_are_joined_at_a_scale_that_neither_overflows_nor_vanishes() -> None:
    on = np.ones(2)
    for old, new in ((1e-300, 1e300), (1e300, 1e-300), (1e-300, 1.0)):
        for sign in (1.0, -1.0):
            values = sign * np.array([[[old, old], [new, new]]])
            with np.errstate(over="ignore", under="ignore"):
                by = cone_kernel.scale_to.py_func(values, 0, 1, on)  # type: ignore[attr-defined]
                quotient = np.float64(old) / np.float64(new)
            assert 0.999e-30 <= by <= 1.001e30
            some, none = (quotient, quotient), (np.inf, 0.0)
            pairs = (*some, *none) if sign > 0 else (*none, *some)
            assert lane_kernel.scale_by.py_func(*pairs, 0.0) == by  # type: ignore[attr-defined]


def test_walks_end_when_their_steps_are_spent() -> None:
    # States that are hardly ever left: words keep below, but not whatever may follow them.
    resting, noise = cv.MarkovChain(np.eye(3) * (1 - 3e-6) + 1e-6), cv.Channel.ordinal(3, 0.999)
    script = Script(read_numbers(resting, (noise,)), (noise,), False)
    walks = Walks(Cones(script.spelling(False), Priors(script.numbers, False)), (0, 2), 0, 1)
    assert walks.enclose(6.0, 1e-6, 200) == math.inf
    assert walks.bound == 6.0
    assert walks.steps < 2_000


def _only_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FIRST_ENCLOSED", 99)
    monkeypatch.setattr(search, "DEEP", 1 << 40)


def test_a_slow_chain_is_closed_that_graphs_leave_open(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = cv.privacy_loss(LEVELS, HIDING)
    assert loss.epsilon == pytest.approx(1.5541, abs=5e-3)
    assert loss.gap < 1e-4
    assert loss.witness is not None
    assert loss.witness.replay(LEVELS, HIDING) == loss.lower
    _only_graphs(monkeypatch)
    open_one = cv.privacy_loss(LEVELS, HIDING, effort=10_000)
    assert open_one.gap > 0.1
    assert open_one.lower <= loss.epsilon <= open_one.epsilon


def test_a_slow_chain_under_sticky_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = cv.MarkovChain([[0.95, 0.04, 0.01], [0.05, 0.9, 0.05], [0.01, 0.09, 0.9]])
    noise = _sticky(cv.Channel.per_state_response([0.65, 0.62, 0.64]), 0.9)
    loss = cv.privacy_loss(slow, noise)
    assert loss.epsilon == pytest.approx(1.9884, abs=1e-3)
    assert loss.gap <= 1e-4
    assert loss.witness is not None
    assert loss.witness.replay(slow, noise) == loss.lower
    _only_graphs(monkeypatch)
    open_one = cv.privacy_loss(slow, noise, effort=10_000)
    assert open_one.gap > 1.0
    assert open_one.lower <= loss.epsilon <= open_one.epsilon


def test_series_of_a_length_are_not_left_with_the_bound_for_all() -> None:
    chain = cv.MarkovChain([[0.878, 0.122, 0.0], [0.0, 0.985, 0.015], [0.651, 0.0, 0.349]])
    noise = cv.Channel.randomized_response(3, 0.525)
    short, every = (
        cv.privacy_loss(chain, noise, length=length, effort=20_000) for length in (30, None)
    )
    assert short.gap <= 1e-4
    assert every.gap <= 1e-4
    assert short.epsilon < every.epsilon - 0.1


@pytest.mark.slow
def test_four_levels_under_sticky_noise() -> None:
    # Reports that are repeated say little, so that the worst words have none, however likely.
    losses = [cv.privacy_loss(LEVELS, _sticky(HIDING, fresh)) for fresh in (0.3, 0.5)]
    assert all(loss.gap < 1e-4 for loss in losses)
    assert losses[0].epsilon == pytest.approx(losses[1].epsilon, abs=1e-5)
    assert losses[0].epsilon == pytest.approx(0.875, abs=1e-2)


def test_a_periodic_chain_has_no_bound_and_ends_soon() -> None:
    ring = cv.MarkovChain(np.roll(np.eye(4), 1, axis=1))
    loss = cv.privacy_loss(ring, HIDING, effort=20_000)
    assert loss.epsilon == math.inf
    assert loss.lower > 0


@pytest.mark.parametrize("deep", [-1, 1 << 40])
@pytest.mark.parametrize("name", CASES)
def test_limited_searches_hold(name: str, deep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FIRST_ENCLOSED", 0)
    monkeypatch.setattr(search, "DEEP", deep)
    chain, releases, gaps = CASES[name]
    truth = letters_loss(chain, list(releases), 3)
    for nodes in (1, 40, 400):
        for length in (3, None):
            problem = read_problem(
                chain, list(releases), length, "any", nodes, gaps=gaps, tolerance=1e-6
            )
            loss = loss_by_words(problem)
            assert loss.epsilon >= truth - 1e-11
            if loss.witness is not None:
                assert problem.replay(loss.witness) == loss.lower
            if length == 3 and not gaps:
                assert loss.lower <= truth + 1e-11


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("upto", [128, 256, 512])
def test_distances_together_keep_below_only_what_each_does(upto: int, is_left: bool) -> None:
    chain = cv.MarkovChain([[0.97, 0.02, 0.01], [0.03, 0.95, 0.02], [0.01, 0.01, 0.98]])
    channel = cv.Channel.randomized_response(3, 0.65)
    script = Script(read_numbers(chain, (channel,)), (channel,), False)
    cones = Cones(script.spelling(is_left), Priors(script.numbers, is_left))
    law = [letter.weight for letter in cones.spelling.letters[0, 0]]
    rng, first, groups = np.random.default_rng(8), upto // 2 + 1, 0
    for pair in permutations(range(3), 2):
        walks = Walks(cones, pair, 0, 1)
        walks._set_out(upto, math.inf)
        letter = int(np.argmax([one[pair[0]] / one[pair[1]] for one in law]))
        for end in range(3):
            distance = int(rng.integers(first, upto + 1))
            row = np.eye(3) if is_left else cones.spelling.matrix
            plain, rows = row[list(pair)], row[list(pair)]
            for _ in range(distance):
                rows, plain = (
                    (rows * law[letter]) @ cones.spelling.matrix,
                    plain @ cones.spelling.matrix,
                )
                rows = rows / rows.max()
            worth = math.log(rows[0, end] / rows[1, end] * plain[1, end] / plain[0, end])
            walks.bound = worth - 1e-9
            for level, (behind, count) in enumerate(cones.groups(upto)):
                start = distance - (distance - first) % count
                if start + count <= upto + 1:
                    group = np.array([(start - behind, end + 5 + 4 * level)])
                    assert len(walks._abreast(group)) == 1
            left = walks._singles(first, 1e-3, 10**9)
            assert left is not None
            assert walks.bound >= worth or [distance, end] in left.tolist()
            walks.bound = worth + 0.5
            left = walks._singles(first, 1e-3, 10**9)
            assert left is not None
            groups += len(left) < 4 * (upto + 1 - first)
    # They say something.
    assert groups > 0


@pytest.mark.parametrize("is_left", [True, False])
def test_distances_together_bound_all_words(is_left: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: dict[int, list[tuple[int, int]]] = {4: [(1, 2)], 8: [(2, 4), (2, 2)]}
    monkeypatch.setattr(walks_file, "FIRST_DISTANCES", 2)
    monkeypatch.setattr(Cones, "groups", lambda self, upto: groups.get(upto, []))
    chain = cv.MarkovChain([[0.9, 0.07, 0.03], [0.1, 0.85, 0.05], [0.02, 0.06, 0.92]])
    channel = cv.Channel.randomized_response(3, 0.6)
    script = Script(read_numbers(chain, (channel,)), (channel,), False)
    cones = Cones(script.spelling(is_left), Priors(script.numbers, is_left))
    law = np.array([letter.weight for letter in cones.spelling.letters[0, 0]])
    for pair in permutations(range(3), 2):
        # All words of up to eight letters, and every value behind them.
        first = np.eye(3) if is_left else cones.spelling.matrix
        rows, plain, best = first[None, list(pair)], first[list(pair)], -math.inf
        for _ in range(9):
            if np.all(plain > 0):
                best = max(best, np.log(rows[:, 0] / rows[:, 1] * plain[1] / plain[0]).max())
            rows = (rows[:, None] * law[:, None]).reshape(-1, 2, 3) @ cones.spelling.matrix
            plain = plain @ cones.spelling.matrix
        for width in (1, 4):
            walks = Walks(cones, pair, 0, width)
            bound = walks.enclose(best - 0.1, 1e-3, 10**9)
            assert best <= bound < best + 2.0


def test_cones_that_hold_several_others_hold_their_rays() -> None:
    rng = np.random.default_rng(3)
    layers, labels, k, count = 5, 2, 4, 3
    references = rng.uniform(0.1, 1.0, (layers, k, count))
    shares = rng.dirichlet(np.ones(k + 1), (layers, labels, count))[..., :k].swapaxes(2, 3)
    # One of the others has no cone at some place, and all of them at another.
    shares[1, 0, 0, 1] = shares[2, 1, 0, :] = -1.0
    reference = rng.uniform(0.1, 1.0, (layers, k))
    found = joined(references, shares, reference)
    assert found[2, 1].tolist() == [-1.0] * k
    for layer, label in np.ndindex(layers, labels):
        least = np.full(k, np.inf)
        for one in range(count):
            share = shares[layer, label, :, one]
            if share[0] < 0:
                continue
            for x in range(k):
                ray = (share + (1 - share.sum()) * np.eye(k)[x]) * references[layer, :, one]
                relative = ray / reference[layer]
                assert np.all(relative / relative.sum() >= found[layer, label])
                least = np.minimum(least, relative / relative.sum())
        if np.isfinite(least).all():
            # Not far below: a ray with all that is free in the state that counts for most.
            assert np.all(found[layer, label] >= 0.3 * least)


@pytest.mark.parametrize("count", [1, 2, 5, 8, 13])
def test_the_largest_of_neighbours(count: int) -> None:
    array = np.random.default_rng(count).normal(size=(40, 3))
    windows = np.lib.stride_tricks.sliding_window_view(array, count, axis=0)
    assert np.array_equal(_largest(array, count), windows.max(axis=2))


def _twofold(q: float, r: float) -> cv.MarkovChain:
    """Two states of which each is two, and either of these at random at every point."""
    inside = np.array([[0.3, 0.7], [0.5, 0.5]])
    step = np.array([[1 - q, q], [r, 1 - r]])
    return cv.MarkovChain(np.repeat(np.einsum("ab,bi->abi", step, inside).reshape(2, 4), 2, axis=0))


@pytest.mark.parametrize(
    ("q", "r", "rho"),
    [
        (0.004, 0.01, 0.49),
        pytest.param(0.0008, 0.0012, 0.4995, marks=pytest.mark.slow),
        pytest.param(0.0003, 0.0005, 0.4998, marks=pytest.mark.slow),
    ],
)
def test_slow_chains_that_are_two_states_in_disguise(q: float, r: float, rho: float) -> None:
    # The exact loss of two states is another engine's: all of it holds of the four.
    exact = cv.privacy_loss(cv.MarkovChain.binary(q=q, r=r), cv.Channel.binary(rho, rho))
    noise = cv.Channel(np.repeat([[1 - rho, rho], [rho, 1 - rho]], 2, axis=0))
    tolerance = 0.01 * exact.epsilon
    chain = _twofold(q, r)
    loss = loss_by_words(read_problem(chain, noise, None, "any", 2_000_000, tolerance=tolerance))
    assert exact.lower <= loss.epsilon <= exact.epsilon + 1.1 * tolerance
    assert exact.lower - tolerance <= loss.lower <= exact.epsilon


def test_a_bound_is_raised_for_what_lies_behind_where_more_distances_do_not_help() -> None:
    # From 64 letters on whatever follows asks for the same; once the walks went on to 2,048.
    chain = cv.MarkovChain(
        np.diag([0.3, 0.5, 0.2, 0.6, 0.4, 0.7])
        + np.roll(np.diag([0.7, 0.5, 0.8, 0.4, 0.6, 0.3]), 1, axis=1)
    )
    channel = cv.Channel.randomized_response(6, 0.81)
    script = Script(read_numbers(chain, (channel,)), (channel,), False)
    cones = Cones(script.spelling(True), Priors(script.numbers, True))
    for start in (0.8555, 0.856223, 0.857, 0.858585, 0.86):
        walks = Walks(cones, (4, 0), 0, 1)
        assert start <= walks.enclose(start, 0.004, 300_000) < 0.875
        assert walks._upto <= 256
