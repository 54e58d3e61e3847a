"""The code of docs/extending.md: its modules, and what it does with them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"# (\w+)\.py\n")


def blocks(language: str) -> list[str]:
    """The blocks of a language, in their order."""
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return [code for named, code in found if named == language]


def modules() -> dict[str, str]:
    """The code of each module that the page shows, by its name."""
    named = ((NAME.match(code), code) for code in blocks("python"))
    return {match.group(1): code for match, code in named if match is not None}


def steps() -> list[str]:
    """What the page does with the modules."""
    return [code for code in blocks("python") if NAME.match(code) is None]


def install(folder: Path) -> None:
    """Write the modules, and the metadata that an installed package of them has."""
    for name, code in modules().items():
        (folder / f"{name}.py").write_text(code)
    metadata = folder / "toys-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (points,) = blocks("toml")
    found = re.findall(r'^\[project\.entry-points\."([\w.]+)"\]\n(\w+) = "(\w+)"', points, re.M)
    assert found == [("chainveil.noise", "repeating", "repeating")]
    groups = [*found, ("chainveil.model", "seasonal", "seasonal")]
    lines = [f"[{group}]\n{name} = {module}\n" for group, name, module in groups]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
