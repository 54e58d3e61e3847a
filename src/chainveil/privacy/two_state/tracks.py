"""One side of a target point: how far the outputs there can push the odds of its value.

Given the target, what lies left and right of it is independent, and only the nearest
known point on a side matters. So a side is described by how far away that known point
is and what value it has, or, with nothing known, by how many points there are. A
:class:`Track` is one such family, indexed by the distance; its value at a distance is

    posterior odds of state 0 over state 1, under the worst outputs in between
    ------------------------------------------------------------------------
    prior odds, from the chain alone

Both odds are orbits of Möbius maps. Where q + r < 1 the worst output repeats one symbol;
where q + r > 1 it alternates between two, and every second distance forms a track.

Shape of a track (proof in docs/exact-loss.md): its value rises, then falls, with at most
one turn, except that for q + r > 1 and a start that is not stationary the track of odd
positions with nothing known on the left may first fall; ``turns_once`` tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

from flint import arb

from chainveil.privacy.two_state.moebius import Moebius, Orbit


@dataclass(frozen=True)
class Direction:
    """The comparison "value over the other value", relabelled so that it reads 0 over 1.

    Attributes
    ----------
    value : int
        The state, in the user's labels, that plays 0 here.
    q, r : Fraction
        Transition probabilities 0 -> 1 and 1 -> 0 in the labels of this direction.
    high, low : arb
        Largest and smallest likelihood ratio ``Pr[z | 0] / Pr[z | 1]`` of an output.
    symbols : tuple of int
        The outputs with these ratios.
    start_odds : arb or None
        Odds of state 0 at the first point; None: the stationary ones.
    start_value : int or None
        The value of the first point where it is certain, in the labels of this direction.
    """

    value: int
    q: Fraction
    r: Fraction
    high: arb
    low: arb
    symbols: tuple[int, int]
    start_odds: arb | None = None
    start_value: int | None = None

    @property
    def alternates(self) -> bool:
        """Whether neighbours tend to differ (q + r > 1)."""
        return self.q + self.r > 1

    @cached_property
    def transition(self) -> tuple[arb, arb, arb, arb]:
        """P in the labels of this direction: (1-q, q, r, 1-r)."""
        return ball(1 - self.q), ball(self.q), ball(self.r), ball(1 - self.r)

    @cached_property
    def maps(self) -> tuple[Moebius, Moebius, Moebius]:
        """What a step away from the target does to the odds; see :meth:`maps_from`."""
        return self.maps_from(Moebius(*self.transition))

    def maps_from(self, one_step: Moebius) -> tuple[Moebius, Moebius, Moebius]:
        """Prior odds after one step; then posterior and prior odds after one stride.

        A stride is one step, or two where the worst output alternates.
        """
        step = one_step.after_factor(self.high)
        if not self.alternates:
            return one_step, step, one_step
        return one_step, one_step.after_factor(self.low).after(step), one_step.after(one_step)

    @property
    def compared(self) -> tuple[int, int]:
        """The two values in the user's labels: the one spoken for, the one against."""
        return self.value, 1 - self.value

    @property
    def worst_output(self) -> tuple[int, int, int]:
        """The output that speaks most for 0: at the target, at even and at odd distance."""
        high, low = self.symbols
        return high, high, (low if self.alternates else high)


