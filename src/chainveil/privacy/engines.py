"""Which solver answers which problem.

A solver is a package with two files of the same names: ``loss`` (``solves`` and ``loss``) and,
where it can look for noise, ``calibrate`` (``least_noise``). The first solver that solves a
problem gets it. Noise on two states is searched for by its parametrization, whatever its kind; on
other models by the search of finite states that its class names. Packages are imported when they
are used, so that a question about two states does not pay for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from chainveil.errors import NotSupported, UnreachableBudget
from chainveil.model.base import DataModel
from chainveil.noise.base import Noise, form_of, noise_class
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss


@dataclass(frozen=True)
class Engine:
    """One way to compute a loss, and which problems it solves."""

    solves: Callable[[Problem], bool]
    loss: Callable[[Problem], PrivacyLoss]


# How many times as many steps a loss gets that is not known to be within a budget, and the share of
# the budget that may then be left over.
MORE, LEFT = 4, 1e-3


def _in_room(name: str, file: str, function: str) -> Callable[..., Any]:
    """A function of a room of this package, imported when it is called."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"chainveil.privacy.{name}.{file}"), function)(*arguments)

    return call


def _engine(name: str) -> Engine:
    return Engine(*(_in_room(name, "loss", part) for part in ("solves", "loss")))


def is_family(model: DataModel) -> bool:
    """Whether a promise has to hold for several models, each by itself."""
    return model.members != (model,)


# Whether a problem is about two states, and answered by the recursion of odds.
_is_two_state = _in_room("odds", "loss", "solves")
# For short series alone, whatever the model, the noise and the unit.
_ENUMERATION = _engine("enumeration")
# Asked in this order; families hand their members on.
_ENGINES = [*map(_engine, ("odds", "family", "letters", "orders")), _ENUMERATION]


def covers_regions(kind: str) -> bool:
    """Whether noise of a kind is looked for over a region, for units of one point."""
    form = form_of(kind)
    return form is not None and form.covers_boxes


def register_engine(engine: Engine) -> None:
    """Let another engine answer, before those that are there."""
    _ENGINES.insert(0, engine)


def loss(problem: Problem) -> PrivacyLoss:
    """The loss, by the first engine that solves the problem, or else enumerated."""
    try:
        found = find(problem).loss(problem)
    except NotSupported:
        if not _ENUMERATION.solves(problem):
            raise
        found = _ENUMERATION.loss(problem)
    return replace(found, effort=problem.effort)


def find(problem: Problem) -> Engine:
    """The first engine that solves the problem."""
    for engine in _ENGINES:
        if engine.solves(problem):
            return engine
    kinds = " and ".join(dict.fromkeys(noise.kind for noise in problem.releases))
    raise NotSupported(
        f"no engine computes the loss of {kinds} noise for this model and length; series of a "
        "few points are enumerated, whatever the noise"
    )


def calibrated(kind: str, problem: Problem, aim: Aim) -> Calibrated:
    """The least noise of a kind, with the loss that the same question has whenever it is asked.

    A search for noise may know more of its loss than a search for the loss alone finds. Where the
    latter exceeds the budget it gets more steps, and the noise is mixed with a constant output.
    """
    found = least_noise(kind, problem, aim)
    if _is_two_state(problem):
        return found
    asked = replace(problem, effort=None, tolerance=None)
    again = loss(asked.with_release(found.noise))
    if again.lower <= aim.epsilon < again.epsilon:
        again = loss(replace(asked, effort=MORE * again.steps).with_release(found.noise))
    if again.epsilon <= aim.epsilon:
        return replace(found, loss=again)
    from chainveil.privacy.family.hush import hushed

    def epsilon_of(noise: Noise) -> float:
        return loss(asked.with_release(noise)).epsilon

    noise = hushed(found.noise, problem.model.stationary, epsilon_of, aim.epsilon, LEFT)
    again = loss(asked.with_release(noise))
    if again.epsilon > aim.epsilon:
        raise UnreachableBudget(
            f"epsilon = {aim.epsilon!r} could not be certified for {kind} noise"
        )
    return Calibrated(noise, again)


def least_noise(kind: str, problem: Problem, aim: Aim) -> Calibrated:
    """The least noise of a kind within the budget; the releases of the problem are earlier ones."""
    finite = noise_class(kind).finite
    file, name = "calibrate", "least_noise"
    if _is_two_state(problem):
        from chainveil.privacy import calibrate

        return calibrate.least_noise(kind, problem, aim)
    model = problem.model
    if is_family(model):
        over: Calibrated = _in_room("family", file, name)(kind, problem, aim)
        return over
    if finite is None:
        raise NotSupported(
            f"mechanism: {kind} noise is offered for two-state chains of order 1; for others take "
            "independent or sticky noise"
        )
    if finite == "sticky response":
        name = "least_sticky"
        room = "orders" if (model.order or 1) > 1 else "letters"
    elif model.single and model.order == 1:
        room = "letters"
    else:
        room = "orders" if _in_room("orders", "loss", "solves")(problem) else "enumeration"
    found: Calibrated = _in_room(room, file, name)(problem, aim)
    return found
