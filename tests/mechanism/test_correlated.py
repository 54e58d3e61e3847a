from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import Report, release, sanitize, seeded
from chainveil.noise.correlated import CorrelatedNoise

NOISE = CorrelatedNoise(0.1, 0.3)


@pytest.mark.parametrize("n", [1, 2, 100, 300_000])
def test_the_noise_does_not_depend_on_the_data(n: int) -> None:
    x = np.random.default_rng(0).integers(0, 2, n).astype(np.uint8)
    noise = sanitize(np.zeros_like(x), NOISE, rng=seeded(1))
    assert np.array_equal(sanitize(x, NOISE, rng=seeded(1)), x ^ noise)


def test_every_series_has_its_own_noise() -> None:
    lengths = [3, 0, 200_000, 100, 1]
    listed = sanitize([np.zeros(n, np.int16) for n in lengths], NOISE, rng=seeded(1))
    for j, n in enumerate(lengths):
        if n:
            source = seeded(1).at(series=j)
            alone = sanitize(np.zeros(n, np.int16), NOISE, rng=source)
            assert np.array_equal(listed[j], alone)
    rows = sanitize(np.zeros((50, 200), np.uint8), NOISE, rng=seeded(1))
    assert len(np.unique(rows, axis=0)) == 50
    assert np.array_equal(rows[3], sanitize([0] * 200, NOISE, rng=seeded(1).at(series=3)))


def test_noise_that_always_turns() -> None:
    noise = sanitize(np.zeros(1001, np.uint8), CorrelatedNoise(1.0, 1.0))
    assert np.array_equal(noise[1:], 1 - noise[:-1])
    starts = sanitize(np.zeros((200, 2), np.uint8), CorrelatedNoise(1.0, 1.0))[:, 0]
    assert 0 < starts.sum() < 200


def test_in_place_and_report() -> None:
    x = np.arange(1000) % 2
    done = release(x, NOISE, rng=seeded(1))
    assert done.report == Report("correlated", "study", 1, 1000, 0)
    sanitize(x, NOISE, out=x, rng=seeded(1))
    assert np.array_equal(x, done.values)


def test_the_noise_runs_on_through_gaps() -> None:
    x = np.zeros(1000)
    plain = sanitize(x, NOISE, rng=seeded(1))
    x[100:200] = np.nan
    kept = sanitize(x, NOISE, rng=seeded(1), missing="keep")
    assert np.isnan(kept[100:200]).all()
    assert np.array_equal(kept[200:], plain[200:])


def test_the_grid() -> None:
    grid = NOISE.on_grid()
    assert grid == grid.on_grid()
    assert abs(grid.rho0 - 0.1) <= 2.0**-54
    tiny = CorrelatedNoise(1e-30, 1.0).on_grid()
    assert (tiny.rho0, tiny.rho1) == (2.0**-53, 1.0)


def test_bad_input() -> None:
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        ([0, 2], NOISE, {}, "above the last state"),
        ([0, 1], "correlated", {}, "a Channel or another noise"),
        ([0, 1], NOISE, {"rng": seeded(1).at(point=5)}, "point 0"),
        ([], NOISE, {}, "no points"),
    ]
    for x, noise, arguments, message in wrong:
        with pytest.raises(cv.InvalidInput, match=message):
            sanitize(x, noise, **arguments)
