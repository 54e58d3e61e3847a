"""Noise by group: each group of series has a model and noise of its own, in one release."""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import chainveil as cv
from chainveil.errors import ChainveilWarning, InvalidInput, NotSupported
from chainveil.mechanism import seeded
from chainveil.table.estimating import estimate_table
from chainveil.table.sanitize import TableRelease
from chainveil.table.states.groups import GroupColumn

# Three persons are too few for a margin, which is said.
pytestmark = pytest.mark.filterwarnings("ignore::chainveil.errors.ChainveilWarning")

POINTS = 600
SLOW, QUICK = (0.1, 0.14), (0.35, 0.45)


def population(seed: int = 1, persons: int = 3) -> pa.Table:
    """Persons of two wards that behave differently, their rows mixed."""
    rng = np.random.default_rng(seed)
    wards = {"slow": SLOW, "quick": QUICK}
    columns = [
        (f"{ward}{i}", ward, cv.MarkovChain.binary(*rng.uniform(*ends, 2)).sample(POINTS, rng=rng))
        for i in range(persons)
        for ward, ends in wards.items()
    ]
    table = pa.table({
        "who": np.repeat([who for who, _, _ in columns], POINTS),
        "ward": np.repeat([ward for _, ward, _ in columns], POINTS),
        "minute": np.tile(np.arange(POINTS), len(columns)),
        "x": np.concatenate([x for _, _, x in columns]),
    })  # fmt: skip
    return table.take(pa.array(np.argsort(np.asarray(table["minute"]), kind="stable")))


@cache
def released() -> TableRelease:
    table = population()
    return cv.sanitize_table(
        table, "x", epsilon=5, series="who", group="ward", states=[0, 1], reference=table,
        mechanism="independent", rng=seeded(1),
    )  # fmt: skip


def wrong(done: TableRelease) -> float:
    return float((np.asarray(done.table["x"]) != np.asarray(population()["x"])).mean())


def test_each_group_has_its_own_noise_and_one_certificate_lists_both() -> None:
    done = released()
    groups = done.certificate.groups
    assert set(groups) == {"slow", "quick"}
    assert done.certificate["noise"] is done.certificate["chain"] is None
    assert done.table.column_names == ["who", "ward", "x"]
    assert done.certificate["release.kept"] == ["ward"]
    flips = {label: part["noise.expected_flips"] for label, part in groups.items()}
    assert flips["quick"] < flips["slow"] - 0.05
    published, original = np.asarray(done.table["x"]), np.asarray(population()["x"])
    for label, part in groups.items():
        rows = np.asarray(done.table["ward"]) == label
        changed = (published != original)[rows].mean()
        assert changed == pytest.approx(part["noise.expected_flips"], abs=0.04)
        # Noise and loss are those of a release of the group's rows alone.
        alone = population().filter(pa.array(rows))
        plan = cv.sanitize_table(
            alone, "x", epsilon=5, series="who", states=[0, 1], reference=alone,
            mechanism="independent",
        )  # fmt: skip
        assert part["noise"] == plan.certificate["noise"]
        assert part["loss.epsilon"] == plan.certificate["loss.epsilon"] <= 5


def test_noise_by_group_changes_fewer_points_than_one_family_for_all() -> None:
    table = population()
    one = cv.sanitize_table(
        table, "x", epsilon=5, series="who", states=[0, 1], reference=table,
        mechanism="independent", rng=seeded(1),
    )  # fmt: skip
    assert wrong(released()) < wrong(one) - 0.05


def test_the_certificate_is_verified_as_a_whole() -> None:
    done = released()
    found = cv.verify(done.certificate, done.table)
    assert found.holds
    assert next(c.text for c in found.checks if c.field == "loss.epsilon").startswith("group ")
    assert sum(c.field == "loss.epsilon" for c in found.checks) == 2
    words = dict(found.promise)
    assert "slow" in str(words)
    assert "by ward" in words["groups"]
    assert cv.Certificate.from_json(done.certificate.to_json()) == done.certificate


def changed(done: TableRelease, **fields: object) -> cv.Certificate:
    """The certificate with fields of its first group changed, and sealed again."""
    document = json.loads(done.certificate.to_json())
    for path, value in fields.items():
        *outer, last = path.split("__")
        place = document["groups"]["plans"][0]
        for key in outer:
            place = place[key]
        place[last] = value
    return cv.Certificate.sealed(document)


def test_a_group_that_claims_less_than_its_noise_loses_fails() -> None:
    found = cv.verify(changed(released(), loss__epsilon=1.0, loss__lower=0.9))
    assert any(c.field == "loss.epsilon" and "group slow" in c.text for c in found.failures)
    found = cv.verify(changed(released(), rows=17))
    assert {c.field for c in found.failures} >= {"groups.plans"}
    with pytest.raises(InvalidInput, match="unknown field"):
        changed(released(), persons=5)
    with pytest.raises(InvalidInput, match="same group twice"):
        changed(released(), label="quick")


