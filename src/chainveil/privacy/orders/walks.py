"""Whether any word is worth more than a factor f: functionals are followed from targets outwards.

A word with the tables A and B of the two values of its target, and A' and B' of what is known
alone, is worth more than f with what follows it, v with reports and v' without, if and only if

    (A . v) (B' . v') - f (B . v) (A' . v') > 0.

That is a functional of the products v(u, t) v'(u', t'), and each letter makes another one of it.
What follows a word lies in a cone (``cones``). Of all that may be reported at a point that is not
known, the largest value on each ray is taken: reports of any number of points become one
functional, or a few. What is known is gone through case by case, but for cases for which another
one speaks. Where no functional is positive on its cone, no word is worth more than f.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.orders import kernel
from chainveil.privacy.orders.tables import IntArray, Tables

# Entries of the functionals that are followed at a time.
AT_ONCE = 2_000_000
# Functionals that are asked whether they speak for another one.
ASKED = 32
# Entries that make a unit of work, about a microsecond, and units that a functional takes beside.
ENTRIES_A_UNIT, UNITS_A_FUNCTIONAL = 60, 1.0
# Layers behind which functionals should have become less, by this share at least, and the last.
STALE, LESS, DEEPEST = 48, 0.99, 3000
ENDED = -1

# The letters that lead to a functional: those before, the side, the label and the letter.
Trail = tuple[Any, int, int, int]


@dataclass
class Items:
    """Functionals of words with equally many letters.

    ``table`` (n, left, right); ``label`` (n, 2): on the left and on the right; ``run`` (n, 2):
    points in a row that are known at the left and at the right end; ``case`` (n,): equal where the
    same is known; ``root`` (n,): which question it belongs to; ``trail``: how each came about;
    ``points``: letters so far.
    """

    table: FloatArray
    label: IntArray
    run: IntArray
    case: IntArray
    root: IntArray
    trail: list[Trail | None]
    points: int

    def __len__(self) -> int:
        return len(self.table)

    @property
    def shape(self) -> tuple[int, int]:
        """Entries on the left and on the right."""
        return self.table.shape[1], self.table.shape[2]

    def at(self, places: IntArray) -> Items:
        """Some of them."""
        return Items(
            self.table[places], self.label[places], self.run[places], self.case[places],
            self.root[places], [self.trail[place] for place in places], self.points,
        )  # fmt: skip


@dataclass
class Walk:
    """One walk from targets outwards.

    Attributes
    ----------
    tables : Tables
    rays : array (labels, contexts, contexts)
        Of what may follow a label.
    points : int or None
        How many points there are beside the target; None: any number.
    kept : int
        Functionals that are kept apart of those that know the same.
    room : float
        Units of work that it may take.
    each : float
        Functionals that one root may have.
    deepest : int
        Letters of the longest words.
    """

    tables: Tables
    rays: FloatArray
    points: int | None
    kept: int
    room: float
    each: float = np.inf
    # What it took, and of roots that failed the letters of a word that may be worth more than f.
    worked: float = 0.0
    deepest: int = 0
    failed: dict[int, Trail | None] = field(default_factory=dict)
    _counts: dict[int, int] = field(default_factory=dict)
    _largest: dict[tuple[int, int], float] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether it took all the work that it may take."""
        return self.worked > self.room

    def fails(self, items: Items) -> set[int]:
        """Roots of which it is not shown that no word is worth more than f."""
        stack = [lot for some in self._begun(items) for lot in _split(some)]
        while stack:
            now = self._left(stack.pop())
            self.deepest = max(self.deepest, now.points)
            if self.is_over:
                self._fail(now, np.arange(len(now)))
            elif len(now):
                for more in self._followed(now):
                    self._check(more)
                    stack += _split(self._left(more))
        return set(self.failed)

    def _begun(self, items: Items) -> list[Items]:
        """Targets that a series begins with have nothing on their left."""
        return [items] if 1 in items.shape else self._with_ended(items, 1)

    def _left(self, items: Items) -> Items:
        """Those of roots that have not failed, and that have not ended on both sides."""
        if items.shape == (1, 1):
            return items.at(np.empty(0, np.int64))
        if not self.failed:
            return items
        return items.at(np.flatnonzero(~np.isin(items.root, list(self.failed))))

    def _check(self, items: Items) -> None:
        """Note roots that fail: by a word that has ended, too many letters, or too many words."""
        if items.shape == (1, 1):
            self._fail(items, np.flatnonzero(~(items.table[:, 0, 0] <= 0)))
        elif items.points >= DEEPEST:
            self._fail(items, np.arange(len(items)))
        elif items.points % STALE == 0 and 1 not in items.shape:
            self._fail(items, self._stale(items))
        if self.each < np.inf:
            roots, first, counts = np.unique(items.root, return_index=True, return_counts=True)
            for root, place, count in zip(roots.tolist(), first, counts.tolist(), strict=True):
                self._counts[root] = self._counts.get(root, 0) + count
                if self._counts[root] > self.each:
                    self._fail(items, np.array([place]))

    def _fail(self, items: Items, places: IntArray) -> None:
        for place in places.tolist():
            self.failed.setdefault(int(items.root[place]), items.trail[place])

    def _stale(self, items: Items) -> IntArray:
        """Functionals that have not become less for many letters, and those of their roots."""
        flat = items.table.reshape(len(items), -1)
        size = flat.max(axis=1) / np.abs(flat).mean(axis=1)
        found = []
        for place, root in enumerate(items.root.tolist()):
            now, before = (root, items.points), (root, items.points - STALE)
            self._largest[now] = max(self._largest.get(now, 0.0), float(size[place]))
            if size[place] > LESS * self._largest.get(before, np.inf):
                found.append(place)
        return np.array(found, np.int64)

    def _followed(self, items: Items) -> list[Items]:
        """What the next letter makes of functionals, those of equal shape together."""
        found = []
        if self.points is not None:
            found += self._ends(items)
            # The last letter is on a side whose other one has ended before.
            if items.points + (1 not in items.shape) >= self.points:
                return [some for some in found if len(some)]
        side = self._side(items)
        if side is not None:
            found += self._lettered(items, side)
        return [some for some in found if len(some)]

    def _side(self, items: Items) -> int | None:
        """The side whose turn it is, 0: right, 1: left."""
        left, right = items.shape
        if left == 1 or right == 1:
            return None if left == right else int(right == 1)
        return items.points % 2

    def _lettered(self, items: Items, side: int) -> list[Items]:
        """One letter more on a side."""
        tables, column = self.tables, 1 - side
        labels = items.label[:, column]
        counts = tables.counts[labels]
        parent = np.repeat(np.arange(len(items)), counts)
        letter = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
        known = tables.known[labels[parent], letter]
        order = np.lexsort((letter, known, parent))
        parent, letter, known = parent[order], letter[order], known[order]
        weight = tables.weight[labels[parent], letter]
        label = items.label[parent]
        label[:, column] = tables.following[labels[parent], letter]
        shape = items.shape
        values, said = np.empty((len(parent), shape[0] * shape[1])), np.empty((len(parent), 2))
        kernel.pull(
            side, items.table, tables.transition, parent, weight, known >= 0, self.rays, label,
            np.empty((1, *shape)), values, said,
        )  # fmt: skip
        size = values.shape[1] / ENTRIES_A_UNIT + UNITS_A_FUNCTIONAL
        self.worked += len(parent) * size
        case = items.case[parent] * (tables.transition.shape[1] + 1) + known + 1
        there = self._chosen(values, said, case, label, items.root[parent])
        if not len(there):
            return []
        values = values[there]
        kernel.restore(values, np.array(shape), self.rays, label[there])
        run = items.run[parent[there]]
        run[:, column] = np.where(known[there] >= 0, run[:, column] + 1, 0)
        trail: list[Trail | None] = [
            (items.trail[parent[place]], side, int(labels[parent[place]]), int(letter[place]))
            for place in there
        ]
        _, numbered = np.unique(case[there], return_inverse=True)
        new = Items(
            values.reshape(len(there), *shape), label[there], run, numbered,
            items.root[parent[there]], trail, items.points + 1,
        )  # fmt: skip
        return self._with_ended(new, side)

    def _chosen(
        self, values: FloatArray, said: FloatArray, case: IntArray, label: IntArray, root: IntArray
    ) -> IntArray:
        """Places of functionals that are to be followed, after joining."""
        there = np.flatnonzero(~(said[:, 0] <= 0))
        if not len(there):
            return there
        keys = np.column_stack([root, label, case])[there]
        order = np.lexsort(keys.T[::-1])
        there, keys = there[order], keys[order]
        new = np.flatnonzero(np.any(keys[1:] != keys[:-1], axis=1)) + 1
        first = np.array([0, *new, len(there)])
        alive = np.full(len(there), True)
        sizes = np.diff(first)
        largest = int(sizes.max())
        if largest > self.kept:
            # Each two of a group are weighed against each other.
            pairs = (sizes * (sizes - 1) / 2)[sizes > self.kept].sum()
            self.worked += float(pairs) * values.shape[1] / ENTRIES_A_UNIT
            room = np.empty((2, largest, largest))
            kernel.join(values, there, first, self.kept, alive, room)
            there, keys = there[alive], keys[alive]
        if len(there) > 1:
            _, kind = np.unique(keys[:, :3], axis=0, return_inverse=True)
            alive = np.full(len(there), True)
            strength = np.argsort(-said[there, 1], kind="stable")
            kernel.prune(values, there, kind.ravel(), strength, ASKED, alive)
            self.worked += len(there) * values.shape[1] / ENTRIES_A_UNIT
            there = there[alive]
        return there

    def _with_ended(self, items: Items, side: int) -> list[Items]:
        """Sides of which nothing further out matters have ended."""
        column = 1 - side
        over = items.run[:, column] >= self.tables.order
        if side == 1 and self.points is not None:
            # The points that the series begins with have to be among those that there are.
            over &= self.tables.begins[items.label[:, 0]]
        over |= self.tables.counts[items.label[:, column]] == 0
        ended = self._ended(items.at(np.flatnonzero(over)), side)
        return [items.at(np.flatnonzero(~over)), ended]

    def _ends(self, items: Items) -> list[Items]:
        """The series may end on the right, or begin on the left, here."""
        found = []
        if items.shape[1] > 1:
            found.append(self._ended(items, 0))
        if items.shape[0] > 1:
            begins = np.flatnonzero(self.tables.begins[items.label[:, 0]])
            found.append(self._ended(items.at(begins), 1))
        return found

    def _ended(self, items: Items, side: int) -> Items:
        """Nothing more is said on a side: one entry is left of it."""
        if side == 0:
            weight = np.ones(items.shape[1])
        else:
            weight = np.outer(self.tables.start, self.tables.start).ravel()
        axis = 2 - side
        table = np.moveaxis(items.table, axis, 2)
        slack = (2 * len(weight) + 16) * kernel.UNIT
        summed = (table + slack * np.abs(table)) @ weight
        label = items.label.copy()
        label[:, 1 - side] = ENDED
        return Items(
            np.expand_dims(summed, axis), label, items.run, items.case, items.root, items.trail,
            items.points,
        )  # fmt: skip


def _split(items: Items) -> list[Items]:
    """Few enough at a time."""
    left, right = items.shape
    most = max(4, AT_ONCE // (left * right))
    return [
        items.at(np.arange(begin, min(begin + most, len(items))))
        for begin in range(0, len(items), most)
    ]
