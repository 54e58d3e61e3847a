"""Draw docs/figures/analyst.png: ``python docs/figures/analyst.py`` runs docs/analyst.md."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the page, and keep its figure."""
    text = (HERE.parent / "analyst.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        names: dict[str, object] = {}
        for example in doctest.DocTestParser().get_examples("\n".join(blocks)):
            exec(compile(example.source, "analyst.md", "single"), names)
        shutil.copy("hours.png", HERE / "analyst.png")
        os.chdir(HERE)


if __name__ == "__main__":
    main()
