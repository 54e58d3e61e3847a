"""The tables of coverage in docs/estimates.md, from the file that the experiment leaves."""

from __future__ import annotations
from pathlib import Path


def write_tables(results: Path, page: Path) -> None: ...
