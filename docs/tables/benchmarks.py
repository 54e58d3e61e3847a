"""Put tables of ``benchmarks/results.md`` into pages: ``python docs/tables/benchmarks.py``."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "benchmarks" / "results.md"
PAGES = {"peers": DOCS / "others.md", "device": DOCS / "device.md"}


def table(name: str) -> str:
    """The table of one benchmark, as the results have it."""
    section = RESULTS.read_text(encoding="utf-8").split(f"\n## {name}\n")[1].split("\n## ")[0]
    return "\n".join(line for line in section.splitlines() if line.startswith("|"))


def page(name: str, text: str) -> str:
    """A page with the table of a benchmark made anew."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    return re.sub(
        f"{begin}.*?{end}", lambda _: f"{begin}\n{table(name)}\n{end}", text, flags=re.DOTALL
    )


if __name__ == "__main__":
    for name, path in PAGES.items():
        path.write_text(page(name, path.read_text(encoding="utf-8")), encoding="utf-8")
