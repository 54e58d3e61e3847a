"""How often the best possible attacker guesses one point right, on average over releases.

The Bayes-optimal success is ``sum over z of max over x of Pr[X_i = x, z]``. Given ``X_i``, and
the last report where reports look back at it, the outputs up to ``i`` and those after it are
independent, so only the messages of the two sides matter (``attack.outputs``):

    Pr[X_i = x, z] = left(x; z up to i) * right(x; z after i).

For two states the maximum flips where the ratio of the right message crosses a threshold that
the left message sets; sorting one side and adding up turns 2^(n-1) products into about
2^(n/2) lookups. More states are enumerated in full. Under a longer memory messages are about
contexts, and products are added up over those that end in x. Longer series are sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks, inference
from chainveil.attack.outputs import Outputs
from chainveil.attack.success import estimated_epsilon
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel, require_model
from chainveil.noise.base import Noise, require_noise

# Messages on one side that are held at once (two states), and products in all (more states).
MOST_MESSAGES = 1 << 20
MOST_PRODUCTS = 1 << 25
# Points simulated at once.
CHUNK = 1 << 22


@dataclass(frozen=True)
class ExpectedSuccess:
    """Probability that the best attacker is right about one point.

    ``error`` is the standard error of a simulation; it is 0 where ``exact`` is true.
    """

    value: float
    error: float
    exact: bool

    @property
    def estimated_epsilon(self) -> float:
        """The paper's estimated privacy ``ln(p / (1-p))``."""
        return estimated_epsilon(self.value)


def expected_success(
    chain: DataModel,
    noise: Noise,
    length: int,
    target: int | None = None,
    samples: int = 20_000,
    rng: np.random.Generator | int | None = None,
) -> ExpectedSuccess:
    """Bayes-optimal success at ``target`` (0-based; the middle by default) of ``length`` points.

    Exact where there are few enough outputs to enumerate (order 1, two states and outputs: up
    to 20 reports on either side of the target; of a longer memory as many in all), else from
    ``samples`` simulated series.
    """
    require_model(chain)
    require_noise(noise)
    length = checks.whole("length", length, 1)
    target = (length - 1) // 2 if target is None else checks.whole("target", target, 0)
    if target >= length:
        raise InvalidInput("target", target, f"positions 0 … {length - 1}")
    if chain.states != noise.states:
        raise InvalidInput("noise", f"{noise.states} states", f"noise for {chain.states} states")
    places = noise.places(length)
    sides = int((places < target).sum()), int((places > target).sum())
    value = chain.hidden_chain()[2]
    if _can_enumerate(value, chain.states, noise.outputs, sides):
        outputs = Outputs.of(chain, noise, length)
        return ExpectedSuccess(_exact(outputs, target, value), 0.0, True)
    return _simulated(chain, noise, length, target, checks.whole("samples", samples, 2), rng)


def _can_enumerate(
    value: NDArray[np.int64], states: int, outputs: int, sides: tuple[int, int]
) -> bool:
    hidden = len(value)
    if hidden == states == 2:
        return bool(outputs ** max(sides) <= MOST_MESSAGES)
    messages = outputs ** max(sides) * hidden
    return bool(outputs ** sum(sides) * states <= MOST_PRODUCTS and messages <= MOST_PRODUCTS)


def _exact(outputs: Outputs, target: int, value: NDArray[np.int64]) -> float:
    left, right = outputs.before(target)[-1], outputs.after(target)[0]
    if len(value) == 2:
        return float(sum(_combine_two(rows, right[label]) for label, rows in left.items()))
    return float(sum(_combine_all(rows, right[label], value) for label, rows in left.items()))


def _combine_two(left: FloatArray, right: FloatArray) -> float:
    """``sum over pairs of max(left0 * right0, left1 * right1)`` by sorting the right side."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(right[:, 1] / right[:, 0])
        right = right[order]
        ratios = right[:, 1] / right[:, 0]
        thresholds = left[:, 0] / left[:, 1]
    # A pair of zeros contributes nothing wherever it is put.
    cuts = np.searchsorted(ratios, np.nan_to_num(thresholds, nan=0.0, posinf=np.inf))
    below0 = np.concatenate([[0.0], np.cumsum(right[:, 0])])
    above1 = np.concatenate([np.cumsum(right[::-1, 1])[::-1], [0.0]])
    return float(left[:, 0] @ below0[cuts] + left[:, 1] @ above1[cuts])


def _combine_all(left: FloatArray, right: FloatArray, value: NDArray[np.int64]) -> float:
    """``sum over pairs of max over x of sum over s of left(s) * right(s)``, s standing for x."""
    total = 0.0
    width = max(1, (1 << 22) // right.size)
    kinds = [value == x for x in np.unique(value)]
    for begin in range(0, len(left), width):
        part = left[begin : begin + width]
        joint = np.stack([part[:, kind] @ right[:, kind].T for kind in kinds])
        total += float(joint.max(axis=0).sum())
    return total


def _simulated(
    chain: Any,
    noise: Noise,
    length: int,
    target: int,
    samples: int,
    rng: np.random.Generator | int | None,
) -> ExpectedSuccess:
    """Average of the largest posterior probability: the same mean as counting, less spread."""
    from chainveil.mechanism import sanitize, seeded

    generator = np.random.default_rng(rng)
    largest = np.empty(samples)
    width = max(1, CHUNK // length)
    for begin in range(0, samples, width):
        count = min(width, samples - begin)
        x = chain.sample(length, count, generator)
        z = sanitize(x, noise, rng=seeded(int(generator.integers(1 << 62))))
        posterior = inference.smoothed(chain, noise, z)[:, target]
        largest[begin : begin + count] = posterior.max(axis=1)
    error = float(largest.std(ddof=1) / np.sqrt(samples))
    return ExpectedSuccess(float(largest.mean()), error, False)
