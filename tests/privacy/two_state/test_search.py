"""The searches against plain looking, and the shape of tracks that they rely on."""

from __future__ import annotations

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.privacy.two_state.search import Pair, find_peak
from chainveil.privacy.two_state.setting import read_setting
from chainveil.privacy.two_state.tracks import Track, known_tracks, left_open_tracks, open_tracks

probabilities = st.floats(1e-4, 1 - 1e-4)


def _tracks(q: float, r: float, rho0: float, rho1: float, weight: float) -> list[Track]:
    chain = cv.MarkovChain.binary(q, r, [weight, 1 - weight])
    setting = read_setting(chain, cv.Channel.binary(rho0, rho1))
    tracks = []
    for value in (0, 1):
        direction = setting.direction(value)
        if direction.high > 1:
            tracks += known_tracks(direction) + open_tracks(direction)
            tracks += left_open_tracks(direction)
    return tracks


@pytest.fixture(autouse=True)
def _precision() -> object:
    before = ctx.prec
    ctx.prec = 192
    yield
    ctx.prec = before


@settings(max_examples=60, deadline=None)
@given(probabilities, probabilities, probabilities, probabilities, probabilities)
def test_peaks_agree_with_looking_everywhere(
    q: float, r: float, rho0: float, rho1: float, weight: float
) -> None:
    if abs(q + r - 1) < 1e-9 or abs(rho0 + rho1 - 1) < 1e-9:
        return
    for track in _tracks(q, r, rho0, rho1, weight):
        values = [float(track.log_value(k)) for k in range(40)]
        peak = find_peak(track, 39)
        assert float(peak.lower) == pytest.approx(max(values), rel=1e-10, abs=1e-300)
        assert float(peak.upper) >= max(values) * (1 - 1e-14)
        assert float(peak.upper) == pytest.approx(max(values), rel=1e-10, abs=1e-300)


@settings(max_examples=60, deadline=None)
@given(probabilities, probabilities, probabilities, probabilities, probabilities)
def test_tracks_turn_at_most_once(
    q: float, r: float, rho0: float, rho1: float, weight: float
) -> None:
    if abs(q + r - 1) < 1e-9 or abs(rho0 + rho1 - 1) < 1e-9:
        return
    for track in _tracks(q, r, rho0, rho1, weight):
        steps = [track.growth(track.odds(k), track.prior(k)) for k in range(60)]
        signs = [1 if step > 1 else -1 for step in steps if step > 1 or step < 1]
        if track.only_rises:
            assert all(sign > 0 for sign in signs)
        if track.turns_once:
            assert signs == sorted(signs, reverse=True)


@settings(max_examples=30, deadline=None)
@given(probabilities, probabilities, probabilities, probabilities, st.integers(2, 60))
def test_pairs_agree_with_trying_every_split(
    q: float, r: float, rho0: float, rho1: float, total: int
) -> None:
    if abs(q + r - 1) < 1e-9 or abs(rho0 + rho1 - 1) < 1e-9:
        return
    tracks = _tracks(q, r, rho0, rho1, 0.3)
    left, right = tracks[0], tracks[-1]
    values = [float(left.log_value(k) + right.log_value(total - k)) for k in range(total + 1)]
    from flint import arb

    rises = [find_peak(track, total).rises_to for track in (left, right)]
    peak = Pair(left, right, total, *rises).maximum(0, total, arb(0))
    assert float(peak.lower) == pytest.approx(max(values), rel=1e-10, abs=1e-300)
    assert float(peak.upper) >= max(values) * (1 - 1e-14)
    assert float(peak.upper) == pytest.approx(max(values), rel=1e-10, abs=1e-300)


def test_orbits_agree_with_stepping() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        q, r, rho0, rho1, weight = rng.uniform(0.01, 0.99, 5)
        for track in _tracks(q, r, rho0, rho1, weight):
            value = track.odds.start
            for k in range(12):
                assert track.odds(k).overlaps(value)
                value = track.odds.step(value)
