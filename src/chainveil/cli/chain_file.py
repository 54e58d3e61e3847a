"""A fitted chain as a file: what ``fit`` writes and ``calibrate`` and ``sanitize`` read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chainveil.certificate.reading import parse, read_text
from chainveil.certificate.schema import check_kind
from chainveil.errors import InvalidInput
from chainveil.model.base import Origin
from chainveil.model.chain import MarkovChain
from chainveil.model.family import ModelFamily
from chainveil.model.higher_order import HigherOrderChain
from chainveil.model.region import ChainRegion
from chainveil.table.request.discretize import Discretizer, make_discretizer
from chainveil.table.write.atomic import drafts

SCHEMA = "chainveil chain"
# The kind of each field, as in a certificate; None: checked on its own. A chain of an order above
# 1 has its order beside its transitions, of which there is then a row a context.
FIELDS: dict[str, str | None] = {
    "schema": "text", "schema_version": "count", "origin": "origin", "transition": "matrix",
    "counts": None, "discretization": None,
}  # fmt: skip
HIGHER = {**FIELDS, "order": "count"}
# All chains of a region, in place of one.
REGION: dict[str, str | None] = {
    name: kind for name, kind in FIELDS.items() if name not in ("transition", "counts")
} | {"region": None}  # fmt: skip
# A model for each series, in place of one.
FAMILY = {name: kind for name, kind in REGION.items() if name != "region"} | {"family": None}
PARTS: dict[str, str | None] = {
    "edges": "edges", "states": "few labels", "labels": "labels", "origin": "edges origin",
}  # fmt: skip
LIMITS = ("q", "r", "estimate")
MOST_COUNTED = (1 << 63) - 1


@dataclass(frozen=True)
class ChainFile:
    """A chain, a region or a family, where it came from, and how values became its states."""

    chain: MarkovChain | HigherOrderChain | ChainRegion | ModelFamily
    origin: str
    discretizer: Discretizer


def write_chain_file(path: str | Path, file: ChainFile, force: bool) -> None:
    """Write the chain; the counts are private unless the table was public."""
    with drafts([path], force) as (draft,):
        draft.file.write((json.dumps(to_document(file), indent=2) + "\n").encode())


def to_document(file: ChainFile) -> dict[str, Any]:
    """The chain as JSON values."""
    states = file.discretizer
    return {
        "schema": SCHEMA,
        "schema_version": 1,
        "origin": file.origin,
        **_model(file.chain),
        "discretization": {
            "edges": list(states.edges),
            "states": list(states.states),
            "labels": list(states.labels),
            "origin": states.origin,
        },
    }


def _model(chain: Any) -> dict[str, Any]:
    """The numbers of a chain, the limits of a region, or the members of a family."""
    words = chain.to_json()
    if chain.kind == ModelFamily.kind:
        return {"family": words}
    if not chain.single:
        return {"region": {name: words[name] for name in LIMITS}}
    return {
        **({} if chain.order == 1 else {"order": chain.order}),
        "transition": chain.transition.tolist(),
        "counts": None if chain.counts is None else chain.counts.tolist(),
    }


def read_chain_file(path: str | Path) -> ChainFile:
    """Read and check a chain file."""
    if not Path(path).is_file():
        raise InvalidInput("chain", str(path), "a file that exists")
    return from_document(parse(read_text(path), "chain"), str(path))


def from_document(document: Any, name: str) -> ChainFile:
    """The chain in JSON values that anyone may have written; ``name`` is for errors."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InvalidInput("chain", name, "a file written by chainveil fit")
    _check_kinds("chain", document, _fields(document))
    if document["schema_version"] != 1:
        raise InvalidInput("chain", document["schema_version"], "schema version 1")
    if document["origin"] == "given":
        raise InvalidInput("chain origin", "given", '"reference" or "private"')
    _check_kinds("chain discretization", document["discretization"], PARTS)
    chain = _read(document)
    discretizer = _discretizer(document["discretization"])
    if discretizer.count != chain.states:
        raise InvalidInput(
            "chain discretization",
            f"{discretizer.count} states",
            f"the {chain.states} of the chain",
        )
    return ChainFile(chain, document["origin"], discretizer)


def _check_kinds(name: str, section: Any, kinds: dict[str, str | None]) -> None:
    """Error unless the section has exactly these fields, each with a value of its kind."""
    if not isinstance(section, dict) or set(section) != set(kinds):
        found = sorted(section) if isinstance(section, dict) else type(section).__name__
        raise InvalidInput(name, found, f"the fields {sorted(kinds)}")
    for field, kind in kinds.items():
        if kind is not None:
            check_kind(f"{name} {field}", kind, section[field])


def _read(document: dict[str, Any]) -> MarkovChain | HigherOrderChain | ChainRegion | ModelFamily:
    if "family" in document:
        return _read_family(document)
    return _read_region(document) if "region" in document else _read_chain(document)


def _fields(document: dict[str, Any]) -> dict[str, str | None]:
    if "family" in document:
        return FAMILY
    if "region" in document:
        return REGION
    return HIGHER if "order" in document else FIELDS


def _read_family(document: dict[str, Any]) -> ModelFamily:
    words, allowed = document["family"], "members, names and typical, as chainveil fit writes them"
    try:
        family = ModelFamily.from_json(words)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput("chain family", type(words).__name__, allowed) from None
    if family.origin != document["origin"]:
        found = f"members of origin {family.origin!r}"
        raise InvalidInput("chain family", found, f"{document['origin']!r}, as the file says")
    return family


def _read_region(document: dict[str, Any]) -> ChainRegion:
    limits = document["region"]
    if not isinstance(limits, dict) or set(limits) != set(LIMITS):
        raise InvalidInput("chain region", limits, f"the fields {sorted(LIMITS)}")
    for name in LIMITS:
        check_kind(f"chain region {name}", "edges", limits[name])
    return ChainRegion.from_json({**limits, "origin": document["origin"]})


def _read_chain(document: dict[str, Any]) -> MarkovChain | HigherOrderChain:
    origin: Origin = document["origin"]
    counts = _counts(document)
    if counts is None and origin == "private":
        raise InvalidInput("chain counts", None, "the counts of a chain fitted on private data")
    if "order" in document:
        return HigherOrderChain(document["transition"], document["order"], counts, origin)
    return MarkovChain(document["transition"], counts=counts, origin=origin)


def _counts(document: dict[str, Any]) -> Any:
    """Counts of the transitions: as many as the chain has, none empty for order 1, none huge."""
    counts, shape = document["counts"], _shape(document["transition"])
    if counts is None:
        return None
    check_kind("chain counts", "units", counts)
    # A context may have been seen never, a state may not; with a pseudocount it may.
    sums = [sum(row) for row in counts]
    if _shape(counts) != shape or max(sums) > MOST_COUNTED or not max(sums):
        rows, columns = shape
        allowed = f"{rows} rows of {columns} counts, not all of them 0"
        raise InvalidInput("chain counts", counts, allowed)
    return counts


def _shape(table: list[list[Any]]) -> tuple[int, int]:
    return len(table), len(table[0])


def _discretizer(part: dict[str, Any]) -> Discretizer:
    given = {"threshold": part["edges"]} if part["edges"] else {"states": part["states"]}
    return make_discretizer(**given, labels=part["labels"], origin=part["origin"])
