"""From a plan, and what was released with it, to a certificate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel, Origin
from chainveil.model.chain import MarkovChain
from chainveil.next.certificate.document import (
    COUNTED,
    EDGES_ORIGIN,
    NOT_PROTECTED,
    ON_TRUST,
    ORIGIN,
    RANDOMNESS,
    SCHEMA,
    VERSION,
    Certificate,
    protects,
)
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
    """Format, size and digest of a file; ``parts``: of so many files of a folder."""

    format: str
    bytes: int
    sha256: str
    parts: int | None = None


@dataclass(frozen=True)
class Column:
    """A public column: its name, the type of its values, and their digest."""

    name: str
    type: str
    sha256: str


@dataclass(frozen=True)
class Released:
    """What can be seen of a release, and checked again by whoever holds it.

    ``order`` are all columns; ``points`` is the number of points of the table, None where all of
    them report. ``longest`` is the number of points of the longest series, where it was counted;
    no certificate holds it. ``groups`` is the same of the rows of each group, by its label.
    """

    column: str
    rows: int
    series: int
    reports_sha256: str
    rows_sha256: str
    order: tuple[str, ...]
    series_names: str | None = None
    gaps: int = 0
    splits: int = 0
    columns: tuple[Column, ...] = ()
    allowed_leaks: tuple[str, ...] = ()
    points: int | None = None
    file: ReleasedFile | None = None
    longest: int | None = None

    def counted(self) -> dict[str, int]:
        """What is added up over groups."""
        points = self.rows if self.points is None else self.points
        return {"rows": self.rows, "points": points, "series": self.series, "gaps": self.gaps,
                "splits": self.splits}  # fmt: skip


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
        Where the model came from; by default what the plan's model says of itself. A model
        that was fitted on private data is never certified as anything else.
    discretization, source, released : optional
        What was done; without them the certificate is that of a plan.
    created : datetime, optional
        Defaults to now.
    """
    section = plan_section(plan, origin)
    shown = None if released is None else _release(released, released.counted(), None)
    return _sealed(plan, [section], discretization, source, shown, created)


def certify_groups(
    column: str,
    groups: Sequence[tuple[Any, NoisePlan, Released]],
    discretization: Discretization,
    source: Literal["release", "study"],
    released: Released,
    created: datetime | None = None,
) -> Certificate:
    """The certificate of a release in which each group of series has a plan of its own.

    ``groups`` are the label of each group, its plan and what its rows show; ``released`` is what
    all rows together show.
    """
    sections = []
    for label, plan, part in groups:
        shown = {**part.counted(), "reports_sha256": part.reports_sha256}
        sections.append(plan_section(plan, None) | {"label": label, "shown": shown})
    total = {name: sum(section["shown"][name] for section in sections) for name in COUNTED}
    release = _release(released, total, column)
    return _sealed(groups[0][1], sections, discretization, source, release, created)


def _sealed(
    plan: NoisePlan,
    sections: list[dict[str, Any]],
    states: Discretization | None,
    source: str | None,
    release: dict[str, Any] | None,
    created: datetime | None,
) -> Certificate:
    import chainveil

    moment = datetime.now(UTC) if created is None else created.astimezone(UTC)
    fields = {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "software": {"chainveil": chainveil.__version__},
        "created": moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z",
        "guarantee": {
            "unit": points_of(plan.unit),
            "protects": protects(points_of(plan.unit)),
            "epsilon": plan.epsilon,
            "max_length": plan.loss.length,
            "adversary": adversary_section(plan.loss.adversary),
            "not_protected": list(NOT_PROTECTED),
        },
        "states": None if states is None else {
            "kind": states.kind,
            "edges": [float(edge) for edge in states.edges],
            "labels": list(states.labels),
            "origin": states.origin,
            "meaning": EDGES_ORIGIN[states.origin],
        },
        "randomness": None if source is None else {
            "source": source, "meaning": RANDOMNESS[source]
        },
        "release": release,
        "plans": sections,
        "on_trust": list(ON_TRUST),
    }  # fmt: skip
    return Certificate.sealed(fields)


def _release(released: Released, counted: Mapping[str, int], group: str | None) -> dict[str, Any]:
    return {
        "column": released.column,
        "series_names": released.series_names,
        "columns": list(released.order),
        "public": [vars(column) for column in released.columns],
        "allowed_leaks": list(released.allowed_leaks),
        "group_column": group,
        **counted,
        "reports_sha256": released.reports_sha256,
        "rows_sha256": released.rows_sha256,
        "file": None if released.file is None else file_section(released.file),
    }


