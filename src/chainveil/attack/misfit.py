"""How far real data are from the chain that the promise assumes, and what that costs.

A promise is made for one model of the data. Whoever knows a better one learns more from the same
release. This audit fits chains of order 1 to 4 to the data, to all series together or to each on
its own, and computes what the same noise loses if the data are each of them: against any
adversary, for every length, from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.attack.attained import attained
from chainveil.attack.reading import Misfit, Reading
from chainveil.counts import order_test
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import DataModel
from chainveil.model.contexts import count_contexts, fitted_laws, order_of, shorter_counts
from chainveil.model.fit_test import p_value
from chainveil.model.fitting import first_order
from chainveil.model.higher_order import HigherOrderChain, read_pseudocount
from chainveil.model.orders import ENOUGH_POINTS
from chainveil.noise.base import Noise, require_noise
from chainveil.plan import NoisePlan
from chainveil.privacy import engines
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.problem import Unit, read_problem
from chainveil.privacy.result import PrivacyLoss
from chainveil.sequences import Sequences, as_sequences

LARGEST_ORDER = 4
# A context seen less often than this says little about its law.
SEEN = 30
# What own fits take each state to have followed each context more often, on average.
OWN_PSEUDOCOUNT = 0.5
# Distance of the bounds, in nats, at which a search ends.
TOLERANCE = 0.01

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class _Question:
    """What is asked of every model: the noise, whom it shall withstand, and how many steps.

    ``noises`` are all releases together, ``noise`` is the one that attacks are looked for on.
    """

    noises: tuple[Noise, ...]
    noise: Noise
    length: int | None
    adversary: AdversaryName | Adversary
    unit: Unit
    gaps: bool
    effort: int | None

    def loss(self, model: DataModel) -> PrivacyLoss:
        """The loss under a model, from both sides; from above infinite where no engine bounds it.

        Where the bounds stay apart, the attack that climbing finds may raise the lower one.
        """
        found = self._certified(model)
        if found.gap <= 2 * TOLERANCE * max(1.0, found.lower):
            return found
        # A secret of one point, seen through one of several releases: no more than all of it.
        lower, attack = attained(model, self.noise, self.adversary, self.length)
        return replace(found, lower=lower, witness=attack) if lower > found.lower else found

    def _certified(self, model: DataModel) -> PrivacyLoss:
        noise = self.noises if len(self.noises) > 1 else self.noise
        try:
            searched = (model.states, model.order) != (2, 1)
            problem = read_problem(
                model, noise, self.length, self.adversary, self.effort if searched else None,
                unit=self.unit, gaps=self.gaps, tolerance=TOLERANCE,
            )  # fmt: skip
            return engines.loss(problem)
        except NotSupported:
            return PrivacyLoss(math.inf, 0.0, None, self.adversary, self.length)


def misfit(
    x: Any,
    plan: NoisePlan | Noise,
    orders: Iterable[int] = (1, 2, 3, 4),
    *,
    each: bool = False,
    names: Sequence[Any] | None = None,
    promise: float | None = None,
    pseudocount: float = 0.0,
    effort: int | None = None,
    progress: Progress | None = None,
) -> Misfit:
    """Read ``x`` as chains of several orders and say what a plan loses under each.

    Parameters
    ----------
    x : 1-D array, 2-D array or list of 1-D arrays
        The true states. This is an audit by whoever holds the data, and its figures are private.
    plan : NoisePlan, Channel or another noise
        What is to be published. A plan brings its promise, its adversary, its length, its secret
        and earlier releases; noise alone is asked for any adversary and every length.
    orders : iterable of int
        Orders from 1 to 4.
    each : bool
        Also fit every series on its own, at each order for which it has 20 points to a
        probability. Own fits take each state to have followed each context half a time more often
        than was seen, so that nothing is impossible only because a short series did not show it.
    names : sequence, optional
        What the series are called; by default their places, from 0.
    promise : float, optional
        The epsilon that was promised; by default that of the plan.
    pseudocount : float
        Of the fits of all series together, as in :meth:`chainveil.MarkovChain.fit`.
    effort : int, optional
        Steps of the search for one loss of more than two states or of an order above 1, as in
        :func:`chainveil.privacy_loss`. The bounds that it has reached by then hold all the same.
    progress : callable, optional
        Told ``("reading", 1)`` after each model.

    Returns
    -------
    Misfit
        A reading for each model, and the verdict in words.

    Notes
    -----
    A fit differs from the law of the data by its error, so that on data that follow the model of
    the plan the noise loses more than epsilon on some fits. The verdict names such a loss only
    where a test rejects the model of the plan, at the 1% level for all readings together
    (Bonferroni).

    Examples
    --------
    >>> import chainveil as cv
    >>> chain = cv.HigherOrderChain([[.91, .09], [.25, .75], [.75, .25], [.1, .9]], order=2)
    >>> x = chain.sample(20000, rng=1)
    >>> plan = cv.calibrate(cv.MarkovChain.fit(x, public=True), 1.0, mechanism="independent")
    >>> found = cv.attack.misfit(x, plan, orders=(1, 2))
    >>> found.reading(1).loss.epsilon <= 1.0 < found.reading(2).loss.lower
    True
    """
    steps = None if effort is None else checks.whole("effort", effort, 1)
    question = _read_question(plan, promise, steps)
    series = as_sequences("x", x, question.noise.states)
    chosen = _read_orders(orders)
    _check_length(series, max(chosen, default=1))
    added = read_pseudocount(pseudocount)
    readings = []
    model = plan.model if isinstance(plan, NoisePlan) else None
    for part, order, place in _parts(series, question.noise.states, chosen, each):
        name = place if place is None or names is None else names[place]
        weight = added if place is None else OWN_PSEUDOCOUNT
        readings.append(_read(part, order, name, question, model, weight))
        if progress is not None:
            progress("reading", 1)
    promised = plan.epsilon if isinstance(plan, NoisePlan) and promise is None else promise
    return Misfit(tuple(readings), promised, int(series.flat.size), series.count)


def how_many(lengths: NDArray[np.int64], states: int, orders: Iterable[int], each: bool) -> int:
    """How many models :func:`misfit` will fit, for a progress bar."""
    chosen = tuple(orders)
    own = [int(sum(_carries(int(n), states, m) for n in lengths)) for m in chosen] if each else []
    return len(chosen) + sum(own)


def _read_question(plan: Any, promise: Any, effort: int | None) -> _Question:
    if promise is not None:
        checks.real("promise", promise, "a number above 0")
    if isinstance(plan, NoisePlan):
        loss = plan.loss
        return _Question(
            (*plan.earlier, plan.noise), plan.noise, loss.length, loss.adversary, plan.unit,
            plan.gaps, effort,
        )  # fmt: skip
    require_noise(plan)
    return _Question((plan,), plan, None, "any", "point", False, effort)


def _read_orders(orders: Any) -> tuple[int, ...]:
    allowed = f"orders from 1 to {LARGEST_ORDER}"
    checks.items("orders", orders, f"{allowed}, such as (1, 2)")
    chosen = tuple(checks.whole("orders", order, 1, allowed) for order in orders)
    for order in chosen:
        if order > LARGEST_ORDER:
            raise InvalidInput("orders", order, allowed)
    if not chosen:
        raise InvalidInput("orders", "none", allowed)
    return chosen


def _check_length(series: Sequences, order: int) -> None:
    if series.flat.size == 0 or int(series.lengths.max()) <= order:
        raise InvalidInput(
            "x", f"{series.flat.size} points", f"a series of more than {order} points"
        )


def _parts(
    series: Sequences, states: int, orders: tuple[int, ...], each: bool
) -> Iterator[tuple[Sequences, int, int | None]]:
    """What to fit at which order: all series at each order, then each on its own."""
    for order in orders:
        yield series, order, None
    for place in range(series.count if each else 0):
        begin, end = series.offsets[place : place + 2]
        own = Sequences(series.flat[begin:end], np.array([0, end - begin]))
        for order in orders:
            if _carries(int(end - begin), states, order):
                yield own, order, place


def _carries(points: int, states: int, order: int) -> bool:
    """Whether a series has enough points for a fit of its own."""
    return bool(points - order >= ENOUGH_POINTS * states ** (order + 1))


def _read(
    part: Sequences,
    order: int,
    series: Any,
    question: _Question,
    promised: DataModel | None,
    pseudocount: float,
) -> Reading:
    counts = count_contexts(part, question.noise.states, order, order)
    model = _fitted(counts, pseudocount)
    return Reading(
        order=order,
        series=series,
        model=model,
        loss=question.loss(model),
        test=order_test(counts),
        against=None if promised is None else p_value(part, promised, order),
        gap=_gap(counts),
        unseen=int((counts.sum(axis=1) == 0).sum()),
    )


def _fitted(counts: NDArray[np.int64], pseudocount: float) -> DataModel:
    """The chain of the order of its counts."""
    if order_of(counts.shape) == 1:
        return first_order(counts, "given", pseudocount)
    return HigherOrderChain.from_counts(counts, "given", pseudocount).recurring("x")


def _gap(counts: NDArray[np.int64]) -> float:
    """The largest difference that the points before the last make, where they were seen often."""
    often = counts.sum(axis=1) >= SEEN
    first = fitted_laws(shorter_counts(counts, 1))
    last = np.arange(len(counts)) % counts.shape[1]
    difference = np.abs(fitted_laws(counts) - first[last])
    return float(difference[often].max(initial=0.0))
