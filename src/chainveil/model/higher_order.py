"""Chains with a longer memory, and what a release gives away if the data are one of them.

An order-m chain draws the next point from the last m. Its context ``c`` is the number
whose base-k digits are those m points, oldest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.sequences import Sequences


@dataclass(frozen=True)
class HigherOrderChain:
    """A fitted order-m chain.

    Attributes
    ----------
    order : int
    transition : array of shape (k ** order, k)
        Law of the next point after each context. A context that was never seen has the law
        of the longest part of it that was.
    contexts : array of shape (k ** order,)
        Stationary law of the contexts.
    counts : integer array of shape (k ** order, k)
    """

    single: ClassVar[bool] = True

    order: int
    transition: FloatArray
    contexts: FloatArray
    counts: NDArray[np.int64]

    @property
    def states(self) -> int:
        """Number of states k."""
        return int(self.transition.shape[1])


@dataclass(frozen=True)
class WorstOutput:
    """The largest log ratio over every output of a window, and where it occurs."""

    loss: float
    target: int
    value: int
    other: int
    output: tuple[int, ...]


def count_contexts(series: Sequences, states: int, order: int, skip: int) -> NDArray[np.int64]:
    """How often each context is followed by each state, shape (states ** order, states).

    The first ``skip >= order`` points of a series are never the point that follows, so that
    counts of several orders can be taken over the same points.
    """
    counts = np.zeros(states ** (order + 1), dtype=np.int64)
    for begin, end in zip(series.offsets[:-1], series.offsets[1:], strict=True):
        part = series.flat[begin:end].astype(np.int64)
        if len(part) <= skip:
            continue
        code = np.zeros(len(part) - skip, dtype=np.int64)
        for lag in range(order, -1, -1):
            code = code * states + part[skip - lag : len(part) - lag]
        counts += np.bincount(code, minlength=len(counts))
    return counts.reshape(-1, states)


def fit_order(series: Sequences, states: int, order: int) -> HigherOrderChain:
    """Maximum-likelihood chain of the given order, from transition counts."""
    counts = count_contexts(series, states, order, order)
    shorter = np.full((1, states), 1.0 / states)
    for length in range(order + 1):
        found = count_contexts(series, states, length, order)
        seen = found.sum(axis=1, keepdims=True)
        fallback = np.tile(shorter, (len(found) // len(shorter), 1))
        shorter = np.where(seen > 0, found / np.maximum(seen, 1), fallback)
    return HigherOrderChain(order, shorter, _stationary_contexts(shorter), counts)


def context_model(chain: HigherOrderChain, channel: Channel) -> tuple[MarkovChain, Channel]:
    """The same law as an order-1 chain whose states are contexts, for ``chainveil.inference``.

    The last point of context ``c`` is ``c % k``; the channel reports that point.
    """
    contexts = np.arange(len(chain.transition))
    return (
        MarkovChain(_context_steps(chain.transition), chain.contexts),
        Channel(channel.matrix[contexts % chain.states]),
    )


def _context_steps(transition: FloatArray) -> FloatArray:
    """Transition matrix between contexts, shape (k ** order, k ** order)."""
    total, states = transition.shape
    step = np.zeros((total, total))
    for context in range(total):
        for state in range(states):
            step[context, (context * states + state) % total] += transition[context, state]
    return step


def _stationary_contexts(transition: FloatArray) -> FloatArray:
    """Law of the contexts that one step keeps, shape (k ** order,)."""
    total = len(transition)
    equations = np.vstack([_context_steps(transition).T - np.eye(total), np.ones((1, total))])
    law, *_ = np.linalg.lstsq(equations, np.append(np.zeros(total), 1.0), rcond=None)
    law = np.maximum(law, 0.0)
    return np.asarray(law / law.sum())


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
