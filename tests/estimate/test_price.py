"""What a promise costs that holds for one chain, for several, for a longer memory."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from chainveil import InvalidInput, MarkovChain, ModelFamily, calibrate
from chainveil.estimate import error_at, own_family, prices

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
    assert "a share is estimated by likelihood alone" in str(table)
    three = MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    (none,) = prices({"three": three}, 2.0, 1000, mechanisms=["correlated"]).prices
    assert none.wrong is None
    assert none.reason
    with pytest.raises(InvalidInput, match="points"):
        prices({"one": FAST}, 2.0, 1)


def test_a_frame_of_prices() -> None:
    frame = prices({"one": FAST}, 2.0, 1000, mechanisms=["independent"]).to_frame("arrow")
    assert frame.column_names == ["model", "mechanism", "wrong", "error", "loss", "reason"]


def test_the_family_of_own_chains() -> None:
    rng = np.random.default_rng(1)
    x = [SLOW.sample(500, rng=rng), FAST.sample(500, rng=rng), FAST.sample(40, rng=rng)]
    family = own_family(x, 2, 1, public=True)
    assert family is not None
    assert len(family) == 2
    assert family.members[0] == MarkovChain.fit(x[0], public=True, pseudocount=0.5)
    second = own_family(x, 2, 2, public=True)
    assert second is not None
    assert second.order == 2
    longer = cv.HigherOrderChain([[0.95, 0.05], [0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], order=2)
    mixed = own_family([x[0], longer.sample(1500, rng=3)], 2, "auto")
    assert mixed is not None
    assert [member.order for member in mixed.members] == [1, 2]
    assert own_family([[0, 1, 0]], 2, 1) is None
    assert own_family([[0, 1, 0]], 2, "auto") is None
    assert cv.privacy_loss(family, cv.Channel.binary(0.4, 0.4)).epsilon > 0
