"""Check a certificate again, from its own contents and from the release if it is at hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chainveil.certificate import statements
from chainveil.certificate.document import Certificate, seal
from chainveil.certificate.make import (
    Released,
    adversary_section,
    exact_chain,
    noise_matrix,
    software,
    units,
    witness_section,
)
from chainveil.certificate.schema import BY_PATH, leaves
from chainveil.errors import ChainveilError, InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, Model, read_adversary
from chainveil.privacy.loss import privacy_loss
from chainveil.privacy.result import PrivacyLoss, RegionLoss
from chainveil.privacy.two_state.witness import TwoStateWitness
from chainveil.privacy.witness import Witness

Status = Literal["holds", "fails", "open"]

# How far a loss may move between versions of the arithmetic: its stated accuracy.
OTHER_VERSION = 1e-9
# The same for more than two states, where the bounds are only brought close.
OTHER_VERSION_MANY = 1e-6
# How close the bounds of more than two states are brought, as where a plan is calibrated.
TOLERANCE = 1e-7
# Points of a witness that are written out one by one.
LONGEST = 10_000_000
# A mean of a few products, in whatever order a machine adds them.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Check:
    """One line of a verification; ``field`` is a path of the certificate or a section of it."""

    field: str
    status: Status
    text: str


@dataclass(frozen=True)
class Verification:
    """All checks of a certificate.

    ``holds`` is true only if no check failed. Checks that are "open" could not be made: their
    text says why, and they are no reason to trust or to distrust.
    """

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether everything that could be checked is as claimed."""
        return all(check.status != "fails" for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.status == "fails")

    def __str__(self) -> str:
        return "\n".join(f"{check.status:5}  {check.field}: {check.text}" for check in self.checks)


def check(certificate: Certificate, seen: Released | None = None) -> Verification:
    """Compute again whatever a certificate claims; ``seen`` is what its release shows."""
    checks = [
        *_seal(certificate),
        *_fixed(certificate),
        *_words(certificate),
        *_maths(certificate),
        *_release(certificate, seen),
        *_open(certificate),
    ]
    return Verification(tuple(checks))


def plan_of(certificate: Certificate) -> NoisePlan:
    """The plan in a certificate, with the loss computed from chain and noise."""
    chain, noise = _chain(certificate), _noise(certificate)
    loss = certificate.loss
    spent, region = _spent(certificate), _region(certificate, chain)
    epsilon = float(certificate["promise.epsilon"])
    if loss.epsilon > epsilon:
        raise InvalidInput(
            "certificate", f"a loss of {loss.epsilon!r}", f"at most epsilon, {epsilon!r}"
        )
    objective = certificate["noise.objective"]
    return NoisePlan(chain, noise, loss, epsilon, objective, None, spent, region)


def loss_of(certificate: Certificate) -> PrivacyLoss:
    """The loss of what a certificate describes, computed from its chain and noise."""
    chain, adversary = _chain(certificate), _adversary(certificate)
    length, shown = certificate["promise.length"], _shown(certificate, _noise(certificate))
    model = _region(certificate, chain) or chain
    return privacy_loss(model, shown, length, adversary, tolerance=TOLERANCE)


def _shown(certificate: Certificate, noise: Channel | CorrelatedNoise) -> Channel | CorrelatedNoise:
    """The noise of all releases together, as one channel."""
    spent = _spent(certificate)
    if not spent:
        return noise
    if isinstance(noise, CorrelatedNoise):
        raise InvalidInput("noise.spent", "earlier releases", "none, with correlated noise")
    return Channel.joint(*spent, noise)


def _seal(certificate: Certificate) -> Iterator[Check]:
    same = certificate["seal.digest"] == seal(certificate.document)
    text = "the checksum fits the fields" if same else "a field was changed after sealing"
    yield _check("seal", same, text)


