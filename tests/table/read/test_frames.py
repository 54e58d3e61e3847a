"""Any data frame in, the same kind out, every other column as it came."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import chainveil as cv
from chainveil.mechanism import seeded
from tests.table.samples import CHAIN, KEEP_AWKWARD, ROWS, awkward, states

ASK: dict[str, Any] = {
    "series": "person", "time": "time", "threshold": 60, "labels": ["low", "high"], "chain": CHAIN,
    "keep": [*KEEP_AWKWARD.columns], "allow_leak": KEEP_AWKWARD.allow_leak,
}  # fmt: skip


def _sanitized(frame: Any, **more: Any) -> cv.TableRelease:
    return cv.sanitize_table(frame, "bpm", 1.0, **{**ASK, "rng": seeded(3), **more})


def _pandas() -> pd.DataFrame:
    frame: pd.DataFrame = awkward().to_pandas()
    frame.index = pd.Index(np.arange(ROWS) * 7 % 1009, name="odd index")
    return frame


def test_pyarrow_keeps_what_is_named() -> None:
    table = awkward()
    result = _sanitized(table).table
    assert result.drop(["bpm"]).equals(table.drop(["bpm"]))
    assert result.schema.remove(2).equals(table.schema.remove(2), check_metadata=True)
    assert set(result["bpm"].to_pylist()) == {"low", "high"}


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_keeps_what_is_named(lazy: bool) -> None:
    frame = pl.from_arrow(awkward())
    assert isinstance(frame, pl.DataFrame)
    result = _sanitized(frame.lazy() if lazy else frame).table
    assert isinstance(result, pl.LazyFrame if lazy else pl.DataFrame)
    assert result.lazy().collect().drop("bpm").equals(frame.drop("bpm"))
    assert result.lazy().collect().drop("bpm").schema == frame.drop("bpm").schema


@pytest.mark.parametrize("arrow_types", [False, True])
def test_pandas_keeps_what_is_named(arrow_types: bool) -> None:
    frame = awkward().to_pandas(types_mapper=pd.ArrowDtype) if arrow_types else _pandas()
    result = _sanitized(frame).table
    # The index is no column: it is not published.
    before = frame.drop(columns="bpm").reset_index(drop=True)
    pd.testing.assert_frame_equal(result.drop(columns="bpm"), before)
    assert list(result.columns) == list(frame.columns)
    assert result["bpm"].notna().all()


def test_duckdb_keeps_what_is_named() -> None:
    relation = duckdb.from_arrow(awkward()).project("*, CAST(kind AS ENUM('a', 'b')) AS enum")
    result = _sanitized(relation, keep=[*KEEP_AWKWARD.columns, "enum"]).table
    assert isinstance(result, duckdb.DuckDBPyRelation)
    kept = [name for name in relation.columns if name != "bpm"]
    quoted = ", ".join(kept)
    assert result.select(quoted).types == relation.select(quoted).types
    frames = [one.select(quoted).pl() for one in (result, relation)]
    assert frames[0].equals(frames[1])


def test_every_kind_of_frame_gets_the_same_noise_and_a_true_certificate() -> None:
    frames = [awkward(), pl.from_arrow(awkward()), _pandas(), duckdb.from_arrow(awkward())]
    released = [_sanitized(frame) for frame in frames]
    digests = {one.certificate["release.states_sha256"] for one in released}
    assert len(digests) == 1
    for one in released:
        assert one.certificate["randomness.source"] == "study"
        result = cv.verify(one.certificate, one.table)
        assert result.holds, str(result)


def test_a_release_with_one_changed_value_is_rejected() -> None:
    released = _sanitized(pl.from_arrow(awkward()))
    values = released.table["bpm"].to_list()
    for row in (0, ROWS - 1):
        other = list(values)
        other[row] = "low" if values[row] == "high" else "high"
        changed = released.table.with_columns(pl.Series("bpm", other))
        failures = cv.verify(released.certificate, changed).failures
        assert [check.field for check in failures] == ["release.states_sha256"]
    shorter = released.table.head(ROWS - 1)
    assert not cv.verify(released.certificate, shorter).holds


def test_changed_labels_are_rejected_even_when_sealed_again() -> None:
    released = _sanitized(awkward())
    for labels in (["high", "low"], ["low", "High"], ["low", "high "]):
        fields = dict(released.certificate.document)
        fields["discretization"] = {**fields["discretization"], "labels": labels}
        forged = cv.Certificate.sealed(fields)
        assert not cv.verify(forged, released.table).holds, labels


def test_a_missing_column_is_a_failed_check() -> None:
    released = _sanitized(awkward())
    result = cv.verify(released.certificate, released.table.drop(["bpm"]))
    assert [check.field for check in result.failures] == ["release"]


def test_the_published_column_keeps_the_type_of_its_states() -> None:
    words = ["wake", "sleep", "sleep", "wake"] * 10
    how: dict[str, Any] = {"states": ["sleep", "wake"], "chain": CHAIN}
    enum = pl.DataFrame({"s": words}, schema={"s": pl.Enum(["x", "sleep", "wake"])})
    released = cv.sanitize_table(enum, "s", 1.0, **how).table
    assert released.schema == {"s": pl.Enum(["sleep", "wake"])}
    category = pd.DataFrame({"s": pd.Categorical(words, categories=["x", "wake", "sleep"])})
    kind = cv.sanitize_table(category, "s", 1.0, **how).table.dtypes["s"]
    assert kind == pd.CategoricalDtype(["sleep", "wake"])
    flags = pd.DataFrame({"s": [True, False] * 10})
    assert cv.sanitize_table(flags, "s", 1.0, chain=CHAIN).table.dtypes.equals(flags.dtypes)
    for kind in (pa.int8(), pa.int64(), pa.uint32(), pa.float64()):
        numbers = pa.table({"s": pa.array([0, 1, 1, 0], kind)})
        released = cv.sanitize_table(numbers, "s", 1.0, states=[0, 1], chain=CHAIN)
        assert released.table.schema == numbers.schema


def test_the_noise_has_the_rates_of_the_plan() -> None:
    # False alarm about 1e-6 a state: five standard deviations of a fixed seed.
    x = CHAIN.sample(200_000, rng=2)
    released = cv.sanitize_table(pl.DataFrame({"x": x}), "x", 2.0, chain=CHAIN, rng=seeded(1))
    z = released.table["x"].to_numpy()
    matrix = np.array(released.certificate["noise.matrix"])
    for state in (0, 1):
        here = z[x == state]
        rate = float((here != state).mean())
        wanted = matrix[state, 1 - state]
        assert abs(rate - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / len(here))


@pytest.mark.slow
def test_where_the_chain_comes_from_is_said() -> None:
    table = awkward()
    how: dict[str, Any] = {
        "series": "person", "time": "time", "threshold": 60, "mechanism": "independent",
    }  # fmt: skip
    private = cv.sanitize_table(table, "bpm", 1.0, **how).certificate
    public = cv.sanitize_table(table, "bpm", 1.0, reference=table, **how).certificate
    given = cv.sanitize_table(table, "bpm", 1.0, chain=CHAIN, **how).certificate
    origins = [certificate["chain.origin"] for certificate in (private, public, given)]
    assert origins == ["private", "reference", "given"]
    expected = cv.MarkovChain.fit(states().reshape(6, 40))
    assert public["chain.transition"][0][1] == expected.transition[0, 1]
    # Of the private fit only a box is published, which holds it.
    (low, high), _ = private["chain.region"]
    assert low <= expected.transition[0, 1] < high
    assert private["chain.transition"][0][1] == (low + high) / 2


@pytest.mark.parametrize(("which", "limit"), [("mean", 0.0), ("median", 0.0)])
def test_a_look_at_the_private_data_is_said(which: Any, limit: float) -> None:
    table = pa.table({"x": [0.0, 10.0, 2.0, 9.0, 1.0, 8.0, 3.0, 3.5]})
    certificate = cv.sanitize_table(table, "x", 1.0, threshold=which, chain=CHAIN).certificate
    values = np.array([0.0, 10.0, 2.0, 9.0, 1.0, 8.0, 3.0, 3.5])
    limit = float(values.mean() if which == "mean" else np.median(values))
    assert certificate["discretization.origin"] == f"private {which}"
    assert certificate["discretization.edges"] == [limit]


def test_a_plan_is_used_as_it_is() -> None:
    plan = cv.calibrate(CHAIN, 1.5)
    released = cv.sanitize_table(awkward(), "bpm", plan=plan, threshold=60)
    assert released.certificate["noise.matrix"] == plan.channel.matrix.tolist()
    assert released.certificate["promise.epsilon"] == 1.5
    short = cv.calibrate(CHAIN, 1.5, max_length=20)
    with pytest.raises(cv.InvalidInput, match="240 rows"):
        cv.sanitize_table(awkward(), "bpm", plan=short, threshold=60)


def test_frames_that_cannot_be_read_are_told_in_words() -> None:
    x = [0, 1] * 4
    twice = np.array([x, x]).T
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        (pa.table([pa.array(x), pa.array(x)], names=["x", "x"]), "x", {}, "two columns"),
        (pd.DataFrame(twice, columns=["x", "x"]), "x", {}, "two columns"),
        (pd.DataFrame({0: x}), "0", {}, "column: found '0'"),
        (pd.DataFrame({0: x, "x": x}), 0, {}, "a text"),
        (pd.DataFrame({"x": ["a", 1] * 4}), "x", {"states": ["a", "1"]}, "several types"),
        (pl.DataFrame({"x": x, "s": [1.0, float("nan")] * 4}), "x", {"series": "s"}, "no series"),
        ([0, 1], "x", {}, "narwhals"),
    ]
    for frame, column, how, message in wrong:
        with pytest.raises(cv.InvalidInput, match=message):
            cv.sanitize_table(frame, column, 1.0, chain=CHAIN, **how)
    # Columns that are left out may be called anything.
    numbered = pd.DataFrame({0: x, "x": x})
    released = cv.sanitize_table(numbered, "x", 1.0, chain=CHAIN)
    assert list(released.table.columns) == ["x"]
    # One that comes back is one too many, whatever it is called.
    more = pd.DataFrame({0: x, "x": released.table["x"]})
    failures = cv.verify(released.certificate, more).failures
    assert [check.field for check in failures] == ["release.kept"]
