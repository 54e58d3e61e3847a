"""What one release loses on each of very many chains: upper bounds, exact, or of groups."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import ChainveilError
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.plan import NoisePlan
from chainveil.privacy import engines
from chainveil.privacy.odds.loss import bound_over
from chainveil.privacy.problem import Problem, read_problem

# Chains that engines are asked about one by one, and boxes of chains where there are more.
MOST_ALONE, MOST_GROUPS = 400, 500
# Of more than two states, where each may take its STEPS.
MOST_SEARCHED = 40
# Steps of one loss where it is searched for, about half a second, and how close its bounds come.
STEPS, CLOSE = 100_000, 0.01
# Groups hold chains whose q, and whose r, differ by no more than such a factor at first.
NARROWEST = 1.02


@dataclass(frozen=True)
class OwnLosses:
    """Losses of many chains under one plan.

    Attributes
    ----------
    bounds : array of shape (chains,)
        Upper bounds; infinite where nothing bounds them, NaN where none was computed.
    how : str
        What the figures are, in words.
    """

    bounds: FloatArray
    how: str


def own_losses(transitions: FloatArray, plan: NoisePlan) -> OwnLosses:
    """The loss of a plan on each chain, of shape (chains, k, k)."""
    if len(transitions) <= _most(transitions):
        return OwnLosses(_alone(transitions, plan), "each computed on its own, as an upper bound")
    if transitions.shape[1] == 2:
        return _in_groups(transitions, plan)
    return _some(transitions, plan)


def _alone(transitions: FloatArray, plan: NoisePlan) -> FloatArray:
    return np.array([_loss(MarkovChain(law), plan) for law in transitions])


def _loss(model: DataModel, plan: NoisePlan) -> float:
    """Upper bound for one model, infinite where no engine bounds it."""
    who = plan.loss
    try:
        problem = read_problem(
            model, plan.shown, who.length, who.adversary, None if model.states == 2 else STEPS,
            unit=plan.unit, gaps=plan.gaps, tolerance=CLOSE,
        )  # fmt: skip
        return engines.loss(problem).epsilon
    except ChainveilError:
        return math.inf


def _in_groups(transitions: FloatArray, plan: NoisePlan) -> OwnLosses:
    """The loss of a box that covers the chains of a group, for each of them."""
    q, r = transitions[:, 0, 1], transitions[:, 1, 0]
    group, count, width = _groups(q, r)
    order = np.argsort(group, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    bounds, problem = np.empty(len(q)), _problem(plan)
    for some in members:
        box = (*_ends(q[some]), *_ends(r[some]))
        try:
            bound = bound_over(problem, box)
        except ChainveilError:
            bound = math.inf
        bounds[some] = bound if math.isfinite(bound) else _alone(transitions[some], plan)
    return OwnLosses(
        bounds, f"of {count} groups of series whose q, and whose r, differ by at most {width:.0%}: "
        "each figure is an upper bound for its whole group",
    )  # fmt: skip


def _problem(plan: NoisePlan) -> Problem:
    # Bounds of groups are for every length.
    who = plan.loss.adversary
    return read_problem(plan.chain, plan.shown, None, who, unit=plan.unit, gaps=plan.gaps)


def _some(transitions: FloatArray, plan: NoisePlan) -> OwnLosses:
    """As many as engines can be asked about, from all over."""
    some = np.linspace(0, len(transitions) - 1, _most(transitions)).astype(np.int64)
    bounds = np.full(len(transitions), np.nan)
    bounds[some] = _alone(transitions[some], plan)
    return OwnLosses(bounds, f"computed for {len(some):,} of {len(transitions):,} series")


def _most(transitions: FloatArray) -> int:
    """How many chains engines are asked about one by one."""
    return MOST_ALONE if transitions.shape[1] == 2 else MOST_SEARCHED


def _ends(values: FloatArray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _groups(q: FloatArray, r: FloatArray) -> tuple[NDArray[np.int64], int, float]:
    """Cells of a grid of logarithms, as narrow as their number allows."""
    factor, logs = NARROWEST, np.log(np.stack([q, r]))
    while True:
        column, row = np.floor(logs / math.log(factor)).astype(np.int64)
        _, group = np.unique(column * (row.max() - row.min() + 1) + row, return_inverse=True)
        count = int(group.max()) + 1
        if count <= MOST_GROUPS:
            return group.reshape(-1), count, factor - 1
        factor = factor**1.3
