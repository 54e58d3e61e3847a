"""What a release gives away if the data are a chain with a longer memory.

A context ``c`` is the number whose base-k digits are the last points, oldest first; see
``chainveil.model.higher_order``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.model.higher_order import HigherOrderChain
from chainveil.noise.channel import Channel


@dataclass(frozen=True)
class WorstOutput:
    """The largest log ratio over every output of a window, and where it occurs."""

    loss: float
    target: int
    value: int
    other: int
    output: tuple[int, ...]


def output_law(
    chain: HigherOrderChain, channel: Channel, window: int, target: int, value: int
) -> FloatArray:
    """``Pr[z | X_target = value]`` for every z of ``window`` points, shape (outputs ** window,).

    Contracts the chain from left to right, all outputs at once: a tensor over the outputs so
    far and the current context. ``z`` is read as a number, first point first.
    """
    states, order = chain.states, chain.order
    pinned = (np.arange(states) == value).astype(float)
    tensor = chain.contexts.reshape(1, -1)
    for position in range(order):
        digit = np.arange(states**order) // states ** (order - 1 - position) % states
        emission = channel.matrix[digit].T * (pinned[digit] if position == target else 1.0)
        tensor = (tensor[:, None, :] * emission[None, :, :]).reshape(-1, states**order)
    step = chain.transition.reshape(states, -1, states)
    for position in range(order, window):
        oldest_first = tensor.reshape(len(tensor), states, -1)
        moved = np.einsum("zor,orx->zrx", oldest_first, step, optimize=True)
        if position == target:
            moved = moved * pinned
        # Axes: outputs so far, new output, remaining context, new state.
        grown = moved[:, None, :, :] * channel.matrix.T[None, :, None, :]
        tensor = grown.reshape(-1, states**order)
    law = tensor.sum(axis=1)
    return np.asarray(law / law.sum())


def worst_output(chain: HigherOrderChain, channel: Channel, window: int) -> WorstOutput:
    """Largest ``log Pr[z | X_i = a] / Pr[z | X_i = b]`` over i, a, b and every z of a window.

    The adversary knows no point. This is what one window gives away; a longer one, or an
    adversary who knows points, can only get more.
    """
    worst = WorstOutput(-np.inf, 0, 0, 1, ())
    for target in range(window):
        with np.errstate(divide="ignore", invalid="ignore"):
            laws = np.log(
                [output_law(chain, channel, window, target, a) for a in range(chain.states)]
            )
            for value in range(chain.states):
                for other in range(chain.states):
                    ratio = np.nan_to_num(laws[value] - laws[other], nan=-np.inf, posinf=np.inf)
                    peak = int(np.argmax(ratio))
                    if value != other and ratio[peak] > worst.loss:
                        digits = _digits(peak, channel.outputs, window)
                        worst = WorstOutput(float(ratio[peak]), target, value, other, digits)
    return worst


def _digits(number: int, base: int, count: int) -> tuple[int, ...]:
    return tuple(number // base**place % base for place in range(count - 1, -1, -1))
