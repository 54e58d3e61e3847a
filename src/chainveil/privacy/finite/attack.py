"""From what a search found to an attack with positions, known values and a whole output."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.finite.numbers import BoolArray, Numbers, successors
from chainveil.privacy.finite.side import SideEnd
from chainveil.privacy.finite.witness import SequenceWitness

# A witness is written out to the asked length up to this many points.
LONGEST_EXTENSION = 4096

Pair = tuple[int, int]


class Half(Protocol):
    """One side of an attack: source, depth and the outputs from the target outwards."""

    @property
    def source(self) -> SideEnd | None: ...
    @property
    def depth(self) -> int: ...
    @property
    def symbols(self) -> tuple[int, ...]: ...
    @property
    def room(self) -> int: ...


def attack_witness(
    numbers: Numbers,
    adversary: AdversaryName | Adversary,
    length: int | None,
    pair: Pair,
    symbol: int,
    left: Half,
    right: Half,
) -> SequenceWitness:
    """The attack in positions: the left side at the very beginning, the right side behind."""
    target = adversary.target if isinstance(adversary, Adversary) else left.room
    known: dict[int, int] = {}
    before = [*reversed(left.symbols)]
    if left.source is not None and left.source.known is not None:
        place = target - left.depth - 1
        known[place] = left.source.known
        before = [*_outputs_up_to(numbers, place, left.source.known), *before]
    behind = list(right.symbols)
    if right.source is not None and right.source.known is not None:
        value = right.source.known
        known[target + right.depth + 1] = value
        missing = 1 + _missing(length, target, right.depth + 1)
        behind += _outputs_from(numbers, value, missing)
    else:
        behind += _greedy(numbers, pair, behind, _missing(length, target, right.depth))
    symbols = (*before, symbol, *behind)
    return SequenceWitness(len(symbols), target, known, *pair, symbols)


def _missing(length: int | None, target: int, taken: int) -> int:
    """How many points the series still has behind what the attack takes up."""
    if length is None or length > LONGEST_EXTENSION:
        return 0
    return length - target - 1 - taken


def _outputs_up_to(numbers: Numbers, place: int, value: int) -> list[int]:
    """Possible outputs of the points 0 … place, the last of which has the given value."""
    possible = [numbers.start > 0]
    for _ in range(place):
        possible.append(successors(possible[-1], numbers.transition > 0))
    states = [value]
    for t in range(place - 1, -1, -1):
        weights = np.where(possible[t], numbers.transition[:, states[-1]], 0.0)
        states.append(int(np.argmax(weights)))
    return [int(np.argmax(numbers.emission[state])) for state in reversed(states)]


def _outputs_from(numbers: Numbers, value: int, count: int) -> list[int]:
    """Possible outputs of ``count`` points, the first of which has the given value."""
    outputs = []
    for _ in range(count):
        outputs.append(int(np.argmax(numbers.emission[value])))
        value = int(np.argmax(numbers.transition[value]))
    return outputs


def _greedy(numbers: Numbers, pair: Pair, seen: list[int], count: int) -> list[int]:
    """Further outputs that keep the ratio or raise it, one by one.

    The ratio so far is an average of the ratios after one more output, so the best one
    is not below it.
    """
    if count <= 0:
        return []
    rows = np.eye(numbers.states)[list(pair)]
    for symbol in seen:
        rows = _after(numbers, rows, symbol)
    added: list[int] = []
    for _ in range(count):
        ahead = (rows @ numbers.transition) @ numbers.emission
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(ahead[0] > 0, ahead[0] / ahead[1], -np.inf)
        added.append(int(np.argmax(ratio)))
        rows = _after(numbers, rows, added[-1])
    return added


def _after(numbers: Numbers, rows: FloatArray, symbol: int) -> FloatArray:
    moved = (rows @ numbers.transition) * numbers.emission[:, symbol]
    return np.asarray(moved / moved.max())


def informed_witness(
    numbers: Numbers, emission: FloatArray, length: int | None
) -> tuple[float, SequenceWitness] | None:
    """The worst pair of values that can occur between known neighbours, and its attack.

    Positions are tried until what the point before can be repeats.
    """
    best: tuple[float, SequenceWitness] | None = None
    before: BoolArray | None = None
    seen: set[tuple[bytes, bool]] = set()
    positions = numbers.states**2 * 4 + math.lcm(*range(1, numbers.states + 1))
    for index in range(min(length or positions, positions)):
        is_last = length is None or index == min(length, positions) - 1
        is_inner = length is None or index < length - 1
        key = (b"" if before is None else before.tobytes(), is_last)
        if key not in seen:
            seen.add(key)
            found = _informed_at(numbers, emission, index, before, is_last, is_inner)
            if found is not None and (best is None or found[0] > best[0]):
                best = found
        elif length is None or length > positions:
            break
        before = numbers.start > 0 if before is None else successors(before, numbers.transition > 0)
    return best


def _informed_at(
    numbers: Numbers,
    emission: FloatArray,
    index: int,
    before: BoolArray | None,
    is_last: bool,
    is_inner: bool,
) -> tuple[float, SequenceWitness] | None:
    """The worst pair of one position; ``before`` says which values the point before may have."""
    lefts: list[tuple[int | None, BoolArray]] = [(None, numbers.start > 0)]
    if before is not None:
        lefts = [(y, numbers.transition[y] > 0) for y in np.flatnonzero(before).tolist()]
    rights: list[tuple[int | None, BoolArray]] = []
    if is_last:
        rights.append((None, np.ones(numbers.states, bool)))
    if is_inner:
        rights += [(y, numbers.transition[:, y] > 0) for y in range(numbers.states)]
    best: tuple[float, SequenceWitness] | None = None
    for left, inside in lefts:
        for right, also in rights:
            both = inside & also
            allowed = both[:, None] & both[None, :] & ~np.eye(len(both), dtype=bool)
            if not allowed.any():
                continue
            values = np.where(allowed, emission, -np.inf)
            a, b = (int(j) for j in np.unravel_index(np.argmax(values), values.shape))
            if best is None or values[a, b] > best[0]:
                witness = _informed_attack(numbers, index, (left, right), (a, b))
                best = float(values[a, b]), witness
    return best


def _informed_attack(
    numbers: Numbers, index: int, beside: tuple[int | None, int | None], pair: Pair
) -> SequenceWitness:
    left, right = beside
    known = {} if left is None else {index - 1: left}
    before = [] if left is None else _outputs_up_to(numbers, index - 1, left)
    behind = [] if right is None else _outputs_from(numbers, right, 1)
    if right is not None:
        known[index + 1] = right
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numbers.emission[pair[0]] / numbers.emission[pair[1]]
    symbols = (*before, int(np.nanargmax(ratio)), *behind)
    return SequenceWitness(len(symbols), index, known, *pair, symbols)
