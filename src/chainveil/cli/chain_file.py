"""A fitted chain as a file: what ``fit`` writes and ``calibrate`` and ``sanitize`` read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chainveil.certificate.document import parse, read_text
from chainveil.certificate.statements import EDGES_ORIGIN
from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.table.atomic import drafts
from chainveil.table.discretize import Discretizer, make_discretizer

SCHEMA = "chainveil chain"
FIELDS = {"schema", "schema_version", "origin", "transition", "counts", "discretization"}
PARTS = {"edges", "states", "labels", "origin"}


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
    document = parse(read_text(path), "chain")
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InvalidInput("chain", str(path), "a file written by chainveil fit")
    if document.get("schema_version") != 1:
        raise InvalidInput("chain", document.get("schema_version"), "schema version 1")
    if set(document) != FIELDS or document["origin"] not in ("reference", "private"):
        raise InvalidInput("chain", sorted(document), f"the fields {sorted(FIELDS)}")
    try:
        chain = MarkovChain(document["transition"], counts=document["counts"])
        discretizer = _discretizer(document["discretization"])
    except (TypeError, AttributeError):
        raise InvalidInput("chain", str(path), "a file written by chainveil fit") from None
    return ChainFile(chain, document["origin"], discretizer)


def _discretizer(part: Any) -> Discretizer:
    if not isinstance(part, dict) or set(part) != PARTS:
        raise InvalidInput("chain discretization", part, f"the fields {sorted(PARTS)}")
    if part["origin"] not in EDGES_ORIGIN:
        raise InvalidInput("chain discretization origin", part["origin"], " or ".join(EDGES_ORIGIN))
    given = {"edges": part["edges"]} if part["edges"] else {"states": part["states"]}
    return make_discretizer(**given, labels=part["labels"], origin=part["origin"])
