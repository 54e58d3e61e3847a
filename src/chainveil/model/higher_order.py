"""Chains with a longer memory.

An order-m chain draws the next point from the last m. Its context ``c`` is the number
whose base-k digits are those m points, oldest first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel, HiddenChain, Origin, register
from chainveil.model.chain import finite_stationary
from chainveil.sequences import Sequences, as_sequences


@register
@dataclass(frozen=True)
class HigherOrderChain(DataModel):
    """An order-m chain: the next point depends on the last m.

    Attributes
    ----------
    transition : array of shape (k ** order, k)
        Law of the next point after each context. A context that was never seen has the law
        of the longest part of it that was.
    contexts : array of shape (k ** order,)
        Stationary law of the contexts.
    counts : integer array of shape (k ** order, k), optional
        The transitions that it was fitted to; None where it was not fitted.
    origin : "given", "reference" or "private"
        Where it came from, as in :class:`chainveil.MarkovChain`.

    Examples
    --------
    >>> import chainveil as cv
    >>> series = cv.MarkovChain.binary(q=0.1, r=0.3).sample(5000, rng=1)
    >>> chain = cv.HigherOrderChain.fit(series, order=2)
    >>> chain.transition.shape
    (4, 2)
    """

    kind: ClassVar[str] = "higher order"
    single: ClassVar[bool] = True

    transition: FloatArray
    contexts: FloatArray
    counts: NDArray[np.int64] | None = None
    origin: Origin = "given"

    @classmethod
    def fit(
        cls, sequences: Any, order: int, states: int | None = None, *, public: bool = False
    ) -> HigherOrderChain:
        """Maximum-likelihood chain of the given order, from transition counts.

        ``sequences``, ``states`` and ``public`` are as in :meth:`chainveil.MarkovChain.fit`. A
        chain that was fitted on private data can be used to study them; no plan publishes it.
        """
        order = checks.whole("order", order, 2, "2 or more; of order 1 is MarkovChain.fit")
        series = as_sequences("sequences", sequences, states)
        if series.flat.size == 0 or int(series.lengths.max()) <= order:
            raise InvalidInput(
                "sequences", f"{series.flat.size} points", f"a series of more than {order} points"
            )
        fitted = fit_order(series, states or int(series.flat.max()) + 1, order)
        return fitted.of_origin("reference" if public else "private")

    @property
    def order(self) -> int:
        """How many points make a context."""
        return round(math.log(len(self.transition), self.states))

    @property
    def states(self) -> int:
        """Number of states k."""
        return int(self.transition.shape[1])

    @property
    def stationary(self) -> FloatArray:
        """Share of each state in the long run, shape (k,)."""
        return np.asarray(self.contexts.reshape(-1, self.states).sum(axis=0))

    @property
    def likeliest(self) -> HigherOrderChain:
        """The chain itself: there is no other."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Transitions, a row a context, and the origin unless they were given."""
        words: dict[str, Any] = {"transition": self.transition.tolist()}
        return words if self.origin == "given" else words | {"origin": self.origin}

    @classmethod
    def from_json(cls, words: Mapping[str, Any]) -> HigherOrderChain:
        """The chain with these transitions."""
        transition = checks.stochastic_matrix("transition", words["transition"])
        contexts, k = transition.shape
        order = round(math.log(contexts, k)) if k > 1 else 0
        if k**order != contexts or order < 2:
            raise InvalidInput("transition", transition.shape, "a row for each context")
        law = _stationary_contexts(transition)
        return cls(transition, law, origin=words.get("origin", "given"))

    def of_origin(self, origin: Origin) -> HigherOrderChain:
        """The same chain, known to come from there."""
        return replace(self, origin=origin)

    @property
    def is_unrounded(self) -> bool:
        """Whether the transitions are those fitted on private data, not fit to be published."""
        return self.origin == "private"

    def hidden_chain(self) -> HiddenChain:
        """The chain of contexts: its first law, transitions, and the last point of each."""
        contexts = np.arange(len(self.transition))
        return self.contexts, context_steps(self.transition), contexts % self.states

    def series_law(self, n: int) -> FloatArray:
        """``Pr[X_1 … X_n]`` of every series of ``n`` points, shape (k,) * n; for short ones."""
        n, k = checks.whole("n", n, 1), self.states
        law = self.contexts.reshape((k,) * self.order)
        if n < self.order:
            return np.asarray(law.sum(axis=tuple(range(n, self.order))))
        step = self.transition.reshape((k,) * (self.order + 1))
        for _ in range(n - self.order):
            law = law[..., None] * step
        return np.asarray(law)

    def sample(
        self, n: int, size: int | None = None, rng: np.random.Generator | int | None = None
    ) -> NDArray[np.uint8] | NDArray[np.int64]:
        """Draw series from the chain, as :meth:`chainveil.MarkovChain.sample` does."""
        from chainveil.model import simulate

        n, k = checks.whole("n", n, 1), self.states
        rows = 1 if size is None else checks.whole("size", size, 1)
        moved = simulate.sample(self.contexts, context_steps(self.transition), n, rows, rng)
        series: NDArray[Any] = (moved % k).astype(np.uint8 if k <= 256 else np.int64)
        return series[0] if size is None else series


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
    return HigherOrderChain(shorter, _stationary_contexts(shorter), counts)


def context_steps(transition: FloatArray) -> FloatArray:
    """Transition matrix between contexts, shape (k ** order, k ** order)."""
    total, states = transition.shape
    step = np.zeros((total, total))
    for context in range(total):
        for state in range(states):
            step[context, (context * states + state) % total] += transition[context, state]
    return step


def _stationary_contexts(transition: FloatArray) -> FloatArray:
    """Law of the contexts that one step keeps, shape (k ** order,).

    Accurate entry by entry where there is one such law: a rare context that came out as never
    seen would drop out of a loss.
    """
    total, steps = len(transition), context_steps(transition)
    recurrent = _recurrent(steps)
    if recurrent is not None:
        kept = np.zeros(total)
        kept[recurrent] = finite_stationary(steps[np.ix_(recurrent, recurrent)])
        return kept
    equations = np.vstack([steps.T - np.eye(total), np.ones((1, total))])
    law, *_ = np.linalg.lstsq(equations, np.append(np.zeros(total), 1.0), rcond=None)
    law = np.maximum(law, 0.0)
    return np.asarray(law / law.sum())


def _recurrent(steps: FloatArray) -> NDArray[np.int64] | None:
    """The contexts that come back for ever; None where there are several sets of them."""
    reach = (steps > 0) | np.eye(len(steps), dtype=bool)
    for _ in range(max(1, (len(steps) - 1).bit_length())):
        reach = reach @ reach
    # Whatever is reached from everywhere is in the one set that is never left.
    found = np.flatnonzero(reach.all(axis=0))
    return found if len(found) else None
