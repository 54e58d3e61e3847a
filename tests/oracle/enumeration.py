"""The definition of Bayesian differential privacy loss, enumerated.

Every series x, every output z, every target i, every known set K, every known value:
nothing is derived, nothing is skipped. Slow, small and obviously right. Arrays of floats give
floats; arrays of fractions (dtype object) are worked through exactly.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[Any]
Case = tuple[int, frozenset[int]]


def joint_law(
    start: FloatArray, transition: FloatArray, channel: FloatArray, n: int
) -> tuple[FloatArray, FloatArray]:
    """``Pr[x]`` with shape (k,)*n, and ``Pr[x, z]`` with shape (k,)*n + (m**n,)."""
    law = np.zeros((len(channel),) * n, channel.dtype)
    for x in itertools.product(range(len(channel)), repeat=n):
        probability = start[x[0]]
        for a, b in itertools.pairwise(x):
            probability = probability * transition[a, b]
        law[x] = probability
    return law, _released(law, channel)


def _released(law: FloatArray, channel: FloatArray) -> FloatArray:
    """``Pr[x, z]`` with shape (k,)*n + (m**n,), for series of any law."""
    joint = np.zeros((*law.shape, channel.shape[1] ** law.ndim), channel.dtype)
    for x in itertools.product(range(len(channel)), repeat=law.ndim):
        output = np.ones(1, channel.dtype)
        for state in x:
            output = np.multiply.outer(output, channel[state]).ravel()
        joint[x] = law[x] * output
    return joint


def loss_of_every_adversary(
    start: FloatArray, transition: FloatArray, channel: FloatArray, n: int
) -> dict[Case, float]:
    """log BDPL of every adversary (i, K): the supremum over values and outputs.

    Values of the target that cannot occur together with the known ones are not compared;
    a set with nothing to compare has loss 0, an output that rules a value out has loss inf.
    """
    ratios = ratio_of_every_adversary(start, transition, channel, n)
    return {case: math.log(ratio) for case, ratio in ratios.items()}


def loss_under_law(law: FloatArray, channel: FloatArray) -> dict[Case, float]:
    """The same where series have any law, ``Pr[x]`` with shape (k,)*n."""
    ratios = _ratios(law, _released(law, channel))
    return {case: math.log(ratio) for case, ratio in ratios.items()}


def ratio_of_every_adversary(
    start: FloatArray, transition: FloatArray, channel: FloatArray, n: int
) -> dict[Case, Any]:
    """BDPL of every adversary before its logarithm, in the numbers of the arrays."""
    return _ratios(*joint_law(start, transition, channel, n))


def _ratios(law: FloatArray, joint: FloatArray) -> dict[Case, Any]:
    n = law.ndim
    return {
        (i, frozenset(known)): _ratio(law, joint, n, i, known)
        for i in range(n)
        for size in range(n)
        for known in itertools.combinations([j for j in range(n) if j != i], size)
    }


def _ratio(law: FloatArray, joint: FloatArray, n: int, i: int, known: tuple[int, ...]) -> Any:
    free = tuple(j for j in range(n) if j != i and j not in known)
    k, outputs = law.shape[0], joint.shape[-1]
    prior = np.moveaxis(law.sum(axis=free, keepdims=True), i, 0).reshape(k, -1)
    output = np.moveaxis(joint.sum(axis=free, keepdims=True), i, 0).reshape(k, -1, outputs)
    worst: Any = 1
    for a, b in itertools.permutations(range(k), 2):
        both = (prior[a] > 0) & (prior[b] > 0)
        if not both.any():
            continue
        over = output[a][both] / prior[a][both][:, None]
        under = output[b][both] / prior[b][both][:, None]
        if np.any((over > 0) & (under == 0)):
            return math.inf
        possible = under > 0
        if possible.any():
            worst = max(worst, (over[possible] / under[possible]).max())
    return worst


def worst_loss(losses: dict[Case, float], n: int, adversary: str) -> float:
    """The loss against ``"any"``, ``"ignorant"`` or ``"informed"`` adversary."""
    sizes = {"any": range(n), "ignorant": [0], "informed": [n - 1]}[adversary]
    return max(loss for (_, known), loss in losses.items() if len(known) in sizes)
