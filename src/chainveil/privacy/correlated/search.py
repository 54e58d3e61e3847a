"""Where the worst case of correlated noise lies: which value, output, and known points.

Between the compiled recursions and the public functions. A ratio splits in three,

    Pr[z | x_i=0, x_K] / Pr[z | x_i=1, x_K] = ν(z_i)/ν(1-z_i) · (left side) · (right side),

with ν the stationary law of the noise. Both sides have the same form, since both chains
are reversible, and depend on each other through ``z_i`` alone; on each side only the
nearest known point matters, because its value and its output fix the pair (x, y) there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.privacy.correlated import kernel

# Steps before the walk away from the target gives up: about a second of work.
STEP_LIMIT = 3_000_000

# The bounds may stop this far apart, relative to the loss; the promise is ten times as wide.
STOP_TOLERANCE = 1e-10

# Rounding of the last few products, taken upwards.
_PRODUCT_UP = 1 + 2.0**-48

_NO_TABLE = np.empty((0, 3, 2, 2))


@dataclass(frozen=True)
class MechanismNumbers:
    """The four numbers of the mechanism: data chain (q, r), noise chain (rho0, rho1)."""

    q: float
    r: float
    rho0: float
    rho1: float

    @property
    def weights(self) -> FloatArray:
        """``ν(z)/ν(1-z)`` and its inverse, shape (direction, z), rounded upwards."""
        keep, flip = self.rho1 / self.rho0, self.rho0 / self.rho1
        return np.array([[keep, flip], [flip, keep]]) * _PRODUCT_UP

    @property
    def parameters(self) -> tuple[float, float, float, float]:
        """As the kernels take them."""
        return self.q, self.r, self.rho0, self.rho1


@dataclass(frozen=True)
class KnownSide:
    """What the adversary has on one side: ``distance`` points, the last one known or not."""

    family: int
    distance: int


@dataclass(frozen=True)
class Worst:
    """The worst case found.

    ``ratio`` is an upper bound on the likelihood ratio over everything that was asked for;
    the other fields describe a case that comes close to it. ``direction`` 0 means "value 0
    over value 1", ``z`` is the output at the target.
    """

    ratio: float
    direction: int
    z: int
    left: KnownSide
    right: KnownSide


@dataclass(frozen=True)
class _Walk:
    """Upper ends of side factors by distance, and bounds beyond the last one walked."""

    distance: int
    table: FloatArray
    tails: FloatArray
    best: FloatArray
    where: Any
    family: Any

    def open(self, points: int) -> FloatArray:
        """Nothing known, ``points`` points up to the end of the series; (direction, z)."""
        if points == 0:
            return np.ones((2, 2))
        return self.table[points, kernel.OPEN] if points <= self.distance else self.tails

    def known(self, distance: int) -> FloatArray:
        """The point at ``distance`` known, whichever value is worse; (direction, z)."""
        if distance > self.distance:
            return self.tails
        return np.asarray(self.table[distance, kernel.KNOWN_0 :].max(axis=0))

    def known_side(self, distance: int, direction: int, z: int) -> KnownSide:
        """The known value that is worse at ``distance``."""
        row = self.table[min(distance, self.distance), kernel.KNOWN_0 :, direction, z]
        return KnownSide(kernel.KNOWN_0 + int(np.argmax(row)), distance)


def _walk(
    model: MechanismNumbers, steps: int | None, known: bool, every: bool, budget: float = np.nan
) -> _Walk:
    """Run the recursion; ``steps=None`` walks until the bounds meet and keeps no table."""
    limit = STEP_LIMIT if steps is None else min(steps, STEP_LIMIT)
    table = _NO_TABLE if steps is None else np.empty((limit + 1, 3, 2, 2))
    distance, met, best, where, family, tails = kernel.scan(
        *model.parameters, limit, known, every, STOP_TOLERANCE, float(budget), table
    )
    if not met and (steps is None or distance < steps):
        raise NotSupported(
            f"the loss did not settle within {STEP_LIMIT} points of the target; the chain "
            f"(q={model.q!r}, r={model.r!r}) or the noise (rho0={model.rho0!r}, "
            f"rho1={model.rho1!r}) forgets too slowly. Give a shorter length, or use noise "
            "with rho0 + rho1 nearer to one."
        )
    return _Walk(int(distance), table, tails, best, where, family)


def unbounded(model: MechanismNumbers, known: bool, budget: float = np.nan) -> Worst:
    """Supremum over every length and position, for any adversary or the ignorant one."""
    walk = _walk(model, None, known, every=False, budget=budget)
    upper = np.maximum(walk.best, walk.tails)
    ratio = float((model.weights * upper * upper).max() * _PRODUCT_UP)
    direction, z = _peak(model.weights * walk.best * walk.best)
    side = KnownSide(int(walk.family[direction, z]), int(walk.where[direction, z]))
    return Worst(ratio, direction, z, side, side)


def bounded(model: MechanismNumbers, length: int, known: bool) -> Worst:
    """Maximum over every position in a series of ``length`` points.

    The left side has at most as many points as the right one: by reversibility nothing is
    lost. Rows beyond the walk stand for all longer sides at once.
    """
    walk = _walk(model, length - 1, known, every=True)
    factors = _factors_by_points(walk, length - 1, known)
    rows = len(factors) - 1
    left = np.arange(min((length - 1) // 2, rows) + 1)
    right = np.minimum(length - 1 - left, rows)
    ratios = model.weights * factors[left] * factors[right]
    position, direction, z = (int(i) for i in np.unravel_index(np.argmax(ratios), ratios.shape))
    return Worst(
        float(ratios.max() * _PRODUCT_UP),
        direction,
        z,
        _bounded_side(walk, position, known, direction, z),
        _bounded_side(walk, length - 1 - position, known, direction, z),
    )


def _factors_by_points(walk: _Walk, points: int, known: bool) -> FloatArray:
    """The worst factor of a side with 0, 1, 2, … points, shape (rows, direction, z).

    Where the walk stopped early, the last row bounds every longer side.
    """
    walked = min(points, walk.distance)
    factors = np.ones((min(points, walk.distance + 1) + 1, 2, 2))
    factors[walked + 1 :] = walk.tails
    factors[1 : walked + 1] = walk.table[1 : walked + 1, kernel.OPEN]
    if known:
        by_distance = walk.table[1 : walked + 1, kernel.KNOWN_0 :].max(axis=1)
        factors[1 : walked + 1] = np.maximum(factors[1 : walked + 1], by_distance)
        np.maximum.accumulate(factors, axis=0, out=factors)
    return factors


def _bounded_side(walk: _Walk, points: int, known: bool, direction: int, z: int) -> KnownSide:
    """The best use of a side of ``points`` points: left open, or known at some distance."""
    side, value = KnownSide(kernel.OPEN, points), walk.open(points)[direction, z]
    if not known or points == 0:
        return side
    walked = min(points, walk.distance)
    factors = walk.table[1 : walked + 1, kernel.KNOWN_0 :, direction, z].max(axis=1)
    distance = int(np.argmax(factors)) + 1
    # Beyond the walk the open end has only a bound to its name, no value of its own.
    if points > walk.distance or factors[distance - 1] > value:
        return walk.known_side(distance, direction, z)
    return side


def informed(model: MechanismNumbers, length: int | None) -> Worst:
    """Every other point known. With a neighbour on both sides the loss is never smaller."""
    walk = _walk(model, 1, known=True, every=True)
    neighbours = 2 if length is None else min(length - 1, 2)
    factors = [walk.known(1) if neighbours > side else np.ones((2, 2)) for side in range(2)]
    ratios = model.weights * factors[0] * factors[1]
    direction, z = _peak(ratios)
    sides = [
        walk.known_side(1, direction, z) if neighbours > side else KnownSide(kernel.OPEN, 0)
        for side in range(2)
    ]
    return Worst(float(ratios.max() * _PRODUCT_UP), direction, z, sides[1], sides[0])


def single(
    model: MechanismNumbers, target: int, known: frozenset[int], length: int | None
) -> Worst:
    """One target and one set of known positions: the paper's BDPL(A)."""
    before = max((j for j in known if j < target), default=None)
    after = min((j for j in known if j > target), default=None)
    reach_left = target if before is None else target - before
    if after is not None:
        reach_right = after - target
    else:
        reach_right = 0 if length is None else length - 1 - target
    walk = _walk(model, max(reach_left, reach_right, 1), known=True, every=True)
    endless = _walk(model, None, False, every=True) if after is None and length is None else None
    left = walk.open(reach_left) if before is None else walk.known(reach_left)
    right = walk.open(reach_right) if after is None else walk.known(reach_right)
    if endless is not None:
        right = np.maximum(endless.best, endless.tails)
    ratios = model.weights * left * right
    direction, z = _peak(ratios)

    def side(is_open: bool, distance: int) -> KnownSide:
        return (
            KnownSide(kernel.OPEN, distance) if is_open else walk.known_side(distance, direction, z)
        )

    right_side = side(after is None, reach_right)
    if endless is not None:
        right_side = KnownSide(kernel.OPEN, int(endless.where[direction, z]))
    ratio = float(ratios.max() * _PRODUCT_UP)
    return Worst(ratio, direction, z, side(before is None, reach_left), right_side)


def _peak(ratios: FloatArray) -> tuple[int, int]:
    direction, z = np.unravel_index(np.argmax(ratios), ratios.shape)
    return int(direction), int(z)
