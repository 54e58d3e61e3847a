"""Chains with a longer memory: the next point is drawn from the last m.

``model.contexts`` says what a context is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel, HiddenChain, Origin, register
from chainveil.model.chain import few_digits, frozen_counts, read_public
from chainveil.model.contexts import (
    MOST_CONTEXTS,
    context_steps,
    count_contexts,
    fitted_laws,
    order_of,
    stationary_contexts,
)
from chainveil.sequences import as_sequences

if TYPE_CHECKING:
    from chainveil.model.orders import OrderChoice


@register
@dataclass(frozen=True, eq=False, repr=False)
class HigherOrderChain(DataModel):
    """A stationary chain of order m on the states ``0 … k-1``: a point depends on the last m.

    Parameters
    ----------
    transition : array of shape (k ** m, k)
        ``transition[c, b]``: probability of b after the context c, the number whose base-k
        digits are the last m points, the oldest first: of two states and order 2 the rows are
        those after 00, 01, 10 and 11.
    order : int
        How many points make a context, m, 2 or more; of order 1 is :class:`chainveil.MarkovChain`.
    counts : integer array of shape (k ** m, k), optional
        The transitions that a fitted chain was estimated from.
    origin : "given", "reference" or "private", optional
        Where it came from, as in :class:`chainveil.MarkovChain`.

    Attributes
    ----------
    contexts : array of shape (k ** m,)
        Stationary law of the contexts, from which series start. Contexts outside of the set that
        is never left have probability 0 there.
    order_choice : OrderChoice or None
        How the order was chosen, where ``fit`` chose it.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain = cv.HigherOrderChain([[.9, .1], [.2, .8], [.9, .1], [.7, .3]], order=2)
    >>> chain.states, chain.order, chain.stationary.round(3).tolist()
    (2, 2, [0.824, 0.176])
    >>> round(cv.privacy_loss(chain, cv.Channel.binary(0.3, 0.3), length=4).epsilon, 3)
    1.658
    """

    kind: ClassVar[str] = "higher order"
    single: ClassVar[bool] = True

    transition: FloatArray
    counts: NDArray[np.int64] | None
    origin: Origin
    contexts: FloatArray = field(init=False)
    order_choice: OrderChoice | None = field(init=False)

    def __init__(
        self,
        transition: ArrayLike,
        order: int,
        counts: ArrayLike | None = None,
        origin: Origin | None = None,
    ) -> None:
        order = checks.whole("order", order, 2, "2 or more; of order 1 is MarkovChain")
        matrix = checks.stochastic_matrix("transition", transition)
        k = matrix.shape[1]
        check_size(k, order)
        if k < 2 or matrix.shape[0] != k**order:
            raise InvalidInput(
                "transition", f"a table of shape {matrix.shape}",
                f"a row for each of the k^{order} contexts of {order} points, a column for each of "
                "the k states, at least 2",
            )  # fmt: skip
        origin = origin or ("given" if counts is None else "private")
        checks.one_of("origin", origin, get_args(Origin))
        self._hold(matrix, None if counts is None else frozen_counts(counts), origin)

    def _hold(self, matrix: FloatArray, counts: NDArray[np.int64] | None, origin: Origin) -> None:
        contexts = stationary_contexts(matrix)
        contexts.setflags(write=False)
        held = {"transition": matrix, "counts": counts, "origin": origin, "contexts": contexts}
        for name, value in (held | {"order_choice": None}).items():
            object.__setattr__(self, name, value)

    @classmethod
    def fit(
        cls,
        sequences: Any,
        order: int,
        states: int | None = None,
        *,
        public: bool = False,
        pseudocount: float = 0.0,
    ) -> HigherOrderChain:
        """Maximum-likelihood chain of the given order, from transition counts.

        ``sequences``, ``states`` and ``public`` are as in :meth:`chainveil.MarkovChain.fit`. A
        context that was never seen has the law of the longest part of it that was; a state that
        never follows a context has probability 0 there, unless there is a ``pseudocount`` (see
        :meth:`chainveil.MarkovChain.fit`).
        """
        order = checks.whole("order", order, 2, "2 or more; of order 1 is MarkovChain.fit")
        origin, added = read_public(public), read_pseudocount(pseudocount)
        series = as_sequences("sequences", sequences, states)
        if series.flat.size == 0 or int(series.lengths.max()) <= order:
            raise InvalidInput(
                "sequences", f"{series.flat.size} points", f"a series of more than {order} points"
            )
        k = states or max(int(series.flat.max()) + 1, 2)
        check_size(k, order)
        counts = count_contexts(series, k, order, order)
        return cls.from_counts(counts, origin, added).recurring("sequences")

    @classmethod
    def from_counts(
        cls, counts: NDArray[np.int64], origin: Origin = "private", pseudocount: float = 0.0
    ) -> HigherOrderChain:
        """The maximum-likelihood chain of counted transitions, shape (k ** m, k)."""
        laws = fitted_laws(counts, pseudocount)
        return cls(laws, order_of(counts.shape), counts, origin)

    def recurring(self, argument: str) -> HigherOrderChain:
        """The fitted chain; an error where contexts of the data never come back in it.

        A series that ends in a long stretch of one state would make that state the last word:
        the chain would never leave it, and no loss would look at anything else.
        """
        if self.counts is not None and np.any(self.contexts[self.counts.any(axis=1)] == 0):
            raise InvalidInput(
                argument, "contexts that occur in the data and never come back in the chain fitted "
                "to them", "data in which what is left is come back to",
                "Fit with a pseudocount, a lower order, or more data.",
            )  # fmt: skip
        return self

    @property
    def order(self) -> int:
        """How many points make a context."""
        return order_of(self.transition.shape)

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

    def describe(self) -> str:
        """Its order, states and contexts, in words."""
        return (
            f"a chain of order {self.order} on {self.states} states: the next point depends on the "
            f"last {self.order}, in {len(self.transition)} contexts"
        )

    def to_json(self) -> dict[str, Any]:
        """Transitions, a row a context, the order, and counts and origin unless they were given."""
        words: dict[str, Any] = {"transition": self.transition.tolist(), "order": self.order}
        if self.origin == "given":
            return words
        counts = None if self.counts is None else self.counts.tolist()
        return words | {"counts": counts, "origin": self.origin}

    @classmethod
    def from_json(cls, words: Mapping[str, Any]) -> HigherOrderChain:
        """The chain with these transitions; without an order, the one that their number tells."""
        transition, origin = words["transition"], words.get("origin")
        order = words.get("order")
        if order is None:
            order = order_of(checks.stochastic_matrix("transition", transition).shape)
            if order < 2:
                found = f"{len(transition)} rows of {len(transition[0])} numbers"
                raise InvalidInput("transition", found, "a row for each context")
        return cls(transition, order, words.get("counts") if origin else None, origin)

    def of_origin(self, origin: Origin) -> HigherOrderChain:
        """The same chain, known to come from there."""
        return HigherOrderChain(self.transition, self.order, self.counts, origin)

    @property
    def is_unrounded(self) -> bool:
        """Whether the transitions are those fitted on private data, not fit to be published."""
        if self.origin != "private" or self.counts is not None:
            return self.origin == "private"
        # One number of each row is what is left of one, with the digits that subtraction leaves.
        return bool((~few_digits(self.transition)).sum(axis=1).max() > 1)

    def rounded(self) -> HigherOrderChain:
        """A chain fitted on private data, rounded so that its counts are not published.

        Each probability stands for an interval that holds at least 20 counts, and nothing is
        impossible. A context that was seen too rarely for that has the law of the longest part of
        it that was not.
        """
        from chainveil.model.disclosure import rounded_contexts

        if self.counts is None:
            raise InvalidInput(
                "chain", "a private chain with neither counts nor round numbers",
                "HigherOrderChain.fit(series, order), which has the counts that rounding needs",
            )  # fmt: skip
        return HigherOrderChain(rounded_contexts(self.counts), self.order, origin="private")

    def hidden_chain(self) -> HiddenChain:
        """The chain of contexts: its first law, transitions, and the last point of each."""
        contexts = np.arange(len(self.transition))
        return self.contexts, context_steps(self.transition), contexts % self.states

    def unfolded(self) -> HigherOrderChain:
        """The same chain, whose hidden states know no points from before the series."""
        chain = object.__new__(_Unfolded)
        chain._hold(self.transition, self.counts, self.origin)
        return chain

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HigherOrderChain) and np.array_equal(
            self.transition, other.transition
        )

    def __hash__(self) -> int:
        return hash((self.transition.shape, self.transition.tobytes()))

    def __repr__(self) -> str:
        return f"HigherOrderChain({self.transition.tolist()!r}, order={self.order})"

    def __reduce__(self) -> tuple[Any, ...]:
        return HigherOrderChain, (np.array(self.transition), self.order, self.counts, self.origin)


class _Unfolded(HigherOrderChain):
    """Contexts of one point at the first point, of two at the second, and so on up to m."""

    def hidden_chain(self) -> HiddenChain:
        k, m = self.states, self.order
        laws = [self.series_law(length).reshape(-1) for length in range(1, m + 1)]
        begins = np.cumsum([0, *(len(law) for law in laws)])
        move = np.zeros((begins[-1], begins[-1]))
        for law, longer, here, there in zip(laws, laws[1:], begins, begins[1:], strict=False):
            # Where a context never occurs it does not matter what follows.
            after = np.full((len(law), k), 1 / k)
            np.divide(longer.reshape(-1, k), law[:, None], out=after, where=law[:, None] > 0)
            rows = here + np.repeat(np.arange(len(law)), k)
            move[rows, there + np.arange(len(longer))] = after.reshape(-1)
        last = begins[m - 1]
        move[last:, last:] = context_steps(self.transition)
        start = np.zeros(begins[-1])
        start[:k] = laws[0]
        value = np.concatenate([np.arange(len(law)) % k for law in laws])
        return start, move, value


def check_size(states: int, order: int) -> None:
    """Error where there are more contexts than can be held."""
    # A large order would take long to raise to; by then the answer is known.
    if order >= MOST_CONTEXTS.bit_length() or states**order > MOST_CONTEXTS:
        raise InvalidInput(
            "order", f"{order}, of {states} states", f"at most {MOST_CONTEXTS} contexts, "
            "k^order of them", "Use a lower order or fewer states.",
        )  # fmt: skip


def read_pseudocount(pseudocount: Any) -> float:
    """A number that is not negative."""
    added = checks.real("pseudocount", pseudocount, "a number from 0 on")
    if added < 0:
        raise InvalidInput("pseudocount", pseudocount, "a number from 0 on")
    return added
