"""What a certificate asks to be computed, as text: the same text, the same answer.

A question holds the fields that a loss depends on and nothing else, and, to replay an attack,
the attack. It is text so that it can be compared, remembered, and handed to another process.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from chainveil.certificate.document import Certificate
from chainveil.errors import InvalidInput
from chainveil.model import base as model_base
from chainveil.model.base import DataModel, read_model
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.noise import base as noise_base
from chainveil.noise.base import Noise, noise_class, read_noise
from chainveil.plugins import made_here
from chainveil.privacy import engines
from chainveil.privacy.adversary import Adversary, AdversaryName, read_adversary
from chainveil.privacy.bounds import Attack, NotAnAttack
from chainveil.privacy.problem import Problem, Unit, read_problem
from chainveil.privacy.result import PrivacyLoss

# Two states and so many reports, probabilities no smaller (the second: of noise that sees more
# than a point), counts no larger, and a replay of no more steps than this take a moment.
FEW_REPORTS, LEAST, LEAST_REMEMBERED, LARGEST_COUNT, FEW_STEPS = 64, 1e-9, 1e-3, 1 << 60, 2_000
# Of noise that remembers, of rare reports and of units of several points: so many releases of two
# reports each, points that repeat, points of a series, and steps of the chain that are no rarer.
FEW_RELEASES, FEW_PHASES, FEW_POINTS, LEAST_STEP = 2, 16, 200, 1e-2

FIELDS = (
    "chain.transition", "chain.initial", "chain.region",
    "noise.mechanism", "noise.matrix", "noise.every", "noise.earlier",
    "promise.unit", "promise.gaps", "promise.length", "promise.adversary.model",
    "promise.adversary.target", "promise.adversary.known", "loss.effort",
)  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """A model, its noise and an adversary, as a certificate describes them."""

    model: DataModel
    noise: Noise
    earlier: tuple[Noise, ...]
    length: int | None
    adversary: AdversaryName | Adversary
    unit: Unit = "point"
    gaps: bool = False
    effort: int | None = None

    @property
    def chain(self) -> Any:
        """The chain, that of the estimate for a region."""
        return self.model.likeliest

    @property
    def problem(self) -> Problem:
        """What the engines are asked."""
        releases = [*self.earlier, self.noise]
        return read_problem(
            self.model, releases, self.length, self.adversary, self.effort,
            unit=self.unit, gaps=self.gaps,
        )  # fmt: skip


def ask(certificate: Certificate) -> str:
    """The question what a certificate's chain and noise lose."""
    return json.dumps(_fields(certificate), sort_keys=True)


def ask_together(certificate: Certificate, earlier: Certificate) -> str:
    """The question what a release loses together with an earlier one of the same series."""
    fields = _fields(certificate)
    before = [*earlier["noise.earlier"], noise_of(_fields(earlier))]
    fields |= {"noise.earlier": [*before, *fields["noise.earlier"]]}
    fields["promise.gaps"] |= earlier["promise.gaps"]
    return json.dumps(fields, sort_keys=True)


def ask_to_replay(certificate: Certificate, chain: DataModel) -> str:
    """The question what the attack that a certificate claims attains on ``chain``.

    The chain of a member of a family is the one that the attack itself is said to be on.
    """
    fields = _fields(certificate) | {"loss.witness": certificate["loss.witness"]}
    if certificate["loss.witness.member"] is not None:
        kind, numbers = certificate["loss.witness.chain"]
        fields |= {"chain.model": (kind, dict(numbers))}
    elif certificate.model is None:
        transition = chain.hidden_chain()[1].tolist()
        fields |= {"chain.transition": transition, "chain.region": None}
    return json.dumps(fields, sort_keys=True)


def attacked(certificate: Certificate, model: DataModel) -> DataModel:
    """The chain that an attack on a family is on; an error where it is none of the member's."""
    name, words = certificate["loss.witness.member"], certificate["loss.witness.chain"]
    family = engines.is_family(model)
    if not family and name is words is None:
        return model
    if not family or name is None or words is None:
        raise InvalidInput("witness member", name, "a member, for a family and for no other model")
    chain = _read_model(words[0], dict(words[1]))
    if not chain.single or not model[name].covers(chain):  # type: ignore[index]
        raise InvalidInput("witness chain", words[0], f"a chain of the member {name!r}")
    return chain


