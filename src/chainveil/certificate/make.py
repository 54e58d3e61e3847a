"""From a plan, and what was done with it, to a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Literal

from chainveil.certificate import statements
from chainveil.certificate.document import Certificate
from chainveil.certificate.groups import SECTIONS, apart, totals
from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel, Origin
from chainveil.model.chain import MarkovChain
from chainveil.noise.base import GRID
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, AdversaryName, describe
from chainveil.privacy.bounds import Attack
from chainveil.privacy.result import PrivacyLoss


@dataclass(frozen=True)
class Discretization:
    """How values became states; ``edges`` is empty where the values were states already."""

    kind: Literal["threshold", "edges", "states"]
    edges: Sequence[float]
    labels: Sequence[str | float | bool]
    origin: Literal["given", "private mean", "private median"] = "given"


@dataclass(frozen=True)
class ReleasedFile:
    """Format, size and digest of a file."""

    format: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Released:
    """What can be seen of a release, and checked again by whoever holds it.

    A release of several part files has their number in ``parts``; its two digests are then
    those of listings, see :func:`chainveil.certificate.listing_digest`. ``longest`` is
    the number of rows of the longest series, where it was counted; no certificate holds it.
    ``kept`` are the columns beside the released one and the series, ``time`` how the time is
    published. ``points`` are the rows of the table where only those that report are released.
    ``groups`` is the same of the rows of each group, by its label, where each group has noise of
    its own.
    """

    column: str
    series_column: str | None
    rows: int
    series: int
    states_sha256: str
    file: ReleasedFile | None = None
    gaps: int = 0
    splits: int = 0
    parts: int | None = None
    longest: int | None = None
    kept: Sequence[str] = ()
    time: str | None = None
    allowed_leaks: Sequence[str] = ()
    points: int | None = None
    groups: Mapping[Any, Released] = field(default_factory=dict)


def certify(
    plan: NoisePlan,
    origin: Origin | None = None,
    discretization: Discretization | None = None,
    source: Literal["release", "study"] | None = None,
    released: Released | None = None,
    created: datetime | None = None,
) -> Certificate:
    """The certificate of a plan, or of a release made by it.

    Parameters
    ----------
    plan : NoisePlan
        Noise and its loss.
    origin : "given", "reference" or "private", optional
        Where the chain came from; by default what the plan's chain says of itself. A chain
        that was fitted on private data is never certified as anything else.
    discretization, source, released : optional
        What was done; without them the certificate is that of a plan.
    created : datetime, optional
        Defaults to now.
    """
    origin = _origin(plan, origin)
    fields = {
        "schema": statements.SCHEMA,
        "schema_version": statements.SCHEMA_VERSION,
        "software": software(),
        "created": _utc(created),
        "promise": _promise(plan),
        "chain": chain_section(plan, origin),
        "noise": noise_section(plan),
        "loss": loss_section(plan),
        "discretization": _discretization(discretization),
        "randomness": _randomness(source),
        "release": None if released is None else _release(released),
        "cannot_be_checked": list(statements.CANNOT_BE_CHECKED),
    }
    return Certificate.sealed(fields)


def certify_groups(
    column: str,
    groups: Sequence[tuple[Any, NoisePlan, Released]],
    discretization: Discretization,
    source: Literal["release", "study"],
    released: Released,
    created: datetime | None = None,
) -> Certificate:
    """The certificate of a release in which each group of series has a plan of its own.

    Parameters
    ----------
    column : str
        The column that names the groups.
    groups : sequence of (label, plan, released)
        Each group, its plan, and what its rows show.
    discretization, source, created
        As in :func:`certify`.
    released : Released
        File and digest of all rows together; what can be added up is that of the groups.
    """
    moment = datetime.now(UTC) if created is None else created
    each = [
        (label, certify(plan, None, discretization, source, part, moment).document)
        for label, plan, part in groups
    ]
    _, first = each[0]
    parts = [apart(document, label) for label, document in each]
    fields = {name: part for name, part in first.items() if name != "seal"}
    fields |= dict.fromkeys(SECTIONS)
    promise = {name: part for name, part in first["promise"].items() if name != "gaps"}
    fields["release"] = {**_release(released), **totals(parts)}
    fields |= {"promise": promise, "groups": {"column": column, "plans": parts}}
    return Certificate.sealed(fields)


def _origin(plan: NoisePlan, origin: Origin | None) -> Origin:
    """Where the chain came from; an error where that would be wrong, or the chain is too exact."""
    if plan.chain.is_unrounded:
        raise InvalidInput(
            "plan", "a chain as it was fitted on private data",
            "a chain that is public or rounded",
            "calibrate rounds a private chain; fit public data with public=True.",
        )  # fmt: skip
    if origin is None:
        return plan.origin
    allowed = ("private",) if plan.origin == "private" else tuple(statements.ORIGIN)
    if origin not in allowed:
        raise InvalidInput("origin", origin, " or ".join(f'"{name}"' for name in allowed))
    return origin


def software() -> dict[str, str]:
    """The versions that a loss was computed with."""
    import chainveil

    return {"chainveil": chainveil.__version__, "python-flint": metadata.version("python-flint")}


def chain_section(plan: NoisePlan, origin: str) -> dict[str, Any]:
    """The chain as the loss reads it; a model that is no chain also by its own numbers."""
    start, transition, _ = plan.chain.hidden_chain()
    region, section = plan.region, {}
    initial: Any = start.tolist()
    if plan.family is not None:
        section = {"model": model_words(plan.family.without_covered())}
    elif plan.chain.order == 1:
        plain = exact_chain(plan.chain)
        transition, initial = plain.transition, plain.to_json()["initial"]
    else:
        section = {"model": model_words(plan.chain)}
    return {
        "transition": transition.tolist(),
        "initial": initial,
        "region": None if region is None else [list(region.q), list(region.r)],
        **section,
        "origin": origin,
        "meaning": statements.ORIGIN[origin],
    }


def model_words(model: DataModel) -> list[Any]:
    """A model by its kind and its numbers, as [name, value] pairs; so are those inside of it."""
    return [model.kind, _pairs(model.to_json())]


def _pairs(words: Mapping[str, Any]) -> list[list[Any]]:
    # Where it came from has a field of its own; what it was counted from is not published.
    left_out = ("origin", "counts")
    return [
        [name, _without_objects(value)]
        for name, value in words.items()
        if name not in left_out and value is not None
    ]


def _without_objects(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _pairs(value)
    return [_without_objects(item) for item in value] if isinstance(value, list) else value


def exact_chain(chain: MarkovChain) -> MarkovChain:
    """The chain rebuilt from the numbers that define it, so that no entry is free to change."""
    if chain.states != 2:
        return chain
    q, r = float(chain.transition[0, 1]), float(chain.transition[1, 0])
    return MarkovChain.binary(q, r, chain.initial)


def noise_section(plan: NoisePlan) -> dict[str, Any]:
    """The noise as it is realised: on the grid of 2^-53."""
    matrix = plan.noise.on_grid().to_matrix()
    return {
        "mechanism": plan.mechanism,
        "matrix": matrix,
        "units": units(matrix),
        **({"every": plan.noise.every} if plan.noise.every > 1 else {}),
        "earlier": [noise.to_json() for noise in plan.earlier],
        "expected_flips": plan.expected_flips,
        "objective": plan.objective,
    }


def units(matrix: list[list[float]]) -> list[list[int]]:
    """Probabilities on the grid, as whole numbers of 2^-53."""
    return [[int(entry * GRID) for entry in row] for row in matrix]


def loss_section(plan: NoisePlan) -> dict[str, Any]:
    """Upper bound, lower bound, and the attack that attains the lower one."""
    return {
        "epsilon": plan.loss.epsilon,
        **({} if plan.loss.effort is None else {"effort": plan.loss.effort}),
        "lower": plan.loss.lower,
        "witness": witness_section(plan.loss),
    }


def witness_section(loss: PrivacyLoss) -> dict[str, Any] | None:
    """An attack in JSON; of one on a member of a family, its name and the chain attacked."""
    if loss.witness is None:
        return None
    on: dict[str, Any] = {}
    if loss.member is not None and loss.chain is not None:
        on = {"member": loss.member, "chain": model_words(loss.chain)}
    return attack_section(loss.witness) | on | {"words": loss.attack_in_words}


def attack_section(attack: Attack) -> dict[str, Any]:
    """An attack in JSON, without its words."""
    return {
        "target": attack.target,
        "known": [[index, value] for index, value in attack.known.items()],
        "value": list(attack.value),
        "other": list(attack.other),
        "output": [[_listed(pattern), count] for pattern, count in attack.runs],
    }


def _listed(observation: Any) -> Any:
    """An observation, or a sequence of them, with lists for tuples."""
    return [_listed(one) for one in observation] if isinstance(observation, tuple) else observation


def adversary_section(adversary: AdversaryName | Adversary) -> dict[str, Any]:
    """An adversary in JSON."""
    one = isinstance(adversary, Adversary)
    return {
        "model": "one" if one else adversary,
        "target": adversary.target if isinstance(adversary, Adversary) else None,
        "known": sorted(adversary.known) if isinstance(adversary, Adversary) else [],
        "meaning": describe(adversary),
    }


def _promise(plan: NoisePlan) -> dict[str, Any]:
    return {
        "unit": plan.unit,
        "protected": statements.protected(plan.unit),
        **({"gaps": True} if plan.gaps else {}),
        "epsilon": plan.epsilon,
        "length": plan.loss.length,
        "adversary": adversary_section(plan.loss.adversary),
        "unprotected": list(statements.UNPROTECTED),
    }


def _discretization(done: Discretization | None) -> dict[str, Any] | None:
    if done is None:
        return None
    return {
        "kind": done.kind,
        "edges": [float(edge) for edge in done.edges],
        "labels": list(done.labels),
        "origin": done.origin,
        "meaning": statements.EDGES_ORIGIN[done.origin],
    }


def _randomness(source: str | None) -> dict[str, str] | None:
    if source is None:
        return None
    return {"source": source, "meaning": statements.RANDOMNESS[source]}


def _release(released: Released) -> dict[str, Any]:
    file = released.file
    return {
        "column": released.column,
        "series_column": released.series_column,
        "kept": list(released.kept),
        "time": released.time,
        "allowed_leaks": list(released.allowed_leaks),
        "rows": released.rows,
        # What only releases of rare reports have to say.
        **({} if released.points is None else {"points": released.points}),
        "series": released.series,
        "gaps": released.gaps,
        "splits": released.splits,
        "parts": released.parts,
        "states_sha256": released.states_sha256,
        "file": None
        if file is None
        else {"format": file.format, "bytes": file.bytes, "sha256": file.sha256},
    }


def _utc(created: datetime | None) -> str:
    moment = datetime.now(UTC) if created is None else created.astimezone(UTC)
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"
