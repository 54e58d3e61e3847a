"""The definition of the loss, enumerated: every output, every known set, every known value.

For series of a few points of any model that is one law, any noise, any unit. Of the noise only
its automaton is asked. All numbers are sums of products of probabilities, nothing is subtracted, so
every one is known up to a relative error that grows with the number of operations alone; the result
is rounded up by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, groupby

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.noise.automaton import Automaton, Observation
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.bounds import Attack
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss

# Entries of the joint law of series and outputs, and the same times the sets of known points.
MOST_ENTRIES = 1 << 20
MOST_WORK = 1 << 27
HALF_ULP = 2.0**-53
# Probabilities of a whole series, and of its reports; products of both are then far from zero.
LEAST = 1e-100

Output = tuple[Observation, ...]


def solves(problem: Problem) -> bool:
    """Releases of a short series of a model that is one law."""
    length = problem.length
    # Two states have too many series long before the power itself is too large to compute.
    if not problem.model.single or length is None or length >= MOST_ENTRIES.bit_length():
        return False
    entries: int = problem.model.states**length
    for noise in problem.releases:
        entries *= (noise.outputs + problem.gaps) ** len(noise.places(length))
    return entries <= MOST_ENTRIES and entries << length <= MOST_WORK


def loss(problem: Problem) -> PrivacyLoss:
    """The largest log ratio over all outputs, targets and known points that are asked for."""
    length = problem.length or 0
    prior = problem.model.series_law(length)
    outputs, likelihood = report_law(problem.automaton, length)
    _check_range(problem, prior)
    joint = prior[..., None] * likelihood
    best, found = -math.inf, None
    for target, known in _adversaries(problem):
        unit = tuple(range(target, target + problem.unit))
        value, place = _largest(joint, prior, unit, known)
        if value > best:
            best, found = value, (target, known, place)
    if found is None or best == -math.inf:
        return PrivacyLoss(0.0, 0.0, None, problem.adversary, problem.length)
    witness = _witness(problem, outputs, *found)
    lower = max(0.0, problem.replay(witness))
    epsilon = (
        math.inf
        if math.isinf(best)
        else math.nextafter(max(best, 0.0) + 2 * _error(problem), math.inf)
    )
    return PrivacyLoss(
        max(epsilon, lower), lower, witness, problem.adversary, problem.length, steps=joint.size
    )


def report_law(automaton: Automaton, length: int) -> tuple[list[Output], FloatArray]:
    """All outputs of a few points, and ``Pr[Z = z | X = x]`` at ``[x_1, …, x_n, z]``.

    Of missing points it is the law of the others, given which points are missing.
    """
    k = automaton.states
    # By label: the outputs that lead there, and their likelihoods, shape (outputs, k^t, k); the
    # last axis is the state of the last point, which the next edge looks at.
    reached: dict[int, tuple[list[Output], FloatArray]]
    reached = {automaton.start: ([()], np.ones((1, 1, 1)))}
    for t in range(length):
        parts: dict[int, list[tuple[list[Output], FloatArray]]] = {}
        for edge in automaton.by_phase[t % automaton.period]:
            if edge.source not in reached:
                continue
            before, weights = reached[edge.source]
            law = edge.law[:1] if t == 0 else edge.law
            longer = (weights[..., None] * law).reshape(len(before), -1, k)
            ends: list[Output] = [(*output, edge.observation) for output in before]
            parts.setdefault(edge.target, []).append((ends, longer))
        reached = {
            label: (
                [output for ends, _ in several for output in ends],
                np.concatenate([weights for _, weights in several]),
            )
            for label, several in parts.items()
        }
    outputs = [output for before, _ in reached.values() for output in before]
    found = np.concatenate([weights for _, weights in reached.values()])
    return outputs, np.moveaxis(found.reshape(-1, *(k,) * length), 0, -1)


def _check_range(problem: Problem, prior: FloatArray) -> None:
    """Error where products of probabilities may vanish: what is lost is missing from the loss."""
    laws = np.concatenate([edge.law.ravel() for edge in problem.automaton.edges])
    least, report = (float(np.min(law[law > 0])) for law in (prior, laws))
    if least < LEAST or report ** (problem.length or 0) < LEAST:
        raise NotSupported(
            f"the loss is enumerated where series, and their reports, have probabilities from "
            f"{LEAST:g} on; here some have less than that and more than 0"
        )


def _adversaries(problem: Problem) -> Iterator[tuple[int, tuple[int, ...]]]:
    """First points of units, and known points, of the adversaries that are asked for."""
    who, length, size = problem.adversary, problem.length or 0, problem.unit
    if isinstance(who, Adversary):
        yield who.target, tuple(sorted(who.known))
        return
    for target in range(length - size + 1):
        others = [at for at in range(length) if not target <= at < target + size]
        counts = {"ignorant": range(1), "informed": range(len(others), len(others) + 1)}
        for count in counts.get(who, range(len(others) + 1)):
            for known in combinations(others, count):
                yield target, known


def _largest(
    joint: FloatArray, prior: FloatArray, unit: tuple[int, ...], known: tuple[int, ...]
) -> tuple[float, tuple[int, ...]]:
    """The largest log ratio of one adversary: value and other, in base k; known values; output."""
    hidden = tuple(at for at in range(prior.ndim) if at not in unit and at not in known)
    fixed = sorted((*unit, *known))
    places = [fixed.index(at) for at in unit]
    k = joint.shape[0]

    def arranged(law: FloatArray) -> FloatArray:
        moved: FloatArray = np.moveaxis(law.sum(axis=hidden), places, range(len(unit)))
        return moved.reshape(k ** len(unit), *moved.shape[len(unit) :])

    seen, weight = arranged(joint), arranged(prior)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(seen / weight)
    best: float = -math.inf
    found: tuple[int, ...] = ()
    for value in range(len(seen)):
        # Values that cannot occur with what is known, and outputs that no value allows, are no
        # pairs.
        usable = (weight[value] > 0) & (weight > 0) & (seen[value] > 0)
        with np.errstate(invalid="ignore"):
            ratio = np.where(usable, log[value] - log, -np.inf)
        place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        if ratio[place] > best:
            best, found = float(ratio[place]), (value, *(int(index) for index in place))
    return best, found


def _witness(
    problem: Problem,
    outputs: list[Output],
    target: int,
    known: tuple[int, ...],
    place: tuple[int, ...],
) -> Attack:
    value, other, *values, output = place
    size = (problem.model.states,) * problem.unit
    value_of, other_of = (
        tuple(int(digit) for digit in np.unravel_index(code, size)) for code in (value, other)
    )
    runs = tuple(((seen,), len(list(run))) for seen, run in groupby(outputs[output]))
    return Attack(target, value_of, other_of, dict(zip(known, values, strict=True)), runs)


def _error(problem: Problem) -> float:
    """How far rounding may have moved the logarithm of a ratio.

    Each entry is a product of at most 3 + r rounded factors a point, r being the number of
    releases, a sum of up to k^n of them in numpy's order is off by at most as many roundings as
    it has terms, and a log ratio has four such sums, three operations and two logarithms that are
    off by an ulp or so each.
    """
    length = problem.length or 0
    factors, terms = (3 + len(problem.releases)) * length, problem.model.states**length
    return float(4 * (factors + terms + 16) * HALF_ULP + 64 * HALF_ULP * (1 + 745.0))
