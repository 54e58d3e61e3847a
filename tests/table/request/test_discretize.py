"""Values to states: limits, lists, and everything that is neither."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainveil as cv
from chainveil.table.request.discretize import make_discretizer

NUMBER = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBER, min_size=1, max_size=5, unique=True), st.lists(NUMBER, max_size=20))
def test_a_value_on_a_limit_belongs_above_it(edges: list[float], values: list[float]) -> None:
    discretizer = make_discretizer(sorted(edges))
    codes = discretizer.codes(pa.array(values, pa.float64()), "x")
    assert codes.tolist() == [sum(edge <= value for edge in edges) for value in values]


@pytest.mark.parametrize("threshold", [[50, 70], (50.0, 70.0), np.array([50, 70])])
def test_several_thresholds_give_one_state_more(threshold: Any) -> None:
    table = pa.table({"x": [49, 50, 69, 70, 71] * 20})
    chain = cv.MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    how: dict[str, Any] = {"chain": chain, "threshold": threshold, "labels": list("abc")}
    made = cv.sanitize_table(table, "x", 40.0, **how)
    # At this budget a report is wrong with a probability below 1e-9.
    assert made.table["x"].to_pylist() == ["a", "b", "b", "c", "c"] * 20
    assert made.certificate["discretization.edges"] == [50.0, 70.0]
    assert made.certificate["discretization.labels"] == ["a", "b", "c"]


def test_one_threshold_in_a_list_is_that_threshold() -> None:
    assert make_discretizer([60]) == make_discretizer(60)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([59, 60, 61], pa.int8()),
        pa.array([59, 60, 61], pa.uint64()),
        pa.array([59.9, 60.0, 61.0], pa.float32()),
        pa.array([Decimal("59.99"), Decimal("60.00"), Decimal("60.01")]),
        pa.array(["59", " 60 ", "6.1e1"]),
        pa.array(["59", "60", "61"], pa.large_string()),
        pa.array([59, 60, 61]).dictionary_encode(),
    ],
)
def test_numbers_of_any_type(values: pa.Array) -> None:
    assert make_discretizer(threshold=60).codes(values, "x").tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("values", "states"),
    [
        (pa.array(["a", "b", "b "]), ["a", "b"]),
        (pa.array(["a", "b", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array([False, True, True]), [False, True]),
        (pa.array([False, True, True]), ["false", "true"]),
        (pa.array([3, 7, 7], pa.int16()), ["3", "7"]),
        (pa.array([0.5, 1.0, 1.0]), [0.5, 1]),
        (pa.array(["0", "1", "1"]), [0, 1]),
    ],
)
def test_states_of_any_type(values: pa.Array, states: list[Any]) -> None:
    assert make_discretizer(states=states).codes(values, "x").tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("values", "how", "message"),
    [
        (pa.array([1.0, None]), {"threshold": 1}, "missing value.*row 2"),
        (pa.array([1.0, float("nan")]), {"threshold": 1}, "missing value.*row 2"),
        (pa.array([1.0, float("inf")]), {"threshold": 1}, "infinite.*row 2"),
        (pa.array(["1", "2x"]), {"threshold": 1}, "not a number.*row 2"),
        (pa.array(["1", ""]), {"threshold": 1}, "missing value.*row 2"),
        (pa.array([True, False]), {"threshold": 1}, "bool"),
        (pa.array([[1], [2]]), {"threshold": 1}, "list"),
        (pa.array(["wake", "slep"]), {"states": ["wake", "sleep"]}, "none of the states; .*row 2"),
        (pa.array(["wake", "Sleep"]), {"states": ["wake", "sleep"]}, "lower case.*row 2"),
        (pa.array([1, 2]), {"states": ["wake", "sleep"]}, "int64"),
        (pa.array([0, 1]), {"states": [0.5, 1]}, "int64"),
        (pa.array([[0], [1]]), {"states": [0, 1]}, "list"),
    ],
)
def test_what_has_no_state_is_named(values: pa.Array, how: dict[str, Any], message: str) -> None:
    with pytest.raises(cv.InvalidInput, match=message):
        make_discretizer(**how).codes(values, "x")


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"threshold": 1, "states": [0, 1]},
        {"threshold": []},
        {"threshold": [2, 1]},
        {"threshold": [1, 1]},
        {"threshold": [1, float("inf")]},
        {"threshold": "12"},
        {"threshold": b"12"},
        {"threshold": [1, "2"]},
        {"threshold": [[1, 2]]},
        {"threshold": True},
        {"threshold": float("nan")},
        {"states": ["a", "a"]},
        {"threshold": 1, "labels": ["a"]},
        {"threshold": 1, "labels": ["a", "a"]},
        {"threshold": 1, "labels": ["", "a"]},
        {"states": ["a"]},
        {"threshold": list(range(300))},
    ],
)
def test_a_discretizer_that_makes_no_sense_is_refused(how: dict[str, Any]) -> None:
    with pytest.raises(cv.ChainveilError):
        make_discretizer(**how)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["low", "high"], pa.string()),
        ([10, 20], pa.int64()),
        ([0.5, 20], pa.float64()),
        ([False, True], pa.bool_()),
        ([0, 1], pa.uint8()),
    ],
)
def test_labels_come_back_as_states(labels: list[Any], kind: pa.DataType) -> None:
    discretizer = make_discretizer(threshold=60, labels=labels)
    codes = np.array([0, 1, 1, 0], np.uint8)
    values = discretizer.values(codes)
    assert values.type == kind
    assert discretizer.read_back(values, "x").tolist() == codes.tolist()
    assert discretizer.read_back(values.cast(pa.string()), "x").tolist() == codes.tolist()


def test_the_closest_column_is_suggested() -> None:
    table = pa.table({"heart_rate": [1, 2], "time": [1, 2]})
    with pytest.raises(cv.InvalidInput, match="Did you mean 'heart_rate'"):
        cv.sanitize_table(table, "heartrate", 1.0, threshold=1)


def test_values_without_states_need_a_word() -> None:
    chain = cv.MarkovChain.symmetric(0.2)
    with pytest.raises(cv.InvalidInput, match="become states"):
        cv.sanitize_table(pa.table({"x": [0.5, 1.5]}), "x", 1.0, chain=chain)
    with pytest.raises(cv.InvalidInput, match="no rows"):
        cv.sanitize_table(pa.table({"x": pa.array([], pa.int64())}), "x", 1.0, chain=chain)
    with pytest.raises(cv.InvalidInput, match="3 states"):
        cv.sanitize_table(pa.table({"x": [1, 2]}), "x", 1.0, chain=chain, threshold=[1, 2])
    with pytest.raises(cv.InvalidInput, match="pandas"):
        cv.sanitize_table([1, 2], "x", 1.0, chain=chain)
    with pytest.raises(cv.InvalidInput, match="epsilon"):
        cv.sanitize_table(pa.table({"x": [1, 0]}), "x", chain=chain)
