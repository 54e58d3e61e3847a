"""Certificates to change, and the seal that whoever changes them puts on again."""

from __future__ import annotations

import copy
import json
from typing import Any

import chainveil as cv
from chainveil.certificate.document import seal


def plain(certificate: cv.Certificate) -> dict[str, Any]:
    """A copy of the fields that may be changed."""
    return copy.deepcopy(dict(certificate.document))


def put(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The document itself, with another value at a path."""
    section, (*way, last) = document, path.split(".")
    for key in way:
        section = section[key]
    section[last] = value
    return document


def resealed(document: dict[str, Any]) -> cv.Certificate:
    """The certificate that a forger hands over: the seal fits."""
    sealed = {**document, "seal": {"algorithm": "sha256", "digest": seal(document)}}
    return cv.Certificate.from_json(json.dumps(sealed))
