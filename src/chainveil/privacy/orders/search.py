"""Both bounds on the loss of a chain of any order, brought together.

A beam of words shows what is attained. Walks of functionals show that nothing is worth more than a
little above that: first within a wide distance, then within half of it, and so on; where they fail,
they are tried again with more functionals.

What is done is counted in work, about a microsecond each, and does not depend on the machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.orders import around, kernel
from chainveil.privacy.orders.alphabet import Alphabet, Root
from chainveil.privacy.orders.beam import Beam
from chainveil.privacy.orders.cones import Cones
from chainveil.privacy.orders.looks import Look
from chainveil.privacy.orders.spelling import Word
from chainveil.privacy.orders.tables import IntArray, Tables, alone, make_tables
from chainveil.privacy.orders.walks import ENTRIES_A_UNIT, Items, Trail, Walk
from chainveil.privacy.problem import Effort

# Units of work for each node that is allowed.
WORK_A_NODE = 150
# How far above what is attained a first walk asks, as a share of it and at least; by how much
# nearer the next one asks, how much less near, where none has shown anything; and by how much
# more than what is asked for it is not worth a walk of its own.
FIRST_SHARE, FIRST_WIDTH, NEARER, WIDER, NEARLY = 0.25, 0.05, 3.0, 3.0, 0.5
# Bounds that are further apart than this share of what is attained are brought together by asking
# for less.
APART = 0.15
# Functionals of a case that are kept apart at most, and if they are large.
MOST_KEPT, MOST_KEPT_IF_LARGE = 64, 8
# By how much more than the last one a walk may take; what a first one may take, and how many
# functionals it may have at least.
LONGER, FIRST_WALK, FIRST_FUNCTIONALS = 3.0, 3e6, 5000
# Series of so many points are short.
SHORT = 6
# Contexts of which words are looked at before functionals are made, with so much work; and of which
# no functionals are made: then each look takes at most this part of what is left.
SHARE_OF_LOOK = 3
LARGE, TOO_LARGE, LOOK, LOOK_IF_SHORT = 14, 25, 1e7, 3e5
# The share of what is left that cones may take.
SHARE_OF_CONES = 0.7
# The largest loss that is asked for.
LARGEST = 200.0


@dataclass
class Search:
    """A search and what it has found so far.

    Attributes
    ----------
    alphabet : Alphabet
    points : int or None
        Number of points of the series that bounds are for; None: any.
    effort : Effort
    longest : int or None
        Points that an attack may have; None: any number.
    cones : Cones or None
        What may follow words; before it is known, that of similar noise.
    lower : float
        What a word attains, up to rounding.
    word : Word
        The word.
    worked : float
        Units of work that were done.
    """

    alphabet: Alphabet
    points: int | None
    effort: Effort
    longest: int | None = None
    cones: Cones | None = None
    lower: float = 0.0
    worked: float = 0.0
    tables: Tables = field(init=False)
    word: Word | None = None
    # What is shown of each target, functionals that are kept apart, and the largest loss that a
    # walk failed to rule out with so many.
    _uppers: FloatArray = field(init=False)
    _kept: int = 1
    _failed: float = 0.0
    _rays: FloatArray = field(default_factory=lambda: np.empty(0))
    # Walks that ended, what one may take, and whether more of them are of no use.
    _walks: int = 0
    _looks: bool = True
    _room: float = FIRST_WALK
    _stuck: bool = False

    def __post_init__(self) -> None:
        self.tables = make_tables(self.alphabet)
        self._uppers = np.full(len(self.alphabet.roots), np.inf)
        self.longest = self.points if self.longest is None else self.longest

    @property
    def upper(self) -> float:
        """Bound on the loss."""
        return float(self._uppers.max(initial=0.0))

    def run(self, enough: float = math.inf) -> None:
        """Go on until the bounds are close, the lower one is above enough, or a limit strikes.

        With another effort it goes on where it stopped.
        """
        if self.word is None:
            beam = Beam(self.alphabet, self.tables, self.longest, self.points is not None)
            self.lower, self.word = beam.attack()
            self.lower = max(self.lower, 0.0)
        if self.effort.attacks_only:
            return
        self._stuck = False
        while not (self.lower > enough or self.is_close or self._is_over()):
            self._walk(self._next())

    @property
    def is_close(self) -> bool:
        """Whether the bounds are as close as they shall be."""
        return self.upper == self.lower or self.upper - self.lower <= self.effort.tolerance

    def _is_over(self) -> bool:
        return self._stuck or self._left <= 0

    @property
    def _left(self) -> float:
        """Units of work that may still be done."""
        return WORK_A_NODE * self.effort.steps - self.worked

    def _next(self) -> float:
        """The loss that the next walk tries to rule out.

        At first one far above what is attained. Then as little above it as is asked for, which
        most targets do not reach; for the others less and less.
        """
        least = self.lower + 0.98 * self.effort.tolerance
        if self.upper == math.inf:
            first = self.lower + max(FIRST_SHARE * self.lower, FIRST_WIDTH)
            return max(first, self.lower + WIDER * (self._failed - self.lower), least)
        if self._walks == 1 and len(self.tables.start) < LARGE:
            return least
        if self._failed and self.upper - self._failed <= self._apart:
            self._try_harder()
        asked = self.lower + (self.upper - self.lower) / NEARER
        if asked - least < NEARLY * (least - self.lower):
            asked = least
        return asked if asked > self._failed else (self.upper + self._failed) / 2

    @property
    def _apart(self) -> float:
        """How far what is shown and what is not may be apart for walks to take more work."""
        return APART * max(self.lower, FIRST_WIDTH)

    def _try_harder(self) -> None:
        """Walks may take longer, and keep more functionals apart."""
        self._room, self._failed = self._room * LONGER, 0.0
        large = len(self.tables.start) >= LARGE
        self._stuck |= self._kept >= (MOST_KEPT_IF_LARGE if large else MOST_KEPT)
        self._kept *= 2

    def _walk(self, asked: float) -> None:
        """Try to rule out that a word is worth more than a loss."""
        if asked > LARGEST:
            self._stuck = True
            return
        if self._is_looked_through(asked):
            return
        if not self._rays.size:
            self._make_cones()
        beside = None if self.points is None else self.points - 1
        room = min(self._left, max(self._room, self._first_room))
        walk = Walk(self.tables, self._rays, beside, self._kept, room)
        open_ones = np.flatnonzero(self._uppers > self.lower + self.effort.tolerance)
        failed = walk.fails(self._roots(open_ones, math.exp(asked)))
        self.worked += walk.worked
        self._walks += 1
        settled = [root for root in open_ones.tolist() if root not in failed]
        self._uppers[settled] = self._rounded(asked, walk.deepest)
        if failed:
            self._fail(walk, asked)
        else:
            self._room = max(self._room, LONGER * walk.worked)

    def _is_looked_through(self, asked: float) -> bool:
        """Where functionals are large: whether looking at words one by one rules a loss out."""
        contexts = len(self.tables.start)
        # Where nothing is known, functionals allow for more than can be; of short series words are
        # few, and what they are worth is exact.
        short = self.points is not None and self.points <= SHORT
        if (contexts < LARGE and self.tables.may_know and not short) or not self._looks:
            return False
        alone = contexts >= TOO_LARGE
        look = Look(self.alphabet, self.tables, self.points, asked)
        room = LOOK_IF_SHORT if short else LOOK
        is_through = look.through(self._left / SHARE_OF_LOOK if alone else min(self._left, room))
        self.worked += look.worked
        bound = self._rounded(max(look.top, self.lower), 0) if is_through else math.inf
        # Words that cannot be, and yet are looked at, may keep a bound where it is.
        is_through = bound < self.upper
        self._uppers = np.minimum(self._uppers, bound)
        if is_through:
            return True
        if alone:
            self._stuck = self.upper < math.inf and self._failed > 0.0
            self._failed = max(self._failed, asked)
        self._looks = alone
        return alone

    @property
    def _first_room(self) -> float:
        """What a first walk may take, by the size of functionals."""
        return FIRST_FUNCTIONALS * len(self.tables.start) ** 4 / ENTRIES_A_UNIT

    def _make_cones(self) -> None:
        """What may follow words; in short series they end before that matters."""
        if self.points is not None and self.points <= SHORT:
            contexts, labels = len(self.tables.start), self.alphabet.labels
            self._rays = np.ones((labels, contexts, contexts))
        else:
            room = SHARE_OF_CONES * self._left
            self.cones = Cones(self.tables, self.cones, room)
            self._rays, self.worked = self.cones.rays, self.worked + self.cones.worked

    def _fail(self, walk: Walk, asked: float) -> None:
        """What to do about targets that may be worth more."""
        better = [self._attains(root, trail) for root, trail in walk.failed.items()]
        if any(better):
            return
        self._stuck = self._left <= 0
        if walk.is_over:
            self._failed = max(self._failed, asked)
        else:
            self._try_harder()

    def _attains(self, number: int, trail: Trail | None) -> bool:
        """Whether the word of a trail attains more than any before; it is noted."""
        letters = list[tuple[int, int, int]]()
        while trail is not None:
            letters.append(trail[1:])
            trail = trail[0]
        letters.reverse()
        root = self.alphabet.roots[number]
        self._begin(root, letters)
        if self.longest is not None and len(letters) >= self.longest:
            return False
        value = around.spelled_worth(self.tables, root, letters)
        if value <= self.lower:
            return False
        read = [(side, self.alphabet.letters[at][letter]) for side, at, letter in letters]
        self.lower, self.word = value, Word.spelled(root, read)
        return True

    def _begin(self, root: Root, letters: list[tuple[int, int, int]]) -> None:
        """Lead a word on to where a series may begin, by the best letters there are."""
        tables = self.tables
        left = [int(tables.following[label, letter]) for side, label, letter in letters if side]
        label = left[-1] if left else root.left
        while not tables.begins[label]:
            ways = [(1, label, letter) for letter in range(int(tables.counts[label]))]
            # A first report, where it may be one: words end there.
            first = [way for way in ways if self.alphabet.is_first(int(tables.following[way[1:]]))]
            best = max(
                first or ways, key=lambda way: around.spelled_worth(tables, root, [*letters, way])
            )
            letters.append(best)
            label = int(tables.following[best[1:]])

    def _rounded(self, asked: float, deepest: int) -> float:
        """The bound that a walk shows: an end may be one letter further out for each that it took,
        where the law of the first points is only nearly kept by a step.
        """
        drift = 8 * self.tables.order * self.alphabet.numbers.drift * (deepest + 1)
        return asked * (1 + 8 * kernel.UNIT) + drift + 8 * kernel.UNIT

    def _roots(self, numbers: IntArray, factor: float) -> Items:
        """Targets alone, as functionals."""
        tables, roots = self.tables, [self.alphabet.roots[number] for number in numbers]
        contexts, k = tables.transition.shape
        slack = 16 * (tables.order + 2) * (k + 8) * kernel.UNIT
        of_value = [alone(tables, value) for value in range(k)]
        table = np.empty((len(roots), contexts**2, contexts**2))
        for place, root in enumerate(roots):
            a, b = (of_value[value] for value in root.pair)
            above = np.einsum("ut,vs->uvts", root.weight[0] * a, b) * (1 + slack)
            below = np.einsum("ut,vs->uvts", root.weight[1] * b, a) * (factor * (1 - slack))
            table[place] = (above - below).reshape(contexts**2, contexts**2)
        label = np.array([(root.left, root.right) for root in roots])
        run = np.zeros_like(label)
        return Items(table, label, run, np.arange(len(roots)), numbers, [None] * len(roots), 0)
