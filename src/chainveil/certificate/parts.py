"""One digest for a release of many files, which no single machine need read in a row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def listing_digest(parts: Iterable[tuple[str, int, str]]) -> str:
    """SHA-256 of a listing: for each part, in the order of the names, one line of text.

    A line is the digest of the part in hexadecimal, its size (rows or bytes) and its name,
    with a blank between them, in UTF-8.
    """
    lines = (f"{digest} {size} {name}\n" for name, size, digest in sorted(parts))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
