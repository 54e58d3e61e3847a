"""Infinite losses with k states: outputs that rule a value of the target out.

Only which entries are zero matters. Going from a source to the target, the support of the
message moves through finitely many sets; one that holds a value of the target and misses
another one, which is possible too, reveals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainveil.privacy.finite.numbers import BoolArray, Numbers, successors
from chainveil.privacy.finite.side import SideEnd
from chainveil.privacy.finite.zones import IntArray

Pair = tuple[int, int]


@dataclass(frozen=True)
class Way:
    """How one side can look: the source, its depth, the outputs from the target outwards."""

    room: int
    source: SideEnd
    depth: int
    symbols: tuple[int, ...]


@dataclass(frozen=True)
class Ways:
    """For each pair of values the shortest way that allows both, and that rules the second out."""

    allows: dict[Pair, Way]
    reveals: dict[Pair, Way]


def find_ways(
    numbers: Numbers, left: bool, sources: tuple[SideEnd, ...], first: IntArray, last: IntArray
) -> Ways:
    """The shortest ways of one side, over all sources and the depths allowed for each."""
    matrix = (numbers.transition.T if left else numbers.transition) > 0
    emission = numbers.emission > 0
    ways = Ways({}, {})
    for number, source in enumerate(sources):
        if last[number] != -2:
            _explore(matrix, emission, source, int(first[number]), int(last[number]), ways)
    return ways


def _explore(
    matrix: BoolArray, emission: BoolArray, source: SideEnd, first: int, last: int, ways: Ways
) -> None:
    prior = source.start > 0
    # Supports at this depth, each with the outputs that lead to it, nearest the target first.
    level: dict[bytes, tuple[BoolArray, tuple[int, ...]]] = {prior.tobytes(): (prior, ())}
    seen: set[tuple[bytes, bytes]] = set()
    depth = 0
    while level and (last < 0 or depth <= last):
        if depth >= first:
            for support, symbols in level.values():
                way = Way(depth + source.extra, source, depth, symbols)
                _record(prior, support, way, ways)
            # A pattern met before leads to nothing new, only further away.
            level = {
                key: entry for key, entry in level.items() if (prior.tobytes(), key) not in seen
            }
            seen |= {(prior.tobytes(), key) for key in level}
        following: dict[bytes, tuple[BoolArray, tuple[int, ...]]] = {}
        for support, symbols in level.values():
            for z in range(emission.shape[1]):
                image = successors(support & emission[:, z], matrix.T)
                if image.any() and image.tobytes() not in following:
                    following[image.tobytes()] = (image, (z, *symbols))
        prior = successors(prior, matrix.T)
        level, depth = following, depth + 1


def _record(prior: BoolArray, support: BoolArray, way: Way, ways: Ways) -> None:
    for a in np.flatnonzero(support & prior).tolist():
        for b in np.flatnonzero(prior).tolist():
            if a == b:
                continue
            for kind, holds in ((ways.allows, True), (ways.reveals, not support[b])):
                if holds and ((a, b) not in kind or way.room < kind[a, b].room):
                    kind[a, b] = way


def find_revelation(
    numbers: Numbers, left: Ways, right: Ways, room: int | None
) -> tuple[Pair, int, Way, Way] | None:
    """A pair, the output at the target and both sides that make the loss infinite, if any."""
    emission = numbers.emission
    best = None
    for pair in sorted(left.allows.keys() & right.allows.keys()):
        a, b = pair
        proofs = np.flatnonzero((emission[a] > 0) & (emission[b] == 0))
        plain = int(proofs[0]) if len(proofs) else int(np.argmax(emission[a]))
        choices = [(left.allows[pair], right.allows[pair])] if len(proofs) else []
        choices += [(left.reveals[pair], right.allows[pair])] if pair in left.reveals else []
        choices += [(left.allows[pair], right.reveals[pair])] if pair in right.reveals else []
        for one, other in choices:
            needed = one.room + other.room
            if (room is None or needed <= room) and (best is None or needed < best[0]):
                best = needed, (pair, plain, one, other)
    return None if best is None else best[1]
