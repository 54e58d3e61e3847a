"""Two-state chains that are only roughly known: a box of chains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import Box, DataModel, HiddenChain, Origin, register

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from chainveil.model.chain import MarkovChain

Interval = tuple[float, float]
# By how much the ends of intervals are rounded outwards, as a share of them, and the least end.
SLACK, LEAST = 1e-9, 1e-300


@register
@dataclass(frozen=True)
class ChainRegion(DataModel):
    """All stationary two-state chains with ``q`` and ``r`` in given intervals.

    Attributes
    ----------
    q, r : pair of float
        Least and largest probability of 0 -> 1 and of 1 -> 0, both above 0 and below 1.
    estimate : pair of float
        The (q, r) taken for the likeliest; by default the middle of the box.
    origin : "given", "reference" or "private"
        Where the limits came from; certificates say it.

    Examples
    --------
    >>> import chainveil as cv
    >>> box = cv.ChainRegion(q=(0.09, 0.11), r=(0.18, 0.22))
    >>> plan = cv.calibrate(box, epsilon=3.0)
    >>> plan.region == box, plan.cost_of_uncertainty > 0
    (True, True)
    """

    kind: ClassVar[str] = "region"
    single: ClassVar[bool] = False

    q: Interval
    r: Interval
    estimate: tuple[float, float]
    origin: Origin

    def __init__(
        self,
        q: Interval,
        r: Interval,
        estimate: tuple[float, float] | None = None,
        origin: Origin = "given",
    ) -> None:
        checks.one_of("origin", origin, get_args(Origin))
        intervals = {name: _interval(name, value) for name, value in (("q", q), ("r", r))}
        if estimate is None:
            estimate = sum(intervals["q"]) / 2, sum(intervals["r"]) / 2
        if not isinstance(estimate, Sequence) or len(estimate) != 2:
            raise InvalidInput("estimate", estimate, "a pair (q, r) inside the box")
        for name, value in zip(("q", "r"), estimate, strict=True):
            value = checks.real("estimate", value)
            low, high = intervals[name]
            if not low <= value <= high:
                raise InvalidInput("estimate", estimate, f"{name} between {low!r} and {high!r}")
        object.__setattr__(self, "q", intervals["q"])
        object.__setattr__(self, "r", intervals["r"])
        object.__setattr__(self, "estimate", (float(estimate[0]), float(estimate[1])))
        object.__setattr__(self, "origin", origin)

    @property
    def states(self) -> int:
        """Two."""
        return 2

    @property
    def order(self) -> int:
        """One, for each of its chains."""
        return 1

    @property
    def box(self) -> Box:
        """The limits of q, then those of r."""
        return *self.q, *self.r

    def covers(self, other: DataModel) -> bool:
        """Whether another box, or a chain, lies in this one."""
        if other.box is None:
            return False
        q_low, q_high, r_low, r_high = other.box
        return (
            self.q[0] <= q_low
            and q_high <= self.q[1]
            and (self.r[0] <= r_low and r_high <= self.r[1])
        )

    def hidden_chain(self) -> HiddenChain:
        """That of the estimate."""
        return self.likeliest.hidden_chain()

    def describe(self) -> str:
        """How often each state is left, at least and at most."""
        (q_low, q_high), (r_low, r_high) = self.q, self.r
        return (
            f"any chain of order 1 on 2 states, 0 to 1 with {q_low!r} to {q_high!r}, "
            f"1 to 0 with {r_low!r} to {r_high!r}"
        )

    def to_json(self) -> dict[str, Any]:
        """The limits of q and of r, the estimate, and the origin unless they were given."""
        words: dict[str, Any] = {"q": self.q, "r": self.r, "estimate": self.estimate}
        words = {name: list(pair) for name, pair in words.items()}
        return words if self.origin == "given" else words | {"origin": self.origin}

    @classmethod
    def from_json(cls, words: Mapping[str, Any]) -> ChainRegion:
        """The region with these limits."""
        q, r, estimate = (tuple(words[name]) for name in ("q", "r", "estimate"))
        return cls(q, r, estimate, words.get("origin", "given"))

    def of_origin(self, origin: Origin) -> ChainRegion:
        """The same region, known to come from there."""
        return ChainRegion(self.q, self.r, self.estimate, origin)

    def series_law(self, n: int) -> FloatArray:
        """A set of chains has no one law."""
        raise NotSupported("a region of chains has no law of its own; each of its chains has one")

    @property
    def stationary(self) -> FloatArray:
        """That of the estimate."""
        return self.likeliest.stationary

    @property
    def likeliest(self) -> MarkovChain:
        """The chain of the estimate."""
        from chainveil.model.chain import MarkovChain

        q, r = self.estimate
        return MarkovChain([[1 - q, q], [r, 1 - r]], origin=self.origin)

    @property
    def slowest(self) -> tuple[float, float]:
        """The (q, r) of the chain that changes state least often: the least of both."""
        return self.q[0], self.r[0]

    def __contains__(self, chain: object) -> bool:
        transition = getattr(chain, "transition", None)
        if transition is None or len(transition) != 2 or getattr(chain, "initial", 0) is not None:
            return False
        q, r = float(transition[0, 1]), float(transition[1, 0])
        return self.q[0] <= q <= self.q[1] and self.r[0] <= r <= self.r[1]


def region_from_counts(
    counts: NDArray[np.int64], confidence: float, origin: Origin = "given"
) -> ChainRegion:
    """The box that holds q and r, both at once, with the given confidence, from the counts.

    For each state the outcomes of its visits are independent coin tosses, but how many there
    are depends on how they fall, so intervals for a fixed number of tosses do not apply. The
    interval here holds whatever the number: with s successes in n tosses it keeps the p for
    which ``B(s + 1/2, n - s + 1/2) / B(1/2, 1/2) < p^s (1-p)^(n-s) / alpha``, a mixture
    martingale and Ville's inequality. Half of the error goes to each of q and r.
    """
    confidence = checks.probability("confidence", confidence, zero=False, one=False)
    (stay, leave), (back, keep) = counts.tolist()
    alpha = (1 - confidence) / 2
    q = _interval_from_counts(leave, leave + stay, alpha)
    r = _interval_from_counts(back, back + keep, alpha)
    return ChainRegion(q, r, (leave / (leave + stay), back / (back + keep)), origin)


def region_around(
    q: Interval, r: Interval, counts: NDArray[np.int64], confidence: float
) -> ChainRegion:
    """As :func:`region_from_counts`, from a box that the fit lies in, in place of the fit.

    Holds the region of every fit in the box: each limit is that of the box's own end, with the
    fewest visits to the state that the box allows. Of the counts only their sum enters, and how
    many more changes there are one way than the other, as a power of two.
    """
    confidence = checks.probability("confidence", confidence, zero=False, one=False)
    alpha = (1 - confidence) / 2
    steps = int(counts.sum())
    apart = 1 << int(abs(counts[0, 1] - counts[1, 0])).bit_length()
    visits = (steps * r[0] - apart) / (q[1] + r[0]), (steps * q[0] - apart) / (q[0] + r[1])
    if min(visits) <= 0:
        raise InvalidInput(
            "chain", f"a chain fitted on {steps} steps of private data",
            "a fit on so many points that its region can be published",
            "Use calibrate(chain, …), give the region by hand, or fit public data.",
        )  # fmt: skip
    wide = [
        _interval_around(interval, tosses, alpha)
        for interval, tosses in zip((q, r), visits, strict=True)
    ]
    middle = sum(q) / 2, sum(r) / 2
    return ChainRegion(wide[0], wide[1], middle, "private")


def _interval_around(interval: Interval, tosses: float, alpha: float) -> Interval:
    low, high = interval
    least = _lower_end(low * tosses, tosses, alpha)
    # Nothing bounds a chain that may always have left the state.
    largest = 1 - 2.0**-53 if high == 1 else _upper_end(high * tosses, tosses, alpha)
    return least, largest


def _interval_from_counts(successes: float, tosses: float, alpha: float) -> Interval:
    """The p that a mixture of coins does not beat by 1/alpha; its ends rounded outwards."""
    return _lower_end(successes, tosses, alpha), _upper_end(successes, tosses, alpha)


def _lower_end(successes: float, tosses: float, alpha: float) -> float:
    if successes == 0:
        raise _at_the_edge()
    return max(math.exp(_crossing(successes, tosses, alpha)), LEAST) * (1 - SLACK)


def _upper_end(successes: float, tosses: float, alpha: float) -> float:
    """One less the lower end of those that miss."""
    misses = tosses - successes
    if misses == 0:
        raise _at_the_edge()
    return min(-math.expm1(_crossing(misses, tosses, alpha)) * (1 + SLACK), 1 - 2.0**-53)


def _at_the_edge() -> InvalidInput:
    return InvalidInput(
        "counts",
        "a state that is always kept or always left",
        "both changes and stays in either state, to bound the chain away from the edge",
        "Use more data, or give the region by hand.",
    )


def _crossing(successes: float, tosses: float, alpha: float) -> float:
    """The logarithm u of the least p that the mixture does not beat.

    There ``s u + (n - s) log(1 - e^u)`` rises to the logarithm of the mixture, times alpha. What
    is left to it is convex in u, so that Newton's steps come from below and never pass it, but
    for rounding, which ``SLACK`` is far above.
    """
    misses = tosses - successes
    mixture = (
        math.lgamma(successes + 0.5) + math.lgamma(misses + 0.5) - math.lgamma(tosses + 1)
    ) - math.log(math.pi)
    level = mixture + math.log(alpha)
    # As if there were no misses: below what is looked for.
    u = level / successes
    for _ in range(200):
        p = math.exp(u)
        left = level - successes * u - (misses * math.log1p(-p) if misses else 0.0)
        step = left / (successes - misses * p / (1 - p))
        if not step > 1e-14 * min(1.0, -u):
            break
        u += step
    return u


def _interval(name: str, value: Any) -> Interval:
    allowed = "a pair (least, largest) of probabilities above 0 and below 1"
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InvalidInput(name, value, allowed) from None
    low = checks.probability(name, low, zero=False, one=False)
    high = checks.probability(name, high, zero=False, one=False)
    if low > high:
        raise InvalidInput(name, value, allowed)
    return low, high
