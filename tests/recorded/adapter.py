"""What is recorded, asked of the package: the one file here that knows its names and signatures.

Questions and answers are numbers and words of the record (``tests.recorded.laws`` says which); a
change of signatures changes this file and no other one of the record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import chainveil as cv
from chainveil.privacy.letters.witness import reports_of
from tests.oracle.letters import letters_loss
from tests.oracle.memory import memory_loss
from tests.recorded.laws import in_blocks

Words = Mapping[str, Any]
# Blocks of reports of an attack that is kept, and points that are written out to find them.
MOST_BLOCKS, MOST_POINTS = 400, 200_000
# From so many points the error of a share is told.
POINTS = 10_000
OBJECTIVES = {
    "wrong reports": "flips", "share": "estimate", "distance": "distance", "smoothed": "decoded",
}  # fmt: skip
SHAPES = {"uniform": "response", "ordinal": "ordinal", "per-state": "per-state"}
# What a question may hold beside its model and its noise, as the package calls it.
ASKED = ("length", "event", "gaps", "every", "epsilon", "max_noise", "mechanism")


class Refused(Exception):
    """The package says that it does not answer this question."""


def loss(question: Words) -> dict[str, Any]:
    """``upper`` and ``lower`` bound of a loss; an ``attack``, perhaps on a model of its own."""
    model, releases = _model(question["model"]), [_noise(one) for one in question["releases"]]
    effort = {"tolerance": question["tolerance"]} if "tolerance" in question else {}
    try:
        found = cv.privacy_loss(
            model, releases[0] if len(releases) == 1 else releases,
            adversary=_adversary(question.get("adversary", "any")), **_asked(question), **effort,
        )  # fmt: skip
    except cv.ChainveilError as error:
        raise Refused(str(error)) from error
    return _bounds(model, releases, found)


def plan(question: Words) -> dict[str, Any]:
    """A plan: what it costs, its noise, and the bounds of its loss."""
    model = _model(question["model"])
    earlier = [_noise(one) for one in question.get("earlier", ())]
    asked = _asked(question)
    if "objective" in question:
        asked["objective"] = OBJECTIVES[question["objective"]]
    if "shape" in question:
        asked["family"] = SHAPES[question["shape"]]
    try:
        found = cv.calibrate(
            model, adversary=_adversary(question.get("adversary", "any")), spent=earlier, **asked
        )
    except cv.ChainveilError as error:
        raise Refused(str(error)) from error
    costs = {
        "wrong": found.expected_flips,
        "share_error": _share_error(found),
        "distance": found.noise.expected_distance(found.chain),
    }
    bounds = _bounds(model, [*found.spent, found.noise], found.loss)
    return costs | {"noise": _noise_laws(found.noise)} | bounds


def is_answered(question: Words) -> bool:
    """Whether a loss (``releases``), or a plan, is given for this combination at all."""
    try:
        if "releases" in question:
            # How close bounds come does not matter here.
            loss(dict(question) | {"tolerance": 0.5})
        else:
            plan(question)
    except Refused:
        return False
    return True


def known(_: None) -> str:
    """The version that answers; imports what questions need."""
    cv.privacy_loss(cv.MarkovChain.symmetric(0.2), cv.Channel.binary(0.4, 0.4))
    return cv.__version__


def enumerated(question: Words) -> float:
    """The loss of a short series of one chain, by enumeration of the definition."""
    releases = [_noise(one) for one in question["releases"]]
    who = _adversary(question.get("adversary", "any"))
    model, length = _model(question["model"]), question["length"]
    if question["model"].get("order", 1) > 1:
        return letters_loss(model, releases, length, who)
    gaps: Any = "any" if question.get("gaps") else ()
    event = question.get("event", 1)
    return memory_loss(model, releases, length, event=event, gaps=gaps, adversary=who)


def _model(laws: Words) -> Any:
    if "members" in laws:
        return cv.ModelFamily([_model(member) for member in laws["members"]])
    if "q" in laws:
        return cv.ChainRegion(tuple(laws["q"]), tuple(laws["r"]))
    if laws.get("order", 1) > 1:
        return cv.HigherOrderChain(laws["transition"], order=laws["order"])
    return cv.MarkovChain(laws["transition"], laws.get("initial"))


def _noise(laws: Words) -> Any:
    every = laws.get("every", 1)
    kind = laws["mechanism"]
    if kind == "independent":
        return cv.Channel(laws["matrix"], every)
    if kind == "sticky":
        return cv.StickyNoise(laws["kernel"], laws["first"], every)
    if kind == "tracking":
        tracking = cv.TrackingNoise(laws["kernel"], laws["first"], laws.get("after_gap"))
        return tracking.thinned(every)
    assert kind == "correlated", kind
    return cv.CorrelatedNoise(laws["rho0"], laws["rho1"], every)


def _noise_laws(noise: Any) -> dict[str, Any]:
    laws: dict[str, Any] = {"mechanism": noise.kind}
    if noise.kind == "correlated":
        laws |= {"rho0": noise.rho0, "rho1": noise.rho1}
    names = {
        "independent": ("matrix",), "sticky": ("kernel", "first"),
        "tracking": ("kernel", "first", "after_gap"),
    }  # fmt: skip
    for name in names.get(noise.kind, ()):
        laws[name] = getattr(noise, name).tolist()
    return laws | ({"every": noise.every} if noise.every != 1 else {})


def _adversary(words: Any) -> Any:
    return words if isinstance(words, str) else cv.Adversary(words["target"], words["known"])


def _asked(question: Words) -> dict[str, Any]:
    return {name: question[name] for name in ASKED if name in question}


def _share_error(found: Any) -> float | None:
    """Largest standard error of the share of a state, of one series; None where there is none."""
    try:
        error: float = cv.estimate.error_at(found, POINTS).largest
    except cv.ChainveilError:
        return None
    return error if math.isfinite(error) else None


def _bounds(model: Any, releases: Sequence[Any], found: Any) -> dict[str, Any]:
    attacked = getattr(found, "chain", None)
    bounds = {"upper": found.epsilon, "lower": found.lower}
    attack = None if found.witness is None else _attack(found.witness.plain, releases)
    if attack is None:
        return bounds
    on = {} if attacked is None else {"on": _chain_laws(attacked)}
    return bounds | {"attack": attack} | on


def _chain_laws(chain: Any) -> dict[str, Any]:
    laws: dict[str, Any] = {"transition": chain.transition.tolist()}
    if chain.order > 1:
        return laws | {"order": chain.order}
    return laws | ({} if chain.initial is None else {"initial": chain.initial.tolist()})


def _attack(witness: Any, releases: Sequence[Any]) -> dict[str, Any] | None:
    """The attack in the words of the record; None where it takes too many of them."""
    reports = _reports(witness, releases)
    if reports is None or max(map(len, reports)) > MOST_BLOCKS:
        return None
    event = getattr(witness, "event", 1)
    known = [[int(place), int(value)] for place, value in witness.known.items()]
    place = {"length": witness.length, "target": witness.target}
    values = {"value": int(witness.value), "other": int(witness.other)}
    return place | ({} if event == 1 else {"event": event}) | values | {
        "known": known, "reports": reports,
    }  # fmt: skip


def _reports(witness: Any, releases: Sequence[Any]) -> list[list[list[Any]]] | None:
    """Of each release at the points that are due to report, in blocks."""
    if len(getattr(witness, "known", ())) > MOST_BLOCKS:
        return None
    if witness.length > MOST_POINTS:
        return _long_reports(witness, releases)
    told = reports_of(witness, releases)
    places = [noise.places(witness.length).tolist() for noise in releases]
    return [in_blocks([told[t][n] for t in due]) for n, due in enumerate(places)]


def _long_reports(witness: Any, releases: Sequence[Any]) -> list[list[list[Any]]] | None:
    """Of attacks that cannot be written out: those in runs, on every point of one release."""
    if len(releases) > 1 or releases[0].every != 1:
        return None
    if hasattr(witness, "runs"):
        silent = releases[0].outputs
        return [[[[None if z == silent else int(z)], int(count)] for z, count in witness.runs]]
    here, even, odd = (int(symbol) for symbol in getattr(witness, "symbols", (0, 0, 1)))
    if even != odd:
        # Two reports in turn, a million times, cannot be weighed point by point.
        return None
    before, after = witness.target, witness.length - witness.target - 1
    counts = ((even, before), (here, 1), (even, after))
    return [[[[report], count] for report, count in counts if count > 0]]
