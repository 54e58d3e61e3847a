"""Nothing that a user gets has changed against what was recorded.

Noise levels come from a numerical search, whose last digits depend on the processor: numbers are
compared to six digits, everything else exactly.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recorded.cases import CASES

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("recorded.json").read_text())
# Whole numbers above it are noise levels in units of 2^-53.
LARGEST_COUNT = 1 << 30


@pytest.mark.parametrize("name", list(CASES))
def test_as_recorded(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(json.dumps(CASES[name]()))
    capsys.readouterr()
    assert found.keys() == RECORDED[name].keys()
    for key, value in RECORDED[name].items():
        _same(found[key], value, key)


def _same(found: Any, value: Any, place: str) -> None:
    if isinstance(value, dict):
        assert found.keys() == value.keys(), place
        for key in value:
            _same(found[key], value[key], f"{place}.{key}")
    elif isinstance(value, list):
        assert len(found) == len(value), place
        for number, (one, other) in enumerate(zip(found, value, strict=True)):
            _same(one, other, f"{place}[{number}]")
    elif isinstance(value, float) or (isinstance(value, int) and value > LARGEST_COUNT):
        assert found == pytest.approx(value, rel=1e-6, abs=1e-9), place
    else:
        assert found == value, place
