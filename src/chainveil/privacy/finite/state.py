"""Exact loss of chains with k states: any channel, any adversary, any length.

As with two states, the log of the ratio splits into the emission at the target, its left
side and its right side. A side is bounded from above by zones and closed by branch and
bound over the outputs nearest the target (``side``, ``kernels``); here the
sides are combined over pairs of values and over the room a series of given length has.
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass, field

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.finite.attack import attack_witness, informed_witness
from chainveil.privacy.finite.numbers import BoolArray, Numbers, read_numbers, successors
from chainveil.privacy.finite.reveal import find_revelation, find_ways
from chainveil.privacy.finite.side import (
    MAX_STORED,
    SideBounds,
    SideEnd,
    SideTables,
    build_side,
    sources_left,
    sources_right,
)
from chainveil.privacy.finite.witness import SequenceWitness
from chainveil.privacy.finite.zones import IntArray

TOLERANCE = 1e-6
MAX_NODES = 2_000_000
# A side of a pair is looked at in turns: at first with so many nodes for each output, then
# with so many times more; and with zones of single depths for so many points next to a source.
FIRST_NODES, MORE_NODES = 256, 8
APART = (6, 24, 96, 384)
# A series of given length is looked at for many divisions of its points: finer from the start.
APART_IN_ROOM = (24, 24, 96, 384)

Pair = tuple[int, int]
Ranges = tuple[IntArray, IntArray]


@dataclass
class SearchBudget:
    """How far the search may go, and how far it went."""

    tolerance: float = TOLERANCE
    max_nodes: int = MAX_NODES
    max_seconds: float | None = None
    nodes: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> int:
        """Nodes that may still be opened."""
        late = self.max_seconds is not None and time.monotonic() - self.started > self.max_seconds
        return 0 if late else max(0, self.max_nodes - self.nodes)


@dataclass(frozen=True)
class FiniteCase:
    """Bounds on the loss, the lower one attained by the witness, and the nodes it took."""

    upper: float
    lower: float
    witness: SequenceWitness | None
    nodes: int


@dataclass(frozen=True)
class Sources:
    """What may lie on the two sides, and at which depths (named adversaries: one depth)."""

    left: tuple[SideEnd, ...]
    right: tuple[SideEnd, ...]
    left_depth: int | None = None
    right_depth: int | None = None


NO_CASE = FiniteCase(0.0, 0.0, None, 0)


def finite_state_loss(
    chain: MarkovChain,
    channel: Channel,
    length: int | None,
    adversary: AdversaryName | Adversary,
    effort: SearchBudget | None = None,
) -> FiniteCase:
    """Bounds on the loss for any number of states; see :func:`chainveil.privacy_loss`.

    The upper bound holds whatever the rounding; the lower one is the witness's, replayed
    in ball arithmetic. Where the limits of ``effort`` strike first, the gap is wider.
    """
    effort = effort or SearchBudget()
    numbers = read_numbers(chain, channel)
    emission = emission_logs(numbers)
    if adversary == "informed":
        return _informed(chain, channel, numbers, emission, length)
    sources = lay_out(numbers, length, adversary)
    room = None if isinstance(adversary, Adversary) or length is None else length - 1
    ranges = [_ranges(sources.left, room, sources.left_depth)]
    ranges.append(_ranges(sources.right, room, sources.right_depth))
    if np.any(numbers.emission == 0):
        ways = [
            find_ways(numbers, left, side, *limits)
            for left, side, limits in zip(
                (True, False), (sources.left, sources.right), ranges, strict=True
            )
        ]
        revelation = find_revelation(numbers, ways[0], ways[1], room)
        if revelation is not None:
            witness = attack_witness(numbers, adversary, length, *revelation)
            return FiniteCase(math.inf, witness.replay(chain, channel), witness, 0)
    search = _Search(numbers, emission, sources, room, effort)
    upper, best = search.run()
    if best is None:
        # No pair at all, or a limit that struck before a first attack was found.
        return FiniteCase(max(upper, 0.0), 0.0, None, effort.nodes)
    pair, symbol, left, right = best
    witness = attack_witness(numbers, adversary, length, pair, symbol, left, right)
    lower = max(0.0, witness.replay(chain, channel))
    return FiniteCase(max(upper, lower), lower, witness, effort.nodes)


def emission_logs(numbers: Numbers) -> FloatArray:
    """Largest log likelihood ratio of one output, a over b, shape (k, k); may be infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(numbers.emission)
        difference = logs[:, None, :] - logs[None, :, :]
    difference = np.where(np.isnan(difference), -np.inf, difference)
    return np.asarray(difference.max(axis=2))


