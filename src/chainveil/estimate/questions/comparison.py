"""Groups beside each other: differences and ratios, with intervals that hold for all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.answer_table import once, shown
from chainveil.estimate.intervals import quantile, ratio_interval
from chainveil.estimate.results import Estimate

How = Literal["difference", "ratio"]
Ask = Callable[[float], Estimate]


@dataclass(frozen=True, repr=False)
class Comparison(Estimate):
    """Numbers of one group against those of another; groups are pairs of names.

    Attributes
    ----------
    compared : "difference" or "ratio"
        The first group's number less the second's, or over it.
    asked : Estimate
        The groups themselves, at the level that each of them needs.
    simultaneous : bool
        Whether ``level`` is that of all intervals together.
    """

    compared: How
    asked: Estimate
    simultaneous: bool

    scale: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What is compared, and how."""
        return f"{self.compared} of {self.asked.unit}"

    @property
    def about(self) -> str:
        """The unit, and whether the level is that of all intervals together."""
        return f"{self.unit}, all intervals together" if self.simultaneous else self.unit

    def places(self, labels: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """As in the answers that are compared."""
        return self.asked.places(labels)

    def place_of(self, group: Any) -> tuple[str, Any]:
        """Both groups in one name."""
        sign = "−" if self.compared == "difference" else "/"
        return "", f" {sign} ".join(map(str, group))

    def tells(self, place: int) -> bool:
        """A ratio of the other state is no complement."""
        return self.compared == "ratio" or self.asked.tells(place)


def compare(
    ask: Ask,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    *,
    reference: Any = None,
    how: How = "difference",
    level: float = 0.95,
    simultaneous: bool = True,
) -> Comparison:
    """Compare groups of an answer with each other.

    Parameters
    ----------
    ask : function of a level
        Asks the question by group, such as
        ``lambda level: estimate.frequency(z, plan, by="series", level=level)``.
    pairs : sequence of (group, group), optional
        Which groups to compare; by default every group with ``reference``, or all pairs.
    reference : optional
        A group that all others are compared with.
    how : "difference" or "ratio"
        Less the other group's number, or over it.
    level : float
        Probability that the intervals cover: that all of them do, where ``simultaneous``.
    simultaneous : bool
        Whether the level is shared out among all intervals (Bonferroni's inequality).

    Notes
    -----
    A difference of shares, or of pairs, has the interval of a number with their errors, which add
    up in squares, since the noise of different points is uncorrelated. Other limits come from those
    of the two groups by the rule of Zou and Donner: distances from the values add up in squares.
    Near the ends of a scale that covers too seldom; differences take the wider of both. Where
    groups share noise (correlated noise) or a chain (``covers="sampling"``), errors and distances
    add up as they are, which is on the safe side.

    Examples
    --------
    >>> import chainveil as cv
    >>> z = [[0, 1, 0, 0, 1, 0, 0, 0] * 20, [1, 1, 0, 1, 1, 1, 1, 0] * 20]
    >>> channel = cv.Channel.binary(0.1, 0.1)
    >>> ask = lambda level: cv.estimate.frequency(z, channel, by="series", level=level)
    >>> found = cv.estimate.compare(ask)
    >>> found.groups, found.value[:, 1].round(2)
    (((0, 1),), array([-0.62]))
    """
    checks.one_of("how", how, ("difference", "ratio"))
    first = ask(checks.probability("level", level, zero=False, one=False))
    if first.groups is None:
        raise InvalidInput("ask", "one answer about everything", "an answer by group")
    wanted = _pairs(first.groups, pairs, reference)
    told = len(once(first)) if how == "difference" else len(first.places())
    count = len(wanted) * told if simultaneous else 1
    asked = ask(1 - (1 - level) / count)
    numbers = _compared(asked, wanted, how)
    value, error, low, high = (np.asarray(part) for part in numbers)
    worth = np.full(value.shape, np.nan)
    points = np.minimum(*(asked.points[_at(asked, wanted, side)] for side in (0, 1)))
    return Comparison(
        value, error, low, high, worth, level, asked.covers, points, tuple(wanted), how, asked,
        simultaneous, shared=asked.shared,
    )  # fmt: skip


def _pairs(groups: Sequence[Any], pairs: Any, reference: Any) -> list[tuple[Any, Any]]:
    if pairs is not None:
        wanted = [tuple(pair) for pair in pairs]
    elif reference is not None:
        wanted = [(group, reference) for group in groups if group != reference]
    else:
        wanted = [(a, b) for i, a in enumerate(groups) for b in groups[i + 1 :]]
    named = {group for pair in wanted for group in pair} | ({reference} - {None})
    strange = [group for group in named if group not in groups]
    if strange or not wanted or any(len(pair) != 2 for pair in wanted):
        raise InvalidInput(
            "pairs", strange or wanted, f"pairs of different groups, such as {list(groups)[:3]}"
        )
    return wanted


def _at(asked: Estimate, wanted: list[tuple[Any, Any]], side: int) -> list[int]:
    assert asked.groups is not None
    place = {group: number for number, group in enumerate(asked.groups)}
    return [place[pair[side]] for pair in wanted]


def _compared(
    asked: Estimate, wanted: list[tuple[Any, Any]], how: How
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Value, standard error and limits, of the shape (pairs, …)."""
    sides = [_at(asked, wanted, side) for side in (0, 1)]
    p, low, high = shown(asked)
    raw, error = asked.value, asked.standard_error
    one, two = ((raw[at], p[at], low[at], high[at], error[at]) for at in sides)
    add = _as_they_are if asked.shared or asked.covers == "sampling" else np.hypot
    make = _difference if how == "difference" else _ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        value, spread, lower, upper = make(one, two, add)
    if how == "difference" and np.isfinite(asked.scale).all():
        low, high = _by_error(value, spread, asked)
        lower = low if asked.summed else np.minimum(lower, low)
        upper = high if asked.summed else np.maximum(upper, high)
    return value, spread, lower, upper


def _by_error(
    value: FloatArray, error: FloatArray, asked: Estimate
) -> tuple[FloatArray, FloatArray]:
    """Limits of a difference by its standard error, on the scale that the groups leave it."""
    most = asked.scale[1] - asked.scale[0]
    none, one = np.zeros_like(value), np.ones_like(value)
    low, high = ratio_interval(
        value, one, (error**2, none, none), none, quantile(asked.level), (-most, most)
    )
    unknown = ~np.isfinite(value) | ~np.isfinite(error)
    return np.where(unknown, -most, low), np.where(unknown, most, high)


def _as_they_are(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.abs(a) + np.abs(b))


def _difference(one: Any, two: Any, add: Any) -> Any:
    (x, p, pl, ph, pe), (y, q, ql, qh, qe) = one, two
    low, high = p - q - add(p - pl, qh - q), p - q + add(ph - p, q - ql)
    unknown = ~np.isfinite(p) | ~np.isfinite(q) | np.isnan(low) | np.isnan(high)
    low, high = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
    return x - y, add(pe, qe), low, high


def _ratio(one: Any, two: Any, add: Any) -> Any:
    """On the scale of logarithms: none is known of a group whose number may be nothing."""
    (_, p, pl, ph, pe), (_, q, ql, qh, qe) = one, two
    middle = np.log(p) - np.log(q)
    down = add(np.log(p) - np.log(pl), np.log(qh) - np.log(q))
    up = add(np.log(ph) - np.log(p), np.log(q) - np.log(ql))
    low, high = np.exp(middle - down), np.exp(middle + up)
    low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=np.inf, posinf=np.inf)
    value = p / q
    return value, value * add(pe / p, qe / q), low, high
