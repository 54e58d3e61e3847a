"""The arrays of the compiled search: what it reads, and what it writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters import words
from chainveil.privacy.letters.sides import IntArray


class Tables(NamedTuple):
    """What the compiled search reads; see ``words``.

    ``weight`` and ``next`` are of letters by phase, label and letter, ``ends`` vectors of ends;
    ``counts`` how many of each there are. By depth: ``prior`` with each value known, at an end
    and of what lies behind; ``used``, points that a word takes up, with each value known, at an
    end, at least, and behind.
    """

    matrix: FloatArray
    weight: FloatArray
    next: IntArray
    counts: IntArray
    ends: FloatArray
    phase: IntArray
    prior: FloatArray
    used: IntArray
    mix: FloatArray
    limit: int


class Graph(NamedTuple):
    """What the compiled search writes; see ``words``.

    Behind the room for nodes there is as much for new words, but in ``kids`` and ``cost``.
    """

    made: IntArray
    rows: FloatArray
    whole: IntArray
    real: FloatArray
    attained: FloatArray
    kids: IntArray
    cost: FloatArray
    newest: IntArray

    @property
    def depth(self) -> IntArray:
        """Of each node that there is, as are the following."""
        return self.whole[: self.made[0], words.DEPTH]

    @property
    def label(self) -> IntArray:
        """The label of each node."""
        return self.whole[: self.made[0], words.LABEL]

    @property
    def bound(self) -> FloatArray:
        """Of each node and all behind it."""
        return self.real[: self.made[0], words.BOUND]

    @property
    def reach(self) -> FloatArray:
        """The longest way to each node."""
        return self.real[: self.made[0], words.REACH]


def empty(nodes: int, tables: Tables) -> Graph:
    """Room for so many nodes."""
    k, letters = len(tables.matrix), tables.weight.shape[2]
    return Graph(
        np.zeros(1, np.int64), np.zeros((2 * nodes, 4, k)), np.zeros((2 * nodes, 6), np.int64),
        np.zeros((2 * nodes, 3)), np.zeros((2 * nodes, k + 1)),
        np.zeros((nodes, letters), np.int64), np.zeros((nodes, letters)), no_nodes(tables),
    )  # fmt: skip


def no_nodes(tables: Tables) -> IntArray:
    """By depth and label the newest node, of which there is none, and how many there are."""
    return np.tile(np.array([-1, 0]), (*tables.mix.shape[:2], 1))
