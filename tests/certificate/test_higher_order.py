"""Certificates of chains of a higher order: written, read, verified, and hard to bend."""

from __future__ import annotations

import copy
import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.certificate import Certificate
from tests.batches import some_quick
from tests.certificate.test_memory import rejected, resealed

TWO = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], order=2)
THREE = cv.HigherOrderChain(np.random.default_rng(3).dirichlet([2, 2], 8), order=3)
FITTED = cv.HigherOrderChain.fit(TWO.sample(8000, rng=1), 2)
CASES: dict[str, tuple[cv.HigherOrderChain, dict[str, Any]]] = {
    "two": (TWO, {"max_length": 5}),
    "three": (THREE, {"max_length": 4}),
    "private": (FITTED, {"max_length": 4}),
    "reference": (FITTED.of_origin("reference"), {"max_length": 4}),
    "ignorant": (TWO, {"max_length": 4, "adversary": "ignorant"}),
    "earlier": (TWO, {"max_length": 3, "earlier": [cv.Channel.binary(0.4, 0.4)]}),
}


@functools.cache
def certificate_of(case: str) -> Certificate:
    chain, asked = CASES[case]
    return cv.calibrate(chain, 2.0, **asked).certificate()


@pytest.mark.parametrize("case", some_quick(CASES, ["two"]))
def test_a_certificate_is_verified_from_its_own_contents(case: str) -> None:
    certificate = Certificate.from_json(certificate_of(case).to_json())
    result = certificate.verify()
    assert result.holds, str(result)
    words = dict(result.promise)["chain"]
    assert f"a chain of order {CASES[case][0].order} on 2 states" in words
    plan = certificate.plan()
    assert plan.chain.order == CASES[case][0].order
    assert plan.origin == CASES[case][0].origin
    if case != "private":
        assert plan.chain == CASES[case][0]
    kind, numbers = certificate["chain.model"]
    assert (kind, sorted(dict(numbers))) == ("higher order", ["order", "transition"])


BENDS: dict[str, Any] = {
    "transition": lambda numbers: numbers["transition"][0].reverse(),
    "order": lambda numbers: numbers.update(order=3),
    "no order": lambda numbers: numbers.update(order=1),
    "huge order": lambda numbers: numbers.update(order=10**9),
    "no rows": lambda numbers: numbers.update(transition=[]),
    "numbers": lambda numbers: numbers.update(transition=[0.5, 0.5]),
    "sum": lambda numbers: numbers["transition"][1].__setitem__(0, 0.9),
    "more": lambda numbers: numbers.update(counts=[[1, 2]] * 4),
}


@pytest.mark.parametrize("bend", some_quick(BENDS, set(BENDS) - {"more"}))
def test_a_model_that_was_changed_is_rejected(bend: str) -> None:
    document = copy.deepcopy(dict(certificate_of("two").document))
    numbers = dict(document["chain"]["model"][1])
    BENDS[bend](numbers)
    document["chain"]["model"][1] = [[name, value] for name, value in numbers.items()]
    assert rejected(document)


def test_other_lies_are_rejected_too() -> None:
    for path in ("noise.expected_flips", "loss.epsilon"):
        document = copy.deepcopy(dict(certificate_of("two").document))
        section, field = path.split(".")
        document[section][field] *= 0.9
        assert rejected(document), path
    document = copy.deepcopy(dict(certificate_of("two").document))
    document["chain"]["transition"][0][0] = 0.8
    assert rejected(document)


def test_a_document_of_before_has_no_order() -> None:
    document = copy.deepcopy(dict(certificate_of("two").document))
    numbers = document["chain"]["model"][1]
    document["chain"]["model"][1] = [pair for pair in numbers if pair[0] != "order"]
    assert resealed(document).verify().holds


def test_a_fit_with_its_counts_is_not_certified() -> None:
    plan = cv.calibrate(TWO, 2.0, max_length=4)
    with pytest.raises(cv.InvalidInput, match="as it was fitted on private data"):
        replace(plan, model=FITTED).certificate()
