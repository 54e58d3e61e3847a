"""A frame is released piece by piece, so that a bar can move: the release is the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import chainveil as cv
from chainveil.table import sanitize

CHAIN = cv.MarkovChain.binary(0.1, 0.2)
WAYS: list[dict[str, Any]] = [
    {"mechanism": "independent"},
    {"mechanism": "sticky"},
    {"mechanism": "sticky", "time": "minute", "time_as": "index"},
    {"mechanism": "sticky", "every": 3},
    {"mechanism": "independent", "missing": "keep"},
    {"mechanism": "independent", "labels": ["low", "high"], "series": None},
]


@cache
def _plan(mechanism: str, every: int) -> cv.NoisePlan:
    return cv.calibrate(CHAIN, 3.0, mechanism=mechanism, every=every)


def _frame(missing: bool) -> pd.DataFrame:
    states = CHAIN.sample(300, rng=1).astype(float)
    if missing:
        states[::7] = np.nan
    return pd.DataFrame({"x": states, "who": np.arange(300) % 3, "minute": np.arange(300)})


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_pieces_make_the_same_release(
    how: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame: Any = _frame("missing" in how)
    frame = pl.from_pandas(frame) if kind == "polars" else frame
    plan = _plan(how["mechanism"], how.get("every", 1))
    given: dict[str, Any] = {"plan": plan, "states": [0, 1], "series": "who"}
    given |= {name: how[name] for name in how if name not in ("mechanism", "every")}
    whole = cv.sanitize_table(frame, "x", rng=cv.mechanism.seeded(1), **given)
    monkeypatch.setattr(sanitize, "PIECE", 37)
    pieces = cv.sanitize_table(frame, "x", rng=cv.mechanism.seeded(1), **given)
    assert whole.table.equals(pieces.table)
    digest = "release.states_sha256"
    assert whole.certificate[digest] == pieces.certificate[digest]
    assert cv.verify(pieces.certificate, pieces.table).holds