def _fixed(certificate: Certificate) -> Iterator[Check]:
    """The texts that are the same in every certificate."""
    expected = {
        "promise.unit": statements.UNIT,
        "promise.unprotected": list(statements.UNPROTECTED),
        "cannot_be_checked": list(statements.CANNOT_BE_CHECKED),
    }
    for path, text in expected.items():
        same = certificate[path] == text
        yield _check(path, same, "as in every certificate" if same else "differs from the schema")


def _words(certificate: Certificate) -> Iterator[Check]:
    """The texts that follow from another field."""
    origins = [
        ("chain", statements.ORIGIN, "origin"),
        ("discretization", statements.EDGES_ORIGIN, "origin"),
        ("randomness", statements.RANDOMNESS, "source"),
    ]
    for section, texts, key in origins:
        if certificate[section] is None:
            continue
        same = certificate[f"{section}.meaning"] == texts[certificate[f"{section}.{key}"]]
        text = f"says what {section}.{key} means" if same else f"does not say what {key} means"
        yield _check(f"{section}.meaning", same, text)
    if certificate["discretization"] is not None:
        yield _discretization(certificate)


def _discretization(certificate: Certificate) -> Check:
    kind, edges = certificate["discretization.kind"], certificate["discretization.edges"]
    labels, states = certificate["discretization.labels"], len(certificate["chain.transition"])
    keys = {(isinstance(label, str), label) for label in labels}
    # One limit is a threshold, more are edges, none means that the values were states already.
    sound = kind == {0: "states", 1: "threshold"}.get(len(edges), "edges")
    sound = sound and len(edges) in (0, states - 1) and edges == sorted(set(edges))
    sound = sound and len(labels) == len(keys) == states
    text = f"{states} states, a label each" if sound else "does not fit the number of states"
    return _check("discretization", sound, text)


def _maths(certificate: Certificate) -> Iterator[Check]:
    """Chain, noise, loss and witness, computed with the library."""
    try:
        chain, noise = _chain(certificate), _noise(certificate)
        adversary = _adversary(certificate)
        loss = certificate.loss
        objective = certificate["noise.objective"]
        plan = NoisePlan(chain, noise, loss, loss.epsilon, objective, None)
        expected_flips = plan.expected_flips
    except ChainveilError as error:
        yield Check("loss", "fails", f"cannot be computed: {error}")
        return
    yield _chain_entries(certificate, chain)
    yield _realised(certificate, noise)
    yield _realised_before(certificate)
    yield _near("noise.expected_flips", certificate, expected_flips, ROUNDING)
    same = certificate["promise.adversary"] == adversary_section(adversary)
    yield _check("promise.adversary", same, "as described" if same else "is not as described")
    yield from _loss(certificate, loss)
    # Over a region the attack is one on its worst chain.
    worst = loss.chain if isinstance(loss, RegionLoss) else chain
    yield from _witness(certificate, loss, worst, _shown(certificate, noise))


def _chain_entries(certificate: Certificate, chain: MarkovChain) -> Check:
    entries = exact_chain(chain).transition.tolist()
    same = certificate["chain.transition"] == entries
    text = f"{chain.states} states" if same else "the diagonal is not what is left of one"
    return _check("chain", same, text)


def _realised(certificate: Certificate, noise: Channel | CorrelatedNoise) -> Check:
    matrix = noise_matrix(noise.on_grid())
    sound = certificate["noise.matrix"] == matrix and certificate["noise.units"] == units(matrix)
    sound = sound and all(sum(row) == 1 << 53 for row in units(matrix))
    text = "multiples of 2^-53, realised exactly" if sound else "matrix and units disagree"
    return _check("noise", sound, text)


def _realised_before(certificate: Certificate) -> Check:
    spent = _spent(certificate)
    sound = certificate["noise.spent"] == [noise_matrix(earlier.on_grid()) for earlier in spent]
    text = f"{len(spent)} earlier releases, their noise on multiples of 2^-53"
    return _check("noise.spent", sound, text if sound else "not what could be realised")


