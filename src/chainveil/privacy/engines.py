"""Which solver answers which problem.

A solver is a package with two files of the same names: ``loss`` (``solves`` and ``loss``) and,
where it can look for noise, ``calibrate`` (``least_noise``). The first solver that solves a
problem gets it; the noise to look for is named by its kind. Packages are imported when they are
used, so that a question about two states does not pay for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from chainveil.errors import NotSupported
from chainveil.model.base import DataModel
from chainveil.noise.base import check_every, noise_class
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.noise.memory import StickyNoise, TrackingNoise
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss


@dataclass(frozen=True)
class Engine:
    """One way to compute a loss, and which problems it solves."""

    solves: Callable[[Problem], bool]
    loss: Callable[[Problem], PrivacyLoss]


LeastNoise = Callable[[Problem, Aim], Calibrated]


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


def _has_many_states(problem: Problem) -> bool:
    """Whether it is one chain of order 1 with more than two states."""
    model = problem.model
    return model.single and model.order == 1 and model.states > 2


def _least_independent(problem: Problem, aim: Aim) -> Calibrated:
    """Independent noise: by the model, since a channel fits all of them."""
    model = problem.model
    name = "least_noise"
    if _has_many_states(problem):
        room = "letters"
    elif model.order != 1 and _in_room("orders", "loss", "solves")(problem):
        room = "orders"
    elif aim.every != 1 or problem.ordered or not problem.plain:
        room, name = "memory", "least_independent"
    elif not model.single:
        room = "region"
    else:
        room = "two_state" if model.order == 1 else "enumeration"
    found: Calibrated = _in_room(room, "calibrate", name)(problem, aim)
    return found


def _least_sticky(problem: Problem, aim: Aim) -> Calibrated:
    """Sticky noise: a kernel of two states, sticky response of more and of longer memories."""
    room = "letters" if _has_many_states(problem) else "memory"
    if problem.model.single and (problem.model.order or 1) > 1:
        room = "orders"
    found: Calibrated = _in_room(room, "calibrate", "least_sticky")(problem, aim)
    return found


def _least_correlated(problem: Problem, aim: Aim) -> Calibrated:
    """Correlated noise: its own room for single points."""
    plain = problem.event == 1 and not problem.releases
    room, name = ("correlated", "least_noise") if plain else ("memory", "least_correlated")
    found: Calibrated = _in_room(room, "calibrate", name)(problem, aim)
    return found


# Asked in this order: families first, which hand their members on. What enumerates the definition
# comes last: it is for short series alone.
_ENGINES = [
    _engine(name)
    for name in (
        "odds", "family", "letters", "orders", "enumeration",
    )
]  # fmt: skip
_CALIBRATORS: dict[str, LeastNoise] = {
    Channel.kind: _least_independent,
    CorrelatedNoise.kind: _least_correlated,
    StickyNoise.kind: _least_sticky,
    TrackingNoise.kind: _in_room("memory", "calibrate", "least_tracking"),
}


# Those that also look for noise for every chain of a box.
_OVER_REGIONS = {Channel.kind, StickyNoise.kind, TrackingNoise.kind}


def covers_regions(kind: str) -> bool:
    """Whether ``least_noise`` of a kind is offered over a region, for secrets of one point."""
    return kind in _OVER_REGIONS


def register_engine(engine: Engine) -> None:
    """Let another engine answer, before those that are there."""
    _ENGINES.insert(0, engine)


def register_calibrator(kind: str, least_noise: LeastNoise) -> None:
    """Let ``calibrate`` look for a kind of noise."""
    _CALIBRATORS[kind] = least_noise


def loss(problem: Problem) -> PrivacyLoss:
    """The loss, by the first engine that solves the problem."""
    return find(problem).loss(problem)


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


def least_noise(kind: str, problem: Problem, aim: Aim) -> Calibrated:
    """The least noise of a kind within the budget; the releases of the problem are earlier ones."""
    check_every(noise_class(kind), aim.every)
    if kind not in _CALIBRATORS:
        raise NotSupported(
            f"mechanism: {kind} noise has no calibration; register_calibrator offers one"
        )
    if is_family(problem.model):
        over: Calibrated = _in_room("family", "calibrate", "least_noise")(kind, problem, aim)
        return over
    return _CALIBRATORS[kind](problem, aim)
