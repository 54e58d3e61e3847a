"""From a budget to a plan: the least noise that keeps it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chainveil import checks
from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.model.base import Box, DataModel, require_model
from chainveil.model.chain import MarkovChain
from chainveil.model.disclosure import too_few
from chainveil.model.family import ModelFamily
from chainveil.model.region import ChainRegion
from chainveil.noise.base import Noise, noise_class
from chainveil.noise.channel import Channel
from chainveil.noise.memory import StickyNoise
from chainveil.plan import NoisePlan
from chainveil.privacy import engines
from chainveil.privacy.adversary import Adversary, AdversaryName, read_adversary, read_length
from chainveil.privacy.closed_form import budget
from chainveil.privacy.problem import Aim, Every, Objective, Problem, Shape, Unit, read_unit

# How far the limits of a box may be apart, as a ratio, for its middle to stand for all of it.
WIDEST = 2.0
# The slowest chain, by q + r, of a box over which noise that remembers is certified within seconds.
SLOWEST_OF_BOX = 1e-3
# The slowest chain, by q + r, and the longest series for which the search for sticky noise takes
# a few seconds at most; with earlier releases or gaps, where no leaps are taken, the slowest one.
SLOWEST, LONGEST, SLOWEST_OF_SEVERAL = 2e-4, 500, 2e-3
# By how little fewer wrong reports than those of a guess are no reason to publish them.
LITTLE = 0.01


class Asked(TypedDict, total=False):
    """The keyword arguments of :func:`calibrate`."""

    mechanism: str
    every: Every
    objective: Objective
    unit: Unit
    earlier: Sequence[Noise]
    adversary: AdversaryName | Adversary
    max_length: int | None
    shape: Shape
    gaps: bool


@overload
def calibrate(model: DataModel, epsilon: float, **asked: Unpack[Asked]) -> NoisePlan: ...


@overload
def calibrate(
    model: DataModel, epsilon: Iterable[float] | NDArray[Any], **asked: Unpack[Asked]
) -> list[NoisePlan]: ...


def calibrate(
    model: DataModel,
    epsilon: float | Iterable[float] | NDArray[Any],
    *,
    mechanism: str = "independent",
    every: Every = 1,
    objective: Objective = "wrong-reports",
    unit: Unit = "point",
    earlier: Sequence[Noise] = (),
    adversary: AdversaryName | Adversary = "any",
    max_length: int | None = None,
    shape: Shape = "uniform",
    gaps: bool = False,
) -> NoisePlan | list[NoisePlan]:
    """Find the least noise whose privacy loss is within a budget.

    Parameters
    ----------
    model : MarkovChain, HigherOrderChain, ChainRegion, ModelFamily or another model
        The law of the series, with k states. The plan holds for every chain of a region and for
        each member of a family. A model that was fitted on private data is rounded first, so that
        its counts are not published (see Notes).
    epsilon : float, or sequence of float of shape (m,)
        The budget, in nats. A sequence gives a list of m plans.
    mechanism : "independent", "sticky", "tracking", "correlated" or a registered kind
        "independent" noise is drawn for each point alone. "sticky" noise also depends on the last
        report, which is public. "tracking" and "correlated" noise need one holder of the whole
        series, and two states.
    every : int or "auto"
        Number of points for each report, with independent and sticky noise; "auto" searches for
        the best number. Points without a report are protected like the others.
    objective : "wrong-reports", "share", "distance" or "smoothed"
        The cost to minimise: the expected share of wrong reports (Corollary 1 of the paper), the
        variance of an unbiased estimate of the share of a state, the mean distance between ordered
        states and their reports, or the error after smoothing under the model, by simulation.
    unit : "point" or int
        The unit of privacy, as in :func:`privacy_loss`.
    earlier : sequence of Noise
        Noise of earlier releases of the same series, on the grid of 2^-53. The budget then holds
        for all releases together.
    adversary : "any", "ignorant", "informed" or Adversary
        As in :func:`privacy_loss`. Only "any" gives Bayesian differential privacy.
    max_length : int, optional
        Largest number of points of a series. By default the plan holds for every length.
    shape : "uniform", "ordinal" or "per-state"
        For k > 2, the channels that are compared: one probability of a wrong report and all wrong
        reports alike, reports near the state more likely, or a probability of each state's own.
    gaps : bool
        Whether points may be missing, as in :func:`privacy_loss`.

    Returns
    -------
    NoisePlan, or list of NoisePlan
        The noise, of which every probability is a multiple of 2^-53, and its certified loss, which
        is at most ``epsilon`` and is computed by the call that :func:`verify` makes.

    Notes
    -----
    The noise v solves

        minimise cost(v)  subject to  log ratio(attack; v) <= epsilon for every attack,    (1)

    where attacks are collected from the solver of the loss until none exceeds the budget
    (docs/calibration.md). The result is a local optimum, not proven minimal. The loss is at least
    99% of ``epsilon`` where less noise would do, except for more than two states and for higher
    orders where the bounds on the loss do not meet; ``plan.loss.gap`` is their distance.

    The levels of independent noise on every point of two states are at most 1/2, as in the paper.

    A private fit of two states is replaced by a :class:`ChainRegion` that contains it, if noise of
    the kind is offered for regions, else by a chain that changes more rarely; private members of a
    family by one region. Models with more states or of a higher order are rounded to one that
    changes more rarely. The plan holds for the model that is published, ``plan.model``.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.binary(q=0.0893, r=0.1092), epsilon=3)
    >>> round(plan.expected_flips, 3)
    0.398
    >>> plan.loss.epsilon <= 3
    True
    """
    require_model(model, "model")
    budgets, single = _budgets(epsilon)
    length, every = read_length(max_length, "max_length"), _read_every(every)
    who, size = read_adversary(adversary, length), read_unit(unit, length)
    public = _publishable(model, noise_class(mechanism), who, size, every)
    problem = Problem(public, _as_realised(earlier), length, who, unit=size, gaps=bool(gaps))
    aims = [Aim.read(number, objective, shape, every) for number in budgets]
    plans = [_plan(mechanism, problem, aim) for aim in aims]
    return plans[0] if single else plans


def usual_mechanism(model: DataModel, **asked: Any) -> str:
    """The kind of noise that tables get where none is named.

    Sticky noise for one chain of two states, or a family of them, unless its search would take
    long, is not certified for all of a private family, or does not offer what is ``asked``
    (arguments of :func:`calibrate`); independent noise else.
    """
    length, every = asked.get("max_length"), asked.get("every", 1)
    rare = every != 1 or asked.get("unit", "point") not in ("point", 1)
    several = engines.is_family(model)
    if not (model.single or several) or (model.states, model.order) != (2, 1):
        return Channel.kind
    # Which noise it is gets published, so that it must not say more than the rounded chain does.
    public = _publishable(model, StickyNoise, asked.get("adversary", "any"))
    if several and model.is_unrounded and not public.covers(model.rounded()):
        # Independent noise is certified for all of them, sticky noise for the slowest chain alone.
        return Channel.kind
    chains = [member.likeliest for member in public.members]
    changes = min(float(chain.transition[0, 1] + chain.transition[1, 0]) for chain in chains)
    walked = bool(asked.get("earlier")) or bool(asked.get("gaps", False))
    slowest = SLOWEST_OF_SEVERAL if walked else SLOWEST
    quick = changes >= slowest and (length is None or length <= LONGEST)
    offered = asked.get("objective", "wrong-reports") != "distance" and 0 < changes < 2
    return StickyNoise.kind if offered and (quick or rare) else Channel.kind


def usual_plan(model: DataModel, epsilon: float, **asked: Any) -> NoisePlan:
    """A plan with the noise of :func:`usual_mechanism`, and one that tells something.

    For small budgets and uneven shares of the states the fewest wrong reports are made by
    repeating the commonest state, which tells nothing. The same noise is then made for the least
    error of an estimated share; where that is not offered, the noise is independent.
    """
    kind = usual_mechanism(model, **asked)
    plan = calibrate(model, epsilon, mechanism=kind, **asked)
    alone = plan.noise.sees == "last report" and plan.noise.every == 1 and plan.unit == "point"
    if not alone or plan.objective == "share" or not only_guesses(plan):
        return plan
    with contextlib.suppress(NotSupported, UnreachableBudget):
        return calibrate(model, epsilon, mechanism=kind, **asked | {"objective": "share"})
    held = any(getattr(noise, "holds", False) for noise in asked.get("earlier", ()))
    gaps = bool(asked.get("gaps", False)) and held
    return calibrate(model, epsilon, mechanism=Channel.kind, **asked | {"gaps": gaps})


def only_guesses(plan: NoisePlan) -> bool:
    """Whether always reporting the commonest state would be wrong no more often, or hardly."""
    wrong = 1 - float(np.max(plan.chain.stationary))
    return plan.expected_flips >= (1 - LITTLE) * wrong


def _read_every(every: Any) -> Any:
    """A whole number, or "auto"."""
    allowed = 'a whole number from 1 on, or "auto"'
    if isinstance(every, str):
        if every != "auto":
            raise InvalidInput("every", every, allowed)
        return every
    return checks.whole("every", every, 1, allowed)


def _publishable(
    model: DataModel,
    kind: type[Noise],
    adversary: AdversaryName | Adversary,
    unit: int = 1,
    every: Every = 1,
) -> DataModel:
    """What a plan is made for and may publish: private fits are rounded, all else stays."""
    if not model.is_unrounded:
        return model
    if engines.is_family(model):
        return _published_family(cast(ModelFamily, model), kind, adversary, unit, every)
    if model.order != 1 or model.states > 2:
        return model.rounded()
    chain = cast(MarkovChain, model)
    if chain.counts is None:
        raise InvalidInput(
            "model", "a private chain with neither counts nor round numbers",
            "MarkovChain.fit(series), which has the counts that rounding needs",
        )  # fmt: skip
    q, r = chain.public_box()
    covered = chain.initial is None and _is_covered((*q, *r), kind, adversary, unit, every)
    if q[1] + r[1] < 1 and covered:
        # Few digits, so that the middle reads as the round number that it is.
        middle = float(f"{sum(q) / 2:.6g}"), float(f"{sum(r) / 2:.6g}")
        return ChainRegion(q, r, middle, origin="private")
    if q[1] + r[1] >= 1 and max(q[1] / q[0], r[1] / r[0]) > WIDEST:
        raise too_few("a private chain that changes often, fitted on few points")
    # Where a whole region cannot be covered: its slowest chain, for which most noise is needed
    # wherever that was tried.
    ends = (q[0], r[0]) if q[1] + r[1] < 1 else (sum(q) / 2, sum(r) / 2)
    return MarkovChain([[1 - ends[0], ends[0]], [ends[1], 1 - ends[1]]], chain.initial,
                       origin="private")  # fmt: skip


def _is_covered(
    box: Box, kind: type[Noise], adversary: AdversaryName | Adversary, unit: int, every: Every
) -> bool:
    """Whether noise of a kind is certified over a box, within seconds, for what is asked."""
    covered = engines.covers_regions(kind.kind) and not isinstance(adversary, Adversary)
    if kind.sees != "point":
        covered = covered and box[0] + box[2] >= SLOWEST_OF_BOX
    if kind.sees != "point" or every != 1:
        covered = covered and adversary != "informed"
    return covered and unit == 1


def _published_family(
    family: ModelFamily,
    kind: type[Noise],
    adversary: AdversaryName | Adversary,
    unit: int,
    every: Every,
) -> DataModel:
    """One box in place of private members, or its slowest chain where no box can be covered."""
    public = family.rounded()

    def corner(member: DataModel) -> DataModel:
        box = member.box
        whole = box is None or member.single or _is_covered(box, kind, adversary, unit, every)
        if whole or box is None:
            return member
        # Few digits, so that they read as the round numbers that they are; below the limits.
        q, r = (float(f"{end * (1 - 5e-6):.6g}") for end in (box[0], box[2]))
        return MarkovChain([[1 - q, q], [r, 1 - r]], origin=member.origin)

    if not engines.is_family(public):
        return corner(public)
    several = cast(ModelFamily, public)
    return ModelFamily([corner(one) for one in several.members], several.names, several.typical)


def _plan(mechanism: str, problem: Problem, aim: Aim) -> NoisePlan:
    found = engines.calibrated(mechanism, problem, aim)
    unit: Unit = "point" if problem.unit == 1 else problem.unit
    return NoisePlan(
        problem.model, found.noise, found.loss, aim.epsilon, aim.objective, found.half_planes,
        problem.releases, unit, problem.gaps,
    )  # fmt: skip


def _as_realised(earlier: Any) -> tuple[Noise, ...]:
    """Earlier releases with the noise that sanitizing gave them: that on the grid."""
    if isinstance(earlier, Noise) or not isinstance(earlier, Sequence):
        found = f"an object of type {type(earlier).__name__}"
        raise InvalidInput("earlier", found, "a list of Channels, one for each earlier release")
    for noise in earlier:
        if not isinstance(noise, Noise):
            raise InvalidInput("earlier", noise, "channels", "Take the channel of each plan.")
    return tuple(noise.on_grid() for noise in earlier)


def _budgets(epsilon: Any) -> tuple[list[float], bool]:
    if isinstance(epsilon, str | bytes) or not isinstance(epsilon, Iterable):
        number: Any = epsilon
        return [budget(number)], True
    try:
        array: NDArray[Any] = np.asarray(_as_list(epsilon))
    except ValueError:
        raise InvalidInput("epsilon", "nested lists", "a number, or a plain list of them") from None
    if array.ndim == 0:
        return [budget(array.item())], True
    return [budget(number) for number in array.ravel().tolist()], False


def _as_list(epsilon: Iterable[Any]) -> ArrayLike:
    return epsilon if isinstance(epsilon, np.ndarray) else list(epsilon)
