"""Losses of many chains at once against the exact engine, one chain at a time."""

from __future__ import annotations

import numpy as np
import pytest

from chainveil import Channel, MarkovChain, privacy_loss
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.two_state.many import ABOVE, LEAST, STEEPEST, can_bound, loss_bounds

CHANNELS = [
    Channel.binary(0.3, 0.25),
    Channel.binary(0.45, 0.02),
    Channel.binary(0.05, 0.05),
    Channel.binary(0.7, 0.8),
    Channel.binary(0.499, 0.5),
    Channel.binary(0.5, 0.5),
    Channel([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]),
    Channel.binary(0.499999, 0.5),
    Channel.binary(1e-90, 0.3),
    # No output speaks for one value as floats go, and two speak against it.
    Channel([[1e-40, 1.0, 1e-30], [1e-20, 1.0, 1e-20]]),
    Channel([[1e-20, 1.0, 1e-20], [1e-40, 1.0, 1e-30]]),
]


def _chains(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Slow ones, quick ones, ones that alternate, almost surely too, and corners."""
    rng = np.random.default_rng(seed)
    slow = np.exp(rng.uniform(np.log(LEAST), 0, (2, count)))
    sure = 1 - np.exp(rng.uniform(np.log(LEAST), np.log(0.5), (2, count)))
    wide = rng.uniform(0, 1, (2, count))
    corners = np.array([
        [0.5, 0.3, 0.5, LEAST, 1, 1e-3, LEAST, 0.1, LEAST, 0.3],
        [0.5, 0.7, 0.501, 1, 1, 1e-3, LEAST, LEAST, 2 * LEAST, np.nextafter(0.7, 1)],
    ])  # fmt: skip
    q, r = np.clip(np.concatenate([slow, sure, wide, corners], axis=1), LEAST, 1 - LEAST)
    return q, r


@pytest.mark.parametrize("ignorant", [False, True], ids=["any", "ignorant"])
@pytest.mark.parametrize("channel", CHANNELS, ids=range(len(CHANNELS)))
def test_bounds_lie_just_above_the_exact_loss(channel: Channel, ignorant: bool) -> None:
    q, r = _chains(7 + ignorant, 10)
    assert can_bound(q, r, channel).all()
    found = loss_bounds(q, r, channel, ignorant=ignorant)
    exact = _exact(q, r, channel, ignorant)
    assert all(found >= [loss.epsilon for loss in exact])
    assert all(found <= [loss.lower + ABOVE for loss in exact])


@pytest.mark.slow
def test_many_more_lie_just_above_the_exact_loss() -> None:
    rng = np.random.default_rng(17)
    for seed in range(30):
        wrong = np.exp(rng.uniform(np.log(1e-8), np.log(0.5), 2))
        channel = Channel.binary(*(wrong if seed % 3 else 0.5 - wrong / 2))
        q, r = _chains(seed, 15)
        found = loss_bounds(q, r, channel)
        exact = _exact(q, r, channel, ignorant=False)
        assert all(found >= [loss.epsilon for loss in exact])
        assert all(found <= [loss.lower + ABOVE for loss in exact])


def _exact(q: np.ndarray, r: np.ndarray, channel: Channel, ignorant: bool) -> list[PrivacyLoss]:
    return [
        privacy_loss(
            MarkovChain([[1 - a, a], [b, 1 - b]]),
            channel,
            adversary="ignorant" if ignorant else "any",
        )
        for a, b in zip(q, r, strict=True)
    ]


def test_known_points_count() -> None:
    """On this chain a known point far away lets a side add more than with nothing known."""
    q, r, channel = np.array([0.01]), np.array([0.3]), Channel.binary(0.4, 0.4)
    anybody, nobody = (loss_bounds(q, r, channel, ignorant=ignorant) for ignorant in (False, True))
    assert anybody > nobody + 100 * ABOVE


def test_a_chain_has_the_same_bound_alone_and_among_others() -> None:
    q, r = _chains(3, 10)
    together = loss_bounds(q, r, CHANNELS[0])
    # Columns of a table are views with gaps between their entries.
    pairs = np.stack([q, r], axis=1)
    alone = [loss_bounds(pair[:1], pair[1:], CHANNELS[0])[0] for pair in pairs]
    assert together.tolist() == alone
    assert loss_bounds(pairs[:, 0], pairs[:, 1], CHANNELS[0]).tolist() == alone


def test_what_is_left_to_exact_arithmetic() -> None:
    q, r = np.array([0.1, LEAST / 2, 0.2, np.nan]), np.array([0.2, 0.1, 1 - LEAST / 2, 0.1])
    assert can_bound(q, r, CHANNELS[0]).tolist() == [True, False, False, False]
    assert not can_bound(q, r, Channel([[0.5, 0.5], [0.0, 1.0]])).any()
    assert not can_bound(q, r, Channel([[1.0, 0.0], [0.5, 0.5]])).any()
    steep = 0.1 / STEEPEST
    assert not can_bound(q, r, Channel([[0.5, 0.5], [steep, 1 - steep]])).any()
    assert not can_bound(q, r, Channel([[1 - steep, steep], [0.5, 0.5]])).any()
    assert loss_bounds(np.empty(0), np.empty(0), CHANNELS[0]).tolist() == []
