"""Files that are read more than once have to be the same each time."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from chainveil.errors import InvalidInput

# Device, number, size, and the times of the last changes to content and to the rest.
Identity = tuple[tuple[str, int, int, int, int, int], ...]


def identity(name: str, files: Iterable[Path]) -> Identity:
    """What tells whether files were exchanged or written to; ``name`` is for messages."""
    return tuple(_one(name, path) for path in files)


def check_unchanged(name: str, before: Identity, files: Iterable[Path]) -> None:
    """Error unless the files are what they were."""
    try:
        same = identity(name, files) == before
    except FileNotFoundError:
        same = False
    if not same:
        raise InvalidInput(
            f"table {name}", "a file that was changed, exchanged or removed while it was read",
            "a table that stays the same until its release is written",
            "Nothing was written. Work on a copy.",
        )  # fmt: skip


def _one(name: str, path: Path) -> tuple[str, int, int, int, int, int]:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput(
            f"table {name}", "a pipe or a device", "a file, or - for standard input",
            "A table is read more than once.",
        )  # fmt: skip
    numbers = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return (str(path), *numbers)
