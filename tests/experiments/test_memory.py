"""Pieces of the experiment on mechanisms that remember, and its committed results."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import chainveil as cv
from experiments import mechanisms, memory
from experiments.run import read_result

DOCS = Path(__file__).resolve().parents[2] / "docs"
INDEPENDENT, THINNED = memory.CONTENDERS[:2]


def test_what_cannot_be_calibrated_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise cv.NotSupported("not yet")

    mechanisms.offered.cache_clear()
    assert mechanisms.offered("independent")
    monkeypatch.setattr(mechanisms, "plan_of", refused)
    mechanisms.offered.cache_clear()
    assert not mechanisms.offered("independent")
    mechanisms.offered.cache_clear()


def test_the_block_with_the_fewest_wrong_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {1: 0.4, 2: 0.35, 3: 0.3, 5: 0.33}
    monkeypatch.setattr(memory, "offered", lambda mechanism, every: every != 3)
    monkeypatch.setattr(
        memory, "plan_of", lambda *case: SimpleNamespace(expected_flips=wrong[case[-1]])
    )
    settings = {"every": [2, 3, 5]}
    assert INDEPENDENT.blocks(settings) == [1]
    assert THINNED.blocks(settings) == [2, 5]
    series: Any = SimpleNamespace(chain=None)
    assert memory.best_plan(THINNED, series, 2.0, settings).expected_flips == 0.33


def test_committed_reports_are_as_wrong_as_the_chain_expects() -> None:
    """On the synthetic series; means of ten releases, within five of their standard errors.

    Releases share the series, whose own share of states moves what is expected a little.
    """
    result = read_result("memory", DOCS / "reproduction")
    assert result is not None
    rows = [row for row in result.rows if row["series"] == "synthetic"]
    assert rows
    for row in rows:
        assert row["loss"] <= row["epsilon"]
        assert abs(row["wrong"] - row["expected"]) < 5 * row["deviation"] / 10**0.5 + 0.002
