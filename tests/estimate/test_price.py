"""What a promise costs that holds for one chain, for several, for a longer memory."""

from __future__ import annotations

import pytest

from chainveil import InvalidInput, MarkovChain, ModelFamily, calibrate
from chainveil.estimate import error_at, prices

SLOW, FAST = MarkovChain.binary(0.06, 0.1), MarkovChain.binary(0.2, 0.3)


def test_a_promise_for_more_costs_more_and_is_kept() -> None:
    family = ModelFamily([SLOW, FAST])
    table = prices({"one": FAST, "both": family}, 2.0, 10_000, mechanisms=["independent", "sticky"])
    assert [(p.model, p.mechanism) for p in table.prices] == [
        ("one", "independent"), ("one", "sticky"), ("both", "independent"), ("both", "sticky"),
    ]  # fmt: skip
    one, _, both, _ = table.prices
    assert one.wrong is not None
    assert both.wrong is not None
    assert one.wrong < both.wrong
    assert all(p.loss is not None and p.loss <= 2.0 for p in table.prices)
    plan = calibrate(FAST, 2.0, mechanism="independent")
    assert one.wrong == plan.expected_flips
    assert one.error == error_at(plan, 10_000).largest
    # All rows are judged on the first model's chain.
    assert table.judged is FAST
    assert both.wrong == calibrate(family, 2.0, mechanism="independent").noise.expected_flips(FAST)


def test_what_is_not_offered_says_why() -> None:
    table = prices({"one": FAST}, 2.0, 1000, mechanisms=["tracking"])
    (price,) = table.prices
    assert price.wrong is not None
    assert price.error is None
    assert "shares cannot be estimated" in str(table)
    three = MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    (none,) = prices({"three": three}, 2.0, 1000, mechanisms=["correlated"]).prices
    assert none.wrong is None
    assert none.reason
    with pytest.raises(InvalidInput, match="points"):
        prices({"one": FAST}, 2.0, 1)


def test_a_frame_of_prices() -> None:
    frame = prices({"one": FAST}, 2.0, 1000, mechanisms=["independent"]).to_frame("arrow")
    assert frame.column_names == ["model", "mechanism", "wrong", "error", "loss", "reason"]
