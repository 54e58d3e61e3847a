"""Groups with too few points, or none: everything is left open, and nothing is made up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain, estimate
from chainveil.mechanism import sanitize, seeded

pytestmark = pytest.mark.filterwarnings("error")
CHAIN, CHANNEL = MarkovChain.binary(0.1, 0.15), Channel.binary(0.2, 0.25)
Z = sanitize(CHAIN.sample(3000, rng=1), CHANNEL, rng=seeded(1))


def test_a_group_with_too_few_points_keeps_its_value_and_the_whole_scale() -> None:
    channel = Channel.binary(0.05, 0.4)
    with pytest.raises(InvalidInput, match="at least 4"):
        estimate.frequency([0], channel)
    found = estimate.frequency([Z[:50], [0]], channel, by="series")
    assert found.value[1].tolist() == estimate.frequency([0] * 50, channel).value.tolist()
    assert found.low[1].tolist() == [0, 0]
    assert found.high[1].tolist() == [1, 1]
    assert np.all(found.low[0] > 0)


def test_windows_without_pairs_have_no_transitions() -> None:
    found = estimate.transitions(Z[:2001], CHANNEL, window=1000)
    assert np.isnan(found.value[2]).all()
    assert np.isinf(found.standard_error[2]).all()
    assert (found.effective_size[2] == 0).all()
    assert (found.low[2] == 0).all()
    assert (found.high[2] == 1).all()
    assert np.isfinite(found.value[:2]).all()
    assert found.points.tolist() == [999, 999, 0]
    spells = estimate.durations(Z[:2001], CHANNEL, window=1000)
    assert np.isnan(spells.value[2]).all()
    assert (spells.low[2] == 1).all()
    assert np.isinf(spells.high[2]).all()


def test_autocorrelation_of_a_short_window_is_left_open() -> None:
    found = estimate.autocorrelation(Z[:1003], CHANNEL, [1, 5], window=1000)
    assert np.isnan(found.value[1, 1]).all()
    assert found.low[1].tolist() == [[-1, -1], [-1, -1]]
    assert found.high[1].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(InvalidInput, match="no two points 5 apart within a group"):
        estimate.autocorrelation(Z[:10], CHANNEL, 5, by=np.arange(10) % 3)


def test_windows_are_named_by_their_series() -> None:
    found = estimate.frequency([Z[:0], Z[:100]], CHANNEL, window=50)
    assert found.groups == ((1, 0), (1, 1))


def test_chains_and_plans_that_are_none() -> None:
    four = MarkovChain(np.full((4, 4), 0.25))
    wrong: Any = "chain"
    for chain in (four, wrong):
        with pytest.raises(InvalidInput, match="a MarkovChain of 2 states"):
            estimate.frequency(Z, CHANNEL, covers="sampling", chain=chain)
        with pytest.raises(InvalidInput, match="a MarkovChain of 2 states"):
            estimate.autocorrelation(Z, CHANNEL, 1, covers="sampling", chain=chain)
        with pytest.raises(InvalidInput, match="a MarkovChain of 2 states"):
            estimate.denoise(Z, CHANNEL, chain)
    plan: Any = CHANNEL
    with pytest.raises(InvalidInput, match="a NoisePlan"):
        estimate.error_at(plan, 100)
    with pytest.raises(InvalidInput, match="a NoisePlan"):
        estimate.rows_for(plan, 0.1)


def test_a_whole_float_is_a_length() -> None:
    length: Any = 100.0
    packed = estimate.Packed(np.packbits(Z[:100]), length)
    same = estimate.frequency(Z[:100], CHANNEL).value
    assert estimate.frequency(packed, CHANNEL).value.tolist() == same.tolist()
