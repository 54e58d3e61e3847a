"""From the words of both sides to an attack with positions, known values and whole outputs."""

from __future__ import annotations

import math
from itertools import product
from typing import cast

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy import bounds
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.letters.cases import Half
from chainveil.privacy.letters.numbers import Numbers, successors
from chainveil.privacy.letters.search import Attack
from chainveil.privacy.letters.sides import Reports, Script, Spelling
from chainveil.privacy.problem import Problem

# A witness is written out to the asked length up to this many points.
LONGEST_EXTENSION = 4096


def written_out(problem: Problem, script: Script, attack: Attack) -> bounds.Attack | None:
    """The attack in positions; None where it cannot be written out."""
    left, right = attack.left, attack.right
    target = left.points
    if isinstance(problem.adversary, Adversary):
        target = problem.adversary.target
    elif problem.adversary == "informed" and right.known is None and problem.length is not None:
        # Nothing is left to know behind the target: it is the last point.
        target = problem.length - 1
    known: dict[int, int] = {}
    before = list(reversed(left.reports))
    if left.known is not None:
        place = target - len(left.reports)
        known[place] = left.known
        before = _up_to(script, place, left) + before
    if not left.reports:
        before = [_silence(script)] * (target + 1)
    behind = list(right.reports)
    if right.known is not None:
        known[target + len(behind) + 1] = right.known
        behind += _from(script, len(before) + len(behind), right)
    series = before + behind
    if problem.plain and not problem.ordered:
        series += _further(problem, script, attack, series)
    one = len(script.releases) == 1
    output = [reports[0] if one else reports for reports in series]
    return bounds.attack_on(target, attack.pair, known, output)


def reports_of(attack: bounds.Attack) -> list[Reports]:
    """What each release reports at each point of an attack; None where nothing is published."""
    points = (seen if isinstance(seen, tuple) else (seen,) for seen in attack.output())
    return [cast(Reports, reports) for reports in points]


def in_letters(
    script: Script, spellings: tuple[Spelling, Spelling], attack: bounds.Attack
) -> tuple[int, list[list[int]]] | None:
    """The label of an attack's target and the words of both sides; None where it has none.

    The other way round than :func:`written_out`, where every point reports.
    """
    if script.every > 1 or script.missing:
        return None
    digits = reports_of(attack)
    named = {reports: label for label, reports in enumerate(script.label_reports)}
    labels = [named[tuple(point[i] or 0 for i in script.sticky)] for point in digits]
    target = attack.target
    first = max((place for place in attack.known if place < target), default=0)
    last = min((place for place in attack.known if place > target), default=len(digits))
    words: list[list[int]] = []
    sides = range(target, first, -1), range(target + 1, last)
    for spelling, places in zip(spellings, sides, strict=True):
        numbers = {
            (label, letter.following, letter.reports): number
            for label in range(script.labels)
            for number, letter in enumerate(spelling.letters[0, label])
        }
        # A letter stands between the label further in and the one further out.
        left = int(spelling.is_left)
        steps = [
            (labels[place - 1 + left], labels[place - left], digits[place]) for place in places
        ]
        if any(step not in numbers for step in steps):
            return None
        words.append([numbers[step] for step in steps])
    return labels[target], words


def _silence(script: Script) -> Reports:
    return (None,) * len(script.releases)


def _reporting(script: Script, index: int) -> bool:
    return (index - script.first) % script.every == 0


def _likely(script: Script, state: int, label: tuple[int, ...] | None) -> Reports:
    """Reports that the state can make: the likeliest of channels, the label of sticky noise."""
    reports = []
    for i in range(len(script.releases)):
        if i in script.channels:
            reports.append(int(np.argmax(script.numbers.laws[i][0][state])))
        else:
            assert label is not None
            reports.append(label[script.sticky.index(i)])
    return tuple(reports)


def _up_to(script: Script, place: int, left: Half) -> list[Reports]:
    """Reports of the points 0 … place, of which the last has the known value.

    Noise that remembers has said the label of the known point all the time, if it can.
    """
    states = _states_up_to(script.numbers, place, left.known or 0)
    none = script.has_none and left.label == script.labels - 1
    if none or not script.sticky:
        return [
            _likely(script, state, None)
            if _reporting(script, index) and not (none and script.sticky)
            else _silence(script)
            for index, state in enumerate(states)
        ]
    series = [(state, left.label) for state in states]
    if not _can_be(script, series):
        series = _series_up_to(script, place, series[-1]) or series
    return [
        _likely(script, state, script.label_reports[label])
        if _reporting(script, index)
        else _silence(script)
        for index, (state, label) in enumerate(series)
    ]


