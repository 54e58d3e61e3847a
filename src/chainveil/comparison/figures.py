"""What a plan will leave of a study: the figures of one row of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chainveil.attack.own_models import own_loss
from chainveil.checks import FloatArray
from chainveil.comparison import simulated
from chainveil.comparison.study import Study
from chainveil.errors import ChainveilError
from chainveil.estimate.counts.series_law import SeriesLaw
from chainveil.estimate.intervals import quantile
from chainveil.estimate.planning import error_at
from chainveil.plan import NoisePlan
from chainveil.privacy.baselines import success_bound

LEVEL = 0.95
# Reports from which a variance is taken as one a point.
MANY = 200_000
# Series whose own models are looked at: of two states, and of more, where a loss takes seconds.
MOST_OWN, FEW_OWN = 100, 3


@dataclass(frozen=True)
class Expected:
    """How far an answer will be from the truth.

    Attributes
    ----------
    error : float
        Root mean square of the error to expect.
    half_width : float
        Half of the 95% interval that the analyst will get. Where one point in several reports
        it is on the safe side: wider than the error asks for.
    """

    error: float
    half_width: float


@dataclass(frozen=True)
class Attacked:
    """How often the best attacker is right who knows the chain and the noise, and no point.

    Attributes
    ----------
    success, error : float
        At the most exposed place, by simulation, with its standard error.
    guess : float
        Without a release: the share of the commonest state.
    bound : float
        Certified: nobody who knows no point beforehand is right more often, if the data follow
        the chain of the plan.
    """

    success: float
    error: float
    guess: float
    bound: float


@dataclass(frozen=True)
class OwnLosses:
    """Losses if each series followed the chain that fits it best, as upper bounds.

    Attributes
    ----------
    worst, median : float or None
        Over the series looked at that have a loss.
    above : int
        Series that lose more than the budget, by more than the error of the fits.
    looked : int
        Series that were looked at; where they are not all, the slowest and the quickest are
        among them.
    unknown : int
        Those of them to which no chain fits, or whose loss no engine tells.
    """

    worst: float | None
    median: float | None
    above: int
    looked: int
    unknown: int


@dataclass(frozen=True)
class Figures:
    """All that is told of one plan. Shares of points, and None where nothing answers.

    Attributes
    ----------
    wrong : float
        Reports that differ from their point, in the long run.
    smoothed, smoothed_error : float
        Points that are wrong after smoothing by somebody who knows the chain, by simulation,
        with its standard error.
    share, by_series : Expected or None
        Share of a state: of all points, and of the series of middle length.
    transitions : Expected or None
        Probability of a next state, the least certain one, from all points.
    sojourns : Expected or None
        How long a state lasts, as a share of that, the least certain state, from all points.
    attacked : Attacked
    own : OwnLosses
    """

    wrong: float
    smoothed: float
    smoothed_error: float
    share: Expected | None
    by_series: Expected | None
    transitions: Expected | None
    sojourns: Expected | None
    attacked: Attacked
    own: OwnLosses


def figures(plan: NoisePlan, study: Study) -> Figures:
    """What to expect of a release by a plan, if the data follow the study's model."""
    length = plan.loss.length
    told = simulated.decoded(study.model, plan.noise, length)
    here = replace(plan, model=study.model)
    shares = _shares(here)
    sizes = (study.points, study.of_a_series)
    share, by_series = (None if shares is None else shares.of(n) for n in sizes)
    transitions, sojourns = _movements(here, study.points)
    guess = float(np.max(study.model.stationary))
    bound = success_bound(plan.chain, plan.loss.epsilon)
    return Figures(
        plan.noise.expected_flips(study.model), told.wrong, told.error,
        share, by_series, transitions, sojourns,
        Attacked(told.success, told.success_error, guess, bound), own_losses(plan, study),
    )  # fmt: skip


