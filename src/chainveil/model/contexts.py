"""What an order-m chain is made of: contexts, how often each was seen, the law after each.

A context ``c`` is the number whose base-k digits are m points, oldest first. Its shorter
parts are what is left without the oldest points: ``c % k ** (m - 1)``, and so on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.model.steps import finite_stationary
from chainveil.sequences import Sequences

IntArray = NDArray[np.int64]
# Contexts of the longest memory: as many as a certificate holds.
MOST_CONTEXTS = 256


def count_contexts(series: Sequences, states: int, order: int, skip: int) -> IntArray:
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


def shorter_counts(counts: NDArray[np.int64], order: int) -> IntArray:
    """The same points counted by the last ``order`` of each context, shape (k ** order, k)."""
    k = counts.shape[1]
    return np.asarray(counts.reshape(-1, k**order, k).sum(axis=0))


def fitted_laws(counts: NDArray[np.int64], pseudocount: float = 0.0) -> FloatArray:
    """The law after each context, shape (k ** m, k), from counts of that shape.

    A context that was never seen has the law of the longest part of it that was. With a
    ``pseudocount`` c, every context is taken to have been seen c times k more often, followed as
    its shorter part says, and the empty one by all states alike: nothing is impossible then.
    """
    k = counts.shape[1]
    law = np.full((1, k), 1.0 / k)
    for order in range(order_of(counts.shape) + 1):
        found = shorter_counts(counts, order)
        # The shorter part of context c is c % k^(order - 1).
        fallback = np.tile(law, (len(found) // len(law), 1))
        weight = found + pseudocount * k * fallback
        seen = weight.sum(axis=1, keepdims=True)
        law = np.where(seen > 0, weight / np.where(seen > 0, seen, 1.0), fallback)
    return law


def order_of(shape: tuple[int, ...]) -> int:
    """The order of a table of shape (k ** m, k); -1 where it is of no such shape."""
    contexts, k = shape
    order, size = 0, 1
    while size < contexts and k > 1:
        order, size = order + 1, size * k
    return order if size == contexts else -1


def context_steps(transition: FloatArray) -> FloatArray:
    """Transition matrix between contexts, shape (k ** order, k ** order)."""
    total, states = transition.shape
    step = np.zeros((total, total))
    here = np.repeat(np.arange(total), states)
    there = (here * states + np.tile(np.arange(states), total)) % total
    np.add.at(step, (here, there), transition.reshape(-1))
    return step


def stationary_contexts(transition: FloatArray) -> FloatArray:
    """The law of the contexts that one step keeps, shape (k ** order,); an error if there are more.

    Accurate entry by entry: a rare context that came out as never seen would drop out of a loss.
    """
    steps = context_steps(transition)
    recurrent = _recurrent(steps)
    if not len(recurrent):
        raise InvalidInput(
            "transition", "several sets of contexts that are never left",
            "a chain that can get from every context into one and the same set of them, so that "
            "its stationary law is the only one",
            "Fit with a pseudocount or a lower order, or treat the sets as separate chains.",
        )  # fmt: skip
    kept = np.zeros(len(transition))
    kept[recurrent] = finite_stationary(steps[np.ix_(recurrent, recurrent)])
    return kept


def _recurrent(steps: FloatArray) -> IntArray:
    """The contexts that come back for ever; none where there are several sets of them."""
    reach = (steps > 0) | np.eye(len(steps), dtype=bool)
    for _ in range(max(1, (len(steps) - 1).bit_length())):
        # Products of floats are far quicker than those of booleans.
        reach = reach.astype(np.float32) @ reach.astype(np.float32) > 0
    # Whatever is reached from everywhere is in the one set that is never left.
    return np.flatnonzero(reach.all(axis=0))