def _can_be(script: Script, series: list[tuple[int, int]]) -> bool:
    """Whether these states of the points 0, 1, … can have these labels."""
    last = None
    for index, (state, label) in enumerate(series):
        if _reporting(script, index):
            if not script.sticky_weight(last, label)[state] > 0:
                return False
            last = label
    return True


def _series_up_to(script: Script, place: int, end: tuple[int, int]) -> list[tuple[int, int]] | None:
    """States and labels that can be those of the points 0 … place; None: not with this end.

    The last label stands for none before the first report.
    """
    labels, move = range(len(script.label_reports)), script.numbers.transition > 0
    said = np.array([[script.sticky_weight(last, now) > 0 for now in labels] for last in labels])
    first = np.array([script.sticky_weight(None, now) > 0 for now in labels])
    # Whether a report may follow another one or none, by both and by the state: (L + 1, L, k).
    follows = np.concatenate([said, first[None]])
    found, now = [], np.zeros((len(move), len(labels) + 1), np.bool_)
    now[:, -1] = script.numbers.start > 0
    for index in range(place + 1):
        moved = move.T @ now if index else now
        now = moved
        if _reporting(script, index):
            now = np.zeros_like(moved)
            now[:, :-1] = (moved[:, :, None] & follows.transpose(2, 0, 1)).any(axis=1)
        found.append((moved, now))
    if not found[-1][1][end]:
        return None
    series = [end]
    for index in range(place, 0, -1):
        state, label = series[-1]
        if _reporting(script, index):
            label = int(np.argmax(found[index][0][state] & follows[:, label, state]))
        before = found[index - 1][1][:, label] & move[:, state]
        series.append((int(np.argmax(before)), label))
    return series[::-1]


def _states_up_to(numbers: Numbers, place: int, value: int) -> list[int]:
    """A possible series of the points 0 … place that ends in the value."""
    possible = [numbers.start > 0]
    for _ in range(place):
        possible.append(successors(possible[-1], numbers.transition > 0))
    states = [value]
    for t in range(place - 1, -1, -1):
        weights = np.where(possible[t], numbers.transition[:, states[-1]], 0.0)
        states.append(int(np.argmax(weights)))
    return states[::-1]


def _from(script: Script, index: int, right: Half) -> list[Reports]:
    """The report of the known point on the right."""
    state = right.known or 0
    if not _reporting(script, index):
        return [_silence(script)]
    if not script.sticky:
        return [_likely(script, state, None)]
    none = script.has_none and right.label == script.labels - 1
    chosen = []
    for place, i in enumerate(script.sticky):
        first, kernel = script.numbers.laws[i]
        last = script.label_reports[right.label][place] if not none else 0
        law = first[state] if none else kernel[last, state]
        chosen.append(int(np.argmax(law)))
    return [_likely(script, state, tuple(chosen))]


def _further(
    problem: Problem, script: Script, attack: Attack, series: list[Reports]
) -> list[Reports]:
    """Reports of the points behind the attack, up to the asked length; they lower no ratio.

    The ratio so far is an average of the ratios after one more report, so the best report is
    not below it; behind a known point none matters.
    """
    length = problem.length
    if length is None or length > LONGEST_EXTENSION:
        return []
    move = script.numbers.transition
    rows = np.eye(script.numbers.states)[list(attack.pair)]
    if attack.right.known is not None:
        rows = np.eye(script.numbers.states)[[attack.right.known] * 2]
    else:
        for reports in attack.right.reports:
            rows = rows @ move * _weight(script, reports)
            rows /= rows.max()
    added: list[Reports] = []
    choices = list(product(*(range(noise.outputs) for noise in script.releases)))
    while len(series) + len(added) < length:
        ahead = rows @ move
        worth = [ahead @ _weight(script, reports) for reports in choices]
        ratios = [_ratio(float(above), float(below)) for above, below in worth]
        added.append(choices[int(np.argmax(ratios))])
        rows = ahead * _weight(script, added[-1])
        rows /= rows.max()
    return added


def _ratio(above: float, below: float) -> float:
    """What a report is worth; below all others where the value rules it out."""
    if above <= 0:
        return -1.0
    return above / below if below > 0 else math.inf


def _weight(script: Script, reports: Reports) -> FloatArray:
    """What the reports of all channels say of each state."""
    weight = np.ones(script.numbers.states)
    for (law, _), report in zip(script.numbers.laws, reports, strict=True):
        weight = weight * law[:, report or 0]
    return weight