@dataclass(frozen=True)
class _Shares:
    """Variances of a share for one point, that of the least certain state.

    ``silent`` is what points that do not report add, ``safe`` what the interval counts for them.
    """

    noise: float
    silent: float
    safe: float
    needed: int

    def of(self, points: int) -> Expected | None:
        """From so many points; None where they are too few for an answer."""
        if points < self.needed:
            return None
        error = np.sqrt((self.noise + self.silent) / points)
        reach = quantile(LEVEL) * np.sqrt((self.noise + self.safe) / points)
        return Expected(float(error), float(reach))


def _shares(plan: NoisePlan) -> _Shares | None:
    """None where nothing undoes the noise, or the plan cannot be asked."""
    every = plan.noise.every
    points = MANY * every
    try:
        found = error_at(plan, points)
    except ChainveilError:
        return None
    safe = np.zeros(1) if found.sampling_error is None else found.sampling_error**2 * points
    silent = _silent(plan.chain, every) if every > 1 else np.zeros(1)
    noise = found.noise_error**2 * points
    worst = int(np.argmax(noise + silent))
    return _Shares(
        float(noise[worst]), float(np.broadcast_to(silent, noise.shape)[worst]),
        float(np.broadcast_to(safe, noise.shape)[worst]), found.needed,
    )  # fmt: skip


def _silent(chain: Any, every: int) -> FloatArray:
    """Variance for one point that is due to points that do not report, shape (k,).

    With C(h) the covariance of a state with itself h points later, the mean over one point in B
    strays from that over all by ``B sum_h C(h B) - sum_h C(h)``, both over all whole h.
    """
    law = SeriesLaw.of(chain)
    rare, all_of_them = (_long_run(law.between(step)) for step in (every, 1))
    return np.maximum(every * rare - all_of_them, 0.0)


def _long_run(law: SeriesLaw) -> FloatArray:
    """``sum_h C(h)`` of each state, shape (k,)."""
    start, move, shown = np.asarray(law.start), np.asarray(law.move), np.asarray(law.shown)
    # With Z the sum of all (P^h - 1 pi) for h from 0 on, the sum over whole h is 2 Z less C(0).
    around = np.linalg.inv(np.eye(len(start)) - move + start[None, :]) - start[None, :]
    once = np.einsum("as,s,as->a", shown, start, shown) - (shown @ start) ** 2
    later = np.einsum("as,s,st,at->a", shown, start, around, shown)
    return np.asarray(2 * later - once)


def _movements(plan: NoisePlan, points: int) -> tuple[Expected | None, Expected | None]:
    """Transitions and sojourns; None where too little is known, or nothing undoes the noise."""
    if plan.noise.every > 1:
        return None, None
    try:
        moves, lasting = (error_at(plan, points, name) for name in ("transitions", "durations"))
    except ChainveilError:
        return None, None
    spells = float(np.max(lasting.standard_error / lasting.value))
    reach = quantile(LEVEL)
    # Where a spell of no length is as likely as any, neither says anything.
    if moves.refused or reach * spells >= 1:
        return None, None
    return Expected(moves.largest, reach * moves.largest), Expected(spells, reach * spells)


def own_losses(plan: NoisePlan, study: Study) -> OwnLosses:
    """The noise of a plan on the chains of the series themselves."""
    some = _some(study.runs, MOST_OWN if study.model.states == 2 else FEW_OWN)
    found = [own_loss(runs, plan) for runs in some]
    known = [own.epsilon for own in found if own.epsilon is not None]
    worst, median = (max(known), float(np.median(known))) if known else (None, None)
    above = sum(own.above(plan.epsilon, len(known)) for own in found)
    return OwnLosses(worst, median, above, len(some), len(found) - len(known))


def _some(series: Sequence[Any], most: int) -> list[Any]:
    """All series, or so many of them, from the one that changes least to that which does most."""
    if len(series) <= most:
        return list(series)
    changes = [sum(int(np.count_nonzero(np.diff(run))) for run in runs) for runs in series]
    pace = np.array(changes) / np.maximum([sum(map(len, runs)) for runs in series], 1)
    order = np.argsort(pace, kind="stable")
    return [series[place] for place in order[np.linspace(0, len(order) - 1, most).astype(int)]]
