"""Where a sample of a table is taken: pieces of neighbouring rows from all over it."""

from __future__ import annotations

from pathlib import Path

# Rows of a sample, and the pieces it is made of.
MOST_SAMPLED, PIECES = 50_000, 16


def spread(count: int, most: int = PIECES) -> list[int]:
    """At most ``most`` of the numbers below ``count``, evenly spread, the first among them."""
    if count <= most:
        return list(range(count))
    return [number * count // most for number in range(most)]


def slices(rows: int) -> list[tuple[int, int]]:
    """Pieces of a table that can be read anywhere, as first row and number of rows."""
    if rows <= MOST_SAMPLED:
        return [(0, rows)] if rows else []
    size = MOST_SAMPLED // PIECES
    return [(number * (rows - size) // (PIECES - 1), size) for number in range(PIECES)]


def lines_by_size(path: Path, looked_at: int = 1 << 16) -> int | None:
    """About how many lines a text file has, by its first ones and its size; for a bar alone."""
    if not path.is_file():
        # A pipe is read once, and not for this.
        return None
    with path.open("rb") as file:
        head = file.read(looked_at)
    lines = head.count(b"\n")
    return round(path.stat().st_size * lines / len(head)) if lines else None
