"""What counts as one series, in every place that takes series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import chainveil as cv
from chainveil import attack, estimate, inference
from chainveil.mechanism import Stream, sanitize, seeded
from chainveil.sequences import as_sequences

CHAIN = cv.MarkovChain.binary(0.1, 0.2)
NOISE = cv.Channel.binary(0.2, 0.1)
STICKY = cv.CorrelatedNoise(0.1, 0.3)
X = CHAIN.sample(200, rng=3)

FRAMES = {
    "pandas": lambda x: pd.DataFrame({"x": x}),
    "polars": lambda x: pl.DataFrame({"x": x}),
    "pyarrow": lambda x: pa.table({"x": x}),
}
COLUMNS: dict[str, Any] = {"array": lambda x: x[:, None], **FRAMES}
ALL = pytest.mark.parametrize("kind", COLUMNS)


@ALL
def test_a_column_is_one_series(kind: str) -> None:
    series = as_sequences("x", COLUMNS[kind](X), 2)
    assert series.count == 1
    assert np.array_equal(series.flat, X)


@ALL
@pytest.mark.parametrize("noise", [NOISE, STICKY], ids=["independent", "correlated"])
def test_a_column_gets_the_noise_of_one_series(kind: str, noise: Any) -> None:
    """Correlated noise that begins anew at each point promises nothing."""
    released = sanitize(COLUMNS[kind](X), noise, rng=seeded(5))
    assert released.shape == (200, 1)
    assert np.array_equal(released[:, 0], sanitize(X, noise, rng=seeded(5)))


def test_the_loss_of_a_plan_covers_a_column() -> None:
    plan = cv.calibrate(CHAIN, 4, max_length=100)
    with pytest.raises(cv.InvalidInput, match="a series of 200 points"):
        plan.sanitize(X[:, None])


def test_a_column_is_sanitized_in_place_and_into_another() -> None:
    wide = np.stack([X, X], axis=1)
    column, out = wide[:, :1], np.empty((200, 1), X.dtype)
    expected = sanitize(X, NOISE, rng=seeded(5))
    assert sanitize(column, NOISE, out=out, rng=seeded(5)) is out
    assert np.array_equal(out[:, 0], expected)
    assert sanitize(column, NOISE, out=column, rng=seeded(5)) is column
    assert np.array_equal(wide[:, 0], expected)
    assert np.array_equal(wide[:, 1], X)


def test_a_masked_column_keeps_its_mask() -> None:
    masked = np.ma.MaskedArray(X[:, None].astype(np.int64), mask=np.arange(200)[:, None] % 9 == 0)
    released = sanitize(masked, NOISE, rng=seeded(5), missing="keep")
    assert released.shape == (200, 1)
    assert np.array_equal(released.mask, masked.mask)
    found = estimate.denoise(released, NOISE, CHAIN)
    flat = estimate.denoise(released.reshape(-1), NOISE, CHAIN)
    assert found.probability.shape == (200, 1, 2)
    np.testing.assert_array_equal(found.probability[:, 0], flat.probability)


@ALL
def test_a_stream_takes_a_column(kind: str) -> None:
    stream, other = Stream(STICKY, rng=seeded(5)), Stream(STICKY, rng=seeded(5))
    assert np.array_equal(stream.push(COLUMNS[kind](X))[:, 0], other.push(X))
    with pytest.raises(cv.InvalidInput, match="several series"):
        stream.push(np.stack([X, X]))


@ALL
def test_fits_attacks_and_estimates_take_a_column(kind: str) -> None:
    z = COLUMNS[kind](X)
    assert cv.MarkovChain.fit(z) == cv.MarkovChain.fit(X)
    flat = inference.smoothed(CHAIN, NOISE, X)
    found = inference.smoothed(CHAIN, NOISE, z)
    assert found.shape == (200, 1, 2)
    np.testing.assert_array_equal(found[:, 0], flat)
    assert inference.log_likelihood(CHAIN, NOISE, z) == inference.log_likelihood(CHAIN, NOISE, X)
    for attacker in (attack.Posterior(CHAIN, NOISE), attack.Viterbi(CHAIN, NOISE)):
        guess = attacker.reconstruct(z)
        assert np.array_equal(guess[:, 0], attacker.reconstruct(X))
        assert attack.score(z, guess).trials == 200
    known = np.where(np.arange(200) % 7 == 0, X.astype(int), -1)
    guess = attack.Posterior(CHAIN, NOISE).reconstruct(z, known[:, None])
    assert np.array_equal(guess[:, 0], attack.Posterior(CHAIN, NOISE).reconstruct(X, known))
    one, other = estimate.transitions(z, NOISE), estimate.transitions(X, NOISE)
    np.testing.assert_array_equal(one.value, other.value)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_table_of_several_columns_is_an_error(kind: str) -> None:
    several = {
        "pandas": pd.DataFrame({"x": X, "y": X}),
        "polars": pl.DataFrame({"x": X, "y": X}),
        "pyarrow": pa.table({"x": X, "y": X}),
    }[kind]
    for take in (
        lambda: sanitize(several, NOISE),
        lambda: Stream(NOISE).push(several),
        lambda: cv.MarkovChain.fit(several),
        lambda: inference.smoothed(CHAIN, NOISE, several),
        lambda: estimate.frequency(several, NOISE),
    ):
        with pytest.raises(cv.InvalidInput, match="a table of 2 columns"):
            take()


def test_nested_lists_of_single_numbers_are_an_error_and_arrays_are_not() -> None:
    nested = [[int(x)] for x in X]
    for take in (lambda: sanitize(nested, NOISE), lambda: cv.MarkovChain.fit(nested)):
        with pytest.raises(cv.InvalidInput, match="200 lists of one number"):
            take()
    points = [np.array([x]) for x in X]
    assert as_sequences("x", points).count == 200
    assert len(sanitize(points, NOISE)) == 200


def test_columns_of_frames_in_a_list_are_series() -> None:
    short, long = pd.Series(X[:50]), pl.Series(X)
    series = as_sequences("x", [short, long], 2)
    assert series.lengths.tolist() == [50, 200]
    assert [len(part) for part in sanitize([short, long], NOISE)] == [50, 200]


def test_an_audit_of_single_points_still_counts_them_one_by_one() -> None:
    """The loss of one point is that of its report, ln(0.8 / 0.1), and an audit comes close."""
    found = attack.audit_sanitizer(
        lambda x: sanitize(x, NOISE, rng=seeded(2)), CHAIN, NOISE, length=1, trials=4000, rng=1
    )
    assert 1.5 < found.lower_bound <= np.log(8)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_read_as_an_array() -> None:
    column = np.matrix([0, 1] * 10).T
    assert cv.MarkovChain.fit(column).counts is not None
    plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), 4.0)
    assert plan.sanitize(column).shape == (20, 1)
    assert plan.sanitize(column.T).shape == (1, 20)
