"""Comparisons as a whole: what is compared, refused, recommended and written."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import chainveil as cv
from chainveil.comparison.comparing import Search, Wanted, chosen, read_budgets, read_request
from chainveil.comparison.recommend import FOR, answer, recommend
from chainveil.comparison.results import PRIVATE
from chainveil.comparison.settings import Setting, candidates, read_mechanisms
from chainveil.comparison.study import read_study
from chainveil.errors import InvalidInput
from chainveil.table.read.frames import FrameSource

CHAIN = cv.MarkovChain.binary(q=0.2, r=0.3)
BUDGETS = (2.0, 4.0)


def _table(count: int = 3, points: int = 1500) -> pa.Table:
    begin = datetime(2026, 1, 1)
    return pa.table({
        "who": np.repeat([f"p{number}" for number in range(count)], points),
        "at": [begin + timedelta(minutes=t) for _ in range(count) for t in range(points)],
        "bpm": np.concatenate([50 + 20 * CHAIN.sample(points, rng=n) for n in range(count)]),
    })  # fmt: skip


SAID: dict[str, Any] = {"series": "who", "time": "at", "threshold": 60}


def test_noise_that_looks_at_points_before_is_compared_on_every_point_alone() -> None:
    named = read_mechanisms(["independent", "sticky", "tracking", "correlated"])
    settings = candidates(named, False)
    assert {setting.mechanism for setting in settings} == set(named)
    rare = {setting.mechanism for setting in settings if setting.every != 1}
    assert rare == {"independent", "sticky"}


@pytest.fixture(scope="module")
def found() -> cv.Comparison:
    return cv.compare(
        _table(), "bpm", BUDGETS, chain=CHAIN, mechanism=["independent", "sticky"], **SAID
    )


@pytest.mark.slow
def test_every_setting_that_is_allowed_is_there_at_every_budget(found: cv.Comparison) -> None:
    for epsilon in BUDGETS:
        there = {
            (row.setting.mechanism, row.setting.every, row.setting.objective)
            for row in found.rows
            if row.epsilon == epsilon
        }
        # Where every point reports that is the setting without rare reports, which is refused.
        rare = {("independent", 3, "smoothed")} if epsilon == 2.0 else set()
        assert there == rare | {
            ("independent", 1, "wrong-reports"), ("independent", 1, "share"),
            ("independent", 1, "smoothed"), ("independent", "auto", "wrong-reports"),
            ("independent", "auto", "share"),
            ("sticky", 1, "wrong-reports"), ("sticky", 1, "share"), ("sticky", 1, "smoothed"),
            ("sticky", "auto", "wrong-reports"), ("sticky", "auto", "share"),
        }  # fmt: skip
    assert all(row.loss <= row.epsilon for row in found.rows)


def test_what_is_not_compared_is_listed_with_its_reason(found: cv.Comparison) -> None:
    assert not found.refused
    other = cv.compare(_table(), "bpm", BUDGETS, chain=CHAIN, mechanism="correlated", **SAID)
    reasons = {str(one.setting): one.reason for one in other.refused}
    assert "wrong-reports" in reasons["correlated, smoothed"]
    # Refused at every budget alike, and so said once.
    assert all(one.epsilon is None for one in other.refused)
    assert {str(row.setting) for row in other.rows}.isdisjoint(reasons)


@pytest.mark.parametrize(
    ("mechanism", "every", "objective", "states", "left_out"),
    [
        ("sticky", "auto", "smoothed", 2, True), ("sticky", "auto", "wrong-reports", 2, False),
        ("sticky", 1, "smoothed", 2, False), ("independent", "auto", "wrong-reports", 3, True),
        ("independent", 1, "wrong-reports", 3, False),
        ("tracking", "auto", "wrong-reports", 2, True),
        ("correlated", "auto", "wrong-reports", 2, True),
    ],
)  # fmt: skip
def test_slow_settings_are_compared_where_their_mechanism_is_named(
    mechanism: str, every: Any, objective: str, states: int, left_out: bool
) -> None:
    setting = Setting(mechanism, every, objective=objective)
    for names, named in ((None, False), (mechanism, True)):
        wanted = Wanted.read(1.0, "share", names)
        compared, refused = chosen([setting], states, wanted.named)
        assert [setting in compared, setting in [one.setting for one in refused]] == (
            [False, True] if left_out and not named else [True, False]
        )


@pytest.mark.parametrize("question", FOR)
def test_the_recommendation_has_the_least_error(found: cv.Comparison, question: Any) -> None:
    for epsilon in BUDGETS:
        rows = [row for row in found.rows if row.epsilon == epsilon]
        best = recommend(rows, question, epsilon)
        errors = [there.error for row in rows if (there := answer(row, question)) is not None]
        assert best.row is not None
        mine = answer(best.row, question)
        assert mine is not None
        assert min(errors) <= mine.error <= 1.05 * min(errors)
        assert "independent noise" in best.reason


def test_of_equals_the_one_that_needs_least_is_taken(found: cv.Comparison) -> None:
    row = next(row for row in found.rows if row.setting.mechanism == "sticky")
    same = recommend([row, row], "points", row.epsilon)
    assert same.row is row


def test_nothing_is_recommended_where_nothing_answers() -> None:
    few = cv.compare(
        CHAIN.sample(30, 2, np.random.default_rng(1)), epsilon=0.5, for_="episodes", chain=CHAIN,
        mechanism="independent",
    )  # fmt: skip
    assert few.best(0.5).row is None
    assert "take a larger one" in few.best(0.5).reason
    with pytest.raises(InvalidInput, match="recommendation"):
        few.call(0.5)
    assert few.facts["recommendations"][0]["setting"] is None
    assert "nothing" in few.page().html()


def test_series_that_lose_more_than_the_budget_are_warned_of() -> None:
    slower = cv.MarkovChain.symmetric(0.05)
    series = [CHAIN.sample(1000, rng=1), slower.sample(1000, rng=2)]
    found = cv.compare(series, epsilon=2.0, chain=CHAIN, mechanism="independent")
    assert "more than 2" in found.best(2.0).warning


def test_the_call_makes_the_release(found: cv.Comparison) -> None:
    done = cv.sanitize_table(
        _table(), "bpm", **{k: v for k, v in found.call(4.0).items() if k != "column"}
    )
    best = found.best(4.0).row
    assert best is not None
    assert done.certificate["noise.mechanism"] == best.setting.mechanism
    assert done.certificate["noise.every"] == best.every
    assert done.certificate.plan().noise == best.plan.noise


def _differing() -> pa.Table:
    """Two series of different chains."""
    chains = (CHAIN, cv.MarkovChain.binary(q=0.1, r=0.12))
    x = np.concatenate([chain.sample(1500, rng=n) for n, chain in enumerate(chains)])
    return pa.table({"who": np.repeat(["a", "b"], 1500), "bpm": 50 + 20 * x})


def _released(found: cv.Comparison) -> tuple[cv.Certificate, Any]:
    """What the call that is recommended makes, and the row that it stands for."""
    call = {name: value for name, value in found.call(4.0).items() if name != "column"}
    return cv.sanitize_table(_differing(), "bpm", **call).certificate, found.best(4.0).row


def test_noise_is_for_the_family_of_the_series(tmp_path: Path) -> None:
    path = tmp_path / "heart.csv"
    pyarrow.csv.write_csv(_differing(), path)
    found = cv.compare(path, "bpm", 4.0, series="who", threshold=60, mechanism="independent")
    assert "pooled" not in found.command(4.0)
    assert "a family of 2 models" in found.about.noise_for
    # Figures are about all points together; no series loses more than the budget on its own chain.
    assert "0 to 1" in found.about.chain
    assert all(0 < (row.figures.own.worst or 0) <= 4.0 for row in found.rows)
    assert not found.best(4.0).warning
    certificate, best = _released(found)
    assert certificate.plan().noise == best.plan.noise


def test_one_chain_for_all_series_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "heart.csv"
    pyarrow.csv.write_csv(_differing(), path)
    asked: dict[str, Any] = {"series": "who", "threshold": 60, "mechanism": "independent"}
    with pytest.warns(cv.errors.ChainveilWarning, match="pooled"):
        found = cv.compare(path, "bpm", 4.0, pooled=True, **asked)
    assert " --pooled " in found.command(4.0)
    assert "more than 4" in found.best(4.0).warning
    with pytest.warns(cv.errors.ChainveilWarning, match="pooled"):
        certificate, best = _released(found)
    assert certificate.plan().noise == best.plan.noise
    with pytest.raises(InvalidInput, match="pooled"):
        cv.compare(path, "bpm", 4.0, pooled=True, chain=CHAIN, **asked)


def test_a_reference_has_a_family_too() -> None:
    asked: dict[str, Any] = {"series": "who", "threshold": 60, "mechanism": "independent"}
    with pytest.warns(cv.errors.ChainveilWarning, match="no margin"):
        found = cv.compare(_differing(), "bpm", 4.0, reference=_differing(), **asked)
    assert "a family of 2 models" in found.about.noise_for
    assert found.rows[0].plan.origin == "reference"


def test_parts_of_series_are_models_too(tmp_path: Path) -> None:
    path = tmp_path / "heart.csv"
    pyarrow.csv.write_csv(_differing(), path)
    found = cv.compare(
        path, "bpm", 4.0, series="who", threshold=60, mechanism="independent", parts=2
    )
    assert " --parts 2 " in found.command(4.0)
    assert "a family of 6 models" in found.about.noise_for


def test_a_frame_has_no_command(found: cv.Comparison) -> None:
    with pytest.raises(InvalidInput, match="sanitize_table"):
        found.command(2.0)
    with pytest.raises(InvalidInput, match="2 or 4"):
        found.best(3.0)


def test_a_file_has_a_command(tmp_path: Path) -> None:
    path = tmp_path / "heart beats.csv"
    pyarrow.csv.write_csv(_table(2, 600), path)
    found = cv.compare(path, "bpm", 4.0, chain=CHAIN, mechanism="independent", **SAID)
    words = found.command(4.0)
    assert words.startswith(f"chainveil sanitize '{path}' --column bpm --series who --time at ")
    assert "--q 0.2 --r 0.3 --epsilon 4 " in words
    assert words.endswith(f"--output '{tmp_path / 'heart beats-release.csv'}'")


def test_as_a_frame(found: cv.Comparison) -> None:
    frame = found.to_frame("arrow")
    assert frame.num_rows == len(found.rows)
    assert sum(frame["recommended"].to_pylist()) == len(BUDGETS)
    assert frame["wrong_reports"].to_pylist() == [row.figures.wrong for row in found.rows]


def test_as_json(found: cv.Comparison) -> None:
    facts = json.loads(found.to_json())
    assert facts["about"]["private"] == PRIVATE
    assert [row["epsilon"] for row in facts["rows"]] == [row.epsilon for row in found.rows]


def test_as_files(found: cv.Comparison, tmp_path: Path) -> None:
    for ending in ("json", "csv", "html"):
        goal = found.save(tmp_path / f"found.{ending}")
        assert goal.stat().st_size > 1000
        with pytest.raises(InvalidInput, match="exists"):
            found.save(goal)
        found.save(goal, force=True)
    lines = pyarrow.csv.read_csv(tmp_path / "found.csv")
    assert lines.num_rows == len(found.rows)
    with pytest.raises(InvalidInput, match=r"\.html"):
        found.save(tmp_path / "found.pdf")


def test_the_page_says_all_figures_and_that_it_is_private(found: cv.Comparison) -> None:
    html = found.page().html()
    assert "private: do not publish" in html
    for row in found.rows:
        assert row.name in html
        assert repr(row.figures.wrong) in html
    assert all(one.reason.split(":")[0] in html for one in found.refused)


def test_the_chart_has_a_line_for_every_mechanism(found: cv.Comparison) -> None:
    (values,) = found.plot().to_dict()["datasets"].values()
    lines = {(value["of"], value["at"]) for value in values}
    names = ("independent", "independent, rare reports", "sticky", "sticky, rare reports")
    assert lines == {(name, epsilon) for name in names for epsilon in BUDGETS}


def test_in_notebooks(found: cv.Comparison) -> None:
    assert "<script" not in found._repr_html_()
    assert "private" in found._repr_html_()
    assert "epsilon 2" in repr(found)


def test_more_states_and_gaps() -> None:
    chain = cv.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.2, 0.3, 0.5]])
    values = chain.sample(900, rng=1).astype(float)
    values[100:110] = np.nan
    table = pa.table({"stage": pa.array(values, from_pandas=True)})
    found = cv.compare(
        table, "stage", 5.0, threshold=[0.5, 1.5], missing="keep", chain=chain,
        mechanism=["independent", "tracking"],
    )  # fmt: skip
    assert {row.setting.objective for row in found.rows} >= {"wrong-reports", "distance"}
    assert all("state" in one.reason or "left out" in one.reason or "objective" in one.reason
               for one in found.refused)  # fmt: skip
    assert found.about.points == 890
    assert found.best(5.0).row is not None


def test_the_chain_of_the_table_is_fitted_where_none_is_given() -> None:
    series = [CHAIN.sample(3000, rng=n) for n in range(2)]
    found = cv.compare(series, epsilon=4.0, mechanism="independent")
    own = cv.MarkovChain.fit(series)
    assert f"{own.transition[0, 1]}" in found.about.chain
    # What is calibrated is the box around it that a release may publish.
    assert all(row.plan.region is not None for row in found.rows if row.every == 1)


def test_progress_is_told_step_by_step_and_in_full() -> None:
    source = FrameSource(_table(1, 500))
    request = read_request({"column": "bpm", "threshold": 60, "chain": CHAIN})
    told: list[int] = []
    settings = [Setting("independent"), Setting("correlated", objective="smoothed")]
    search = Search(read_study(source, request), request, lambda _, steps: told.append(steps))
    rows, refused = search.at(2.0, settings)
    assert (len(rows), len(refused)) == (1, 1)
    # What is refused is done with too.
    assert sum(told) == len(settings)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"epsilon": []}, "epsilon"), ({"epsilon": [1, -1]}, "epsilon"),
        ({"for_": "lunch"}, "for_"), ({"for_": "pattern"}, "for_"),
        ({"mechanism": "slimy"}, "mechanism"), ({"mechanism": 3}, "mechanism"),
        ({"threshold": 1}, "column"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}"):
        cv.compare(CHAIN.sample(100, rng=1), **wrong)


def test_budgets_are_read_once_and_in_order() -> None:
    assert read_budgets([4, 1, 4.0]) == (1.0, 4.0)
    assert read_budgets(2) == (2.0,)
