"""What was promised and done, as JSON that anyone can check again.

A certificate is validated when it is read, and verified by computing everything it
claims from its own contents: chain, noise, loss, witness. The schema is in
``schema.py``; ``docs/certificate.md`` explains it field by field.
"""

from __future__ import annotations

from chainveil.certificate.checking import check
from chainveil.certificate.document import Certificate
from chainveil.certificate.make import (
    Discretization,
    Released,
    ReleasedFile,
    certify,
    certify_groups,
)
from chainveil.certificate.parts import listing_digest
from chainveil.certificate.results import Check, Verification
from chainveil.certificate.work import allowing

__all__ = [
    "Certificate",
    "Check",
    "Discretization",
    "Released",
    "ReleasedFile",
    "Verification",
    "allowing",
    "certify",
    "certify_groups",
    "check",
    "listing_digest",
]
