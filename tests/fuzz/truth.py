"""What a certificate that was accepted may say at most, found without the code that accepted it."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

import chainveil as cv
from chainveil.certificate import Released, Verification, statements
from chainveil.model import read_model
from chainveil.privacy.adversary import MEANING
from tests.oracle import correlated, enumeration

# The rounding that docs/certificate.md states: the largest, that of regions.
ROUNDING = 1e-6
# What a loss depends on beside the chain.
OF_NOISE = ("noise.mechanism", "noise.matrix", "noise.every", "noise.earlier")
OF_PROMISE = ("promise.unit", "promise.gaps", "promise.length", "promise.adversary")
# Enough points for an attack to have both neighbours.
POINTS = 3


def check_accepted(
    certificate: cv.Certificate, result: Verification, seen: Released | None
) -> None:
    """Fails where a certificate that holds promises more than is true."""
    check_words(certificate)
    check_loss(certificate)
    if certificate["release"] is not None and seen is not None:
        check_release(certificate, seen)
    if not result.weaker:
        assert certificate["promise.adversary.model"] == "any"
        assert certificate["randomness.source"] == "release"
        assert certificate["release"] is not None
        assert seen is not None
    assert result.promise[1] == ("against", certificate["promise.adversary.meaning"])


def check_words(certificate: cv.Certificate) -> None:
    """The sentences are those of the schema, and of what they speak of."""
    unit = certificate["promise.unit"]
    one = "the value of one point of one series"
    several = f"the values of any {unit} consecutive points of one series"
    assert certificate["promise.protected"] == (one if unit == "point" else several)
    assert certificate["promise.unprotected"] == list(statements.UNPROTECTED)
    assert certificate["cannot_be_checked"] == list(statements.CANNOT_BE_CHECKED)
    model = certificate["promise.adversary.model"]
    if model != "one":
        assert certificate["promise.adversary.meaning"] == MEANING[model]
    assert certificate["chain.meaning"] == statements.ORIGIN[certificate["chain.origin"]]
    if certificate["randomness"] is not None:
        meaning = statements.RANDOMNESS[certificate["randomness.source"]]
        assert certificate["randomness.meaning"] == meaning


def check_release(certificate: cv.Certificate, seen: Released) -> None:
    """The release is the one that was seen, and the promise covers its longest series."""
    for name in ("column", "series_column", "rows", "series", "gaps", "states_sha256"):
        assert certificate[f"release.{name}"] == getattr(seen, name)
    assert seen.longest is not None
    assert (certificate["promise.length"] or seen.longest) >= seen.longest
    if certificate["release.file"] is not None and seen.file is not None:
        assert certificate["release.file.sha256"] == seen.file.sha256


def check_loss(certificate: cv.Certificate) -> None:
    """Budget, loss and lower bound are in order, and no attack on a few points beats them."""
    budget, claimed, lower = (
        certificate[path] for path in ("promise.epsilon", "loss.epsilon", "loss.lower")
    )
    assert 0 <= lower <= claimed <= budget
    matrix, units = certificate["noise.matrix"], certificate["noise.units"]
    assert np.array_equal(np.array(units, float), np.array(matrix) * 2.0**53)
    assert all(sum(row) == 1 << 53 for row in units)
    assert claimed >= least(certificate) - ROUNDING
    assert claimed >= _computed(certificate) - ROUNDING


def _computed(certificate: cv.Certificate) -> float:
    """The loss by the library, asked in a way of our own."""
    fields = ("chain.transition", "chain.initial", "chain.region", *OF_NOISE, *OF_PROMISE)
    return computed_loss(_question(certificate, fields))


def _question(certificate: cv.Certificate, fields: Sequence[str]) -> str:
    """Fields of a certificate, and its model where that is no chain."""
    return json.dumps({key: certificate[key] for key in fields} | {"model": certificate.model})


@functools.cache
def computed_loss(question: str) -> float:
    """The loss of chain and noise in fields of a certificate."""
    fields = json.loads(question)
    model: Any = cv.MarkovChain(fields["chain.transition"], fields["chain.initial"])
    if fields["model"] is not None:
        model = read_model(*fields["model"])
    if fields["chain.region"] is not None:
        q, r = map(tuple, fields["chain.region"])
        model = cv.ChainRegion(q, r)
    noises = releases(fields)
    who = fields["promise.adversary"]
    adversary = who["model"] if who["model"] != "one" else cv.Adversary(who["target"], who["known"])
    return cv.privacy_loss(
        model, noises, unit=fields["promise.unit"], length=fields["promise.length"],
        adversary=adversary, gaps=fields["promise.gaps"],
    ).lower  # fmt: skip


def releases(fields: Any) -> list[Any]:
    """The noise of all releases, read in a way of our own."""
    own = {
        "kind": fields["noise.mechanism"], "matrix": fields["noise.matrix"],
        "every": fields["noise.every"],
    }  # fmt: skip
    noises: list[Any] = []
    for words in (*fields["noise.earlier"], own):
        rows, every = np.array(words["matrix"], float), words.get("every", 1)
        if words["kind"] == "correlated":
            noises.append(cv.CorrelatedNoise(rows[0, 1], rows[1, 0]))
        elif words["kind"] == "sticky":
            noises.append(cv.StickyNoise(rows[2:].reshape(2, 2, 2), rows[:2], every))
        elif words["kind"] == "tracking":
            laws = rows[2:10].reshape(2, 2, 2, 2), rows[:2], rows[10:].reshape(2, 2, 2)
            noises.append(cv.TrackingNoise(*laws))
        else:
            noises.append(cv.Channel(rows, every))
    return noises


def least(certificate: cv.Certificate) -> float:
    """A loss that the noise in a certificate has at least on its chain."""
    fields = ("chain.transition", "chain.initial", *OF_NOISE, *OF_PROMISE)
    return least_loss(_question(certificate, fields))


@functools.cache
def least_loss(question: str) -> float:
    """The loss on a few points, by the definition: no series that goes on loses less."""
    fields = json.loads(question)
    points = min(fields["promise.length"] or POINTS, POINTS)
    noises = releases(fields)
    if any(noise.holds or noise.every > 1 for noise in noises) or fields["promise.unit"] != "point":
        return least_with_memory(fields, noises, points)
    if len(noises) > 1 and any(noise.ordered for noise in noises):
        return 0.0
    if fields["noise.mechanism"] == "correlated":
        return _least_correlated(fields, points)
    noise = np.ones((len(fields["noise.matrix"]), 1))
    earlier = (words["matrix"] for words in fields["noise.earlier"])
    for matrix in (*earlier, fields["noise.matrix"]):
        shape = len(noise), -1
        noise = (noise[:, :, None] * np.array(matrix, float)[:, None, :]).reshape(shape)
    if noise.shape[1] > 16:
        points = 1
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = _losses(fields, noise, points)
    who = fields["promise.adversary"]
    if who["model"] == "one":
        asked = who["target"], frozenset(who["known"])
        inside = max(asked[1] | {asked[0]}) < points == fields["promise.length"]
        return losses[asked] if inside else 0.0
    return enumeration.worst_loss(losses, points, who["model"])


def _losses(fields: Any, noise: Any, points: int) -> Any:
    """The loss of every adversary on a few points of the chain, or of the model."""
    if fields["model"] is not None:
        law = read_model(*fields["model"]).series_law(points)
        return enumeration.loss_under_law(law, noise)
    transition = np.array(fields["chain.transition"], float)
    chain = cv.MarkovChain(transition, fields["chain.initial"])
    return enumeration.loss_of_every_adversary(chain.start, transition, noise, points)


def least_with_memory(fields: Any, noises: list[Any], points: int) -> float:
    """The same, from the laws of the noise alone; no point is missing."""
    if not all(one.states == one.outputs == 2 for one in noises) or len(noises) > 2:
        return 0.0
    unit, who = fields["promise.unit"], fields["promise.adversary"]
    size = 1 if unit == "point" else unit
    chain = cv.MarkovChain(fields["chain.transition"], fields["chain.initial"])
    series = list(itertools.product(range(2), repeat=points))
    law = np.array([chain.start[x[0]] * _steps(chain.transition, x) for x in series])
    given = np.array([_outputs(noises, x) for x in series])
    worst = 0.0
    for begin in range(points - size + 1):
        others = [i for i in range(points) if not begin <= i < begin + size]
        for known in _known(who, begin, others, points == fields["promise.length"]):
            worst = max(worst, _worst_ratio(series, law, given, begin, size, known))
    return worst


def _steps(transition: Any, x: tuple[int, ...]) -> float:
    return float(np.prod([transition[a, b] for a, b in itertools.pairwise(x)]))


def _outputs(noises: list[Any], x: tuple[int, ...]) -> Any:
    """``Pr[reports of all releases | x]``, one entry for every output."""
    total = np.ones(1)
    for noise in noises:
        places = noise.places(len(x))
        laws = [
            np.prod([_report(noise, x, int(t), z, n) for n, t in enumerate(places)])
            for z in itertools.product(range(2), repeat=len(places))
        ]
        total = np.outer(total, laws).ravel()
    return total


def _report(noise: Any, x: tuple[int, ...], t: int, z: tuple[int, ...], n: int) -> float:
    if n == 0:
        return float(noise.first_law()[x[t], z[0]])
    return float(noise.step_law()[z[n - 1], x[t - 1], x[t], z[n]])


def _known(who: Any, begin: int, others: list[int], whole: bool) -> list[tuple[int, ...]]:
    """The sets of known points that the promise is about."""
    if who["model"] == "one":
        fits = whole and begin == who["target"] and set(who["known"]) <= set(others)
        return [tuple(who["known"])] if fits else []
    sizes = {"any": range(len(others) + 1), "ignorant": [0], "informed": [len(others)]}
    return [k for n in sizes[who["model"]] for k in itertools.combinations(others, n)]


def _worst_ratio(
    series: list[Any], law: Any, given: Any, begin: int, size: int, known: tuple[int, ...]
) -> float:
    """The largest log ratio over outputs, values of the window and values of the known points."""
    groups: dict[Any, dict[Any, list[int]]] = {}
    for row, x in enumerate(series):
        if law[row] > 0:
            seen = tuple(x[i] for i in known)
            groups.setdefault(seen, {}).setdefault(x[begin : begin + size], []).append(row)
    worst = 0.0
    for values in groups.values():
        laws = [law[rows] @ given[rows] / law[rows].sum() for rows in values.values()]
        for a, b in itertools.permutations(laws, 2):
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = max(worst, float(np.nanmax(np.log(a / b), initial=0.0)))
    return worst


def _least_correlated(fields: Any, points: int) -> float:
    (_, q), (r, _) = fields["chain.transition"]
    (_, rho0), (rho1, _) = fields["noise.matrix"]
    if fields["promise.adversary"]["model"] != "any":
        return 0.0
    return correlated.any_adversary(correlated.enumerate_losses(q, r, rho0, rho1, points))
