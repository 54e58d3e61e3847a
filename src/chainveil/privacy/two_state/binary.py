"""Exact loss of two-state chains: any adversary, any length.

The log of the ratio splits into the emission at the target, its left side and its right
side (``tracks``). This module lays out which sides an adversary may have, lets ``search``
find the worst, and turns the answer into bounds and a witness.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product

from flint import arb

from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.two_state.search import TOLERANCE, Pair, Peak, find_peak
from chainveil.privacy.two_state.setting import Setting
from chainveil.privacy.two_state.tracks import (
    Direction,
    Track,
    known_tracks,
    larger,
    largest,
    left_open_tracks,
    open_tracks,
)
from chainveil.privacy.two_state.witness import TwoStateWitness


@dataclass(frozen=True)
class WorstCase:
    """Bounds on the loss, as logs, and the attack that attains the lower one."""

    upper: arb
    lower: arb
    witness: TwoStateWitness | None


@dataclass(frozen=True)
class TrackSide:
    """What the worst case has on one side of the target; without a track, nothing of weight."""

    track: Track | None = None
    k: int = 0

    @property
    def room(self) -> int:
        """How many points this side takes."""
        return 0 if self.track is None else self.track.distance(self.k) + self.track.pad

    def log_value(self) -> arb:
        """What this side adds to the log of the ratio."""
        return arb(0) if self.track is None else self.track.log_value(self.k)


@dataclass(frozen=True)
class BothSides:
    """Upper bound on what both sides add, and the sides that come closest to it."""

    upper: arb
    left: TrackSide
    right: TrackSide


NOTHING_FOUND = BothSides(arb(0), TrackSide(), TrackSide())


def worst_case(
    setting: Setting, length: int | None, adversary: AdversaryName | Adversary
) -> WorstCase:
    """The worse of the two directions, 0 over 1 and 1 over 0, where no output proves a value."""
    if not setting.has_secret(length, adversary):
        return WorstCase(arb(0), arb(0), None)
    cases = [one_direction(setting, value, length, adversary) for value in (0, 1)]
    worse = max(cases, key=lambda case: float(case.lower))
    return WorstCase(larger(cases[0].upper, cases[1].upper), worse.lower, worse.witness)


def one_direction(
    setting: Setting, value: int, length: int | None, adversary: AdversaryName | Adversary
) -> WorstCase:
    """Loss of ``value`` over the other one, where there is a secret and no output proves it."""
    direction = setting.direction(value)
    if setting.deterministic:
        return _deterministic(direction, length, adversary)
    emission = larger(direction.high.log(), arb(0))
    if adversary == "informed" or setting.independent or direction.high <= 1:
        found = NOTHING_FOUND
    elif isinstance(adversary, Adversary):
        found = _named(setting, direction, length, adversary)
    elif length is None:
        found = _every_length(direction, adversary)
    else:
        assert setting.front is not None
        found = _fixed_length(direction, adversary, length - setting.front - 1, emission)
    found = _fill_right(setting, direction, length, adversary, found)
    witness = _witness(setting, value, direction.worst_output, length, adversary, found)
    lower = emission + found.left.log_value() + found.right.log_value()
    return WorstCase(larger(emission + found.upper, lower), lower, witness)


def _sides(direction: Direction, adversary: AdversaryName) -> tuple[list[Track], list[Track]]:
    """The tracks an adversary model may have on the left and on the right."""
    certain = direction.start_value
    known = known_tracks(direction) if adversary == "any" or certain is not None else []
    may_know = known if adversary == "any" else []
    right = open_tracks(direction) + may_know
    if certain is None and direction.start_odds is None:
        return right, right
    if certain is None:
        return left_open_tracks(direction) + may_know, right
    # Everybody knows the first point; the other value can only be known further in.
    left = [track for track in known if track.known == certain]
    left += [replace(track, pad=1) for track in may_know if track.known != certain]
    return left, right


def _every_length(direction: Direction, adversary: AdversaryName) -> BothSides:
    """The supremum over all lengths: each side is maximised on its own."""
    peaks: dict[int, Peak] = {}
    bounds, sides = [], []
    for tracks in _sides(direction, adversary):
        for track in tracks:
            if id(track) not in peaks:
                peaks[id(track)] = find_peak(track, None)
        best = max(tracks, key=lambda track: float(peaks[id(track)].lower))
        sides.append(TrackSide(best, peaks[id(best)].k))
        bounds.append(largest(peaks[id(track)].upper for track in tracks))
    return BothSides(bounds[0] + bounds[1], *sides)


def _fixed_length(
    direction: Direction, adversary: AdversaryName, room: int, emission: arb
) -> BothSides:
    """The worst way to split ``room`` points between the two sides."""
    left, right = _sides(direction, adversary)
    peaks: dict[int, Peak] = {}
    for track in [*left, *right]:
        if id(track) not in peaks and track.last_index(room) >= 0:
            peaks[id(track)] = find_peak(track, track.last_index(room))
    # From a stationary start both sides are alike: a pair and its mirror image count once.
    choices = combinations_with_replacement(left, 2) if left is right else product(left, right)
    pairs = [
        (a, b, peaks[id(a)], peaks[id(b)])
        for a, b in choices
        if id(a) in peaks and id(b) in peaks and _shared_steps(a, b, room) >= 0
    ]
    pairs.sort(key=lambda pair: -float(pair[2].upper + pair[3].upper))
    if _compete(*pairs[0], room):
        # The most promising pair first: what it attains lets the others be dismissed early.
        pairs.sort(key=lambda pair: -_promise(pair[0], pair[1], pair[2], pair[3], room))
    best = BothSides(arb(0), TrackSide(), TrackSide())
    least, bounds = 0.0, [arb(0)]
    for a, b, peak_a, peak_b in pairs:
        ceiling = peak_a.upper + peak_b.upper
        if float(ceiling) - least <= TOLERANCE * (least + float(emission)):
            bounds.append(ceiling)
            continue
        lower, upper, k_a, k_b = _solve_pair(a, b, peak_a, peak_b, room, emission, least)
        bounds.append(upper)
        if float(lower) > least:
            least, best = float(lower), BothSides(upper, TrackSide(a, k_a), TrackSide(b, k_b))
    return replace(best, upper=largest(bounds))


def _compete(left: Track, right: Track, left_peak: Peak, right_peak: Peak, room: int) -> bool:
    """Whether there is too little room for both sides to be at their peaks."""
    return left_peak.k + right_peak.k > _shared_steps(left, right, room)


def _promise(left: Track, right: Track, left_peak: Peak, right_peak: Peak, room: int) -> float:
    """A value that the pair attains, from a look at a few splits."""
    total = _shared_steps(left, right, room)
    splits = {min(left_peak.k, total), max(0, total - right_peak.k), total // 2}
    return max(
        float(left.log_value(k) + right.log_value(min(total - k, right_peak.k))) for k in splits
    )


def _shared_steps(left: Track, right: Track, room: int) -> int:
    """How many steps the two tracks have to share; negative where they do not both fit."""
    needed = left.first + left.pad + right.first + right.pad
    return (room - needed) // left.stride


def _solve_pair(
    left: Track,
    right: Track,
    left_peak: Peak,
    right_peak: Peak,
    room: int,
    emission: arb,
    floor: float,
) -> tuple[arb, arb, int, int]:
    """Best split between two tracks: lower and upper bound, and the indices of the lower.

    What stays below ``floor`` is not told apart any further.
    """
    total = _shared_steps(left, right, room)
    if not _compete(left, right, left_peak, right_peak, room):
        lower = left_peak.lower + right_peak.lower
        return lower, left_peak.upper + right_peak.upper, left_peak.k, right_peak.k
    # Both want more room than there is: the best lies where they use all of it.
    first, last = max(0, total - right_peak.end), min(total, left_peak.end)
    pair = Pair(left, right, total, left_peak.rises_to, right_peak.rises_to)
    best = pair.maximum(first, last, emission, floor)
    lower, upper, k = best.lower, best.upper, (best.k, total - best.k)
    if not left.turns_once and first > 0:
        # A left track that turns twice may prefer to leave room unused.
        alone = Pair(left, None, total).maximum(0, first, emission + right_peak.lower)
        upper = larger(upper, alone.upper + right_peak.upper)
        if float(alone.lower + right_peak.lower) > float(lower):
            lower, k = alone.lower + right_peak.lower, (alone.k, right_peak.k)
    return lower, upper, *k


def _named(
    setting: Setting, direction: Direction, length: int | None, adversary: Adversary
) -> BothSides:
    """One adversary: distances are given, only the known values are to be chosen."""
    known = known_tracks(direction)
    left = _best_at(*_left_of(setting, direction, adversary, known))
    _, near_right = adversary.nearest
    if near_right is not None:
        right = _best_at(known, near_right - adversary.target)
    elif length is not None:
        right = _best_at(open_tracks(direction), length - 1 - adversary.target)
    else:
        tracks = open_tracks(direction)
        peaks = [find_peak(track, None) for track in tracks]
        best = max(range(len(peaks)), key=lambda j: float(peaks[j].lower))
        upper = left.log_value() + largest(peak.upper for peak in peaks)
        return BothSides(upper, left, TrackSide(tracks[best], peaks[best].k))
    return BothSides(left.log_value() + right.log_value(), left, right)


def _left_of(
    setting: Setting, direction: Direction, adversary: Adversary, known: list[Track]
) -> tuple[list[Track], int]:
    """The tracks a named adversary may have on its left, and the distance."""
    position = _listed_left(setting, adversary)
    if position is not None:
        return known, adversary.target - position
    assert setting.front is not None
    distance = adversary.target - setting.front
    if direction.start_value is None:
        return left_open_tracks(direction), distance
    return [track for track in known if track.known == direction.start_value], distance


def _listed_left(setting: Setting, adversary: Adversary) -> int | None:
    """The nearest known point on the left, unless its value is certain to everyone anyway."""
    near_left, _ = adversary.nearest
    return near_left if near_left is not None and near_left >= setting.first_target else None


def _best_at(tracks: list[Track], distance: int) -> TrackSide:
    """The worst of the tracks that have an entry at this distance."""
    sides = [TrackSide(track, k) for track in tracks if (k := track.index(distance)) is not None]
    return max(sides, key=lambda side: float(side.log_value()))


def _fill_right(
    setting: Setting,
    direction: Direction,
    length: int | None,
    adversary: AdversaryName | Adversary,
    found: BothSides,
) -> BothSides:
    """With nothing known on the right, the right side takes all points that are left."""
    track = found.right.track
    if length is None or isinstance(adversary, Adversary) or track is None:
        return found
    if track.known is not None:
        return found
    assert setting.front is not None
    room = length - setting.front - 1 - found.left.room
    return replace(found, right=_best_at(open_tracks(direction), room))


def _witness(
    setting: Setting,
    value: int,
    symbols: tuple[int, int, int],
    length: int | None,
    adversary: AdversaryName | Adversary,
    found: BothSides,
) -> TwoStateWitness:
    """The attack in the user's labels and positions."""
    if isinstance(adversary, Adversary):
        target = adversary.target
        left, right = _listed_left(setting, adversary), adversary.nearest[1]
    else:
        target, left, right = _place(setting, length, adversary, found)
    known: dict[int, int] = {}
    for index, side in ((left, found.left), (right, found.right)):
        if index is not None:
            label = setting.harmless_value
            if side.track is not None and side.track.known is not None:
                label = side.track.known if value == 0 else 1 - side.track.known
            known[index] = label
    last = max([target + found.right.room, *known])
    return TwoStateWitness(length or last + 1, target, known, value, 1 - value, symbols)


