"""The questions of the record, put to the package.

This is the only module of ``tests.recorded`` that knows names and signatures of the package.
Questions and answers are in the format of the record, which ``tests.recorded.laws`` describes; a
change of signatures changes this file and no other one of the record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import chainveil as cv
from tests.oracle.letters import letters_loss
from tests.oracle.memory import memory_loss
from tests.recorded.laws import in_blocks

Words = Mapping[str, Any]
# Whether losses can be asked for with other tolerances than the default one. If not, questions are
# asked without, and entries of the kind "tolerance" are left out.
TAKES_TOLERANCE = False
# Blocks of reports in the attacks that are returned, and points of those that are weighed point by
# point; attacks that need more are left out.
MOST_BLOCKS, MOST_POINTS = 400, 200_000
# Length of the series for which the standard error of a share is recorded.
POINTS = 10_000
# Parts of a question, beside model and noise, by their names in the package; so are values.
NAMES = {
    "event": "unit", "gaps": "gaps", "every": "every", "epsilon": "epsilon",
    "mechanism": "mechanism", "objective": "objective", "shape": "shape",
}  # fmt: skip
VALUES = {"wrong reports": "wrong-reports", "best": "auto"}


class Refused(Exception):
    """The package does not answer this question."""


def loss(question: Words) -> dict[str, Any]:
    """Bounds ``upper`` and ``lower`` of a loss, the ``attack``, and the chain it is ``on``.

    The attack is left out if it is too long for the record, the chain if it is that of the
    question.
    """
    model, releases = _model(question["model"]), [_noise(one) for one in question["releases"]]
    asked = _asked(question, "length")
    if TAKES_TOLERANCE and "tolerance" in question:
        asked["tolerance"] = question["tolerance"]
    try:
        found = cv.privacy_loss(model, releases[0] if len(releases) == 1 else releases, **asked)
    except cv.ChainveilError as error:
        raise Refused(str(error)) from error
    return _bounds(releases, found)


def plan(question: Words) -> dict[str, Any]:
    """Costs of a plan, the laws of its noise, and the bounds of its loss as in :func:`loss`."""
    model = _model(question["model"])
    earlier = [_noise(one) for one in question.get("earlier", ())]
    asked = _asked(question, "max_length")
    try:
        found = cv.calibrate(model, earlier=earlier, **asked)
    except cv.ChainveilError as error:
        raise Refused(str(error)) from error
    costs = {
        "wrong": found.expected_flips,
        "share_error": _share_error(found),
        "distance": found.noise.expected_distance(found.chain),
    }
    bounds = _bounds([*found.earlier, found.noise], found.loss)
    return costs | {"noise": _noise_laws(found.noise)} | bounds


def is_answered(question: Words) -> bool:
    """Whether the package answers a question about a loss (with ``releases``) or about a plan."""
    try:
        if "releases" in question:
            # How close the bounds are does not matter here.
            loss(dict(question) | {"tolerance": 0.5})
        else:
            plan(question)
    except Refused:
        return False
    return True


def known(_: None) -> str:
    """The version of the package, with everything imported and loaded that questions need."""
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
    unit = question.get("event", 1)
    return memory_loss(model, releases, length, unit=unit, gaps=gaps, adversary=who)


# ------------------------------------------------------------------ from the record to the package
def _asked(question: Words, length: str) -> dict[str, Any]:
    """Arguments of ``privacy_loss`` and of ``calibrate``; ``length`` is the name of the length."""
    names = NAMES | {"length": length}
    asked = {names[part]: question[part] for part in names if part in question}
    asked = {
        name: VALUES.get(value, value) if isinstance(value, str) else value
        for name, value in asked.items()
    }
    return asked | {"adversary": _adversary(question.get("adversary", "any"))}


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
        return cv.TrackingNoise(laws["kernel"], laws["first"], laws.get("after_gap"))
    assert kind == "correlated", kind
    return cv.CorrelatedNoise(laws["rho0"], laws["rho1"])


def _adversary(words: Any) -> Any:
    return words if isinstance(words, str) else cv.Adversary(words["target"], words["known"])


# ------------------------------------------------------------------ from the package to the record
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


def _share_error(found: Any) -> float | None:
    """Largest standard error of the share of a state, from one series; None if it has none."""
    try:
        error: float = cv.estimate.error_at(found, POINTS).largest
    except cv.ChainveilError:
        return None
    return error if math.isfinite(error) else None


def _bounds(releases: Sequence[Any], found: Any) -> dict[str, Any]:
    bounds = {"upper": found.epsilon, "lower": found.lower}
    attack = None if found.witness is None else _attack(found.witness, releases)
    if attack is None:
        return bounds
    on = {} if found.chain is None else {"on": _chain_laws(found.chain)}
    return bounds | {"attack": attack} | on


def _chain_laws(chain: Any) -> dict[str, Any]:
    laws: dict[str, Any] = {"transition": chain.transition.tolist()}
    if chain.order > 1:
        return laws | {"order": chain.order}
    return laws | ({} if chain.initial is None else {"initial": chain.initial.tolist()})


def _attack(witness: Any, releases: Sequence[Any]) -> dict[str, Any] | None:
    """An attack in the format of the record; None if it is too long for it."""
    reports = [_reports(witness.runs, number, noise) for number, noise in enumerate(releases)]
    size = len(witness.value)
    # Repetitions of one report on every point are a power of a matrix; others are not.
    by_point = any(noise.every != 1 for noise in releases)
    by_point = by_point or any(len(block) > 1 for blocks in reports for block, _ in blocks)
    if by_point and witness.length > MOST_POINTS:
        return None
    if max(map(len, reports)) > MOST_BLOCKS and witness.length <= MOST_POINTS:
        reports = [
            in_blocks([report for block, count in blocks for report in block * count])
            for blocks in reports
        ]
    if max(len(witness.known), *map(len, reports)) > MOST_BLOCKS:
        return None
    known = [[int(place), int(value)] for place, value in witness.known.items()]
    place = {"length": witness.length, "target": witness.target}
    values = {"value": _number(witness.value), "other": _number(witness.other)}
    return place | ({} if size == 1 else {"event": size}) | values | {
        "known": known, "reports": reports,
    }  # fmt: skip


def _number(values: Sequence[int]) -> int:
    """The values of a unit as one number: binary digits, the first point highest."""
    number = 0
    for value in values:
        number = 2 * number + int(value)
    return number


def _reports(runs: Sequence[Any], number: int, noise: Any) -> list[list[Any]]:
    """Reports of one release at the points that are due to report, in blocks."""
    every, due = noise.every, (noise.every - 1) // 2
    blocks: list[list[Any]] = []
    place = 0
    for pattern, count in runs:
        # So many repetitions of the pattern are a multiple of the reporting interval.
        around = every // math.gcd(every, len(pattern))
        for times, repeated in ((around, count // around), (count % around, 1)):
            block = [
                _report(pattern[t % len(pattern)], number)
                for t in range(times * len(pattern))
                if (place + t) % every == due
            ]
            place += times * repeated * len(pattern)
            if not block or repeated == 0:
                continue
            if len(set(block)) == 1:
                block, repeated = block[:1], repeated * len(block)
            if blocks and blocks[-1][0] == block:
                blocks[-1][1] += repeated
            else:
                blocks.append([block, repeated])
    return blocks


def _report(observation: Any, number: int) -> int | None:
    """The report of one release; None if it is missing."""
    own = observation[number] if isinstance(observation, tuple) else observation
    return None if own is None else int(own)
