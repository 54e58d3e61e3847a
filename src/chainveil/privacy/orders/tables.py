"""Letters and laws as arrays, for the loops that words grow by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.orders.alphabet import Alphabet
from chainveil.privacy.orders.numbers import Numbers

IntArray = NDArray[np.int64]


class Tables(NamedTuple):
    """What words are grown by; places of letters are counted by label.

    ``transition`` (contexts, k); ``start`` (contexts,): the law of a series' first values;
    ``counts`` (labels,): letters of each; ``weight`` (labels, letters, k); ``known`` and
    ``following`` (labels, letters); ``begins`` (labels,): whether a series may begin behind it;
    ``right``: labels on the right; ``often``: letters behind which tables have to be scaled;
    ``may_know``: whether points may be known.
    """

    transition: FloatArray
    start: FloatArray
    counts: IntArray
    weight: FloatArray
    known: IntArray
    following: IntArray
    begins: NDArray[np.bool_]
    right: int
    order: int
    often: int
    may_know: bool


def make_tables(alphabet: Alphabet) -> Tables:
    """The letters of all labels."""
    numbers = alphabet.numbers
    counts = np.array([len(some) for some in alphabet.letters])
    shape = len(counts), max(1, int(counts.max()))
    weight = np.zeros((*shape, numbers.states))
    known, following = np.full(shape, -1), np.zeros(shape, np.int64)
    for label, some in enumerate(alphabet.letters):
        for place, letter in enumerate(some):
            weight[label, place] = letter.weight
            known[label, place], following[label, place] = letter.known, letter.following
    begins = np.array([alphabet.is_beginning(label) for label in range(alphabet.labels)])
    return Tables(
        numbers.transition, numbers.contexts, counts, weight, known, following, begins,
        alphabet.right, numbers.order, _often(numbers, weight), alphabet.known,
    )  # fmt: skip


def _often(numbers: Numbers, weight: FloatArray) -> int:
    """Letters behind which no entry of a table that was scaled is below the range of floats."""
    least = [np.log(array[array > 0].min()) for array in (numbers.transition, weight)]
    return max(1, int(np.log(1e170) / max(1.0, -sum(least))))


def alone(tables: Tables, value: int) -> FloatArray:
    """Pr[value of the target, next m values | the m before], (contexts, contexts)."""
    transition = tables.transition
    contexts, k = transition.shape
    rest = contexts // k
    found = np.zeros((contexts, contexts))
    for u in range(contexts):
        s = u % rest * k + value
        found[u, s % rest * k : s % rest * k + k] = transition[u, value] * transition[s]
    # One by one the values up to the target give way to others behind the next point.
    for _ in range(tables.order - 1):
        split = found.reshape(contexts, k, rest, 1)
        found = (split * transition.reshape(k, rest, k)).sum(axis=1).reshape(found.shape)
    return found
