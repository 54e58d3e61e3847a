"""Tables whose chain has a longer memory: fitted inside, given, or in a plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import chainveil as cv
from chainveil.table.read.frames import FrameSource
from chainveil.table.request.request import Layout, StateRules
from chainveil.table.states.fitting import fit_table

CHAIN = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], order=2)


def _frame(rows: int = 1500, points: int = 5, seed: int = 1) -> pl.DataFrame:
    """Short series, the rows of all of them mixed in the order of time."""
    x = CHAIN.sample(points, rows, rng=seed)
    people, times = np.divmod(np.arange(x.size), points)
    order = np.argsort(times, kind="stable")
    frame = {"person": people[order], "minute": times[order], "x": x.reshape(-1)[order]}
    return pl.DataFrame(frame)


WAYS: dict[str, dict[str, Any]] = {
    "fitted": {"order": 2},
    "chosen": {"order": "auto"},
    "reference": {"order": 2, "reference": _frame(seed=2)},
    "given": {"chain": CHAIN},
    "private fit": {"chain": cv.HigherOrderChain.fit(CHAIN.sample(9000, rng=3), 2)},
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_a_chain(way: str) -> None:
    frame = _frame()
    done = cv.sanitize_table(
        frame, "x", 2.0, series="person", time="minute", states=[0, 1], max_length=5, **WAYS[way]
    )
    assert done.table.height == frame.height
    assert done.certificate.plan().chain.order == 2
    assert cv.verify(done.certificate, done.table).holds
    origins = {"reference": "reference", "given": "given"}
    assert done.certificate["chain.origin"] == origins.get(way, "private")


def test_mixed_rows_are_fitted_as_the_series_they_are() -> None:
    frame = _frame()
    found = fit_table(
        FrameSource(frame), Layout("x", "person", "minute"), StateRules(states=[0, 1]), order="auto"
    )
    x = frame.sort("person", "minute")["x"].to_numpy().reshape(-1, 5)
    expected = cv.MarkovChain.fit(x, order="auto")
    assert found.chain == expected
    assert found.chain.order_choice == expected.order_choice
    assert np.array_equal(found.chain.counts, expected.counts)  # type: ignore[arg-type]
    smooth = fit_table(
        FrameSource(frame), Layout("x", "person", "minute"), StateRules(states=[0, 1]),
        order=3, pseudocount=0.5,
    )  # fmt: skip
    assert smooth.chain == cv.HigherOrderChain.fit(x, 3, pseudocount=0.5)


def test_no_context_reaches_across_a_split() -> None:
    times = [0, 1, 2, 10, 11, 12, 13]
    frame = pl.DataFrame({"t": times, "x": [0, 1, 1, 0, 0, 1, 0]})
    found = fit_table(
        FrameSource(frame), Layout("x", None, "t", max_gap=1), StateRules(states=[0, 1]), order=2,
        pseudocount=1.0,
    )  # fmt: skip
    expected = cv.HigherOrderChain.fit([[0, 1, 1], [0, 0, 1, 0]], 2, pseudocount=1.0)
    assert found.chain == expected
    assert found.splits == 1


def test_a_plan_of_a_longer_memory_and_orders_beside_it() -> None:
    plan = cv.calibrate(CHAIN, 2.0, max_length=5)
    how: dict[str, Any] = {"series": "person", "time": "minute", "states": [0, 1]}
    done = cv.sanitize_table(_frame(), "x", plan=plan, **how)
    assert done.certificate.plan().noise == plan.noise
    for given in ({"plan": plan}, {"chain": CHAIN, "epsilon": 2.0}):
        with pytest.raises(cv.InvalidInput, match="order already"):
            cv.sanitize_table(_frame(), "x", order=2, **given, **how)