def file_section(file: ReleasedFile) -> dict[str, Any]:
    """A file in JSON."""
    return {"format": file.format, "parts": file.parts, "bytes": file.bytes, "sha256": file.sha256}


def listing_digest(parts: Iterable[tuple[str, int, str]]) -> str:
    """SHA-256 of a listing of part files: for each, in the order of the names, one line of text.

    A line is the digest of the part in hexadecimal, its size in bytes and its name,
    with a blank between them, in UTF-8.
    """
    lines = (f"{digest} {size} {name}\n" for name, size, digest in sorted(parts))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def points_of(unit: Any) -> int:
    """The number of consecutive points that are the unit of privacy."""
    return 1 if unit == "point" else int(unit)


def plan_section(plan: NoisePlan, origin: Origin | None) -> dict[str, Any]:
    """Model, noise and loss of a plan."""
    origin = _origin(plan, origin)
    matrix = plan.noise.on_grid().to_matrix()
    return {
        "label": None,
        "gaps": plan.gaps,
        "model": model_section(plan, origin),
        "noise": {
            "mechanism": plan.mechanism,
            "matrix": matrix,
            "units": units(matrix),
            "every": plan.noise.every,
            "earlier": [earlier.to_json() for earlier in plan.earlier],
            "wrong_reports": plan.expected_flips,
            "objective": plan.objective,
        },
        "loss": {
            "epsilon": plan.loss.epsilon,
            "lower": plan.loss.lower,
            "effort": plan.loss.effort,
            "witness": witness_section(plan.loss),
        },
        "shown": None,
    }


def _origin(plan: NoisePlan, origin: Origin | None) -> Origin:
    """Where the model came from; an error where that would be wrong, or the model is too exact."""
    if plan.chain.is_unrounded:
        raise InvalidInput(
            "plan", "a chain as it was fitted on private data",
            "a chain that is public or rounded",
            "calibrate rounds a private chain; fit public data with public=True.",
        )  # fmt: skip
    if origin is None:
        return plan.origin
    allowed = ("private",) if plan.origin == "private" else tuple(ORIGIN)
    if origin not in allowed:
        raise InvalidInput("origin", origin, " or ".join(f'"{name}"' for name in allowed))
    return origin


def model_section(plan: NoisePlan, origin: str) -> dict[str, Any]:
    """The model as the loss reads it; one that is no chain also by its own numbers."""
    start, transition, _ = plan.chain.hidden_chain()
    initial: Any = start.tolist()
    description = None
    if plan.family is not None:
        description = model_words(plan.family.without_covered())
    elif plan.chain.order == 1:
        plain = exact_chain(plan.chain)
        transition, initial = plain.transition, plain.to_json()["initial"]
    else:
        description = model_words(plan.chain)
    region = plan.region
    return {
        "transition": transition.tolist(),
        "initial": initial,
        "region": None if region is None else [list(region.q), list(region.r)],
        "description": description,
        "origin": origin,
        "meaning": ORIGIN[origin],
    }


def model_words(model: DataModel) -> list[Any]:
    """A model by its kind and its numbers, as [name, value] pairs; so are those inside of it."""
    return [model.kind, _pairs(model.to_json())]


def _pairs(words: Mapping[str, Any]) -> list[list[Any]]:
    # Where it came from has a field of its own; what it was counted from is not published.
    return [
        [name, _without_objects(value)]
        for name, value in words.items()
        if name not in ("origin", "counts") and value is not None
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


def units(matrix: list[list[float]]) -> list[list[int]]:
    """Probabilities on the grid, as whole numbers of 2^-53."""
    return [[int(entry * GRID) for entry in row] for row in matrix]


def witness_section(loss: PrivacyLoss) -> dict[str, Any] | None:
    """An attack in JSON; of one on a member of a family, its name and the chain attacked."""
    if loss.witness is None:
        return None
    named = loss.member is not None and loss.chain is not None
    return {
        **attack_section(loss.witness),
        "member": loss.member if named else None,
        "chain": model_words(loss.chain) if named and loss.chain is not None else None,
        "words": loss.attack_in_words,
    }


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
