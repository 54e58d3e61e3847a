"""Exact privacy loss of correlated noise: ``z = x XOR y`` with a noise chain ``y``.

Section 3.3 of the paper asks whether correlated noise helps; against every adversary it
does. The loss is the supremum, over the adversaries asked for, of

    ln Pr[z | x_i = a, x_K] - ln Pr[z | x_i = 1-a, x_K]

(Definition of BDPL, Section 2.3), with the noise summed out. Any chain with q, r in (0, 1)
and any noise with rho0, rho1 in (0, 1] is covered, lazy or not.

``epsilon`` is certified: it is computed with outward rounding throughout (see
``kernel``), and a final logarithm in ball arithmetic. ``lower`` is the loss of a
concrete attack, computed with inward rounding. Where the two do not meet, nothing is
returned.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import NotSupported
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.correlated import kernel, search
from chainveil.privacy.correlated.search import KnownSide, MechanismNumbers, Worst
from chainveil.privacy.correlated.witness import CorrelatedWitness, build_witness
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.witness import DescribedAttack

# The promise: epsilon and lower agree to this, relative, or absolute where epsilon is tiny.
RELATIVE_GAP = 1e-9
ABSOLUTE_GAP = 1e-11

# A witness is a whole series; longer ones are asked for with length=None.
LONGEST = 1_000_000

# Below this the rounding argument of the kernels would have to speak of underflow.
LEAST_PARAMETER = 1e-30


def solves(problem: Problem) -> bool:
    """One release of correlated noise."""
    return [noise.kind for noise in problem.releases] == [CorrelatedNoise.kind] and problem.plain


def loss(problem: Problem) -> PrivacyLoss:
    """Privacy loss of ``z = x XOR y`` against the adversaries asked for.

    The chain has two states, is stationary, and both change probabilities are below one; the
    noise is applied as one unbroken chain to the whole series, of at most 1,000,000 points
    where the length is given. ``epsilon`` and ``lower`` differ by at most one part in 1e9, or
    1e-11 where that is more (losses below 0.01). ``epsilon`` is infinite where an output can
    rule a value out.

    Raises
    ------
    NotSupported
        For chains or noise that forget so slowly (about: less than 1e-5 a step) that the
        bounds do not meet within 3,000,000 points of the target.
    """
    noise, adversary = cast(CorrelatedNoise, problem.noise), problem.adversary
    model = read_model(problem.model, noise)
    length = read_points(problem.length)
    worst = find_worst(model, length, adversary)
    witness = build_witness(model, worst, length, adversary)
    lower = _lower(model, worst, witness)
    epsilon = max(_log_up(worst.ratio), 0.0)
    if noise.rho0 == noise.rho1 == 0.5:
        # Fair and independent coin flips: the output says nothing about the series.
        epsilon = lower = 0.0
    _check_gap(model, epsilon, lower)
    return PrivacyLoss(epsilon, lower, None, adversary, length)


def witness(attack: DescribedAttack) -> CorrelatedWitness:
    """The attack as it is described, point by point."""
    return CorrelatedWitness(*attack.place, np.packbits(attack.output()).tobytes())


def find_worst(
    model: MechanismNumbers,
    length: int | None,
    adversary: Adversary | AdversaryName,
    budget: float = np.nan,
) -> Worst:
    """Upper bound on the ratio, and where it is nearly attained; no certificate yet.

    With ``budget``, an answer above or below it may be given before it is accurate.
    """
    if isinstance(adversary, Adversary):
        return search.single(model, adversary.target, adversary.known, length)
    if adversary == "informed":
        return search.informed(model, length)
    known = adversary == "any"
    if length is None:
        return search.unbounded(model, known, budget)
    return search.bounded(model, length, known)


def read_model(chain: DataModel, noise: CorrelatedNoise) -> MechanismNumbers:
    """The four numbers, checked for what the maths needs."""
    q, r = read_chain(chain)
    for name, value in (("rho0", noise.rho0), ("rho1", noise.rho1)):
        if value < LEAST_PARAMETER:
            raise NotSupported(f"noise {name}={value!r} is below {LEAST_PARAMETER}")
    return MechanismNumbers(q, r, noise.rho0, noise.rho1)


def read_chain(model: DataModel) -> tuple[float, float]:
    """``q`` and ``r`` of a stationary two-state chain that the recursion covers."""
    if not model.single or (model.states, model.order) != (2, 1):
        raise NotSupported(
            "mechanism: correlated noise is offered for one release of a two-state chain that "
            "is known; regions, more states and spent budgets need independent noise."
        )
    chain = cast(MarkovChain, model)
    if chain.initial is not None and not np.array_equal(chain.initial, chain.stationary):
        raise NotSupported("correlated noise is for stationary chains; leave `initial` out")
    q, r = float(chain.transition[0, 1]), float(chain.transition[1, 0])
    for name, value in (("q", q), ("r", r)):
        if not LEAST_PARAMETER <= value < 1:
            raise NotSupported(
                f"chain {name}={value!r}; supported: at least {LEAST_PARAMETER} and below one"
            )
    return q, r


def read_points(length: int | None) -> int | None:
    """None, or a whole number up to the longest witness that is built."""
    if length is not None and length > LONGEST:
        raise NotSupported(
            f"length {length} is above {LONGEST}; use length=None, which covers every length"
        )
    return length


def _lower(model: MechanismNumbers, worst: Worst, witness: CorrelatedWitness) -> float:
    """Loss of the witness, rounded down."""
    ratio = 1 / model.weights[1 - worst.direction, worst.z] * kernel.DOWN
    output = witness.output_array()
    left = output[: witness.target][::-1][: worst.left.distance]
    right = output[witness.target + 1 :][: worst.right.distance]
    for side, outputs in ((worst.left, left), (worst.right, right)):
        low, high = _follow(model, side, worst.z, outputs)
        factor = low if worst.direction == 0 else (kernel.DOWN / high if high else math.inf)
        ratio *= factor
    return max(_log_down(ratio * kernel.DOWN), 0.0)


def _follow(
    model: MechanismNumbers, side: KnownSide, z: int, outputs: NDArray[np.uint8]
) -> tuple[float, float]:
    low, high = kernel.follow(model.q, model.r, _weights(model), side.family, z, outputs)
    return float(low), float(high)


def _weights(model: MechanismNumbers) -> Any:
    return kernel.step_matrices(*model.parameters)


def _log_up(ratio: float) -> float:
    return ratio if math.isinf(ratio) else math.nextafter(_log(ratio)[1], math.inf)


def _log_down(ratio: float) -> float:
    return ratio if math.isinf(ratio) else math.nextafter(_log(ratio)[0], -math.inf)


def _log(ratio: float) -> tuple[float, float]:
    """Enclosure of the logarithm, before the last rounding to a double."""
    from flint import arb

    ball = arb(ratio).log()
    return float(ball.lower()), float(ball.upper())


def _check_gap(model: MechanismNumbers, epsilon: float, lower: float) -> None:
    if epsilon == lower or epsilon - lower <= max(RELATIVE_GAP * lower, ABSOLUTE_GAP):
        return
    raise NotSupported(
        f"the loss lies between {lower!r} and {epsilon!r}, which is wider than promised, for "
        f"q={model.q!r}, r={model.r!r}, rho0={model.rho0!r}, rho1={model.rho1!r}; chains or "
        "noise that forget this slowly are beyond double precision"
    )
