from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import chainveil as cv
from chainveil.mechanism import Report, check_length, draws, pieces, release, sanitize, seeded

TWO = cv.Channel.binary(0.3, 0.2)
FIVE = cv.Channel.randomized_response(5, 0.4)
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">u2"]


def states(n: int, k: int = 2, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, k, n).astype(np.uint8)


@pytest.mark.parametrize("dtype", ["?", "f4", "f8", *INTEGERS])
def test_every_dtype_gives_the_same_reports_and_is_kept(dtype: str) -> None:
    x = states(1000)
    z = sanitize(x.astype(dtype), TWO, rng=seeded(1))
    assert z.dtype == np.dtype(dtype)
    assert np.array_equal(z.astype(np.uint8), sanitize(x, TWO, rng=seeded(1)))


@pytest.mark.parametrize("dtype", ["f8", *INTEGERS])
@pytest.mark.parametrize("k", [5, 8, 9, 100])
def test_every_dtype_with_more_states(dtype: str, k: int) -> None:
    channel = cv.Channel.randomized_response(k, 0.4)
    x = states(1000, k)
    z = sanitize(x.astype(dtype), channel, rng=seeded(1))
    assert z.dtype == np.dtype(dtype)
    assert np.array_equal(z.astype(np.uint8), sanitize(x, channel, rng=seeded(1)))


def test_more_states_than_a_byte_holds() -> None:
    channel = cv.Channel.randomized_response(700, 0.4)
    x = np.arange(700).repeat(30)
    z = sanitize(x, channel, rng=seeded(1))
    assert set(np.unique(z)) <= set(range(700))
    # 21,000 flips of probability 0.4: 6 standard deviations are 0.0203.
    assert abs((z != x).mean() - 0.4) < 0.0203


