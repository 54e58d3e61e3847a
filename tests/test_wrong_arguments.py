"""Arguments that are something else altogether: an error that names them, and shows no data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import chainveil as cv
from chainveil import attack, baselines, estimate, inference, mechanism

CHAIN, NOISE = cv.MarkovChain.binary(0.1, 0.2), cv.Channel.binary(0.2, 0.3)
REGION = cv.ChainRegion((0.1, 0.2), (0.1, 0.2))
FRAME = pd.DataFrame({"x": [0, 1] * 200})
PAIR: Any = (0.1, 0.2)
ANY: Any = cv


def _table(*given: Any, **more: Any) -> Any:
    return cv.sanitize_table(*given, **{"states": [0, 1], **more})


CASES: dict[str, tuple[str, Callable[[], Any]]] = {
    "table, several budgets": ("epsilon", lambda: _table(FRAME, "x", [1, 2], chain=CHAIN)),
    "table, a pair for a chain": ("chain", lambda: _table(FRAME, "x", 1, chain=PAIR)),
    "table, swapped": ("column", lambda: _table("x", FRAME, 1, chain=CHAIN)),
    "table, a chain for a plan": ("plan", lambda: _table(FRAME, "x", plan=CHAIN)),
    "table, one channel spent": (
        "earlier",
        lambda: _table(FRAME, "x", 1, chain=CHAIN, earlier=NOISE),
    ),
    "table, a number spent": ("earlier", lambda: _table(FRAME, "x", 1, chain=CHAIN, earlier=5)),
    "table, a number of states": ("states", lambda: _table(FRAME, "x", 1, states=2)),
    "table, nested limits": (
        "threshold",
        lambda: _table(FRAME, "x", 1, states=None, threshold=[[5]]),
    ),
    "table, a text of labels": ("labels", lambda: _table(FRAME, "x", 1, labels="ab")),
    "table, an order in words": ("order", lambda: _table(FRAME, "x", 1, order="best")),
    "chain, no order": ("order", lambda: ANY.HigherOrderChain([[0.5, 0.5]] * 4, None)),
    "chain, swapped": ("order", lambda: ANY.HigherOrderChain(2, [[0.5, 0.5]] * 4)),
    "fit, a frame for a pseudocount": (
        "pseudocount",
        lambda: ANY.MarkovChain.fit([0, 1, 0], pseudocount=FRAME),
    ),
    "order, a number for series": ("sequences", lambda: ANY.choose_order(3)),
    "plan, swapped": ("model", lambda: ANY.calibrate(2.0, CHAIN)),
    "plan, a pair for a chain": ("model", lambda: ANY.calibrate(PAIR, 1)),
    "plan, data for a chain": ("model", lambda: ANY.calibrate(FRAME, 1)),
    "plan, nested budgets": ("epsilon", lambda: ANY.calibrate(CHAIN, [[1, 2], [3]])),
    "plan, another mechanism": (
        "mechanism",
        lambda: ANY.calibrate(cv.MarkovChain(np.full((3, 3), 1 / 3)), 1, mechanism="x"),
    ),
    "loss, swapped": ("model", lambda: ANY.privacy_loss(NOISE, CHAIN)),
    "loss, a pair for a chain": ("model", lambda: ANY.privacy_loss(PAIR, NOISE)),
    "loss, steps in words": ("effort", lambda: ANY.privacy_loss(CHAIN, NOISE, effort="x")),
    "loss, no steps": ("effort", lambda: cv.privacy_loss(CHAIN, NOISE, effort=0)),
    "loss, half a step": ("effort", lambda: ANY.privacy_loss(REGION, NOISE, effort=0.5)),
    "loss, another unit": ("unit", lambda: ANY.privacy_loss(CHAIN, NOISE, unit="series")),
    "estimate, swapped": ("noise", lambda: estimate.frequency(NOISE, [0, 1])),
    "estimate, a chain for noise": ("noise", lambda: estimate.transitions([0, 1], CHAIN)),
    "estimate, a pair for a model": ("model", lambda: estimate.denoise([0, 1], NOISE, PAIR)),
    "posterior, swapped": ("chain", lambda: attack.Posterior(NOISE, CHAIN)),  # type: ignore[arg-type]
    "posterior, a pair": ("noise", lambda: attack.Posterior(CHAIN, PAIR)),
    "path, a pair for a chain": ("chain", lambda: attack.Viterbi(PAIR, NOISE)),
    "one bit, a chain": ("noise", lambda: attack.SingleBit(CHAIN)),  # type: ignore[arg-type]
    "smoothing, swapped": ("chain", lambda: inference.smoothed(NOISE, CHAIN, [0])),  # type: ignore[arg-type]
    "best attack, swapped": ("chain", lambda: attack.expected_success(NOISE, CHAIN, 5)),  # type: ignore[arg-type]
    "misfit, a chain": ("noise", lambda: attack.misfit([0, 1] * 50, CHAIN)),  # type: ignore[arg-type]
    "misfit, one order": ("orders", lambda: attack.misfit([0, 1] * 50, NOISE, orders=2)),  # type: ignore[arg-type]
    "audit, a number": ("sanitizer", lambda: attack.audit_sanitizer(5, CHAIN, NOISE)),  # type: ignore[arg-type]
    "bound, a pair": ("chain", lambda: cv.success_bound(PAIR, 1)),
    "others, a pair": ("chain", lambda: baselines.compare(PAIR, 1)),
    "Zhao, a pair": ("chain", lambda: baselines.zhao3_noise(PAIR, 1)),
    "Lange, a pair": ("chain", lambda: baselines.lange_noise(PAIR, 1)),
    "flips, a pair": ("chain", lambda: NOISE.expected_flips(PAIR)),
    "region, one number": ("estimate", lambda: cv.ChainRegion(PAIR, PAIR, 5)),  # type: ignore[arg-type]
    "region, three numbers": ("estimate", lambda: cv.ChainRegion(PAIR, PAIR, (0.1, 0.1, 0.1))),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_in_words(case: str) -> None:
    argument, call = CASES[case]
    with pytest.raises(cv.InvalidInput, match=f"{argument}.*: found") as caught:
        call()
    assert "0 1 1 0" not in str(caught.value)


def test_advice_about_randomness_names_what_exists() -> None:
    with pytest.raises(cv.InvalidInput) as caught:
        mechanism.sanitize([0, 1], NOISE, rng=7)  # type: ignore[arg-type]
    assert "chainveil.mechanism.seeded(7)" in str(caught.value)
    source = eval("chainveil.mechanism.seeded(7)", {"chainveil": cv})
    assert mechanism.sanitize([0, 1], NOISE, rng=source) is not None


def test_a_table_takes_a_region() -> None:
    released = _table(FRAME, "x", 2, chain=REGION)
    assert released.certificate["chain.region"] == [[0.1, 0.2], [0.1, 0.2]]
    assert released.certificate["chain.origin"] == "given"
