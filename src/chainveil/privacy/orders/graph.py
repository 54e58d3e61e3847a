"""The arrays of the compiled search, and one pass of it over all levels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.orders import rows, words
from chainveil.privacy.orders.numbers import Alphabet, Numbers
from chainveil.privacy.orders.rows import UNIT

IntArray = NDArray[np.int64]


class Tables(NamedTuple):
    """What the compiled search reads; see ``rows`` and ``words``.

    ``counts``: letters and beginnings of each label; ``letters`` and ``weight`` by label and
    number; ``own`` (labels, 3): the most that the report of the target says, and what it says of
    a and b where it is the first one; ``prior`` (labels,): the log odds of b against a, of a label
    to the right.
    """

    transition: FloatArray
    start: FloatArray
    pairs: IntArray
    odds: FloatArray
    ends: FloatArray
    right: IntArray
    counts: IntArray
    weight: FloatArray
    letters: IntArray
    own: FloatArray
    prior: FloatArray
    end_weight: FloatArray
    scratch: FloatArray
    slack: float


class Graph(NamedTuple):
    """What the compiled search writes; see ``words``."""

    made: IntArray
    rows: FloatArray
    whole: IntArray
    real: FloatArray
    kids: IntArray
    cost: FloatArray
    newest: IntArray


def make_tables(numbers: Numbers, alphabet: Alphabet) -> Tables:
    """The letters of all labels, and what belongs to the pairs of values of the target."""
    k, contexts = numbers.states, len(numbers.contexts)
    labels, most = len(alphabet.letters), max(map(len, alphabet.letters))
    weight = np.zeros((labels, most, max(k, 2)))
    letters = np.full((labels, most, 3), -1)
    ends = [alphabet.ends(label) for label in range(labels)]
    end_weight = np.zeros((labels, max(map(len, ends)), 2, contexts))
    for label, some in enumerate(alphabet.letters):
        for place, letter in enumerate(some):
            weight[label, place, : len(letter.weight)] = letter.weight
            letters[label, place] = letter.known, letter.following, letter.turns
        for place, end in enumerate(ends[label]):
            end_weight[label, place] = end[:2]
    first = np.array([alphabet.first(label) for label in range(labels)])
    right = (
        alphabet.right, alphabet.each, alphabet.known, numbers.order, numbers.looks_back,
        _often(numbers, weight),
    )  # fmt: skip
    counts = [[len(some) for some in alphabet.letters], [len(end) for end in ends]]
    reports = _reports(alphabet, weight, letters[:, :, rows.TURNS] == 1, first)
    return Tables(
        numbers.transition, numbers.contexts, np.array(alphabet.pairs),
        np.array([_odds(numbers, pair) for pair in alphabet.pairs]),
        np.array([_extremes(numbers, pair) for pair in alphabet.pairs]), np.array(right, np.int64),
        np.array(counts), weight, letters, np.column_stack([reports, first]),
        _prior(numbers, alphabet), end_weight,
        np.zeros((2, contexts // k)), _slack(numbers),
    )  # fmt: skip


def _often(numbers: Numbers, weight: FloatArray) -> int:
    """Letters behind which no entry of a table that was scaled is below the range of floats."""
    least = [np.log(array[array > 0].min()) for array in (numbers.transition, weight)]
    return max(1, int(np.log(1e170) / max(1.0, -sum(least))))


def _prior(numbers: Numbers, alphabet: Alphabet) -> FloatArray:
    """Log odds of b against a of a point of which nothing is known, by label."""
    law = numbers.contexts.reshape(-1, numbers.states).sum(axis=0)
    pairs = [alphabet.read(label)[0] for label in range(alphabet.right)]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array([np.log(law[b]) - np.log(law[a]) for a, b in pairs])


def _slack(numbers: Numbers) -> float:
    """What one link is widened by: some sums over contexts, and a start that is not quite kept."""
    contexts = len(numbers.contexts)
    return float(np.log1p(16 * (contexts + 24) * UNIT + 8 * numbers.order * numbers.drift))


def _reports(
    alphabet: Alphabet, weight: FloatArray, turns: NDArray[np.bool_], first: FloatArray
) -> FloatArray:
    """The most that the report of the target says, by label to the right of it."""
    found = np.full(len(first), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        for label in range(alphabet.right):
            pairs = [*weight[label][turns[label]][:, :2], first[label]]
            told = [np.log(one) - np.log(two) for one, two in pairs if one > 0]
            found[label] = max(told, default=-np.inf)
    return found


def _odds(numbers: Numbers, pair: tuple[int, int]) -> FloatArray:
    """Extreme pairs of Pr[a | u] Pr[b | v] and Pr[a | v] Pr[b | u] by the endings of u and v."""
    a, b = pair
    k, rest = numbers.states, len(numbers.contexts) // numbers.states
    found = np.zeros((rest, rest, 2, 2))
    above, below = numbers.transition[:, a], numbers.transition[:, b]
    for c in range(rest):
        for d in range(rest):
            one = np.outer(above[c::rest], below[d::rest]).ravel()
            two = np.outer(below[c::rest], above[d::rest]).ravel()
            there = np.flatnonzero(one + two > 0)
            if len(there):
                share = one[there] / (one[there] + two[there])
                for which, place in enumerate((there[share.argmin()], there[share.argmax()])):
                    found[c, d, which] = one[place], two[place]
    assert k * rest == len(above)
    return found


def _extremes(numbers: Numbers, pair: tuple[int, int]) -> FloatArray:
    """Largest Pr[a | u] / Pr[b | u] and Pr[b | u] / Pr[a | u] by the ending of u."""
    rest = len(numbers.contexts) // numbers.states
    found = np.zeros((rest, 2))
    for c in range(rest):
        for place, (one, two) in enumerate((pair, pair[::-1])):
            above, below = numbers.transition[c::rest, one], numbers.transition[c::rest, two]
            there = above > 0
            with np.errstate(divide="ignore"):
                found[c, place] = (above[there] / below[there]).max(initial=0.0)
    return found


def empty(tables: Tables, nodes: int, levels: int) -> Graph:
    """Room for so many nodes and levels."""
    contexts, k = tables.transition.shape
    labels, letters = tables.weight.shape[:2]
    return Graph(
        np.zeros(3, np.int64), np.zeros((nodes, 4, contexts * (contexts // k))),
        np.zeros((nodes, 7), np.int64), np.zeros((nodes, 7)),
        np.zeros((nodes, letters), np.int64), np.zeros((nodes, letters)),
        np.tile(np.array([-1, 0]), (levels, labels, 1)),
    )  # fmt: skip


def add_roots(graph: Graph, tables: Tables, labels: list[int]) -> None:
    """The target alone, for every pair of its values and its report."""
    contexts, k = tables.transition.shape
    rest = contexts // k
    found = np.zeros((len(labels), 4, rest, contexts))
    for place, label in enumerate(labels):
        pair = tables.pairs[label // tables.right[rows.EACH]]
        for c in range(rest):
            for line in range(4):
                s = c * k + pair[line % 2]
                found[place, line, c, (s % rest) * k : (s % rest) * k + k] = tables.transition[s]
    found = onwards(tables, found)
    flat = found.reshape(len(labels), 4, -1)
    words.begin(graph, tables, flat, np.zeros((len(labels), words.BOUND + 1)), np.array(labels))


def onwards(tables: Tables, found: FloatArray) -> FloatArray:
    """Weights (..., contexts) of the next m values on the right, from those up to the next point.

    One by one the values before that point give way to others behind it.
    """
    contexts, k = tables.transition.shape
    for _ in range(int(tables.right[rows.ORDER]) - 1):
        split = found.reshape(*found.shape[:-1], k, contexts // k, 1)
        moved = split * tables.transition.reshape(k, contexts // k, k)
        found = moved.sum(axis=-3).reshape(found.shape)
    return found


def widened(graph: Graph, tables: Tables, nodes: int) -> Graph:
    """The same graph with room for so many nodes."""
    larger = empty(tables, nodes, 1)
    for old, new in zip(graph[1:-1], larger[1:-1], strict=True):
        new[: len(old)] = old
    return larger._replace(made=graph.made, newest=graph.newest)


def deepened(graph: Graph) -> Graph:
    """The same graph with twice as many levels."""
    more = np.tile(np.array([-1, 0]), (*graph.newest.shape[:2], 1))
    return graph._replace(newest=np.concatenate([graph.newest, more]))
