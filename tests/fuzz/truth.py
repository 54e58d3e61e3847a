"""What a certificate that was accepted may say at most, found without the code that accepted it."""

from __future__ import annotations

import functools
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
    assert certificate["promise.unit"] == statements.UNIT
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
    fields = ("chain.transition", "chain.initial", "chain.region", "noise.mechanism",
              "noise.matrix", "noise.spent", "promise.length", "promise.adversary")  # fmt: skip
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
    noises: Any = [
        cv.Channel(matrix) for matrix in (*fields["noise.spent"], fields["noise.matrix"])
    ]
    if fields["noise.mechanism"] == "correlated":
        noises = cv.CorrelatedNoise(fields["noise.matrix"][0][1], fields["noise.matrix"][1][0])
    who = fields["promise.adversary"]
    adversary = who["model"] if who["model"] != "one" else cv.Adversary(who["target"], who["known"])
    return cv.privacy_loss(model, noises, fields["promise.length"], adversary).lower


def least(certificate: cv.Certificate) -> float:
    """A loss that the noise in a certificate has at least on its chain."""
    fields = ("chain.transition", "chain.initial", "noise.mechanism", "noise.matrix",
              "noise.spent", "promise.length", "promise.adversary")  # fmt: skip
    return least_loss(_question(certificate, fields))


@functools.cache
def least_loss(question: str) -> float:
    """The loss on a few points, by the definition: no series that goes on loses less."""
    fields = json.loads(question)
    points = min(fields["promise.length"] or POINTS, POINTS)
    if fields["noise.mechanism"] == "correlated":
        return _least_correlated(fields, points)
    noise = np.ones((len(fields["noise.matrix"]), 1))
    for matrix in (*fields["noise.spent"], fields["noise.matrix"]):
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


def _least_correlated(fields: Any, points: int) -> float:
    (_, q), (r, _) = fields["chain.transition"]
    (_, rho0), (rho1, _) = fields["noise.matrix"]
    if fields["promise.adversary"]["model"] != "any":
        return 0.0
    return correlated.any_adversary(correlated.enumerate_losses(q, r, rho0, rho1, points))