def _place(
    setting: Setting, length: int | None, adversary: AdversaryName, found: BothSides
) -> tuple[int, int | None, int | None]:
    """Where a model's worst adversary has its target and its known points."""
    assert setting.front is not None
    target = max(setting.front + found.left.room, setting.first_target)
    if adversary == "informed":
        left = target - 1 if target > setting.first_target else None
        return target, left, (target + 1 if length is not None and target + 1 < length else None)
    left = right = None
    if found.left.track is not None and found.left.track.known is not None:
        position = target - found.left.track.distance(found.left.k)
        left = position if position >= setting.first_target else None
    if found.right.track is not None and found.right.track.known is not None:
        right = target + found.right.track.distance(found.right.k)
    return target, left, right


def _deterministic(
    direction: Direction, length: int | None, adversary: AdversaryName | Adversary
) -> WorstCase:
    """q = r = 1: one secret bit, published at every point, straight and inverted in turn."""
    straight, inverted = direction.high.log(), -direction.low.log()
    targets = [adversary.target] if isinstance(adversary, Adversary) else [0, 1]
    points = (max(targets) + 1 if adversary != "informed" else 1) if length is None else length
    values = {}
    for target in targets:
        if target < points:
            same = points // 2 if target % 2 else (points + 1) // 2
            values[target] = straight * same + inverted * (points - same)
    best = max(values, key=lambda target: float(values[target]))
    upper = largest(values.values())
    if length is None and adversary != "informed" and direction.high > 1:
        upper = arb.pos_inf()
    witness = TwoStateWitness(points, best, {}, *direction.compared, direction.worst_output)
    return WorstCase(upper, values[best], witness)
