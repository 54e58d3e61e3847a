"""Losses of many chains at once against the exact engine, one chain at a time."""

from __future__ import annotations

import numpy as np
import pytest

from chainveil import Channel, MarkovChain, privacy_loss
from chainveil.privacy.two_state.many import LEAST, TOLERANCE, can_bound, loss_bounds

CHANNELS = [
    Channel.binary(0.3, 0.25),
    Channel.binary(0.45, 0.02),
    Channel.binary(0.05, 0.05),
    Channel.binary(0.7, 0.8),
    Channel.binary(0.499, 0.5),
    Channel.binary(0.5, 0.5),
    Channel([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]),
]


def _chains(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Slow ones, quick ones, ones that alternate, and corners."""
    rng = np.random.default_rng(seed)
    slow = np.exp(rng.uniform(np.log(LEAST), 0, (2, count)))
    wide = rng.uniform(0, 1, (2, count))
    corners = np.array([[0.5, 0.3, 0.5, LEAST, 1, 1e-3], [0.5, 0.7, 0.501, 1, 1, 1e-3]])
    q, r = np.clip(np.concatenate([slow, wide, corners], axis=1), LEAST, 1 - LEAST)
    return q, r


@pytest.mark.parametrize("ignorant", [False, True], ids=["any", "ignorant"])
@pytest.mark.parametrize("channel", CHANNELS, ids=range(len(CHANNELS)))
def test_bounds_lie_just_above_the_exact_loss(channel: Channel, ignorant: bool) -> None:
    q, r = _chains(7 + ignorant, 40)
    assert can_bound(q, r, channel).all()
    found = loss_bounds(q, r, channel, ignorant=ignorant)
    who = "ignorant" if ignorant else "any"
    exact = [
        privacy_loss(MarkovChain([[1 - a, a], [b, 1 - b]]), channel, adversary=who)  # type: ignore[arg-type]
        for a, b in zip(q, r, strict=True)
    ]
    assert all(found >= [loss.epsilon for loss in exact])
    assert all(found <= [loss.lower * (1 + 2e-6) + 2 * TOLERANCE + 1e-4 for loss in exact])


def test_one_at_a_time_is_within_the_tolerance_of_all_at_once() -> None:
    """A chunk looks as far as its slowest chain asks for; no bound may lean on its neighbours."""
    q, r = _chains(3, 30)
    together = loss_bounds(q, r, CHANNELS[0])
    alone = np.array(
        [loss_bounds(q[i : i + 1], r[i : i + 1], CHANNELS[0])[0] for i in range(len(q))]
    )
    np.testing.assert_allclose(alone, together, atol=2 * TOLERANCE + 1e-4)


def test_what_is_left_to_exact_arithmetic() -> None:
    q, r = np.array([0.1, LEAST / 2, 0.2]), np.array([0.2, 0.1, 1 - LEAST / 2])
    assert can_bound(q, r, CHANNELS[0]).tolist() == [True, False, False]
    assert not can_bound(q, r, Channel([[0.5, 0.5], [0.0, 1.0]])).any()
    assert loss_bounds(np.empty(0), np.empty(0), CHANNELS[0]).tolist() == []
