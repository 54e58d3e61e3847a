"""From a budget to a plan: the least noise that keeps it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast, overload

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
from chainveil.privacy.problem import Aim, Family, Objective, Problem, read_event

# How far the limits of a box may be apart, as a ratio, for its middle to stand for all of it.
WIDEST = 2.0
# The slowest chain, by q + r, of a box over which noise that remembers is certified within seconds.
SLOWEST_OF_BOX = 1e-3
# The slowest chain, by q + r, and the longest series for which the search for sticky noise takes
# a few seconds at most; with earlier releases or gaps, where no leaps are taken, the slowest one.
SLOWEST, LONGEST, SLOWEST_OF_SEVERAL = 2e-4, 500, 2e-3
# By how little fewer wrong reports than those of a guess are no reason to publish them.
LITTLE = 0.01


@overload
def calibrate(
    chain: DataModel,
    epsilon: float,
    length: int | None = ...,
    adversary: AdversaryName | Adversary = ...,
    *,
    mechanism: str = ...,
    objective: Objective = ...,
    max_noise: float = ...,
    family: Family = ...,
    spent: Sequence[Noise] = ...,
    every: int | Literal["best"] = ...,
    event: int = ...,
    gaps: bool = ...,
) -> NoisePlan: ...


@overload
def calibrate(
    chain: DataModel,
    epsilon: Iterable[float] | NDArray[Any],
    length: int | None = ...,
    adversary: AdversaryName | Adversary = ...,
    *,
    mechanism: str = ...,
    objective: Objective = ...,
    max_noise: float = ...,
    family: Family = ...,
    spent: Sequence[Noise] = ...,
    every: int | Literal["best"] = ...,
    event: int = ...,
    gaps: bool = ...,
) -> list[NoisePlan]: ...


def calibrate(
    chain: DataModel,
    epsilon: float | Iterable[float] | NDArray[Any],
    length: int | None = None,
    adversary: AdversaryName | Adversary = "any",
    *,
    mechanism: str = "independent",
    objective: Objective = "flips",
    max_noise: float = 0.5,
    family: Family = "response",
    spent: Sequence[Noise] = (),
    every: int | Literal["best"] = 1,
    event: int = 1,
    gaps: bool = False,
) -> NoisePlan | list[NoisePlan]:
    """The least noise that keeps the privacy loss within a budget.

    Parameters
    ----------
    chain : MarkovChain, HigherOrderChain, ChainRegion, ModelFamily or another model
        Any number of states. Over a region the plan holds for every chain in it, over a
        family for each of its members (see docs/families.md); of members fitted on private
        data one box that covers them is published. A chain
        fitted on private data is rounded first, so that its counts are not published: two
        states to a region, which the plan then holds for; more states, a higher order, and
        two states where regions are not offered (correlated noise, q + r from 1 on, a named
        adversary, sticky and tracking noise for chains with q + r below 0.001), to a
        chain that changes more rarely, and the plan holds for that one.
    epsilon : float, or sequence of floats
        The budget, in nats. A sequence gives a list of plans, one a budget.
    length : int, optional
        Number of points of the series; by default the plan holds for every length.
    adversary : "any", "ignorant", "informed" or Adversary
        As in :func:`privacy_loss`. Only "any" gives Bayesian differential privacy.
    mechanism : "independent", "sticky", "tracking" or "correlated"
        "independent" noise can be added point by point, each by its own owner. "sticky"
        noise leans on the last report: owners apply it in turn. "tracking" and "correlated"
        noise need one holder of the whole series, and are offered for two states (see
        docs/memory.md and docs/correlated-noise.md). For more states and for chains of order 2
        and more "sticky" is sticky response (docs/finite-states.md). Sticky and tracking noise
        is the best found, not proved to be least.
    objective : "flips", "estimate", "distance" or "decoded"
        "flips" minimises the share of changed points (the paper's expected noise,
        Corollary 1); "estimate" the variance of an unbiased estimate of the share of a state.
        With more than two states "estimate" matters for the family "per-state" only;
        "distance" is the mean distance between a state and its report, for ordered states;
        "decoded" the error after smoothing by somebody who knows the chain, estimated by
        simulation.
    max_noise : float
        Upper limit of both noise levels of two states, 1/2 as in the paper. Up to 1 is
        allowed; then a state may be reported as the other one more often than not.
    family : "response", "ordinal" or "per-state"
        For more than two states: which channels are looked through. Randomized response
        has one flip probability; ordinal noise prefers near states; "per-state" has a
        flip probability for each state.
    spent : sequence of Channel
        Earlier releases of the same series, whose noise is taken as it was realised:
        ``channel.on_grid()``. The budget then holds for them and the new release together.
        Of two states, any mix of mechanisms.
    every : int or "best"
        Report one point in so many, with independent and sticky noise; "best" looks for the
        number, which takes a second or two for two states and may take minutes for more. Silent
        points are protected like the others.
    event : int
        The secret: any two values of so many consecutive points, for two states.
    gaps : bool
        Whether points may be missing, for all to see: sticky and tracking noise then hold
        the last report over them, which costs a little.

    Returns
    -------
    NoisePlan
        Its certified loss is at most ``epsilon``, and at least 99% of it where less noise would
        do. Of more than two states, and of longer memories, that takes a search for the worst
        attack that closes; where it does not, ``plan.loss.gap`` says by how much the noise may be
        too much.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.binary(q=0.0893, r=0.1092), epsilon=3)
    >>> round(plan.expected_flips, 3)
    0.398
    >>> plan.loss.epsilon <= 3
    True
    """
    require_model(chain)
    budgets, single = _budgets(epsilon)
    points = read_length(length)
    who = read_adversary(adversary, points)
    often = _often(every)
    model = _publishable(chain, noise_class(mechanism), who, event, often)
    problem = Problem(
        model, _as_realised(spent), points, who, event=read_event(event, points), gaps=bool(gaps)
    )
    aims = [Aim.read(number, objective, max_noise, family) for number in budgets]
    aims = [replace(aim, every=often) for aim in aims]
    plans = [_plan(mechanism, problem, aim) for aim in aims]
    return plans[0] if single else plans


def usual_mechanism(model: DataModel, **asked: Any) -> str:
    """The kind of noise that tables get where none is named.

    Sticky noise for one chain of two states, or a family of them, unless its search would take
    long, is not certified for all of a private family, or does not offer what is ``asked``
    (arguments of :func:`calibrate`); independent noise else.
    """
    length, event = asked.get("length"), asked.get("event", 1)
    rare = asked.get("every", 1) != 1 or event != 1
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
    walked = bool(asked.get("spent")) or bool(asked.get("gaps", False))
    slowest = SLOWEST_OF_SEVERAL if walked else SLOWEST
    quick = changes >= slowest and (length is None or length <= LONGEST)
    offered = asked.get("objective", "flips") != "distance" and 0 < changes < 2
    return StickyNoise.kind if offered and (quick or rare) else Channel.kind


def usual_plan(model: DataModel, epsilon: float, **asked: Any) -> NoisePlan:
    """A plan with the noise of :func:`usual_mechanism`, and one that tells something.

    For small budgets and uneven shares of the states the fewest wrong reports are made by
    repeating the commonest state, which tells nothing. The same noise is then made for the least
    error of an estimated share; where that is not offered, the noise is independent.
    """
    kind = usual_mechanism(model, **asked)
    plan = calibrate(model, epsilon, mechanism=kind, **asked)
    alone = plan.noise.sees == "last report" and plan.noise.every == plan.event == 1
    if not alone or plan.objective == "estimate" or not only_guesses(plan):
        return plan
    with contextlib.suppress(NotSupported, UnreachableBudget):
        return calibrate(model, epsilon, mechanism=kind, **asked | {"objective": "estimate"})
    held = any(getattr(noise, "holds", False) for noise in asked.get("spent", ()))
    gaps = bool(asked.get("gaps", False)) and held
    return calibrate(model, epsilon, mechanism=Channel.kind, **asked | {"gaps": gaps})


def only_guesses(plan: NoisePlan) -> bool:
    """Whether always reporting the commonest state would be wrong no more often, or hardly."""
    wrong = 1 - float(np.max(plan.chain.stationary))
    return plan.expected_flips >= (1 - LITTLE) * wrong


def _often(every: Any) -> Any:
    """A whole number, or "best"."""
    allowed = 'a whole number from 1 on, or "best"'
    if isinstance(every, str):
        if every != "best":
            raise InvalidInput("every", every, allowed)
        return every
    return checks.whole("every", every, 1, allowed)


def _publishable(
    model: DataModel,
    kind: type[Noise],
    adversary: AdversaryName | Adversary,
    event: int = 1,
    every: int | str = 1,
) -> DataModel:
    """What a plan is made for and may publish: private fits are rounded, all else stays."""
    if not model.is_unrounded:
        return model
    if engines.is_family(model):
        return _published_family(cast(ModelFamily, model), kind, adversary, event, every)
    if model.order != 1 or model.states > 2:
        return model.rounded()
    chain = cast(MarkovChain, model)
    if chain.counts is None:
        raise InvalidInput(
            "chain", "a private chain with neither counts nor round numbers",
            "MarkovChain.fit(series), which has the counts that rounding needs",
        )  # fmt: skip
    q, r = chain.public_box()
    covered = chain.initial is None and _is_covered((*q, *r), kind, adversary, event, every)
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
    box: Box, kind: type[Noise], adversary: AdversaryName | Adversary, event: int, every: int | str
) -> bool:
    """Whether noise of a kind is certified over a box, within seconds, for what is asked."""
    covered = engines.covers_regions(kind.kind) and not isinstance(adversary, Adversary)
    if kind.sees != "point":
        covered = covered and box[0] + box[2] >= SLOWEST_OF_BOX
    if kind.sees != "point" or every != 1:
        covered = covered and adversary != "informed"
    return covered and event == 1


def _published_family(
    family: ModelFamily,
    kind: type[Noise],
    adversary: AdversaryName | Adversary,
    event: int,
    every: int | str,
) -> DataModel:
    """One box in place of private members, or its slowest chain where no box can be covered."""
    public = family.rounded()

    def corner(member: DataModel) -> DataModel:
        box = member.box
        whole = box is None or member.single or _is_covered(box, kind, adversary, event, every)
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
    found = engines.least_noise(mechanism, problem, aim)
    chain: MarkovChain = problem.model.likeliest
    plan = NoisePlan(
        chain, found.noise, found.loss, aim.epsilon, aim.objective, found.half_planes,
        problem.releases, event=problem.event, gaps=problem.gaps,
    )  # fmt: skip
    if problem.model.single:
        return plan
    known = partial(engines.least_noise, mechanism, problem.on(chain), aim)
    if not engines.is_family(problem.model):
        return replace(plan, region=problem.region, known_noise=known)
    # Of other chains it may take minutes, or not be offered for them alone.
    quick = chain.box is not None
    family = cast(ModelFamily, problem.model)
    return replace(plan, family=family, known_noise=known if quick else None)


def _as_realised(spent: Any) -> tuple[Noise, ...]:
    """Earlier releases with the noise that sanitizing gave them: that on the grid."""
    if isinstance(spent, Noise) or not isinstance(spent, Sequence):
        found = f"an object of type {type(spent).__name__}"
        raise InvalidInput("spent", found, "a list of Channels, one for each earlier release")
    for earlier in spent:
        if not isinstance(earlier, Noise):
            raise InvalidInput("spent", earlier, "channels", "Take the channel of each plan.")
    return tuple(earlier.on_grid() for earlier in spent)


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
