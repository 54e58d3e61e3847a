"""Certified bounds on the loss of one chain of order 2 or more, whatever the number of values.

Independent noise, and noise that looks at its last report. A loss that no series of the given
length exceeds is also none that a longer one shows: bounds for every length hold for each.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from chainveil.noise.automaton import Observation
from chainveil.noise.base import Noise
from chainveil.noise.channel import Channel
from chainveil.privacy.bounds import Attack, attack_on
from chainveil.privacy.orders.alphabet import SILENT, Alphabet
from chainveil.privacy.orders.cones import Cones
from chainveil.privacy.orders.numbers import read_numbers
from chainveil.privacy.orders.search import WORK_A_NODE, Search
from chainveil.privacy.problem import Effort, Problem
from chainveil.privacy.result import PrivacyLoss

# Entries of a row to the right of a target: values before it and up to the next point.
MOST_ENTRIES = 1024
# Distances at which bounds are tried in turn, as shares of the loss, and the least one, in nats.
WIDTHS, LEAST = (3.5e-3, 5e-4), 1e-7
STEPS = 100_000  # nodes, where no number is asked for; about ten seconds
# Series of more points lose, up to what is searched for, as much as series of any length.
LONGEST = 256


def solves(problem: Problem) -> bool:
    """One chain of order 2 or more; a report sees its point, or the last report too."""
    model, releases = problem.model, problem.releases
    if not model.single or model.order is None or model.order < 2:
        return False
    alone = len(releases) == 1 and replace(problem, releases=(_on_every_point(releases[0]),)).plain
    if not (problem.plain or alone):
        return False
    if problem.ordered and (len(releases) > 1 or releases[0].sees != "last report"):
        return False
    who = problem.adversary
    offered = who in ("any", "ignorant") or (who == "informed" and problem.length is None)
    return offered and model.states ** (2 * model.order - 1) <= MOST_ENTRIES


def _together(releases: tuple[Noise, ...]) -> Noise:
    """All releases as one; several are independent."""
    return releases[0] if len(releases) == 1 else Channel.joint(*releases)


def _on_every_point(noise: Noise) -> Noise:
    """The same noise as if every point made a report; itself where that is not offered."""
    return noise.thinned(1) if noise.sees in ("point", "last report") else noise


def loss(problem: Problem) -> PrivacyLoss:
    """Both bounds, brought as close as the effort allows."""
    closing, steps = Closing(problem), STEPS if problem.effort is None else problem.effort
    if problem.tolerance is not None:
        return closing.to(Effort(problem.tolerance, steps))
    found = closing.to(Effort(math.inf, attacks_only=True))
    for width in WIDTHS:
        found = closing.to(Effort(max(width * found.lower, LEAST), steps))
    return found


class Closing:
    """A loss whose bounds are brought together step by step.

    ``like``: that of similar noise, of which this one may learn where to begin.
    """

    def __init__(self, problem: Problem, like: Closing | None = None) -> None:
        self.problem = problem
        self._numbers = read_numbers(problem.model, _together(problem.releases))
        alphabet = Alphabet(self._numbers, str(problem.adversary))
        cones = None if like is None else like.cones
        points = _searched(problem.length)
        self._search = Search(alphabet, points, Effort(math.inf), problem.length, cones)

    @property
    def cones(self) -> Cones | None:
        """What may follow words, as far as it is known."""
        return self._search.cones

    @property
    def nodes(self) -> int:
        """The work that was done so far, in nodes."""
        return math.ceil(self._search.worked / WORK_A_NODE)

    def begin_with(self, attack: Attack) -> None:
        """No attack on other noise is of use: the search keeps words by what they attain."""

    def others(self, above: float, most: int) -> list[Attack]:
        """None: only the best attack is followed back."""
        return []

    def to(self, effort: Effort, enough: float = math.inf) -> PrivacyLoss:
        """Both bounds as close as the effort allows, unless the lower one is above ``enough``."""
        problem, search = self.problem, self._search
        nothing = PrivacyLoss(0.0, 0.0, None, problem.adversary, problem.length)
        if self._numbers.hides_all:
            return nothing
        search.effort = effort
        search.run(enough)
        if search.lower <= 0.0 and search.upper <= 0.0:
            return nothing
        word = search.word
        if word is None:
            return replace(nothing, epsilon=search.upper, steps=self.nodes)
        output = [None if report == SILENT else self._seen(report) for report in word.reports]
        attack = attack_on(word.target, word.pair, word.known, output)
        lower = max(0.0, problem.replay(attack))
        upper = math.nextafter(max(search.upper, lower), math.inf)
        return replace(nothing, epsilon=upper, lower=lower, witness=attack, steps=self.nodes)

    def _seen(self, report: int) -> Observation:
        """A report of all releases together, as one of each."""
        sizes = [noise.outputs for noise in self.problem.releases]
        if len(sizes) == 1:
            return int(report)
        return tuple(int(one) for one in np.unravel_index(report, sizes))


def _searched(length: int | None) -> int | None:
    """The number of points that words may have; behind many of them it makes no difference."""
    return None if length is None or length > LONGEST else length
