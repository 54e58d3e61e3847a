"""Certificates of sticky noise with many states, whose kernels have many rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

import chainveil as cv
from chainveil.certificate import Certificate, schema
from chainveil.noise import Channel, StickyNoise
from tests.certificate.test_memory import rejected


def plan_of(states: int, length: int) -> cv.NoisePlan:
    """Series so short that their loss is enumerated."""
    transition = np.full((states, states), 0.4 / (states - 1))
    np.fill_diagonal(transition, 0.6)
    chain, answer = cv.MarkovChain(transition), Channel.randomized_response(states, 0.7)
    noise = StickyNoise.response(0.5, answer, answer).on_grid()
    return cv.NoisePlan(
        chain, noise, cv.privacy_loss(chain, noise, length=length), 8.0, "wrong-reports", None
    )


@pytest.mark.parametrize(
    ("states", "length"), [(4, 3), pytest.param(16, 1, marks=pytest.mark.slow)]
)
def test_a_certificate_is_read_again_and_verified(states: int, length: int) -> None:
    plan = plan_of(states, length)
    certificate = Certificate.from_json(plan.certificate().to_json())
    assert len(certificate["noise.matrix"]) == states * (states + 1)
    assert cv.verify(certificate).holds
    assert certificate["noise.expected_flips"] == plan.expected_flips


@pytest.mark.slow
def test_a_kernel_that_was_changed_does_not_pass() -> None:
    document = json.loads(plan_of(4, 3).certificate().to_json())
    assert not rejected(document)
    for part in ("matrix", "units"):
        row = document["noise"][part][7]
        row[0], row[1] = row[1], row[0]
        assert row[0] != row[1]
    assert rejected(document)


def test_kernels_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MOST_NUMBERS", 12)
    schema.check_kind("noise.matrix", "kernel", [[0.5, 0.5]] * 6)
    with pytest.raises(cv.InvalidInput, match="in all"):
        schema.check_kind("noise.matrix", "kernel", [[0.5, 0.5]] * 7)