def _loss(certificate: Certificate, loss: PrivacyLoss) -> Iterator[Check]:
    other = OTHER_VERSION if len(certificate["chain.transition"]) == 2 else OTHER_VERSION_MANY
    tolerance = 0.0 if certificate["software"] == software() else other
    yield _near("loss.epsilon", certificate, loss.epsilon, tolerance)
    yield _near("loss.lower", certificate, loss.lower, tolerance)
    asked = float(certificate["promise.epsilon"])
    within = loss.epsilon <= asked
    text = f"the loss {loss.epsilon!r} is {'within' if within else 'above'} {asked!r}"
    yield _check("promise.epsilon", within, text)


def _witness(
    certificate: Certificate,
    loss: PrivacyLoss,
    chain: MarkovChain,
    noise: Channel | CorrelatedNoise,
) -> Iterator[Check]:
    claimed = certificate["loss.witness"]
    if claimed is None or loss.witness is None:
        same = claimed is None and loss.witness is None
        yield _check("loss.witness", same, "no point has two values" if same else "missing")
        return
    found = claimed == witness_section(loss.witness)
    try:
        # What was found again is replayed as it is; another version may have found another.
        attained = loss.witness.replay(chain, noise) if found else _replayed(claimed, chain, noise)
    except ChainveilError as error:
        yield Check("loss.witness", "fails", f"cannot be replayed: {error}")
        return
    same = found or certificate["software"] != software()
    lower = float(certificate["loss.lower"])
    reaches = attained >= lower * (1 - OTHER_VERSION)
    text = f"attains {attained!r}, computed by another road"
    if not same:
        text = "is not the worst attack on this chain and noise"
    elif not reaches:
        text = f"attains only {attained!r}"
    yield _check("loss.witness", same and reaches, text)


def _replayed(
    claimed: dict[str, Any], chain: MarkovChain, noise: Channel | CorrelatedNoise
) -> float:
    """The loss of the attack that is claimed, by another road than the search."""
    known: dict[int, int] = dict(claimed["known"])
    inside = all(index < claimed["length"] for index in (claimed["target"], *known))
    values = (claimed["value"], claimed["other"], *known.values())
    if not inside or max(values) >= chain.states or claimed["target"] in known:
        raise InvalidInput("witness", claimed, "points and values that exist")
    witness = _witness_of(claimed, known, noise)
    if str(witness) != claimed["words"]:
        raise InvalidInput("witness words", claimed["words"], str(witness))
    return witness.replay(chain, noise)


def _witness_of(
    claimed: dict[str, Any], known: dict[int, int], noise: Channel | CorrelatedNoise
) -> Witness:
    length, target, value, other = (claimed[k] for k in ("length", "target", "value", "other"))
    if isinstance(noise, CorrelatedNoise):
        from chainveil.privacy.correlated.witness import CorrelatedWitness

        packed = np.packbits(_output(claimed["output"], length, 2)).tobytes()
        return CorrelatedWitness(length, target, known, value, other, packed)
    symbols = claimed["symbols"]
    if not symbols:
        from chainveil.privacy.finite.witness import SequenceWitness

        output = _output(claimed["output"], length, noise.outputs).tolist()
        return SequenceWitness(length, target, known, value, other, tuple(output))
    if len(symbols) != 3 or max(symbols) >= noise.outputs:
        raise InvalidInput("witness symbols", symbols, "three reports that exist")
    here, even, odd = symbols
    return TwoStateWitness(length, target, known, value, other, (here, even, odd))


def _output(runs: list[list[int]], length: int, outputs: int) -> NDArray[np.int64]:
    """An output from its runs."""
    sound = 0 < length <= LONGEST and all(z < outputs for z, _ in runs)
    if not sound or sum(count for _, count in runs) != length:
        raise InvalidInput("witness output", runs, f"{length} reports, 0 … {outputs - 1}")
    reports, counts = zip(*runs, strict=True)
    return np.repeat(np.array(reports, np.int64), counts)


