"""What a certificate asks to be computed, as text: the same text, the same answer.

A question holds the fields that a loss depends on and nothing else, and, to replay an attack,
the attack. It is text so that it can be compared, remembered, and handed to another process.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.certificate.document import Certificate
from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.privacy.adversary import Adversary, Model, read_adversary
from chainveil.privacy.loss import PrivacyLoss, privacy_loss
from chainveil.privacy.witness import Witness

# How close the bounds of more than two states are brought, as where a plan is calibrated.
TOLERANCE = 1e-7
# Points of a witness that are written out one by one.
LONGEST = 10_000_000
# Two states and so many reports, probabilities no smaller (those of noise with a memory, whose
# recursion goes point by point), counts no larger, and a replay of no more steps than this take
# a moment.
FEW_REPORTS, LEAST, LEAST_CORRELATED, LARGEST_COUNT, FEW_STEPS = 64, 1e-9, 1e-3, 1 << 60, 2_000

FIELDS = (
    "chain.transition", "chain.initial", "chain.region",
    "noise.mechanism", "noise.matrix", "noise.spent",
    "promise.length", "promise.adversary.model", "promise.adversary.target",
    "promise.adversary.known",
)  # fmt: skip


class Answer(NamedTuple):
    """A loss, and whether its search was cut short for want of time: the bounds hold anyway."""

    loss: PrivacyLoss
    cut_short: bool


@dataclass(frozen=True)
class Problem:
    """A chain, its noise and an adversary, as a certificate describes them."""

    chain: MarkovChain
    noise: Channel | CorrelatedNoise
    spent: tuple[Channel, ...]
    region: ChainRegion | None
    length: int | None
    adversary: Model | Adversary

    @property
    def shown(self) -> Channel | CorrelatedNoise:
        """The noise of all releases together, as one."""
        if not self.spent:
            return self.noise
        if isinstance(self.noise, CorrelatedNoise):
            raise InvalidInput("noise.spent", "earlier releases", "none, with correlated noise")
        return Channel.joint(*self.spent, self.noise)


def ask(certificate: Certificate) -> str:
    """The question what a certificate's chain and noise lose."""
    return json.dumps({path: certificate[path] for path in FIELDS}, sort_keys=True)


def ask_together(certificate: Certificate, earlier: Certificate) -> str:
    """The question what a release loses together with an earlier one of the same series."""
    fields = {path: certificate[path] for path in FIELDS}
    before = [*earlier["noise.spent"], earlier["noise.matrix"]]
    return json.dumps(fields | {"noise.spent": [*before, *fields["noise.spent"]]}, sort_keys=True)


def ask_to_replay(certificate: Certificate, chain: MarkovChain) -> str:
    """The question what the attack that a certificate claims attains on ``chain``."""
    fields = {path: certificate[path] for path in (*FIELDS, "loss.witness")}
    fields["chain.transition"] = chain.transition.tolist()
    return json.dumps(fields | {"chain.region": None}, sort_keys=True)


def problem(question: str) -> Problem:
    """What a question is about; an error where it makes no sense."""
    fields = json.loads(question)
    chain = MarkovChain(fields["chain.transition"], fields["chain.initial"])
    spent = tuple(Channel(matrix) for matrix in fields["noise.spent"])
    region = _region(fields["chain.region"], chain)
    length = fields["promise.length"]
    return Problem(chain, _noise(fields), spent, region, length, _adversary(fields, length))


def entries(question: str) -> float:
    """Entries of the joint law of all reports, a row a state."""
    fields = json.loads(question)
    sizes = (len(matrix[0]) for matrix in (*fields["noise.spent"], fields["noise.matrix"]))
    return len(fields["chain.transition"]) * math.prod(float(size) for size in sizes)


def is_light(task: str, question: str) -> bool:
    """Whether the work is certain to be done in a moment, so that no time needs to be kept."""
    fields = json.loads(question)
    states = len(fields["chain.transition"])
    if entries(question) > states * FEW_REPORTS or states > 16:
        return False
    if task == "replay":
        return _is_light_attack(fields["loss.witness"], states)
    if fields["chain.region"] is not None or states > 2:
        return False
    matrices = [fields["chain.transition"], fields["noise.matrix"], *fields["noise.spent"]]
    numbers = [entry for matrix in matrices for row in matrix for entry in row]
    known, target = fields["promise.adversary.known"], fields["promise.adversary.target"]
    counts = [fields["promise.length"] or 0, target or 0, *known]
    numbers += fields["chain.initial"] or []
    if fields["noise.mechanism"] == "correlated":
        return bool(min(numbers) >= LEAST_CORRELATED and max(counts) <= FEW_STEPS)
    plain = all(number == 0 or number >= LEAST for number in numbers)
    return plain and max(counts) <= LARGEST_COUNT and len(known) <= FEW_STEPS