@dataclass(frozen=True)
class Track:
    """Values of one side, ``k = 0, 1, 2, …`` standing for distances ``first + stride * k``.

    Attributes
    ----------
    known : int or None
        Value of the nearest known point, in the direction's labels; None: nothing is known.
    first, stride : int
        Distance of the known point (or number of points, if nothing is known) at k = 0,
        and what one step of k adds to it.
    odds, prior : Orbit
        Posterior odds under the worst outputs, and prior odds.
    turns_once : bool
        Whether the value is known to rise and then fall.
    only_rises : bool
        Whether it is known to rise for ever: nothing known, and prior odds that stay at 1.
    pad : int
        Points that must lie beyond the known point for its value to be possible.
    """

    known: int | None
    first: int
    stride: int
    odds: Orbit
    prior: Orbit
    turns_once: bool = True
    only_rises: bool = False
    pad: int = 0

    def distance(self, k: int) -> int:
        """Distance (or number of points) that index ``k`` stands for."""
        return self.first + self.stride * k

    def index(self, distance: int) -> int | None:
        """The ``k`` of a distance; None where it belongs to another track."""
        k, left_over = divmod(distance - self.first, self.stride)
        return k if left_over == 0 and k >= 0 else None

    def last_index(self, room: int) -> int:
        """Largest ``k`` whose distance, with the padding, fits into ``room``; may be negative."""
        return (room - self.pad - self.first) // self.stride

    def log_value(self, k: int) -> arb:
        """Log of the track's value at index ``k``."""
        return (self.odds(k) / self.prior(k)).log()

    def growth(self, odds: arb, prior: arb) -> arb:
        """Factor by which the value changes in one step from the given odds."""
        return self.odds.step(odds) * prior / (odds * self.prior.step(prior))

    def slowest_log_rate(self) -> float:
        """How fast the far end is forgotten: the slower of the two contractions, per step."""
        posterior = -float(self.odds.step.log_contraction)
        if self.only_rises:
            return posterior  # the prior odds do not move
        return min(posterior, -float(self.prior.step.log_contraction))

    def tail_bound(self, k: int) -> arb:
        """Log of an upper bound on the value at ``k`` and every index beyond it."""
        odds = larger(self.odds(k), self.odds.step.attractor)
        prior = smaller(self.prior(k), self.prior.step.attractor)
        return (odds / prior).log()


def smaller(x: arb, y: arb) -> arb:
    """A ball around the minimum; where the order is unclear, one that holds both."""
    return x if x <= y else y if y <= x else x.union(y)


def larger(x: arb, y: arb) -> arb:
    """A ball around the maximum; where the order is unclear, one that holds both."""
    return x if x >= y else y if y >= x else x.union(y)


def largest(numbers: Iterable[arb]) -> arb:
    """A ball around the maximum of one number or more."""
    return reduce(larger, numbers)


def ball(number: Fraction) -> arb:
    """A rational as a ball of the current precision."""
    return arb(number.numerator) / arb(number.denominator)


def known_tracks(direction: Direction) -> list[Track]:
    """Tracks with a known point at the far end; the same to the left and to the right.

    To the left as well, because a two-state chain pinned at both ends is reversible.
    A distance at which the known value rules a state of the target out has no entry.
    """
    # Transition probabilities into the known value, from state 0 and from state 1.
    into = ((1 - direction.q, direction.r), (direction.q, 1 - direction.r))
    return [track for value in (0, 1) for track in _known(direction, value, *into[value])]


def _known(direction: Direction, value: int, from0: Fraction, from1: Fraction) -> list[Track]:
    one_step, step, prior_step = direction.maps
    pair = ball(from0), ball(from1)
    if from0 > 0 and from1 > 0:
        start = pair[0] / pair[1]
        stride = 2 if direction.alternates else 1
        odd = Track(value, 1, stride, Orbit(step, start), Orbit(prior_step, start))
    else:
        odds, odds_prior = step.of_pair(*pair), prior_step.of_pair(*pair)
        odd = Track(value, 3, 2, Orbit(step, odds), Orbit(prior_step, odds_prior))
    if not direction.alternates:
        return [odd]
    odds = one_step.of_pair(direction.low * pair[0], pair[1])
    even = Track(value, 2, 2, Orbit(step, odds), Orbit(prior_step, one_step.of_pair(*pair)))
    return [odd, even]


def open_tracks(direction: Direction) -> list[Track]:
    """Tracks with nothing known on the side; to the left this holds for a stationary start."""
    return _open(direction, direction.maps, arb(1), level=True)


def left_open_tracks(direction: Direction) -> list[Track]:
    """Tracks with nothing known on the left, for whatever start the direction has."""
    if direction.start_odds is None:
        return open_tracks(direction)
    # Odds run forwards in time here, so the transition matrix is transposed.
    stay, leave, back, keep = direction.transition
    maps = direction.maps_from(Moebius(stay, back, leave, keep))
    return _open(direction, maps, direction.start_odds, level=False)


def _open(
    direction: Direction, maps: tuple[Moebius, Moebius, Moebius], start: arb, level: bool
) -> list[Track]:
    one_step, step, prior_step = maps
    even = Track(
        None,
        0,
        2 if direction.alternates else 1,
        Orbit(step, start),
        Orbit(prior_step, start),
        only_rises=level,
    )
    if not direction.alternates:
        return [even]
    odd = Track(
        None,
        1,
        2,
        Orbit(step, one_step(direction.low * start)),
        Orbit(prior_step, one_step(start)),
        turns_once=level,
        only_rises=level,
    )
    return [even, odd]
