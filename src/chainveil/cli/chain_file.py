"""A fitted chain as a file: what ``fit`` writes and ``calibrate`` and ``sanitize`` read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chainveil.certificate.reading import parse, read_text
from chainveil.certificate.schema import check_kind
from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.table.request.discretize import Discretizer, make_discretizer
from chainveil.table.write.atomic import drafts

SCHEMA = "chainveil chain"
# The kind of each field, as in a certificate; None: checked on its own.
FIELDS: dict[str, str | None] = {
    "schema": "text", "schema_version": "count", "origin": "origin", "transition": "matrix",
    "counts": None, "discretization": None,
}  # fmt: skip
PARTS: dict[str, str | None] = {
    "edges": "edges", "states": "few labels", "labels": "labels", "origin": "edges origin",
}  # fmt: skip
MOST_COUNTED = (1 << 63) - 1


@dataclass(frozen=True)
class ChainFile:
    """A chain, where it came from, and how values became its states."""

    chain: MarkovChain
    origin: str
    discretizer: Discretizer


def write_chain_file(path: str | Path, file: ChainFile, force: bool) -> None:
    """Write the chain; the counts are private unless the table was public."""
    with drafts([path], force) as (draft,):
        draft.file.write((json.dumps(to_document(file), indent=2) + "\n").encode())


def to_document(file: ChainFile) -> dict[str, Any]:
    """The chain as JSON values."""
    counts, states = file.chain.counts, file.discretizer
    return {
        "schema": SCHEMA,
        "schema_version": 1,
        "origin": file.origin,
        "transition": file.chain.transition.tolist(),
        "counts": None if counts is None else counts.tolist(),
        "discretization": {
            "edges": list(states.edges),
            "states": list(states.states),
            "labels": list(states.labels),
            "origin": states.origin,
        },
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
    _check_kinds("chain", document, FIELDS)
    if document["schema_version"] != 1:
        raise InvalidInput("chain", document["schema_version"], "schema version 1")
    if document["origin"] == "given":
        raise InvalidInput("chain origin", "given", '"reference" or "private"')
    _check_kinds("chain discretization", document["discretization"], PARTS)
    origin, counts = document["origin"], _counts(document)
    if counts is None and origin == "private":
        raise InvalidInput("chain counts", None, "the counts of a chain fitted on private data")
    chain = MarkovChain(document["transition"], counts=counts, origin=origin)
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


def _counts(document: dict[str, Any]) -> Any:
    """Counts of the transitions: as many rows as the chain has, none empty, none huge."""
    counts, states = document["counts"], len(document["transition"])
    if counts is None:
        return None
    check_kind("chain counts", "units", counts)
    square = len(counts) == len(counts[0]) == states
    if not square or not all(0 < sum(row) <= MOST_COUNTED for row in counts):
        raise InvalidInput("chain counts", counts, f"{states} rows of {states} counts, none empty")
    return counts


def _discretizer(part: dict[str, Any]) -> Discretizer:
    given = {"edges": part["edges"]} if part["edges"] else {"states": part["states"]}
    return make_discretizer(**given, labels=part["labels"], origin=part["origin"])
