"""The arrays of the compiled search, and one pass of it over all levels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.orders import words
from chainveil.privacy.orders.numbers import Alphabet, Numbers
from chainveil.privacy.orders.rows import UNIT

IntArray = NDArray[np.int64]


class Tables(NamedTuple):
    """What the compiled search reads; see ``words``."""

    transition: FloatArray
    start: FloatArray
    pairs: IntArray
    odds: FloatArray
    ends: FloatArray
    # Labels to the right of the target, of each pair; known points allowed; order; what a turn
    # counts as a level.
    right: IntArray
    count: IntArray  # type: ignore[assignment]
    weight: FloatArray
    known: IntArray
    following: IntArray
    turns: NDArray[np.bool_]
    report: FloatArray
    first: FloatArray
    end_count: IntArray
    end_weight: FloatArray
    slack: FloatArray


class Graph(NamedTuple):
    """What the compiled search writes; see ``words``."""

    count: IntArray  # type: ignore[assignment]
    base: IntArray
    limit: IntArray
    rows: FloatArray
    level: IntArray
    label: IntArray
    parent: IntArray
    letter: IntArray
    run: IntArray
    older: IntArray
    newest: IntArray
    crowd: IntArray
    kids: IntArray
    cost: FloatArray
    start: FloatArray
    attained: FloatArray
    ending: IntArray
    bound: FloatArray
    best: FloatArray
    reach: FloatArray
    extra: FloatArray


def make_tables(numbers: Numbers, alphabet: Alphabet) -> Tables:
    """The letters of all labels, and what belongs to the pairs of values of the target."""
    k, contexts = numbers.states, len(numbers.contexts)
    labels, most = len(alphabet.letters), max(map(len, alphabet.letters))
    weight = np.zeros((labels, most, max(k, 2)))
    known, following = np.full((labels, most), -1), np.zeros((labels, most), np.int64)
    turns = np.zeros((labels, most), np.bool_)
    ends = [alphabet.ends(label) for label in range(labels)]
    end_weight = np.zeros((labels, max(map(len, ends)), 2, contexts))
    for label, letters in enumerate(alphabet.letters):
        for place, letter in enumerate(letters):
            weight[label, place, : len(letter.weight)] = letter.weight
            known[label, place], following[label, place] = letter.known, letter.following
            turns[label, place] = letter.turns
        for place, end in enumerate(ends[label]):
            end_weight[label, place] = end[:2]
    first = np.array([alphabet.first(label) for label in range(labels)])
    right = [
        alphabet.right,
        alphabet.each,
        int(alphabet.known),
        numbers.order,
        int(numbers.looks_back),
    ]
    return Tables(
        numbers.transition, numbers.contexts, np.array(alphabet.pairs),
        np.array([_odds(numbers, pair) for pair in alphabet.pairs]),
        np.array([_extremes(numbers, pair) for pair in alphabet.pairs]), np.array(right),
        np.array([len(letters) for letters in alphabet.letters]), weight, known, following, turns,
        _reports(alphabet, weight, turns, first), first, np.array([len(end) for end in ends]),
        end_weight, np.array([_slack(numbers)]),
    )  # fmt: skip


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
    whole = np.int64
    return Graph(
        np.zeros(1, whole), np.zeros(1, whole), np.zeros(1, whole),
        np.zeros((nodes, 4, contexts * (contexts // k))), np.zeros(nodes, whole),
        np.zeros(nodes, whole), np.zeros(nodes, whole), np.zeros(nodes, whole),
        np.zeros(nodes, whole), np.zeros(nodes, whole), np.full((levels, labels), -1),
        np.zeros((levels, labels), whole), np.full((nodes, letters), -1),
        np.zeros((nodes, letters)), np.zeros((nodes, 2)), np.full(nodes, -np.inf),
        np.zeros(nodes, whole), np.full(nodes, np.inf), np.full(nodes, np.inf),
        np.full(nodes, -np.inf), np.zeros(nodes),
    )  # fmt: skip


def add_roots(graph: Graph, tables: Tables, labels: list[int]) -> None:
    """The target alone, for every pair of its values and its report."""
    contexts, k = tables.transition.shape
    rest = contexts // k
    for label in labels:
        pair = tables.pairs[label // tables.right[1]]
        rows = np.zeros((4, rest, contexts))
        for c in range(rest):
            for line in range(4):
                s = c * k + pair[line % 2]
                rows[line, c, (s % rest) * k : (s % rest) * k + k] = tables.transition[s]
        flat = np.ascontiguousarray(rows.reshape(4, -1))
        start = np.array(words.at_start(tables, flat, label))
        node = words.add_node(graph, tables, flat, start, 0, label, (-1, -1, 0))
        graph.reach[node] = 0.0


def widened(graph: Graph, tables: Tables, nodes: int) -> Graph:
    """The same graph with room for so many nodes."""
    larger = empty(tables, nodes, 1)
    kept = {name: getattr(graph, name) for name in ("count", "base", "limit", "newest", "crowd")}
    for name, array in graph._asdict().items():
        if name not in kept:
            getattr(larger, name)[: len(array)] = array
    return larger._replace(**kept)


def deepened(graph: Graph) -> Graph:
    """The same graph with twice as many levels."""
    newest = np.concatenate([graph.newest, np.full_like(graph.newest, -1)])
    return graph._replace(newest=newest, crowd=np.concatenate([graph.crowd, 0 * graph.crowd]))