def _is_light_attack(witness: dict[str, Any], states: int) -> bool:
    if witness["symbols"]:
        return witness["length"] <= LARGEST_COUNT and len(witness["known"]) <= 16
    return bool(witness["length"] * states**2 <= FEW_STEPS * 4)


def find_loss(question: str, seconds: float) -> Answer:
    """The loss, with a search that stops after so many seconds where it can."""
    asked, started = problem(question), time.monotonic()
    found = privacy_loss(
        asked.region or asked.chain, asked.shown, asked.length, asked.adversary,
        tolerance=TOLERANCE, max_seconds=seconds,
    )  # fmt: skip
    return Answer(found, asked.chain.states > 2 and time.monotonic() - started >= seconds)


def replay_attack(question: str, _: float) -> float:
    """The loss of the attack in a question, computed independently of the search."""
    asked, claimed = problem(question), json.loads(question)["loss.witness"]
    known: dict[int, int] = dict(claimed["known"])
    _check_attack(asked, claimed, known)
    witness = _witness(claimed, known, asked)
    if str(witness) != claimed["words"]:
        raise InvalidInput("witness words", claimed["words"], str(witness))
    return witness.replay(asked.chain, asked.shown)


TASKS = {"loss": find_loss, "replay": replay_attack}


def _check_attack(asked: Problem, claimed: dict[str, Any], known: dict[int, int]) -> None:
    """Error unless the attack is on points that exist, by an adversary that is promised against."""
    inside = all(index < claimed["length"] for index in (claimed["target"], *known))
    values = (claimed["value"], claimed["other"], *known.values())
    inside = inside and (asked.length is None or claimed["length"] <= asked.length)
    if not inside or max(values) >= asked.chain.states or claimed["target"] in known:
        raise InvalidInput("witness", claimed, "points and values that exist")
    named = isinstance(asked.adversary, Adversary) and claimed["target"] != asked.adversary.target
    if named or (asked.adversary == "ignorant" and known):
        raise InvalidInput("witness", claimed, "the adversary that the promise is about")


def _witness(claimed: dict[str, Any], known: dict[int, int], asked: Problem) -> Witness:
    length, target, value, other = (claimed[k] for k in ("length", "target", "value", "other"))
    noise, symbols = asked.shown, claimed["symbols"]
    if isinstance(noise, CorrelatedNoise):
        from chainveil.privacy.correlated.witness import CorrelatedWitness

        packed = np.packbits(_output(claimed["output"], length, 2)).tobytes()
        return CorrelatedWitness(length, target, known, value, other, packed)
    if not symbols:
        from chainveil.privacy.finite.witness import SequenceWitness

        output = _output(claimed["output"], length, noise.outputs).tolist()
        return SequenceWitness(length, target, known, value, other, tuple(output))
    if len(symbols) != 3 or max(symbols) >= noise.outputs or asked.chain.states != 2:
        raise InvalidInput("witness symbols", symbols, "three reports that exist, for two states")
    from chainveil.privacy.two_state.witness import TwoStateWitness

    here, even, odd = symbols
    return TwoStateWitness(length, target, known, value, other, (here, even, odd))


def _output(runs: list[list[int]], length: int, outputs: int) -> NDArray[np.int64]:
    """An output from its runs."""
    sound = 0 < length <= LONGEST and all(z < outputs for z, _ in runs)
    if not sound or sum(count for _, count in runs) != length:
        raise InvalidInput("witness output", runs, f"{length} reports, 0 … {outputs - 1}")
    reports, counts = zip(*runs, strict=True)
    return np.repeat(np.array(reports, np.int64), counts)


def _noise(fields: dict[str, Any]) -> Channel | CorrelatedNoise:
    matrix = fields["noise.matrix"]
    if fields["noise.mechanism"] == "independent":
        return Channel(matrix)
    # A channel of the same numbers checks that they are probabilities.
    checked = Channel(matrix)
    if checked.matrix.shape != (2, 2):
        raise InvalidInput("noise.matrix", matrix, "two rows of two, for correlated noise")
    return CorrelatedNoise(float(checked.matrix[0, 1]), float(checked.matrix[1, 0]))


def _region(limits: Any, chain: MarkovChain) -> ChainRegion | None:
    """The chains the loss is claimed for; the chain stated must be one of them."""
    if limits is None:
        return None
    if chain.states != 2 or chain.initial is not None:
        raise InvalidInput("chain.region", limits, "null, unless two states start as stationary")
    q, r = (tuple(interval) for interval in limits)
    return ChainRegion(q, r, (float(chain.transition[0, 1]), float(chain.transition[1, 0])))


def _adversary(fields: dict[str, Any], length: int | None) -> Model | Adversary:
    model, target, known = (
        fields[f"promise.adversary.{key}"] for key in ("model", "target", "known")
    )
    return read_adversary(model if model != "one" else Adversary(target, known), length)