def test_rows_under_another_label_are_found_out() -> None:
    done = released()
    other = pc.if_else(pc.equal(done.table["ward"], "slow"), "quick", "slow")
    table = done.table.set_column(1, "ward", other)
    found = cv.verify(done.certificate, table)
    assert {c.field for c in found.failures} == {"groups.plans"}
    with pytest.raises(InvalidInput, match="groups.plans"):
        estimate_table(table, done.certificate)
    without = cv.verify(done.certificate, done.table.drop_columns("ward"))
    assert not without.holds


def test_the_rows_of_one_group_go_with_its_own_certificate() -> None:
    done = released()
    table = done.table.filter(pc.equal(done.table["ward"], "slow"))
    assert cv.verify(done.certificate.groups["slow"], table).holds
    with pytest.raises(NotSupported, match="noise by group"):
        done.certificate.plan()


def truth(**where: str) -> float:
    table = population()
    for name, value in where.items():
        table = table.filter(pc.equal(table[name], value))
    return float(np.asarray(table["x"]).mean())


def test_shares_use_the_noise_of_each_row_and_add_up() -> None:
    done = released()
    total = done.estimate("share").to_pylist()[1]
    assert total["low"] < truth() < total["high"]
    assert total["points"] == done.table.num_rows
    by_ward = {row["ward"]: row for row in done.estimate("share", by="ward").to_pylist()
               if row["state"] == 1}  # fmt: skip
    for label, row in by_ward.items():
        assert row["low"] < truth(ward=label) < row["high"]
        part = done.table.filter(pc.equal(done.table["ward"], label))
        alone = estimate_table(part, done.certificate.groups[label]).to_pylist()[1]
        assert row["estimate"] == alone["estimate"]
        assert row["low"] == alone["low"]
    assert total["estimate"] == pytest.approx(np.mean([r["estimate"] for r in by_ward.values()]))
    halves = [row["high"] - row["estimate"] for row in by_ward.values()]
    assert total["high"] - total["estimate"] == pytest.approx(np.hypot(*halves) / 2)
    persons = done.estimate("share", by="who").to_pylist()
    assert len(persons) == 12
    assert persons[0]["who"] == "quick0"


def test_intervals_over_all_groups_cover_as_often_as_they_say() -> None:
    table = population()
    plans = {k: v.plan() for k, v in released().certificate.groups.items()}
    covered = 0
    for seed in range(60):
        parts = []
        for label, plan in plans.items():
            rows = np.asarray(table["ward"]) == label
            x = np.asarray(table["x"])[rows]
            z = plan.sanitize(x, rng=seeded(seed))
            parts.append(cv.estimate.frequency(z, plan.noise))
        total = cv.estimate.joining.joined(parts, [1, 1], "ward")
        covered += bool(total.low[1] < np.asarray(table["x"]).mean() < total.high[1])
    assert covered >= 51


def test_questions_that_do_not_add_up_ask_for_groups() -> None:
    done = released()
    with pytest.raises(InvalidInput, match="by: found rows of several groups.*'ward'"):
        done.estimate("transitions")
    rows = done.estimate("transitions", by="ward").to_pylist()
    assert [row["ward"] for row in rows] == ["quick"] * 4 + ["slow"] * 4
    pairs = done.estimate("pairs").to_pylist()
    assert sum(row["estimate"] for row in pairs) == pytest.approx(1)
    apart = cv.compare_table(done.table, done.certificate, by="ward").to_pylist()
    assert (apart[0]["ward"], apart[0]["other ward"]) == ("quick", "slow")


def test_a_series_lies_in_one_group() -> None:
    table = population()
    ward = np.asarray(table["ward"]).astype(object)
    ward[-1] = "slow" if ward[-1] == "quick" else "quick"
    mixed = table.set_column(1, "ward", pa.array(ward))
    for how in ({}, {"reference": table, "mechanism": "independent"}):
        with pytest.raises(InvalidInput, match="group: found column 'ward', with several groups"):
            cv.sanitize_table(
                mixed, "x", epsilon=5, series="who", group="ward", states=[0, 1], **how
            )


@pytest.mark.parametrize("value", [None, "", "NA"])
def test_every_row_has_a_group(value: object) -> None:
    ward = np.asarray(population()["ward"]).astype(object)
    ward[7] = value
    table = population().set_column(1, "ward", pa.array(ward, pa.string()))
    with pytest.raises(InvalidInput, match=r"ward: found no group.*row 8 "):
        cv.sanitize_table(table, "x", epsilon=5, series="who", group="ward", states=[0, 1])


def test_a_reference_needs_all_groups() -> None:
    table = population()
    slow = table.filter(pc.equal(table["ward"], "slow"))
    asked: dict[str, Any] = {"epsilon": 5, "series": "who", "group": "ward", "states": [0, 1],
             "mechanism": "independent"}  # fmt: skip
    with pytest.raises(InvalidInput, match="ward: found a group that is not among those known"):
        cv.sanitize_table(table, "x", reference=slow, **asked)
    # Groups of a reference that the table has not are left out.
    done = cv.sanitize_table(slow, "x", reference=table, **asked)
    assert list(done.certificate.groups) == ["slow"]
    assert cv.verify(done.certificate, done.table).holds


