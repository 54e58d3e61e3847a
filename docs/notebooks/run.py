"""Run notebooks and keep what they print: ``python docs/notebooks/run.py [NAME …]``.

Needs no Jupyter. What a cell prints, and the value of its last line, are written into the
notebook; the tests run the cells again and compare.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def notebooks() -> list[Path]:
    """The notebooks of this folder."""
    return sorted(HERE.glob("*.ipynb"))


def executed(path: Path) -> dict[str, Any]:
    """A notebook with what its cells print, each after those before it."""
    book: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with tempfile.TemporaryDirectory() as folder, _inside(folder):
        for cell in book["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"] = count
                cell["outputs"] = _outputs(_run("".join(cell["source"]), names))
    return book


def _run(source: str, names: dict[str, Any]) -> str:
    """What a cell prints, and the value of its last line if it has one."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                print(repr(value))
    return told.getvalue()


def _outputs(text: str) -> list[dict[str, Any]]:
    lines = text.splitlines(keepends=True)
    return [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """In a folder of its own, drawing figures without a screen."""
    before = os.environ.get("MPLBACKEND")
    os.environ["MPLBACKEND"] = "Agg"
    with contextlib.chdir(folder):
        yield
    os.environ.pop("MPLBACKEND")
    if before is not None:
        os.environ["MPLBACKEND"] = before


def written(book: dict[str, Any]) -> str:
    """A notebook as it lies in the folder."""
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    chosen = [HERE / name for name in sys.argv[1:]] or notebooks()
    for path in chosen:
        path.write_text(written(executed(path)), encoding="utf-8")
