"""Draw the rooms from what files import: ``python docs/figures/rooms.py [FILE]``.

A line leads from a room to one that it imports; lines that follow from others are left out. The
tests draw the picture again and compare it with the one in the folder, so that it cannot go stale.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import chainveil

ROOT = Path(chainveil.__file__).parent
GOAL = Path(__file__).with_suffix(".svg")
# What every room needs is drawn as one.
COMMON = (
    "errors", "text", "checks", "notebook", "progress", "sequences", "counts", "compiled",
    "plugins",
)  # fmt: skip
BASE = "errors, checks, …"
# Names that point forward: a plan hands out its certificate, plans and answers draw themselves, and
# the checks of a model and of a noise are public beside them.
FORWARD = {
    ("plan", "certificate"), ("plan", "plot"), ("estimate", "plot"), ("table", "plot"),
    ("model", "contract"), ("noise", "contract"),
}  # fmt: skip
WORDS = {
    BASE: "what every room needs", "model": "what data may follow",
    "noise": "how a report is drawn", "privacy": "exact loss, least noise",
    "mechanism": "draws the noise", "plan": "noise with its loss",
    "calibration": "from budget to plan", "inference": "hidden models",
    "attack": "attackers, audits", "estimate": "what may be learnt",
    "certificate": "promised and done", "device": "a program for devices",
    "table": "files and frames", "contract": "checks for extensions",
    "spark": "the same on a cluster", "plot": "figures",
    "report": "pages", "comparison": "before a release",
    "cli": "parse, call, print",
}  # fmt: skip
# The way of the data, in the order in which they pass.
WAY = ("table", "model", "calibration", "plan", "mechanism", "certificate")
COLUMNS = {
    "attack": 0, "estimate": 1, "spark": 2.5, "device": 4, "contract": 0, "plot": 5, "report": 3.5,
    "comparison": 1, "cli": 2.5,
    "table": 2.5, "calibration": 2, "certificate": 3, "plan": 2.5, "inference": 1, "mechanism": 2,
    "privacy": 3, "noise": 2.5, "model": 2.5, BASE: 2.5,
}  # fmt: skip
# Where a room stands that nobody gave a place.
LAST = 5
WIDE, HIGH, ACROSS, DOWN, EDGE = 142, 46, 16, 36, 12


def room(parts: tuple[str, ...]) -> str:
    """The room of a module, given by its path below the package."""
    return BASE if parts[0] in COMMON else parts[0]


def imports() -> dict[str, set[str]]:
    """The rooms that each room imports, anywhere in its files; those for type checkers left out."""
    found: dict[str, set[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts == ("__init__",):
            continue
        here = room(parts)
        others = {room(tuple(name.split(".")[1:])) for name in _names(path)}
        found.setdefault(here, set()).update(others - {here})
    return {
        here: {other for other in others if other in found and (here, other) not in FORWARD}
        for here, others in found.items()
    }


def _names(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name for name in names if name.startswith("chainveil.") and name[10:11].islower()]


def reach(graph: dict[str, set[str]], start: str) -> set[str]:
    """All rooms that a room needs, directly or not."""
    found: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        here = ahead.pop()
        if here not in found:
            found.add(here)
            ahead += graph[here]
    return found


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same graph without the lines that follow from others."""
    return {
        here: {o for o in others if not any(o in reach(graph, via) for via in others - {o})}
        for here, others in graph.items()
    }


def rows(graph: dict[str, set[str]]) -> list[list[str]]:
    """Rooms from the bottom: by the way down to the common ground; those for users near the top."""
    depth: dict[str, int] = {}

    def down(here: str) -> int:
        if here not in depth:
            depth[here] = 1 + max((down(other) for other in graph[here]), default=-1)
        return depth[here]

    top = max(map(down, graph))
    used = {other for here, others in graph.items() if depth[here] < top for other in others}
    level = {
        here: top - 1 if here not in used and depth[here] < top else depth[here] for here in graph
    }
    return [sorted(r for r in graph if level[r] == n) for n in range(top + 1)]


def draw() -> str:
    """The picture as SVG."""
    graph = imports()
    levels = rows(graph)[::-1]
    width = max(COLUMNS.values()) * (WIDE + ACROSS) + WIDE + 2 * EDGE
    height = len(levels) * (HIGH + DOWN) - DOWN + 2 * EDGE
    places = {
        name: (EDGE + COLUMNS.get(name, LAST) * (WIDE + ACROSS), EDGE + j * (HIGH + DOWN))
        for j, level in enumerate(levels)
        for name in level
    }
    lines = [
        _line(places[a], places[b]) for a, bs in sorted(reduced(graph).items()) for b in sorted(bs)
    ]
    boxes = [_box(name, *place) for name, place in sorted(places.items())]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" '
        f'width="{width:g}" height="{height}" font-family="sans-serif" text-anchor="middle">'
    )
    ground = f'<rect width="{width:g}" height="{height}" fill="white"/>'
    return "\n".join([head, ground, *lines, *boxes, "</svg>"]) + "\n"


def _line(above: tuple[float, float], below: tuple[float, float]) -> str:
    x, y = above[0] + WIDE / 2, above[1] + HIGH
    u, v = below[0] + WIDE / 2, below[1]
    # Straight down, and across in the last gap only: past the boxes in between.
    turn = v - DOWN
    path = f"M{x:g} {y:g} V{turn:g} C{x:g} {v:g} {u:g} {turn:g} {u:g} {v:g}"
    return f'<path d="{path}" fill="none" stroke="#889" stroke-width="1.2"/>'


def _box(name: str, x: float, y: float) -> str:
    step = f"{WAY.index(name) + 1} · " if name in WAY else ""
    colour = "#dceeff" if name in WAY else "#f4f4f4"
    middle = x + WIDE / 2
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="6" fill="{colour}" '
        f'stroke="#557"/><text x="{middle:g}" y="{y + 19:g}" font-size="14" font-weight="bold" '
        f'fill="#222">{step}{name}</text><text x="{middle:g}" y="{y + 36:g}" font-size="11" '
        f'fill="#444">{WORDS.get(name, "")}</text>'
    )


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else GOAL).write_text(draw(), encoding="utf-8")
