"""How far real data are from the chain that the guarantee assumes, and what that costs.

The privacy loss is computed for an order-1 chain. Data with a longer memory give away more for
the same noise. This audit fits chains of order 1 to 4 to the same data, tests them against
order 1, and computes what the same noise would lose if the data were each of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil import checks
from chainveil.attack.longer_memory import WorstOutput, worst_output
from chainveil.counts import order_test
from chainveil.errors import InvalidInput
from chainveil.model.higher_order import HigherOrderChain, fit_order
from chainveil.noise.base import Noise, check_noise
from chainveil.sequences import Sequences, as_sequences

LARGEST_ORDER = 4
LARGEST_WINDOW = 15
# Entries of the largest tensor: outputs ** window * states ** order.
LARGEST_TENSOR = 1 << 22
# A context seen less often than this says little about its law.
SEEN = 30


@dataclass(frozen=True)
class Reading:
    """The data read as a chain of one order.

    Attributes
    ----------
    order : int
    worst : WorstOutput
        What the noise gives away in a window if the data are this chain: a lower bound on
        the loss, because a longer window or a point known to the adversary may give more.
    statistic, degrees, p_value : float, int, float
        Likelihood-ratio test of order 1 against this order, over the same points.
    gap : float
        Largest difference that the memory beyond one point makes to the probability of a
        next state, over contexts that were seen at least ``SEEN`` times.
    unseen : int
        Contexts that never occur in the data.
    """

    order: int
    worst: WorstOutput
    statistic: float
    degrees: int
    p_value: float
    gap: float
    unseen: int


@dataclass(frozen=True)
class Misfit:
    """Readings of the same data and noise at several orders."""

    readings: tuple[Reading, ...]
    window: int
    points: int
    nominal: float | None

    def loss(self, order: int) -> float:
        """The loss that the reading at ``order`` shows, a lower bound."""
        return next(r.worst.loss for r in self.readings if r.order == order)

    def __str__(self) -> str:
        nominal = "" if self.nominal is None else f"nominal epsilon={self.nominal:g}, "
        return "\n".join(
            f"{nominal}order-{r.order} reading: at least {r.worst.loss:.2f}{_test_in_words(r)}"
            for r in self.readings
        )


def _test_in_words(reading: Reading) -> str:
    if reading.order == 1:
        return ""
    p = "p < 1e-300" if reading.p_value < 1e-300 else f"p = {reading.p_value:.2g}"
    return f" (order 1 against order {reading.order}: {p})"


def misfit(
    x: Any,
    noise: Noise,
    orders: Iterable[int] = (1, 2, 3, 4),
    window: int = LARGEST_WINDOW,
    nominal: float | None = None,
) -> Misfit:
    """Read ``x`` as chains of several orders and say what ``noise`` gives away under each.

    Parameters
    ----------
    x : 1-D array, 2-D array or list of 1-D arrays
        The true states. This is an audit by whoever holds the data.
    noise : Channel, StickyNoise or another noise
        The noise that is to be applied.
    orders : iterable of int
        Orders from 1 to 4.
    window : int
        Reports of the window whose outputs are all tried, at most 15; its first is the first of
        a series.
    nominal : float, optional
        The budget that was asked for, to be repeated in the report.
    """
    check_noise(noise)
    checks.items("orders", orders, f"orders from 1 to {LARGEST_ORDER}, such as (1, 2)")
    states = noise.states
    series = as_sequences("x", x, states)
    chosen = tuple(_order(order) for order in orders)
    window = _window(window, max(chosen, default=1), noise)
    _check_length(series, max(chosen, default=1))
    readings = tuple(_read(series, noise, order, window) for order in chosen)
    return Misfit(readings, window, int(series.flat.size), nominal)


def _order(value: Any) -> int:
    order = checks.whole("orders", value, 1, f"orders from 1 to {LARGEST_ORDER}")
    if order > LARGEST_ORDER:
        raise InvalidInput("orders", value, f"orders from 1 to {LARGEST_ORDER}")
    return order


def _window(value: Any, order: int, noise: Noise) -> int:
    window = checks.whole("window", value, order, f"at least {order} reports, the largest order")
    size = noise.outputs**window * noise.states**order
    if window > LARGEST_WINDOW or size > LARGEST_TENSOR:
        raise InvalidInput(
            "window",
            window,
            f"at most {LARGEST_WINDOW} reports, and outputs^window * states^order "
            f"at most {LARGEST_TENSOR}",
            "Use a shorter window or a lower order.",
        )
    return window


def _check_length(series: Sequences, order: int) -> None:
    if series.flat.size == 0 or int(series.lengths.max()) <= order:
        raise InvalidInput(
            "x", f"{series.flat.size} points", f"a series of more than {order} points"
        )


def _read(series: Sequences, noise: Noise, order: int, window: int) -> Reading:
    chain = fit_order(series, noise.states, order)
    assert chain.counts is not None
    found = order_test(chain.counts)
    return Reading(
        order=order,
        worst=worst_output(chain, noise, window),
        statistic=found.statistic,
        degrees=found.degrees,
        p_value=found.p_value,
        gap=_gap(chain, fit_order(series, noise.states, 1)),
        unseen=int((chain.counts.sum(axis=1) == 0).sum()),
    )


def _gap(chain: HigherOrderChain, first: HigherOrderChain) -> float:
    assert chain.counts is not None
    seen = chain.counts.sum(axis=1) >= SEEN
    last = np.arange(len(chain.transition)) % chain.states
    difference = np.abs(chain.transition - first.transition[last])
    return float(difference[seen].max(initial=0.0))
