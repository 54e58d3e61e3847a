"""The original at the points of a release, for the curator's pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import chainveil as cv
from chainveil.mechanism import seeded
from chainveil.table.read.frames import FrameSource
from chainveil.table.released.comparing import original_states
from chainveil.table.released.states import read_released

CHAIN = cv.MarkovChain.binary(0.1, 0.2)


def _release(frame: pd.DataFrame, **how: Any) -> Any:
    plan = cv.calibrate(CHAIN, 3.0)
    return cv.sanitize_table(frame, "x", plan=plan, series="who", rng=seeded(1), **how)


def test_states_lie_where_the_release_has_them() -> None:
    """Also where rows of several series are mixed and where values are missing."""
    states = CHAIN.sample(400, rng=2).astype(float)
    states[::7] = np.nan
    frame = pd.DataFrame({"x": states, "who": np.arange(400) % 3})
    release = _release(frame, missing="keep", states=[0, 1])
    held = read_released(release.table, release.certificate)
    found = original_states(
        release.certificate, FrameSource(frame), FrameSource(release.table), held.states, held.order
    )
    for who, part in enumerate(found):
        truth = states[who::3]
        there = ~np.ma.getmaskarray(part)
        np.testing.assert_array_equal(there, ~np.isnan(truth))
        np.testing.assert_array_equal(np.asarray(part)[there], truth[there])


def test_another_table_is_refused() -> None:
    frame = pd.DataFrame({"x": CHAIN.sample(100, rng=2), "who": np.arange(100) % 2})
    release = _release(frame)
    held = read_released(release.table, release.certificate)
    for other, words in ((frame.head(99), "99 rows"), (frame.iloc[::-1], "series at other rows")):
        with pytest.raises(cv.InvalidInput, match=words):
            original_states(release.certificate, FrameSource(other), FrameSource(release.table),
                            held.states, held.order)  # fmt: skip
