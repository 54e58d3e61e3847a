"""Sticky reports on more than two states, drawn here by a few lines, on data that are no chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import Channel, StickyNoise, estimate

CLEAR = Channel(np.eye(3))
# With probability .45 the last report again, otherwise randomized response.
KERNEL = 0.45 * np.eye(3)[:, None, :] + 0.55 * (0.7 * np.eye(3) + 0.1)[None]
NOISE = StickyNoise(KERNEL, 0.7 * np.eye(3) + 0.1)
RELEASES, POINTS = 150, 4000


def series() -> Any:
    """Three states that drift: the first becomes rare, and the last lasts longer and longer."""
    rng, x, now = np.random.default_rng(3), [], 0
    for t, (leave, which) in enumerate(rng.random((POINTS, 2))):
        stay = (0.95 - 0.3 * t / POINTS, 0.8, 0.7 + 0.25 * t / POINTS)[now]
        now = now if leave < stay else (now + 1 + (which < 0.4)) % 3
        x.append(now)
    return np.array(x)


def reports(x: Any, seed: int) -> Any:
    """Reports of many releases at once, shape (RELEASES, POINTS)."""
    rng = np.random.default_rng(seed)
    z = np.empty((RELEASES, len(x)), np.uint8)
    last = rng.choice(3, RELEASES, p=NOISE.first[x[0]])
    z[:, 0] = last
    for t, state in enumerate(x[1:], 1):
        law = np.cumsum(KERNEL[last, state], axis=1)
        last = (rng.random(RELEASES)[:, None] > law).sum(axis=1)
        z[:, t] = last
    return z


X = series()
Z = reports(X, 1)


@pytest.mark.parametrize(
    "ask", [estimate.frequency, estimate.pairs, estimate.transitions, estimate.durations]
)
def test_intervals_cover(ask: Any) -> None:
    """95% of 150 releases, each number; below 128 has a chance of 1e-5 for one of some 30."""
    found, exact = ask(Z, NOISE, by="series"), ask(X[1:], CLEAR).value
    inside = ((found.low <= exact) & (exact <= found.high)).sum(axis=0)
    assert inside.min() >= 128
    if ask in (estimate.frequency, estimate.pairs):
        error = found.value.mean(axis=0) - exact
        assert np.all(np.abs(error) < 4.5 * found.value.std(axis=0) / np.sqrt(RELEASES))


def test_autocorrelation() -> None:
    found = estimate.autocorrelation(Z, NOISE, [1, 4], by="series")
    exact = estimate.autocorrelation(X[1:], CLEAR, [1, 4]).value
    assert ((found.low <= exact) & (exact <= found.high)).sum(axis=0).min() >= 128
