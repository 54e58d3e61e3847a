"""Nothing that a user gets has changed against what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recorded.cases import CASES

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("recorded.json").read_text())


@pytest.mark.parametrize("name", list(CASES))
def test_as_recorded(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(json.dumps(CASES[name]()))
    capsys.readouterr()
    assert found.keys() == RECORDED[name].keys()
    for key, value in RECORDED[name].items():
        assert found[key] == value, key
