"""What `chainveil attack` says about bounds, on data that follow the chain and on others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from tests.cli.program import called

COLUMN = ("--column", "x", "--states", "0,1")


def _attacked(folder: Path, x: Any, *how: str) -> tuple[dict[str, Any], bytes]:
    (folder / "x.csv").write_text("x\n" + "\n".join(map(str, x)) + "\n")
    called("sanitize", "x.csv", *COLUMN, *how, "--seed", "3", "-o", "z.csv", folder=folder)
    done = called("attack", "z.csv", "--original", "x.csv", "--json", folder=folder)
    return json.loads(done.stdout), done.stderr


def test_data_that_beat_the_bound_of_a_chain_are_named(tmp_path: Path) -> None:
    """Nineteen of twenty points are 1, which no chain that changes every other time explains."""
    x = (np.random.default_rng(1).random(4000) < 0.95).astype(int)
    facts, told = _attacked(tmp_path, x, "--q", "0.5", "--r", "0.5", "--epsilon", "0.5")
    assert facts["guess_without_release"] == pytest.approx(x.mean())
    assert facts["guess_without_release"] > facts["bound"]
    assert facts["bound_beaten_by"] == ["guessing the commonest state"]
    assert b"do not follow the model" in told


def test_data_that_follow_the_chain_stay_below_it(tmp_path: Path) -> None:
    x = cv.MarkovChain.binary(0.1, 0.2).sample(4000, rng=2)
    facts, told = _attacked(tmp_path, x, "--q", "0.1", "--r", "0.2", "--epsilon", "1")
    assert facts["bound_beaten_by"] == []
    assert b"beat" not in told


def test_a_promise_against_the_informed_alone_is_no_bound(tmp_path: Path) -> None:
    """Who knows nothing beforehand is right in nine of ten points: far above e / (1 + e)."""
    x = cv.MarkovChain.symmetric(0.02).sample(4000, rng=2)
    facts, _ = _attacked(tmp_path, x, "--q", "0.02", "--r", "0.02", "--epsilon", "1",
                            "--adversary", "informed")  # fmt: skip
    assert facts["attackers"]["posterior"]["low"] > np.e / (1 + np.e)
    assert facts["attackers"]["posterior"]["right"] <= facts["bound"]
    assert facts["bound_beaten_by"] == []
