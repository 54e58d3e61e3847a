"""The heart-rate records N5 and N10, read where they are and never copied."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chainveil.cli.fetching import FOLDERS, held_in
from chainveil.errors import InvalidInput

COLLECTION = "meditation"
ADVICE = (
    "fetch it with `chainveil data fetch meditation/{name}`, or set CHAINVEIL_DATA to a folder "
    f"that holds {FOLDERS[COLLECTION]}/{{name}}"
)


def find_record(name: str) -> Path | None:
    """The file of a record, in $CHAINVEIL_DATA or in the cache of ``chainveil data fetch``.

    None where it is in neither.
    """
    given = os.environ.get("CHAINVEIL_DATA")
    held = held_in(given, f"{COLLECTION}/{name}") if given else None
    return held or _fetched(name)


def _fetched(name: str) -> Path | None:
    """A file in the cache of downloads, which puts a digest before the name."""
    import pooch

    found = sorted(Path(pooch.os_cache("chainveil")).glob(f"*-{name}"))
    return found[0] if found else None


def missing_record(name: str) -> str:
    """What is not there and what to do, in one sentence."""
    return f"heart rate {name}: no file; {ADVICE.format(name=name)}"


def read_record(path: Path) -> NDArray[np.uint8]:
    """A record as two states, as in Section 4.3: 1 at or above the mean rate."""
    rate = np.empty(0)
    if path.stat().st_size:
        with suppress(ValueError, IndexError):
            rate = np.loadtxt(path, ndmin=2)[:, 1]
    if rate.size < 2 or not np.isfinite(rate).all():
        raise InvalidInput(
            "CHAINVEIL_DATA", str(path), "two columns of numbers: seconds, and beats a minute"
        )
    return np.asarray(rate >= rate.mean(), dtype=np.uint8)
