"""The definition of the loss, enumerated: every output, every known set, every known value.

For series of a few points and any noise that has a first law and a step law. All numbers are
sums of products of probabilities, nothing is subtracted, so every one is known up to a
relative error that grows with the number of operations alone; the result is rounded up by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.noise.base import Noise
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.bounds import Attack, attack_on
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss

# Entries of the joint law of series and outputs, and the same times the sets of known points.
MOST_ENTRIES = 1 << 20
MOST_WORK = 1 << 27
HALF_ULP = 2.0**-53
# Probabilities of a whole series, and of its reports; products of both are then far from zero.
LEAST = 1e-100


def solves(problem: Problem) -> bool:
    """Releases of a short series of a model that is one law."""
    model = problem.model
    # Two states have too many series long before the power itself is too large to compute.
    if not model.single or problem.length is None or problem.length >= MOST_ENTRIES.bit_length():
        return False
    if not problem.plain or (len(problem.releases) > 1 and problem.ordered):
        return False
    outputs = math.prod(noise.outputs for noise in problem.releases)
    entries: int = (model.states * outputs) ** problem.length
    return entries <= MOST_ENTRIES and entries << problem.length <= MOST_WORK


def loss(problem: Problem) -> PrivacyLoss:
    """The largest log ratio over all outputs, targets and known points that are asked for."""
    _check_range(problem)
    joint = joint_law(problem)
    best, found = -math.inf, None
    for target, known in _adversaries(problem):
        value, place = _largest(joint, target, known)
        if value > best:
            best, found = value, (target, known, place)
    if found is None or best == -math.inf:
        return PrivacyLoss(0.0, 0.0, None, problem.adversary, problem.length)
    witness = _witness(problem, *found)
    lower = max(0.0, problem.replay(witness))
    epsilon = (
        math.inf
        if math.isinf(best)
        else math.nextafter(max(best, 0.0) + 2 * _error(problem), math.inf)
    )
    return PrivacyLoss(
        max(epsilon, lower), lower, witness, problem.adversary, problem.length, steps=joint.size
    )


def joint_law(problem: Problem) -> FloatArray:
    """``Pr[X = x, Z = z]``, one axis a point for x, then one a point for z."""
    length = problem.length or 0
    return problem.model.series_law(length)[(...,) + (None,) * length] * report_law(
        problem.noise, length
    )


def report_law(noise: Noise, length: int) -> FloatArray:
    """``Pr[Z = z | X = x]``, one axis a point for x, then one a point for z."""
    k, m = noise.states, noise.outputs
    # At first x_1, z_1, x_2, z_2, …: the last pair of axes is what the next step looks at.
    law = noise.first_law().reshape(1, k, m)
    step = np.ascontiguousarray(np.moveaxis(noise.step_law(), 0, 1))
    for _ in range(length - 1):
        law = (law[:, :, :, None, None] * step).reshape(-1, k, m)
    points, reports = range(0, 2 * length, 2), range(1, 2 * length, 2)
    return np.ascontiguousarray(law.reshape((k, m) * length).transpose(*points, *reports))


def _check_range(problem: Problem) -> None:
    """Error where products of probabilities may vanish: what is lost is missing from the loss."""
    length = problem.length or 0
    series = problem.model.series_law(length)
    noise = problem.noise
    reports = np.concatenate([noise.first_law().ravel(), noise.step_law().ravel()])
    least, report = (float(np.min(law[law > 0])) for law in (series, reports))
    if least < LEAST or report**length < LEAST:
        raise NotSupported(
            f"the loss is enumerated where series, and their reports, have probabilities from "
            f"{LEAST:g} on; here some have less than that and more than 0"
        )


def _adversaries(problem: Problem) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Targets and known points of the adversaries that are asked for."""
    who, length = problem.adversary, problem.length or 0
    if isinstance(who, Adversary):
        yield who.target, tuple(sorted(who.known))
        return
    for target in range(length):
        others = [point for point in range(length) if point != target]
        sizes = {"ignorant": range(1), "informed": range(length - 1, length)}
        for size in sizes.get(who, range(length)):
            for known in combinations(others, size):
                yield target, known


def _largest(
    joint: FloatArray, target: int, known: tuple[int, ...]
) -> tuple[float, tuple[int, ...]]:
    """The largest log ratio of one adversary; axes: value, other, known values, output."""
    points = joint.ndim // 2
    hidden = tuple(point for point in range(points) if point != target and point not in known)
    seen = np.moveaxis(joint.sum(axis=hidden), sorted((target, *known)).index(target), 0)
    prior = seen.sum(axis=tuple(range(seen.ndim - points, seen.ndim)), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(seen / prior)
        ratio = log[:, None] - log[None, :]
    # Values that cannot occur with what is known, and outputs that no value allows, are no pairs.
    usable = (prior[:, None] > 0) & (prior[None, :] > 0) & (seen[:, None] > 0)
    ratio = np.where(usable & ~np.isnan(ratio), ratio, -np.inf)
    place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return float(ratio[place]), tuple(int(index) for index in place)


def _witness(
    problem: Problem, target: int, known: tuple[int, ...], place: tuple[int, ...]
) -> Attack:
    value, other, *rest = place
    values, output = rest[: len(known)], rest[len(known) :]
    pairs = dict(zip(known, values, strict=True))
    sizes = [noise.outputs for noise in problem.releases]
    seen = [z if len(sizes) == 1 else tuple(map(int, np.unravel_index(z, sizes))) for z in output]
    return attack_on(target, (value, other), pairs, seen)


def _error(problem: Problem) -> float:
    """How far rounding may have moved the logarithm of a ratio.

    Each entry is a product of at most 3 n rounded factors, a sum of up to k^n m^n of them in
    numpy's order is off by at most as many roundings as it has terms, and a log ratio has four
    such sums, three operations and two logarithms that are off by an ulp or so each.
    """
    length = problem.length or 0
    terms: int = (problem.model.states * problem.noise.outputs) ** length
    return 4 * (4 * length + terms + 16) * HALF_ULP + 64 * HALF_ULP * (1 + 745.0)
