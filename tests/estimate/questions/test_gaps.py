"""Points that are missing: time passes there, and nothing is counted across."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainveil import Channel, CorrelatedNoise, InvalidInput, MarkovChain, estimate
from chainveil.estimate.counts.cells import read_cells
from chainveil.mechanism import sanitize, seeded

CHAIN = MarkovChain.binary(0.1, 0.15)
CHANNEL = Channel.binary(0.2, 0.1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=3), st.integers(2, 3), st.data())
def test_windows_hold_no_gap(lengths: list[int], outputs: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    parts = [np.ma.array(rng.integers(0, outputs, n).astype(np.uint8), mask=rng.random(n) < 0.3)
             for n in lengths]  # fmt: skip
    if all(part.mask.all() for part in parts):
        with pytest.raises(InvalidInput, match="no points"):
            read_cells(parts, outputs)
        return
    cells = read_cells(parts, outputs, by="series")
    for window in ((0,), (0, 1), (0, 2), (0, 1, 3)):
        wanted = np.zeros((len(parts), outputs ** len(window)), np.int64)
        for j, part in enumerate(parts):
            for t in range(len(part) - window[-1]):
                places = [t + place for place in window]
                if not np.ma.getmaskarray(part)[places].any():
                    code = 0
                    for place in places:
                        code = code * outputs + int(part.data[place])
                    wanted[j, code] += 1
        np.testing.assert_array_equal(cells.windows(window), wanted)
        if len(window) == 2:
            np.testing.assert_array_equal(cells.pairs_at(window[1]), wanted.sum(axis=1))


def test_runs_are_never_joined() -> None:
    runs = [np.zeros(40, np.uint8), np.ones(30, np.uint8), np.zeros(20, np.uint8)]
    clear = Channel.binary(0, 0)
    found = estimate.transitions(runs, clear)
    np.testing.assert_allclose(found.value, np.eye(2))
    assert found.points == 39 + 29 + 19
    joined = estimate.transitions(np.concatenate(runs), clear)
    assert joined.value[0, 1] > 0
    gap = np.ma.array(np.concatenate([runs[0], [0], runs[1]]), mask=np.arange(71) == 40)
    np.testing.assert_allclose(estimate.transitions(gap, clear).value, np.eye(2))


def test_noise_runs_on_beneath_a_gap() -> None:
    """Two points of every eight are there; the noise was drawn for all of them.

    Flips of one state add up, so spells are long. The spread of 1,500 errors is within 8% of
    the truth but once in 20,000 runs.
    """
    noise = CorrelatedNoise(0.05, 0.1)
    x = MarkovChain.symmetric(0.01).sample(800, 1500, 1)
    z = sanitize(x, noise, rng=seeded(1))
    gone = np.broadcast_to(np.arange(800) % 8 >= 2, z.shape)
    found = estimate.frequency(np.ma.array(z, mask=gone), noise, by="series")
    errors = found.value[:, 1] - x[:, ~gone[0]].mean(axis=1)
    claimed = np.sqrt(np.mean(found.standard_error[:, 1] ** 2))
    assert errors.std() / claimed == pytest.approx(1, abs=0.08)
    closed = estimate.frequency(z[:, ~gone[0]], noise, by="series")
    wrong = np.sqrt(np.mean(closed.standard_error[:, 1] ** 2))
    assert wrong > 1.15 * claimed


@pytest.mark.slow
def test_the_chain_behind_points_of_which_a_third_is_missing() -> None:
    """Mean errors of 30 releases within four of their standard errors; once in 1,000 runs."""
    x = CHAIN.sample(3000, 30, 5)
    z = sanitize(x, CHANNEL, rng=seeded(6))
    gone = np.random.default_rng(7).random(z.shape) < 1 / 3
    masked = np.ma.array(z, mask=gone)
    found = estimate.transitions(masked, CHANNEL, by="series", covers="sampling")
    errors = found.value - CHAIN.transition
    assert np.all(np.abs(errors.mean(axis=0)) < 4 * errors.std(axis=0) / np.sqrt(30) + 2e-3)
    # 60 intervals, dependent in pairs: below 80% once in some 1,000 runs.
    inside = (found.low <= CHAIN.transition) & (CHAIN.transition <= found.high)
    assert inside.mean() > 0.80


def test_drawing_knows_how_far_points_are_apart() -> None:
    z = sanitize(CHAIN.sample(4000, rng=1), CHANNEL, rng=seeded(3))
    gone = np.arange(4000) % 4 > 0
    spaced = estimate.frequency(np.ma.array(z, mask=gone), CHANNEL, covers="sampling", chain=CHAIN)
    closed = estimate.frequency(z[~gone], CHANNEL, covers="sampling", chain=CHAIN)
    np.testing.assert_allclose(spaced.value, closed.value)
    assert np.all(spaced.standard_error < closed.standard_error)


def test_denoise_leaves_gaps() -> None:
    z = np.ma.array(sanitize(CHAIN.sample(60, 2, 1), CHANNEL, rng=seeded(3)), mask=False)
    z[0, 10:20] = np.ma.masked
    found = estimate.denoise(z, CHANNEL, CHAIN)
    assert found.probability.shape == (2, 60, 2)
    np.testing.assert_array_equal(np.isnan(found.probability[..., 0]), z.mask)
    np.testing.assert_array_equal(np.ma.getmaskarray(found.path), z.mask)
    plain = estimate.denoise(np.asarray(z[1]), CHANNEL, CHAIN)
    np.testing.assert_allclose(found.probability[1], plain.probability)
    one = estimate.denoise(z[0], CHANNEL, CHAIN)
    np.testing.assert_allclose(one.probability, found.probability[0])
    assert 0.5 < one.expected_accuracy < 1
    assert len(estimate.denoise([z[0], z[1]], CHANNEL, CHAIN).path) == 2