def lay_out(numbers: Numbers, length: int | None, adversary: AdversaryName | Adversary) -> Sources:
    """The sources an adversary may have on either side."""
    if not isinstance(adversary, Adversary):
        known = adversary == "any"
        return Sources(sources_left(numbers, known), sources_right(numbers, known))
    target = adversary.target
    near_left, near_right = adversary.nearest
    if (
        max(target, near_right or 0, length or 0) > MAX_STORED
        and max(target, (near_right or target) - target, 0 if length is None else length - target)
        > MAX_STORED
    ):
        raise NotSupported(
            f"adversary: a named adversary on a chain of more than two states is offered up to "
            f"{MAX_STORED} points on either side of its target."
        )
    left_known, right_known = near_left is not None, near_right is not None
    left = sources_left(numbers, left_known, not left_known)
    if near_left is not None:
        possible = _possible_at(numbers, near_left)
        left = tuple(source for source in left if possible[source.known or 0])
    right = sources_right(numbers, right_known, not right_known)
    left_depth = target if near_left is None else target - near_left - 1
    right_depth = None if length is None else length - 1 - target
    if near_right is not None:
        right_depth = near_right - target - 1
    return Sources(left, right, left_depth, right_depth)


def _possible_at(numbers: Numbers, index: int) -> BoolArray:
    """Which states the point ``index`` may have, shape (k,)."""
    possible, step = numbers.start > 0, numbers.transition > 0
    while index:
        if index & 1:
            possible = successors(possible, step)
        step, index = step @ step, index >> 1
    return possible


def _ranges(sources: tuple[SideEnd, ...], room: int | None, depth: int | None = None) -> Ranges:
    """First and last depth of each source: all that fit into ``room``, or one ``depth``."""
    first = np.zeros(len(sources), np.int64)
    if depth is not None:
        return first + depth, first + depth
    if room is None:
        return first, first - 1
    last = np.array([room - source.extra for source in sources], np.int64)
    return first, np.where(last < 0, -2, last)


Attack = tuple[Pair, int, SideBounds, SideBounds]


