"""Markov chains: make, fit, sample, and what follows from the transition matrix alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import Box, DataModel, HiddenChain, Origin, register
from chainveil.model.region import ChainRegion, Interval, region_around, region_from_counts
from chainveil.model.steps import check_irreducible, finite_stationary, two_state_power

if TYPE_CHECKING:
    from chainveil.model.higher_order import HigherOrderChain
    from chainveil.model.orders import OrderChoice

IntArray = NDArray[np.int64]


@register
@dataclass(frozen=True, eq=False, repr=False)
class MarkovChain(DataModel):
    """A time-homogeneous, irreducible Markov chain on the states ``0 … k-1``.

    Parameters
    ----------
    transition : array of shape (k, k)
        ``transition[a, b] = Pr[X_{t+1} = b | X_t = a]``.
    initial : array of shape (k,), optional
        Law of the first point. Without it the chain starts from its stationary law.
    counts : integer array of shape (k, k), optional
        The transitions a fitted chain was estimated from.
    origin : "given", "reference" or "private", optional
        Where the chain came from: given by hand, fitted on public data, or fitted on the data
        that are to be protected. By default a chain with counts is private. It is carried
        into plans and certificates; :func:`chainveil.calibrate` rounds a private chain so
        that its counts are not published.

    Attributes
    ----------
    order_choice : OrderChoice or None
        How the order was chosen, where ``fit`` chose it.

    Notes
    -----
    A chain with two states *is* its two off-diagonal numbers ``q = transition[0, 1]``
    and ``r = transition[1, 0]``; the diagonal is read as exactly ``1 - q`` and ``1 - r``.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain = cv.MarkovChain.binary(q=0.1, r=0.3)
    >>> chain.stationary
    array([0.75, 0.25])
    >>> chain.sample(1000, rng=1).shape
    (1000,)
    """

    kind: ClassVar[str] = "chain"
    single: ClassVar[bool] = True

    transition: FloatArray
    initial: FloatArray | None
    counts: IntArray | None
    origin: Origin
    order_choice: OrderChoice | None = field(init=False)

    def __init__(
        self,
        transition: ArrayLike,
        initial: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        origin: Origin | None = None,
    ) -> None:
        matrix = checks.stochastic_matrix("transition", transition)
        check_irreducible(matrix)
        start = None if initial is None else checks.distribution("initial", initial, len(matrix))
        object.__setattr__(self, "transition", matrix)
        object.__setattr__(self, "initial", start)
        object.__setattr__(self, "counts", None if counts is None else frozen_counts(counts))
        object.__setattr__(self, "order_choice", None)
        origin = origin or ("given" if counts is None else "private")
        checks.one_of("origin", origin, get_args(Origin))
        object.__setattr__(self, "origin", origin)

    @classmethod
    def binary(cls, q: float, r: float, initial: ArrayLike | None = None) -> MarkovChain:
        """Two states with ``q = Pr[0 -> 1]`` and ``r = Pr[1 -> 0]``, the paper's P."""
        q = checks.probability("q", q, zero=False)
        r = checks.probability("r", r, zero=False)
        return cls([[1 - q, q], [r, 1 - r]], initial)

    @classmethod
    def symmetric(cls, theta: float, initial: ArrayLike | None = None) -> MarkovChain:
        """Two states that change with probability ``theta``, the paper's symmetric chain."""
        theta = checks.probability("theta", theta, zero=False)
        return cls.binary(theta, theta, initial)

    @overload
    @classmethod
    def fit(
        cls, sequences: Any, states: int | None = ..., *, public: bool = ...,
        order: Literal[1] = ..., pseudocount: float = ...,
    ) -> MarkovChain: ...  # fmt: skip

    @overload
    @classmethod
    def fit(
        cls, sequences: Any, states: int | None = ..., *, public: bool = ...,
        order: int | Literal["auto"], pseudocount: float = ...,
    ) -> MarkovChain | HigherOrderChain: ...  # fmt: skip

    @classmethod
    def fit(
        cls, sequences: Any, states: int | None = None, *, public: bool = False,
        order: int | Literal["auto"] = 1, pseudocount: float = 0.0,
    ) -> MarkovChain | HigherOrderChain:  # fmt: skip
        """Maximum-likelihood chain from transition counts.

        Parameters
        ----------
        sequences : 1-D array or a column, 2-D array (a row a series), or list of 1-D arrays
            Whole numbers ``0 … k-1``. The step from the end of one series to the
            beginning of the next is never counted.
        states : int, optional
            Number of states k; by default one more than the largest state seen.
        public : bool
            Whether the series need no protection: public or simulated data, or a reference
            apart from what is to be released. Else the chain is private: its transitions are
            fractions that give the counts away, and plans publish it rounded only.
        order : int or "auto"
            How many points the next one depends on. From 2 on, a
            :class:`chainveil.HigherOrderChain`. "auto" takes the order of the least BIC
            (:func:`chainveil.choose_order`); ``chain.order_choice`` says which and why.
        pseudocount : float
            How often each state is taken to have followed each before anything was counted, on
            average: k times that are shared out as a memory one point shorter says. More than 0
            leaves nothing impossible.
        """
        from chainveil.model.fitting import fit

        return fit(sequences, states, read_public(public), order, pseudocount)

    def region(self, confidence: float) -> ChainRegion:
        """The box of chains that the counts of a fitted two-state chain leave open.

        q and r lie in it, both at once, with probability ``confidence`` or more, if the
        data follow such a chain. That of a chain fitted on private data is a little wider: it
        is made from a rounded fit, so that its limits do not give the counts away.
        """
        if self.states != 2:
            raise NotSupported(f"chain: found {self.states} states; regions cover two states.")
        if self.counts is None or self.counts.sum(axis=1).min() == 0:
            raise InvalidInput(
                "chain", "a chain without counts out of both states", "a fitted chain, which has "
                "them", "MarkovChain.fit makes one.",
            )  # fmt: skip
        if self.origin != "private":
            return region_from_counts(self.counts, confidence, self.origin)
        return region_around(*self.public_box(), self.counts, confidence)

    def public_box(self) -> tuple[Interval, Interval]:
        """Limits of q and of r that a fitted two-state chain lies in, fit to be published."""
        from chainveil.model.disclosure import public_box

        assert self.counts is not None
        q, r = float(self.transition[0, 1]), float(self.transition[1, 0])
        return public_box(q, r, int(self.counts.sum()))

    @property
    def is_unrounded(self) -> bool:
        """Whether the transitions are those fitted on private data, not fit to be published."""
        return self.origin == "private" and (
            self.counts is not None or not is_round(self.transition)
        )

    def rounded(self) -> MarkovChain:
        """A private chain of more than two states, every change rounded down to be published.

        One of two states is published as a box instead: see :meth:`public_box`.
        """
        from chainveil.model.disclosure import published_rows

        rows = published_rows(self.transition, self.counts)
        return MarkovChain(rows, self.initial, origin="private")

    @property
    def order(self) -> int:
        """One: a point depends on the one before it."""
        return 1

    @cached_property
    def box(self) -> Box | None:
        """q and r, each twice, of a stationary chain of two states."""
        if self.states != 2 or self.initial is not None:
            return None
        q, r = float(self.transition[0, 1]), float(self.transition[1, 0])
        return q, q, r, r

    @property
    def likeliest(self) -> MarkovChain:
        """The chain itself: there is no other."""
        return self

    @property
    def states(self) -> int:
        """Number of states k."""
        return len(self.transition)

    @cached_property
    def stationary(self) -> FloatArray:
        """The stationary distribution, shape (k,), accurate entry by entry."""
        result = finite_stationary(self.transition)
        result.setflags(write=False)
        return result

    @property
    def start(self) -> FloatArray:
        """Law of the first point: ``initial`` if given, else ``stationary``; shape (k,)."""
        return self.stationary if self.initial is None else self.initial

    def power(self, t: int) -> FloatArray:
        """``transition`` to the power ``t``: where the chain is after ``t`` steps, shape (k, k)."""
        t = checks.whole("t", t, 0)
        if self.states != 2:
            return np.linalg.matrix_power(self.transition, t)
        return two_state_power(float(self.transition[0, 1]), float(self.transition[1, 0]), t)

    def reverse(self) -> MarkovChain:
        """The stationary chain run backwards: ``Pr[X_t = b | X_{t+1} = a]`` at ``[a, b]``."""
        flow = self.stationary[:, None] * self.transition
        backwards = flow.T / self.stationary[:, None]
        counts = None if self.counts is None else self.counts.T
        backwards /= backwards.sum(axis=1, keepdims=True)
        return MarkovChain(backwards, counts=counts, origin=self.origin)

    def describe(self) -> str:
        """How many states there are, and for two of them how often each is left."""
        words = f"a chain of order 1 on {self.states} states"
        if self.states == 2:
            q, r = float(self.transition[0, 1]), float(self.transition[1, 0])
            words += f", 0 to 1 with {q!r}, 1 to 0 with {r!r}"
        return words if self.initial is None else f"{words}, with a start law of its own"

    def to_json(self) -> dict[str, Any]:
        """Transitions, the law of the first point if not the stationary one, and the origin.

        A chain that was fitted stays marked as such, with its counts.
        """
        start = None if self.initial is None else self.initial.tolist()
        words = {"transition": self.transition.tolist(), "initial": start}
        if self.origin == "given":
            return words
        counts = None if self.counts is None else self.counts.tolist()
        return words | {"counts": counts, "origin": self.origin}

    @classmethod
    def from_json(cls, words: Mapping[str, Any]) -> MarkovChain:
        """The chain with these transitions."""
        origin = words.get("origin")
        counts = words.get("counts") if origin else None
        return cls(words["transition"], words.get("initial"), counts, origin)

    def of_origin(self, origin: Origin) -> MarkovChain:
        """The same chain, known to come from there."""
        return MarkovChain(self.transition, self.initial, self.counts, origin)

    def hidden_chain(self) -> HiddenChain:
        """Law of the first state, transitions, and the value of each state: those it has."""
        return self.start, self.transition, np.arange(self.states)

    def series_law(self, n: int) -> FloatArray:
        """``Pr[X_1 … X_n]`` of every series of ``n`` points, shape (k,) * n; for short ones."""
        law = self.start
        for _ in range(checks.whole("n", n, 1) - 1):
            law = law[..., :, None] * self.transition
        return np.asarray(law)

    def sample(
        self, n: int, size: int | None = None, rng: np.random.Generator | int | None = None
    ) -> NDArray[np.uint8] | NDArray[np.int64]:
        """Draw series from the chain: shape (n,), or (size, n) where ``size`` is given.

        This makes test data. It is not a source of protective noise: that lives in
        ``chainveil.mechanism``. The dtype is uint8 up to 256 states. Series of one point come
        in the shape (size, 1), which is read as one series: hand them on as ``list(x)``.
        """
        from chainveil.model import simulate

        n = checks.whole("n", n, 1)
        rows = 1 if size is None else checks.whole("size", size, 1)
        series = simulate.sample(self.start, self.transition, n, rows, rng)
        return series[0] if size is None else series

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MarkovChain)
            and np.array_equal(self.transition, other.transition)
            and np.array_equal(self.start, other.start)
        )

    def __hash__(self) -> int:
        return hash((self.transition.tobytes(), self.start.tobytes()))

    def __repr__(self) -> str:
        start = "" if self.initial is None else f", initial={self.initial.tolist()!r}"
        if self.states == 2:
            q, r = float(self.transition[0, 1]), float(self.transition[1, 0])
            return f"MarkovChain.binary(q={q!r}, r={r!r}{start})"
        return f"MarkovChain({self.transition.tolist()!r}{start})"