def _fields(certificate: Certificate) -> dict[str, Any]:
    return {path: certificate[path] for path in FIELDS} | {"chain.model": certificate.model}


def claim(question: str) -> Claim:
    """What a question is about; an error where it makes no sense."""
    fields = json.loads(question)
    earlier = tuple(map(read_noise, fields["noise.earlier"]))
    length, who = fields["promise.length"], _adversary(fields, fields["promise.length"])
    noise, unit, gaps = read_noise(noise_of(fields)), fields["promise.unit"], fields["promise.gaps"]
    model, effort = _model(fields), fields["loss.effort"]
    return Claim(model, noise, earlier, length, who, unit, gaps, effort)


def noise_of(fields: dict[str, Any]) -> dict[str, Any]:
    """The noise of the release itself, as one of its earlier releases would be written."""
    named = {"kind": "mechanism", "matrix": "matrix", "every": "every"}
    return {name: fields[f"noise.{field}"] for name, field in named.items()}


def _model(fields: dict[str, Any]) -> DataModel:
    if fields["chain.model"] is not None:
        if fields["chain.region"] is not None:
            raise InvalidInput("chain.region", "a region", "null, for a model that is no chain")
        return _read_model(*fields["chain.model"])
    chain = MarkovChain(fields["chain.transition"], fields["chain.initial"])
    return _region(fields["chain.region"], chain) or chain


def _read_model(kind: str, numbers: dict[str, Any]) -> DataModel:
    try:
        return read_model(kind, numbers)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput("chain.model", kind, f"its numbers: {error}") from None


def entries(question: str) -> float:
    """Entries of the joint law of all reports, a row a state."""
    fields = json.loads(question)
    sizes = (len(matrix[0]) for matrix in _matrices(fields))
    return len(fields["chain.transition"]) * math.prod(float(size) for size in sizes)


def _matrices(fields: dict[str, Any]) -> list[Any]:
    """The matrices of all releases, the one in question last."""
    return [*(words["matrix"] for words in fields["noise.earlier"]), fields["noise.matrix"]]


def is_light(task: str, question: str) -> bool:
    """Whether the work is certain to be done in a moment, so that no time needs to be kept."""
    fields = json.loads(question)
    states = len(fields["chain.transition"])
    if entries(question) > states * FEW_REPORTS or states > 16:
        return False
    if task == "replay":
        return _is_light_attack(fields["loss.witness"], states)
    others = ("chain.region", "chain.model", "loss.effort")
    if states > 2 or any(fields[name] is not None for name in others):
        return False
    matrices = [fields["chain.transition"], *_matrices(fields)]
    numbers = [entry for matrix in matrices for row in matrix for entry in row]
    known, target = fields["promise.adversary.known"], fields["promise.adversary.target"]
    counts = [fields["promise.length"] or 0, target or 0, *known]
    numbers += fields["chain.initial"] or []
    if not _is_plain(fields):
        return _is_light_memory(fields, numbers, counts)
    plain = all(number == 0 or number >= LEAST for number in numbers)
    return plain and max(counts) <= LARGEST_COUNT and len(known) <= FEW_STEPS


def is_known_elsewhere(question: str) -> bool:
    """Whether a process of its own has all kinds of noise and of models that are asked about.

    It has those of the package, and those of packages that name them by an entry point.
    """
    groups = (
        (noise_base.ENTRY_POINTS, noise_base.KINDS),
        (model_base.ENTRY_POINTS, model_base.KINDS),
    )
    return not any(json.dumps(name) in question for group in groups for name in made_here(*group))