def test_other_numbers_of_outputs_than_states() -> None:
    channel = cv.Channel([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    z = sanitize(np.array([0, 1] * 500), channel, rng=seeded(1))
    assert set(z[::2]) == {0, 1}
    assert set(z[1::2]) == {1, 2}


def test_rows_lists_and_single_series_agree() -> None:
    x = states(60_000).reshape(200, 300)
    rows = sanitize(x, TWO, rng=seeded(1))
    single = [sanitize(row, TWO, rng=seeded(1).at(series=j)) for j, row in enumerate(x)]
    listed = sanitize(list(x), TWO, rng=seeded(1))
    assert isinstance(listed, list)
    assert np.array_equal(rows, np.stack(single))
    assert np.array_equal(rows, np.stack(listed))


def test_series_of_different_lengths() -> None:
    lengths = [0, 1, 5, 0, 200_000, 17, 300_000, 1, 0]
    x = [states(n, seed=j) for j, n in enumerate(lengths)]
    z = sanitize(x, TWO, rng=seeded(1))
    assert [len(part) for part in z] == lengths
    for j, part in enumerate(x):
        if len(part):
            assert np.array_equal(z[j], sanitize(part, TWO, rng=seeded(1).at(series=j)))


def test_lists_of_numbers_and_of_lists() -> None:
    assert sanitize([0, 1, 1], TWO).shape == (3,)
    z = sanitize([[0, 1], [1], []], TWO, rng=seeded(1))
    assert [len(part) for part in z] == [2, 1, 0]


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 1000, 4096])
def test_the_size_of_the_pieces_changes_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = states(5000)
    rows = states(5000, 5).reshape(50, 100)
    expected = sanitize(x, TWO, rng=seeded(1)), sanitize(rows, FIVE, rng=seeded(1))
    monkeypatch.setattr(pieces, "PIECE", size)
    monkeypatch.setattr(draws, "PIECE", max(1, size // 3))
    monkeypatch.setattr(draws.Flips, "stretch", 2 * size)
    monkeypatch.setattr(draws.Reports, "stretch", size)
    assert np.array_equal(sanitize(x, TWO, rng=seeded(1)), expected[0])
    assert np.array_equal(sanitize(rows, FIVE, rng=seeded(1)), expected[1])
    assert np.array_equal(np.stack(sanitize(list(rows), FIVE, rng=seeded(1))), expected[1])


def test_in_place_and_into_a_given_array() -> None:
    for channel, k in ((TWO, 2), (FIVE, 5)):
        x = states(600_000, k)
        expected = sanitize(x, channel, rng=seeded(1))
        out = np.full_like(x, 77)
        assert sanitize(x, channel, out=out, rng=seeded(1)) is out
        assert np.array_equal(out, expected)
        assert sanitize(x, channel, out=x, rng=seeded(1)) is x
        assert np.array_equal(x, expected)


def test_in_place_for_rows_lists_and_wide_numbers() -> None:
    wide = states(2000).astype(np.int64).reshape(20, 100)
    expected = sanitize(wide, TWO, rng=seeded(1))
    rows = [row.copy() for row in wide]
    sanitize(rows, TWO, out=rows, rng=seeded(1))
    assert np.array_equal(np.stack(rows), expected)
    sanitize(wide, TWO, out=wide, rng=seeded(1))
    assert np.array_equal(wide, expected)


def test_arrays_that_do_not_lie_together() -> None:
    wide = states(40_000).reshape(100, 400)
    for view in (
        wide[:, ::2],
        wide[::3],
        wide.T,
        wide[:, 5:333],
        wide[0, ::-1],
        np.asfortranarray(wide),
    ):
        expected = sanitize(view.copy(order="C"), TWO, rng=seeded(1))
        assert np.array_equal(sanitize(view, TWO, rng=seeded(1)), expected)
        target = np.zeros((2 * view.shape[0], *view.shape[1:]), np.uint8)[::2]
        assert np.array_equal(sanitize(view, TWO, out=target, rng=seeded(1)), expected)
    copy = wide.copy()
    inner = copy[:, 100:200]
    expected = sanitize(inner.copy(), TWO, rng=seeded(1))
    sanitize(inner, TWO, out=inner, rng=seeded(1))
    assert np.array_equal(inner, expected)
    assert np.array_equal(copy[:, :100], wide[:, :100])
    assert np.array_equal(copy[:, 200:], wide[:, 200:])


def test_the_input_is_left_alone() -> None:
    x = states(1000)
    before = x.copy()
    x.setflags(write=False)
    sanitize(x, TWO)
    assert np.array_equal(x, before)


def test_gaps_are_an_error_unless_they_are_kept() -> None:
    broken: list[Any] = [
        np.array([0.0, np.nan, 1.0]),
        np.ma.MaskedArray([0, 1, 1], mask=[False, True, False]),
        np.array([0, -1, 1]),
    ]
    for x in broken:
        with pytest.raises(cv.InvalidInput, match='missing="keep"'):
            sanitize(x, TWO)


def test_kept_gaps_stay_visible_and_are_counted() -> None:
    x = states(1000).astype(float)
    gaps = np.arange(1000) % 7 == 3
    plain = sanitize(x, TWO, rng=seeded(1))
    done = release(np.where(gaps, np.nan, x), TWO, rng=seeded(1), missing="keep")
    assert np.array_equal(np.isnan(done.values), gaps)
    assert np.array_equal(done.values[~gaps], plain[~gaps])
    assert done.report == Report("independent", "study", 1, 1000, int(gaps.sum()))
    assert done.report.gaps_visible
    marked = sanitize(np.where(gaps, -1, x).astype(np.int8), TWO, rng=seeded(1), missing="keep")
    assert np.array_equal(marked, np.where(gaps, -1, plain))


def test_nothing_under_a_mask_gets_out() -> None:
    gaps = np.arange(1000) % 7 == 3
    secret = np.where(gaps, 1, 0)
    for x in (np.ma.MaskedArray(secret, mask=gaps), np.ma.MaskedArray(secret * 9, mask=gaps)):
        z = sanitize(x, TWO, missing="keep")
        assert np.array_equal(z.mask, gaps)
        assert not z.data[gaps].any()
        listed = sanitize([x, x[:50]], TWO, missing="keep")
        assert not listed[0].data[gaps].any()
        assert np.array_equal(listed[1].mask, gaps[:50])
        target = np.full(1000, 5)
        sanitize(x, TWO, out=target, missing="keep")
        assert not target[gaps].any()


def test_no_gaps_no_change() -> None:
    x = states(100)
    done = release(x, TWO, rng=seeded(1), missing="keep")
    assert np.array_equal(done.values, sanitize(x, TWO, rng=seeded(1)))
    assert not done.report.gaps_visible


BAD: list[tuple[Any, str]] = [
    (np.array([0, 1, 2]), r"x: found a number above.*0 … 1.*series 0, point 2"),
    (np.array([0, 1, 2], np.uint8), r"x: found a number above.*0 … 1.*point 2"),
    (np.array([[0, 1], [3, 1]]), r"x: found a number above.*series 1, point 0"),
    (np.array([0, -2]), r"x: found a number below 0"),
    (np.array([0, -2], np.int8), r"x: found a number below 0"),
    (np.array([0, 256 * 2]), r"x: found a number above"),
    (np.array([0.5, 1.0]), r"x: found a number that is not whole; .*Discretize"),
    (np.array([0.0, np.inf]), r"x: found a number that is not whole"),
    ([np.array([0, 1]), np.array([1, 7])], r"x: found a number above.*series 1, point 1"),
    (np.array([], np.uint8), r"x: found no points"),
    (np.zeros((3, 0), np.uint8), r"x: found no points"),
    ([], r"x: found no points"),
    ([[], []], r"x: found no points"),
    (np.zeros((2, 2, 2), np.uint8), r"shape \(2, 2, 2\)"),
    (np.uint8(1), r"shape \(\)"),
    ([np.zeros((2, 2), np.uint8)], r"x\[0\].*shape \(2, 2\)"),
    (["a", "b"], r"dtype"),
    (np.array([1 + 0j]), r"dtype"),
    (np.array([None, 1]), r"dtype"),
    (np.array(["2020-01-01"], "M8[D]"), r"dtype"),
    ("0101", r"dtype|shape"),
]


@pytest.mark.parametrize(("x", "message"), BAD)
def test_what_is_not_a_series_of_states_is_refused(x: Any, message: str) -> None:
    with pytest.raises(cv.InvalidInput, match=message):
        sanitize(x, TWO)


def test_more_states_are_checked_too() -> None:
    with pytest.raises(cv.InvalidInput, match=r"found a number above.*0 … 4"):
        sanitize(np.array([0, 5], np.uint8), FIVE)


def test_an_error_late_in_the_data_leaves_nothing_behind() -> None:
    x = states(700_000)
    x[-1] = 2
    before = x.copy()
    out = np.full_like(x, 7)
    with pytest.raises(cv.InvalidInput, match="point 699999"):
        sanitize(x, TWO, out=out)
    assert not out.any()
    with pytest.raises(cv.InvalidInput, match="point 699999"):
        sanitize(x, TWO, out=x)
    assert np.array_equal(x, before)


def test_out_must_be_like_x() -> None:
    x = states(100)
    wrong: list[Any] = [
        np.empty(99, np.uint8),
        np.empty(100, np.int64),
        [0] * 100,
        np.broadcast_to(np.uint8(0), 100),
    ]
    for out in wrong:
        with pytest.raises(cv.InvalidInput, match="out"):
            sanitize(x, TWO, out=out)
    both = np.zeros(150, np.uint8)
    with pytest.raises(cv.InvalidInput, match="overlaps"):
        sanitize(both[:100], TWO, out=both[50:])
    with pytest.raises(cv.InvalidInput, match="list of 2"):
        sanitize([x, x], TWO, out=x)


def test_reports_must_fit_the_dtype() -> None:
    wide = cv.Channel([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]])
    with pytest.raises(cv.InvalidInput, match=r"bool; .*0 … 2"):
        sanitize(np.array([True, False]), wide)
    with pytest.raises(cv.InvalidInput, match=r"int8; .*0 … 199"):
        sanitize(np.zeros(3, np.int8), cv.Channel.randomized_response(200, 0.5))


def test_bad_words_are_refused() -> None:
    with pytest.raises(cv.InvalidInput, match="missing"):
        sanitize([0, 1], TWO, missing="drop")  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="noise: found 0.3"):
        sanitize([0, 1], 0.3)  # type: ignore[arg-type]


def test_the_length_bound_of_a_plan() -> None:
    check_length("x", [[0, 1], [0, 1, 1]], 3)
    check_length("x", np.zeros((5, 7)), None)
    check_length("x", 100, 100)
    for x in ([[0, 1], [0, 1, 1]], np.zeros((5, 3)), np.zeros(3)):
        with pytest.raises(cv.InvalidInput, match=r"3 points; .*at most 2"):
            check_length("x", x, 2)


def test_memory_beyond_input_and_output_is_bounded() -> None:
    x = np.zeros(1 << 25, np.uint8)
    out = np.empty_like(x)
    shapes = [x, x.reshape(-1, 16), x.reshape(4, -1)]
    sanitize(x[:100], TWO)
    for shaped in shapes:
        tracemalloc.start()
        sanitize(shaped, TWO, out=out.reshape(shaped.shape))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 64 << 20