def check_chain(chain: Any) -> None:
    """Error unless it is one chain of order 1."""
    if not isinstance(chain, MarkovChain):
        found = f"an object of type {type(chain).__name__}"
        advice = "MarkovChain.binary(q, r) makes one."
        raise InvalidInput("chain", found, "a MarkovChain", advice)


def frozen_counts(counts: ArrayLike) -> IntArray:
    """A copy that cannot be changed."""
    frozen = np.array(counts, dtype=np.int64)
    frozen.setflags(write=False)
    return frozen


def read_public(public: Any) -> Origin:
    """Where a fit comes from, by whether the data need no protection."""
    if not isinstance(public, bool):
        raise InvalidInput("public", public, "True or False")
    return "reference" if public else "private"


def is_round(transition: FloatArray) -> bool:
    """Whether all changes have few digits, as those of a rounded fit have and fractions have not.

    A diagonal is what is left of one, and has the digits that subtraction leaves it.
    """
    return bool(few_digits(transition)[~np.eye(len(transition), dtype=bool)].all())


def few_digits(probabilities: FloatArray) -> NDArray[np.bool_]:
    """Which of them are numbers of at most six digits."""
    flat = probabilities.ravel()
    few = np.array([float(f"{number:.6g}") for number in flat.tolist()])
    return np.asarray(np.isclose(flat, few, rtol=1e-12, atol=0.0)).reshape(probabilities.shape)