def _releases(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [noise_of(fields), *fields["noise.earlier"]]


def _is_plain(fields: dict[str, Any]) -> bool:
    """Whether one point is the unit, and all points have reports that see nothing else."""
    alone = (
        noise_class(one["kind"]).sees == "point" and one.get("every", 1) == 1
        for one in _releases(fields)
    )
    return fields["promise.unit"] == "point" and all(alone)


def _is_light_memory(fields: dict[str, Any], numbers: list[float], counts: list[int]) -> bool:
    """The same for noise that sees more, for rare reports and for units of several points."""
    releases = _releases(fields)
    phases = math.prod(one.get("every", 1) for one in releases)
    steps = [entry for row in fields["chain.transition"] for entry in row]
    small = len(releases) <= FEW_RELEASES and all(len(m[0]) == 2 for m in _matrices(fields))
    small = small and phases <= FEW_PHASES and fields["promise.unit"] in ("point", 2, 3)
    return bool(
        small and max(counts) <= FEW_POINTS
        and min(steps) >= LEAST_STEP and min(numbers) >= LEAST_REMEMBERED
    )  # fmt: skip


def _is_light_attack(witness: dict[str, Any], states: int) -> bool:
    length = sum(len(pattern) * count for pattern, count in witness["output"])
    return bool(length * states**2 <= FEW_STEPS * 4)


def find_loss(question: str) -> PrivacyLoss:
    """The loss, by the call that the plan was made with."""
    return engines.loss(claim(question).problem)


def replay_attack(question: str) -> float:
    """The loss of the attack in a question, computed independently of the search."""
    asked, claimed = claim(question), json.loads(question)["loss.witness"]
    attack = _attack(claimed)
    _check_attack(asked, attack)
    chain = asked.model if claimed.get("member") is not None else None
    loss = PrivacyLoss(0.0, 0.0, attack, asked.adversary, None, chain, claimed.get("member"))
    if loss.attack_in_words != claimed["words"]:
        raise InvalidInput("witness words", claimed["words"], str(loss.attack_in_words))
    return asked.problem.replay(attack, asked.chain)


TASKS = {"loss": find_loss, "replay": replay_attack}


def _attack(claimed: dict[str, Any]) -> Attack:
    """The attack that a certificate describes."""
    runs = tuple((_told(pattern), count) for pattern, count in claimed["output"])
    if len(dict(claimed["known"])) != len(claimed["known"]):
        raise NotAnAttack("witness known", "a point with two values", "each known point once")
    value, other = tuple(claimed["value"]), tuple(claimed["other"])
    return Attack(claimed["target"], value, other, dict(claimed["known"]), runs)


def _told(observation: Any) -> Any:
    """An observation, or a sequence of them, with tuples for lists."""
    return tuple(map(_told, observation)) if isinstance(observation, list) else observation


def _check_attack(asked: Claim, attack: Attack) -> None:
    """Error unless the attack is one that the guarantee is about."""
    states = (*attack.value, *attack.other, *attack.known.values())
    inside = asked.length is None or attack.length <= asked.length
    if not inside or max(states, default=0) >= asked.model.states:
        raise NotAnAttack("witness", "points or values that do not exist", "those of the series")
    size = asked.problem.unit
    if len(attack.value) != size or len(attack.other) != size:
        raise NotAnAttack("witness value", f"{len(attack.value)} points", f"{size} points")
    who = asked.adversary
    named = isinstance(who, Adversary) and (
        attack.target != who.target or not set(attack.known) <= who.known
    )
    if named or (who == "ignorant" and attack.known):
        found = "an observer who knows other points"
        raise NotAnAttack("witness", found, "the adversary of the guarantee")


def _region(limits: Any, chain: MarkovChain) -> ChainRegion | None:
    """The chains the loss is claimed for; the chain stated must be one of them."""
    if limits is None:
        return None
    if chain.states != 2 or chain.initial is not None:
        raise InvalidInput("chain.region", limits, "null, unless two states start as stationary")
    q, r = (tuple(interval) for interval in limits)
    return ChainRegion(q, r, (float(chain.transition[0, 1]), float(chain.transition[1, 0])))


def _adversary(fields: dict[str, Any], length: int | None) -> AdversaryName | Adversary:
    model, target, known = (
        fields[f"promise.adversary.{key}"] for key in ("model", "target", "known")
    )
    return read_adversary(model if model != "one" else Adversary(target, known), length)