def test_what_a_group_cannot_go_with() -> None:
    table, chain = population(), cv.MarkovChain.binary(0.2, 0.2)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("series: found None", {}),
        ("group: found 'ward' beside a chain", {"series": "who", "chain": chain}),
        ("group: found 'ward' beside a plan", {"series": "who", "plan": cv.calibrate(chain, 5)}),
    ]
    for found, how in cases:
        budget: dict[str, Any] = {} if "plan" in how else {"epsilon": 5}
        with pytest.raises(InvalidInput, match=found):
            cv.sanitize_table(table, "x", group="ward", states=[0, 1], **budget, **how)


def test_groups_are_told_by_value_whatever_the_type() -> None:
    column = GroupColumn("ward")
    assert column.numbers(pa.array(["01", " 02"]), 0).tolist() == [0, 1]
    assert column.numbers(pa.array(["03", "01"]).dictionary_encode(), 2).tolist() == [2, 0]
    again = GroupColumn("ward", column.labels)
    assert again.numbers(pa.array([3, 1, 2]), 0).tolist() == [2, 0, 1]
    with pytest.raises(InvalidInput, match="more than 255 groups"):
        GroupColumn("ward").numbers(pa.array(np.arange(256)), 0)


def test_numbers_name_groups_exactly() -> None:
    big = [2**53 + 3, 2**53 + 4, 2**63 + 1]
    column = GroupColumn("ward")
    assert column.numbers(pa.array(big, pa.uint64()), 0).tolist() == [0, 1, 2]
    assert column.labels == big
    texts = GroupColumn("ward", [str(label) for label in big])
    assert texts.numbers(pa.array(big[::-1], pa.uint64()), 0).tolist() == [2, 1, 0]
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        zeros = GroupColumn("ward")
        values = pa.array(np.array([0.5, 0.0, -0.0], kind.to_pandas_dtype()))
        assert zeros.numbers(values, 0).tolist() == [0, 1, 1]
        assert zeros.labels == [0.5, 0.0]
    with pytest.raises(InvalidInput, match="row 2"):
        GroupColumn("ward").numbers(pa.array([1.0, np.inf]), 0)


@pytest.mark.parametrize("labels", [(1, True), (1, 1.0), (1, "1"), (0.0, -0.0)])
def test_no_group_of_a_certificate_hides_behind_another(labels: tuple[Any, Any]) -> None:
    """A second label that is the same key would leave the loss of the first unchecked."""
    document = json.loads(released().certificate.to_json())
    for group, label in zip(document["groups"]["plans"], labels, strict=True):
        group["label"] = label
    with pytest.raises(InvalidInput, match="same group twice"):
        cv.Certificate.sealed(document)


@pytest.mark.slow
def test_rare_reports_and_gaps_by_group() -> None:
    """Batches and rows without a value, each with the noise of its own group."""
    table = population()
    values = [None if i % 97 == 0 else int(v) for i, v in enumerate(table["x"].to_pylist())]
    gappy = table.set_column(3, "x", pa.array(values, pa.int64()))
    how: dict[str, Any] = {
        "epsilon": 5,
        "series": "who",
        "states": [0, 1],
        "missing": "keep",
        "every": 3,
        "pooled": True,
        "mechanism": "independent",
        "rng": seeded(5),
    }
    done = cv.sanitize_table(gappy, "x", group="ward", reference=table, **how)
    assert cv.verify(done.certificate, done.table).holds
    for label in ("slow", "quick"):
        part, public = (t.filter(pc.equal(t["ward"], label)) for t in (gappy, table))
        alone = cv.sanitize_table(part, "x", reference=public, **how)
        both = done.table.filter(pc.equal(done.table["ward"], label))
        assert both["x"].to_pylist() == alone.table["x"].to_pylist()
        rows = done.certificate.groups[label]["release"]
        assert rows["states_sha256"] == alone.certificate["release.states_sha256"]


def test_private_groups_have_a_box_each() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = cv.sanitize_table(
            population(), "x", epsilon=5, series="who", group="ward", states=[0, 1],
            mechanism="independent",
        )  # fmt: skip
    boxes = {label: part["chain.region"] for label, part in done.certificate.groups.items()}
    assert boxes["quick"][0][0] > boxes["slow"][0][0]


def test_what_is_said_of_one_group_names_it() -> None:
    table = population()
    asked: dict[str, Any] = {"epsilon": 5, "series": "who", "group": "ward", "states": [0, 1]}
    with pytest.warns(ChainveilWarning) as told:
        cv.sanitize_table(table, "x", pooled=True, mechanism="independent", **asked)
    assert {str(one.message)[:12] for one in told} == {"group slow: ", "group quick:"}
    ones = pc.if_else(pc.equal(table["ward"], "slow"), 0, table["x"])
    with pytest.raises(InvalidInput, match=r"no transition out of state 1.*about the group slow"):
        cv.sanitize_table(table.set_column(3, "x", ones), "x", **asked)