class _Search:
    """The largest sum of emission, left and right side, over pairs of values and rooms."""

    def __init__(
        self,
        numbers: Numbers,
        emission: FloatArray,
        sources: Sources,
        room: int | None,
        effort: SearchBudget,
    ) -> None:
        self.numbers, self.emission, self.room, self.effort = numbers, emission, room, effort
        self.sources = sources.left, sources.right
        self.depths = sources.left_depth, sources.right_depth
        self.sides: dict[tuple[int, int], SideTables] = {}
        self.roots: dict[tuple[int, int], FloatArray] = {}
        self.tolerance = effort.tolerance / 4
        self.best: Attack | None = None
        self.value = -math.inf
        self.memo: dict[tuple[int, Pair, int | None], SideBounds] = {}

    def run(self) -> tuple[float, Attack | None]:
        """Upper bound on the loss, and the attack that comes closest to it.

        The pair with the highest bound is looked at next; each time with more nodes and
        finer zones, so that one hard pair does not take the others' share.
        """
        roots = [self._roots(number, 0) for number in (0, 1)]
        # An infinite emission that an adversary can meet is found before the search.
        apart = np.isinf(self.emission) | (roots[0] == -math.inf) | (roots[1] == -math.inf)
        parts = [np.where(apart, -math.inf, part) for part in (self.emission, *roots)]
        total = np.asarray(sum(parts))
        heap: list[tuple[float, int, Pair, tuple[float, float]]] = [
            (-float(total[pair]), 0, pair, (float(roots[0][pair]), float(roots[1][pair])))
            for pair in zip(*(axis.tolist() for axis in np.nonzero(total > -math.inf)), strict=True)
        ]
        heapq.heapify(heap)
        upper = -math.inf
        while heap:
            bound, turn, pair, sides = heapq.heappop(heap)
            if -bound <= self.value + self.tolerance or self.effort.left == 0:
                upper = max(upper, -bound)
                break
            value, sides = self._pair(pair, sides, turn)
            value = min(value, -bound)
            # Past the limit another look would find the same.
            last = self._nodes(turn) > self.effort.max_nodes
            if value <= self.value + 2 * self.tolerance or last:
                upper = max(upper, value)
            else:
                heapq.heappush(heap, (-value, turn + 1, pair, sides))
        if upper == -math.inf:
            return 0.0, None
        # The emission's logarithms and the two sums round a few times.
        return upper + 64 * 2.0**-53 * (1 + abs(upper)), self.best

    def _nodes(self, turn: int) -> int:
        """Nodes for one side of a pair."""
        return int(FIRST_NODES * MORE_NODES**turn * self.numbers.emission.shape[1])

    def _limits(self, side: int, room: int | None = None) -> Ranges:
        capped = self.room if room is None else room
        return _ranges(self.sources[side], capped, self.depths[side])

    def _side(self, side: int, turn: int) -> SideTables:
        """Tables of a side, with zones of single depths the further the later the turn."""
        grade = min(turn, len(APART) - 1)
        if (side, grade) not in self.sides:
            self.sides[side, grade] = build_side(
                self.numbers, side == 0, self.sources[side], self.room, self.depths[side],
                self.effort.tolerance / 16, (APART if self.room is None else APART_IN_ROOM)[grade],
            )  # fmt: skip
        return self.sides[side, grade]

    def _roots(self, side: int, turn: int) -> FloatArray:
        """Bounds from zones alone for every pair, shape (k, k)."""
        grade = min(turn, len(APART) - 1)
        if (side, grade) not in self.roots:
            limits = self._limits(side)
            self.roots[side, grade] = self._side(side, turn).root_bounds(*limits)
        return self.roots[side, grade]

    def _solve(
        self, side: int, pair: Pair, room: int | None, cutoff: float, turn: int
    ) -> SideBounds:
        """One side of a pair within ``room`` points; results that are tight are kept."""
        key = side, pair, room
        if key in self.memo:
            return self.memo[key]
        nodes = min(self._nodes(turn), self.effort.left)
        found, used = self._side(side, turn).solve(
            pair, self._limits(side, room), cutoff, self.tolerance, nodes, turn < 2
        )
        self.effort.nodes += used
        if self._is_tight(found):
            self.memo[key] = found
        return found

    def _is_tight(self, found: SideBounds) -> bool:
        return found.upper - found.lower <= 1.5 * self.tolerance

    def _pair(
        self, pair: Pair, bounds: tuple[float, float], turn: int
    ) -> tuple[float, tuple[float, float]]:
        """Upper bound on the loss of one pair and on its sides; remembers the best attack."""
        emission = float(self.emission[pair])
        bounds = (
            min(bounds[0], float(self._roots(0, turn)[pair])),
            min(bounds[1], float(self._roots(1, turn)[pair])),
        )
        if emission + sum(bounds) <= self.value:
            return emission + sum(bounds), bounds
        goal = self.value - emission
        left = self._solve(0, pair, None, goal - bounds[1], turn)
        first = min(left.upper, bounds[0])
        if emission + first + bounds[1] <= self.value:
            return emission + first + bounds[1], (first, bounds[1])
        right = self._solve(1, pair, None, goal - first, turn)
        second = min(right.upper, bounds[1])
        total = emission + first + second
        if self.room is None or left.room + right.room <= self.room:
            self._remember(pair, left, right)
        elif total > self.value and self._is_worth_dividing(left, right, turn):
            total = self._split(pair, total, turn)
        return total, (first, second)

    def _is_worth_dividing(self, left: SideBounds, right: SideBounds, turn: int) -> bool:
        """Sides with loose bounds are looked at more finely before their room is divided."""
        return turn >= len(APART) - 1 or (self._is_tight(left) and self._is_tight(right))

    def _remember(self, pair: Pair, left: SideBounds, right: SideBounds) -> None:
        value = float(self.emission[pair]) + left.lower + right.lower
        if value > self.value:
            emission = self.numbers.emission
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = emission[pair[0]] / emission[pair[1]]
            symbol = int(np.nanargmax(ratio))
            self.value, self.best = value, (pair, symbol, left, right)

    def _split(self, pair: Pair, ceiling: float, turn: int) -> float:
        """Best division of a series' room between the two sides, by best-first halving."""
        assert self.room is not None
        emission = float(self.emission[pair])
        heap = [(-ceiling, 0, self.room)]
        done = -math.inf
        while heap:
            bound, low, high = heap[0]
            if -bound <= self.value + self.tolerance or self.effort.left == 0:
                return max(done, -bound)
            heapq.heappop(heap)
            left = self._solve(0, pair, high, -math.inf, turn)
            right = self._solve(1, pair, self.room - low, -math.inf, turn)
            if min(left.upper, right.upper) == -math.inf:
                continue  # the two values cannot both occur in so little room
            upper = min(-bound, emission + left.upper + right.upper)
            if left.room + right.room <= self.room:
                self._remember(pair, left, right)
            if low == high or upper <= self.value + self.tolerance:
                done = max(done, upper)
                continue
            if not self._is_worth_dividing(left, right, turn):
                return max(done, upper, -heap[0][0] if heap else -math.inf)
            middle = (low + high) // 2
            heapq.heappush(heap, (-upper, low, middle))
            heapq.heappush(heap, (-upper, middle + 1, high))
        return done


def _informed(
    chain: MarkovChain,
    channel: Channel,
    numbers: Numbers,
    emission: FloatArray,
    length: int | None,
) -> FiniteCase:
    """All other points known: only the emission counts, over pairs that can occur."""
    found = informed_witness(numbers, emission, length)
    if found is None:
        return NO_CASE
    value, witness = found
    lower = max(0.0, witness.replay(chain, channel))
    upper = value + 64 * 2.0**-53 * (1 + abs(value))
    return FiniteCase(max(upper, lower), lower, witness, 0)
