"""Before a release: the error that an analyst will get, and what it takes to make it small."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from chainveil import checks
from chainveil.calibration import calibrate, usual_plan
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, UnreachableBudget
from chainveil.estimate.answer_table import Kind, framed
from chainveil.estimate.counts.covariance import (
    chain_law,
    drawing_covariance,
    noise_covariance,
    share_drawing,
)
from chainveil.estimate.counts.last_report import settled_covariance
from chainveil.estimate.counts.pair_shares import PAIR, expected_pair_shares
from chainveil.estimate.counts.places import between_reports, check_neighbours
from chainveil.estimate.counts.series_law import SeriesLaw
from chainveil.estimate.counts.silent import expected_silent
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.estimate.questions.autocorrelation import correlations
from chainveil.estimate.results import Covers, noise_part, read_covers
from chainveil.model.base import DataModel
from chainveil.plan import NoisePlan
from chainveil.privacy.problem import Objective

Question = Literal["frequency", "transitions", "durations", "autocorrelation"]
QUESTIONS: tuple[Question, ...] = get_args(Question)
# Budgets that are tried. Below the least, releases are noise; above the largest, data.
LEAST_BUDGET, LARGEST_BUDGET = 0.01, 30.0
MOST_ROWS = 10**15


@dataclass(frozen=True, repr=False)
class ExpectedError:
    """The error to expect of an estimate, before anything is released.

    Attributes
    ----------
    question : str
    length : int
        Released points, in one series.
    value : array
        What the plan's chain gives for the question: shape (k,), or (k, k) for transitions.
    standard_error : array of the shape of ``value``
    covers : "noise" or "sampling"
    needed : int
        Points that the estimate asks for; from fewer it refuses to answer.
    sampling_error : array of the shape of ``value``, or None
        The part of the standard error that is due to points that do not report, on the safe
        side; ``noise_error`` is the rest.
    """

    question: Question
    length: int
    value: FloatArray
    standard_error: FloatArray
    covers: Covers
    needed: int = 0
    sampling_error: FloatArray | None = None

    @property
    def noise_error(self) -> FloatArray:
        """The part of the standard error that is due to the noise."""
        return noise_part(self.standard_error, self.sampling_error)

    @property
    def refused(self) -> bool:
        """Whether the noise is too heavy for an answer from so few points."""
        return self.length < self.needed

    @property
    def largest(self) -> float:
        """The largest standard error of all states."""
        return float(self.standard_error.max())

    def to_frame(self, kind: Kind | None = None) -> Any:
        """A row a number: ``place`` in the array, ``value``, ``standard_error``, ``points``."""
        places = [", ".join(map(str, place)) for place in np.ndindex(self.value.shape)]
        size = len(places)
        return framed({
            "question": [self.question] * size, "place": places,
            "value": self.value.ravel().tolist(),
            "standard_error": self.standard_error.ravel().tolist(),
            "points": [self.length] * size, "covers": [self.covers] * size,
        }, kind)  # fmt: skip

    def __repr__(self) -> str:
        refused = f"; refused below {self.needed:,} points" if self.refused else ""
        return (
            f"ExpectedError: {self.question} of {self.length:,} points, standard error at most "
            f"{self.largest:.4g} ({self.covers}){refused}"
        )


def error_at(
    plan: NoisePlan, length: int, question: Question = "frequency", covers: Covers = "noise"
) -> ExpectedError:
    """The standard error that an analyst will get from a release by a plan.

    Parameters
    ----------
    plan : NoisePlan
        Its chain is taken for the truth.
    length : int
        Released points.
    question : "frequency", "transitions", "durations" or "autocorrelation"
        What will be asked, with the estimates from counts; the last one point later.
    covers : "noise" or "sampling"
        As for the estimate itself.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.binary(q=0.0893, r=0.1092), epsilon=3)
    >>> round(cv.estimate.error_at(plan, 10_000).largest, 4)
    0.0236
    """
    if not isinstance(plan, NoisePlan):
        raise InvalidInput("plan", plan, "a NoisePlan", "calibrate(chain, epsilon) makes one.")
    noise, about = as_noise_law(plan), read_covers(covers)
    checks.one_of("question", question, QUESTIONS)
    points = checks.whole("length", length, 2)
    if question != "frequency":
        check_neighbours(noise, question)
    series = between_reports(plan.chain, noise)
    reports = max(-(-(points - noise.noise.first_place) // noise.every), 1)
    value, variance = _variance(series, noise, reports, question, about)
    silent = None
    if noise.every > 1 and about == "noise":
        pairs = series.patterns((0, 1)).reshape(noise.states, noise.states)
        between = pairs / pairs.sum(axis=1, keepdims=True)
        silent = expected_silent(series.stationary, between, noise.every, reports)
        variance = variance + silent
    window = (0,) if question == "frequency" else PAIR
    # Where reports look back the first one is not looked at.
    needed = (noise.points_needed(window) + len(window) - 1 + noise.looks_back) * noise.every
    rest = None if silent is None else np.sqrt(silent)
    return ExpectedError(question, points, value, np.sqrt(variance), about, needed, rest)


def rows_for(
    plan: NoisePlan, error: float, question: Question = "frequency", covers: Covers = "noise"
) -> int:
    """The least number of points that bring the standard error down to ``error``.

    And that are enough for the estimate to answer at all.
    """
    goal = _error(error)
    low, high = 1, 1024
    while not _answers(plan, goal, high, question, covers):
        low, high = high, high * 8
        if high > MOST_ROWS:
            raise UnreachableBudget(f"error: {error!r} would take more than {MOST_ROWS:.0e} rows")
    while high - low > 1:
        middle = (low + high) // 2
        enough = _answers(plan, goal, max(middle, 2), question, covers)
        low, high = (low, middle) if enough else (middle, high)
    return max(high, 2)


def epsilon_for(
    chain: DataModel,
    error: float,
    rows: int,
    question: Question = "frequency",
    covers: Covers = "noise",
    *,
    mechanism: str | None = "independent",
    objective: Objective = "wrong-reports",
    **promise: Any,
) -> NoisePlan:
    """The plan with the least budget whose release answers a question precisely enough.

    Budgets from 0.01 to 30 are tried.

    Parameters
    ----------
    chain : MarkovChain or another model
        The chain behind the series.
    error : float
        The standard error to reach.
    rows : int
        Released points.
    question, covers : str
        As in :func:`error_at`.
    mechanism, objective, **promise : optional
        As in :func:`chainveil.calibrate`; ``mechanism`` None: the noise that tables get where
        none is named.
    """
    goal = _error(error)
    asked = {"objective": objective, **promise}

    def attempt(epsilon: float) -> tuple[NoisePlan, bool]:
        if mechanism is None:
            plan = usual_plan(chain, epsilon, **asked)
        else:
            plan = calibrate(chain, epsilon, mechanism=mechanism, **asked)
        return plan, _is_enough(plan, goal, rows, question, covers)

    low, high = LEAST_BUDGET, LARGEST_BUDGET
    plan, enough = attempt(high)
    if not enough:
        raise UnreachableBudget(
            f"error: {error!r} cannot be met with {rows:,} rows at any budget up to {high:g}; "
            "release more rows, or ask for less."
        )
    with suppress(UnreachableBudget):
        least, enough = attempt(low)
        if enough:
            return least
    while high / low > 1.002:
        middle = math.sqrt(low * high)
        candidate, enough = attempt(middle)
        low, high = (low, middle) if enough else (middle, high)
        plan = candidate if enough else plan
    return plan


def _answers(plan: NoisePlan, goal: float, length: int, question: Question, covers: Covers) -> bool:
    found = error_at(plan, length, question, covers)
    return not found.refused and found.largest <= goal


def _is_enough(
    plan: NoisePlan, goal: float, length: int, question: Question, covers: Covers
) -> bool:
    try:
        return _answers(plan, goal, length, question, covers)
    except InvalidInput as problem:
        if problem.argument != "noise":
            raise
        # Noise that cannot be undone answers nothing.
        return False


def _error(error: float) -> float:
    goal = checks.real("error", error, "a number above 0")
    if goal <= 0:
        raise InvalidInput("error", error, "a number above 0", "It is a standard error.")
    return goal


def _variance(
    series: SeriesLaw, noise: NoiseLaw, length: int, question: Question, covers: Covers
) -> tuple[FloatArray, FloatArray]:
    """Value and variance, shape (k,) or (k, k)."""
    sampling = covers == "sampling"
    if question == "frequency":
        share = np.array(series.stationary)
        variance = np.diagonal(_spread(series, noise, (0,), length)).copy()
        if sampling:
            pairs = lambda h: np.array([max(float(length - h), 0.0)])  # noqa: E731
            drawing = share_drawing(series, pairs, length)[0]
            variance += drawing * share * (1 - share)
        return share, variance
    spread = _spread(series, noise, PAIR, length)
    together = series.patterns(PAIR).reshape(noise.states, -1)
    if question == "autocorrelation":
        return _autocorrelation(series, together, spread, length if sampling else None)
    count = np.array([float(length - 1)])
    if sampling and not series.plain:
        # Steps of a longer memory are no martingale differences: all distances count.
        spread = spread + drawing_covariance(series, PAIR, length)
    found = expected_pair_shares(together, spread, count).variance(sampling and series.plain)[0]
    transition = together / together.sum(axis=1, keepdims=True)
    if question == "transitions":
        return transition, found
    spell = 1 / (1 - np.diag(transition))
    return spell, np.diag(found) * spell**4


def _spread(series: SeriesLaw, noise: NoiseLaw, window: tuple[int, ...], length: int) -> FloatArray:
    """Covariance of the shares due to the noise, shape (k^p, k^p)."""
    if noise.looks_back:
        count = max(length - len(window), 1)
        return settled_covariance(noise, series, window == PAIR, count)
    law = chain_law(series, length)
    return np.asarray(noise_covariance(noise, window, law)[0, 0])


def _autocorrelation(
    series: SeriesLaw, shares: FloatArray, covariance: FloatArray, drawn: int | None
) -> tuple[FloatArray, FloatArray]:
    """Value and variance one point later, shape (k,); with ``drawn`` points also the drawing's."""
    if drawn is not None:
        covariance = covariance + drawing_covariance(series, PAIR, drawn)
    value, error, *_ = correlations(shares[None], covariance[None, None], 1.0)
    return value[0], error[0] ** 2
