"""Notebooks run, and print what they show; the picture of the rooms is drawn from the imports."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
NUMBER = re.compile(r"\d+\.?\d*")


def _script(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), DOCS / f"{path}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = _script("notebooks/run")


def _told(book: Any) -> list[str]:
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    return [
        "".join(line for output in cell["outputs"] for line in output["text"]) for cell in cells
    ]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem == "curator" else pytest.mark.slow)
        for path in RUN.notebooks()
    ],
)
def test_a_notebook_prints_what_it_shows(path: Path) -> None:
    """To the digit that searches share on all machines."""
    shown, printed = _told(json.loads(path.read_text(encoding="utf-8"))), _told(RUN.executed(path))
    assert len(shown) > 3
    for before, now in zip(shown, printed, strict=True):
        assert NUMBER.sub("#", now) == NUMBER.sub("#", before)
        old, new = ([float(n) for n in NUMBER.findall(text)] for text in (before, now))
        assert new == pytest.approx(old, abs=2e-3, rel=0.02)


def test_there_are_three() -> None:
    assert {path.stem for path in RUN.notebooks()} == {"curator", "analyst", "researcher"}


def test_a_cell_that_fails_is_noticed(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ["1 / 0"], "outputs": [], "metadata": {}}
    (tmp_path / "wrong.ipynb").write_text(json.dumps({"cells": [cell]}))
    with pytest.raises(ZeroDivisionError):
        RUN.executed(tmp_path / "wrong.ipynb")


@pytest.mark.slow
def test_the_picture_of_the_rooms_is_that_of_the_imports() -> None:
    rooms = _script("figures/rooms")
    drawn = (DOCS / "figures/rooms.svg").read_text(encoding="utf-8")
    assert rooms.draw() == drawn, "run python docs/figures/rooms.py"
    assert "privacy" in rooms.reach(rooms.imports(), "calibration")