def _release(certificate: Certificate, seen: Released | None) -> Iterator[Check]:
    if certificate["release"] is None:
        given = "" if seen is None else "; a release was given but the certificate knows of none"
        yield Check("release", "open" if seen is None else "fails", "a plan, no release" + given)
        return
    if seen is None:
        yield Check("release", "open", "not checked: the release was not given")
        return
    for name in ("column", "series_column", "rows", "series", "gaps"):
        yield _same(f"release.{name}", certificate, getattr(seen, name))
    yield from _states(certificate, seen)
    if certificate["release.file"] is None:
        return
    if seen.file is None:
        yield Check("release.file", "open", "not checked: a data frame was given, no file")
        return
    for name in ("format", "bytes", "sha256"):
        yield _same(f"release.file.{name}", certificate, getattr(seen.file, name))


def _states(certificate: Certificate, seen: Released) -> Iterator[Check]:
    """Which states are published, in which order and in how many parts."""
    if certificate["release.parts"] is not None and seen.parts is None and seen.file is None:
        text = "not checked: the release is a folder of part files, a data frame was given"
        yield Check("release.parts", "open", text)
        yield Check("release.states_sha256", "open", text)
        return
    for name in ("parts", "states_sha256"):
        yield _same(f"release.{name}", certificate, getattr(seen, name))


def _open(certificate: Certificate) -> Iterator[Check]:
    """What has to be taken on trust, field by field and then in words."""
    for path, _ in leaves(certificate.document):
        if path in BY_PATH and BY_PATH[path].checked == "open":
            yield Check(path, "open", f"{certificate[path]}: taken as stated")
    for sentence in statements.CANNOT_BE_CHECKED:
        yield Check("cannot_be_checked", "open", sentence)


def _noise(certificate: Certificate) -> Channel | CorrelatedNoise:
    matrix = certificate["noise.matrix"]
    if certificate["noise.mechanism"] == "independent":
        return Channel(matrix)
    # A channel of the same numbers checks that they are probabilities.
    (_, rho0), (rho1, _) = Channel(matrix).matrix.tolist()
    return CorrelatedNoise(rho0, rho1)


def _spent(certificate: Certificate) -> tuple[Channel, ...]:
    return tuple(Channel(matrix) for matrix in certificate["noise.spent"])


def _region(certificate: Certificate, chain: MarkovChain) -> ChainRegion | None:
    """The chains the loss is claimed for; the chain stated must be one of them."""
    limits = certificate["chain.region"]
    if limits is None:
        return None
    if chain.states != 2:
        raise InvalidInput("chain.region", limits, "null, for more than two states")
    q, r = (tuple(interval) for interval in limits)
    return ChainRegion(q, r, (float(chain.transition[0, 1]), float(chain.transition[1, 0])))


def _chain(certificate: Certificate) -> MarkovChain:
    return MarkovChain(certificate["chain.transition"], certificate["chain.initial"])


def _adversary(certificate: Certificate) -> Model | Adversary:
    model = certificate["promise.adversary.model"]
    length = certificate["promise.length"]
    if model != "one":
        return read_adversary(model, length)
    target, known = (certificate[f"promise.adversary.{key}"] for key in ("target", "known"))
    return read_adversary(Adversary(target, known), length)


def _check(field: str, holds: bool, text: str) -> Check:
    return Check(field, "holds" if holds else "fails", text)


def _same(path: str, certificate: Certificate, found: Any) -> Check:
    claimed = certificate[path]
    same = bool(claimed == found)
    return _check(path, same, f"{found}" if same else f"claimed {claimed}, found {found}")


def _near(path: str, certificate: Certificate, found: float, tolerance: float) -> Check:
    claimed = float(certificate[path])
    near = claimed == found or math.isclose(claimed, found, rel_tol=tolerance, abs_tol=0.0)
    text = f"{found!r}, computed again" if near else f"claimed {claimed!r}, computed {found!r}"
    return _check(path, near, text)
