"""The recommendation against measured errors: what 30 studies have shown, and one of them again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import recommendation

ROWS = recommendation.read()
PAGE = Path(__file__).resolve().parents[2] / "docs" / "compare.md"


def test_the_recommended_setting_has_the_least_measured_error_in_27_of_30_studies() -> None:
    assert sorted(int(row["study"]) for row in ROWS) == list(range(recommendation.STUDIES))
    hits = sum(int(row["hit"]) for row in ROWS)
    assert hits >= recommendation.LEAST_HITS
    assert {row["question"] for row in ROWS} == set(recommendation.QUESTIONS)
    assert f"{hits} of the 30" in PAGE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("number", [7])
def test_studies_come_out_again(number: int) -> None:
    (old,) = (row for row in ROWS if int(row["study"]) == number)
    new = recommendation.study(number)
    assert new["recommended"] == old["recommended"]
    assert new["hit"] == int(old["hit"])
    assert float(new["measured"]) == pytest.approx(float(old["measured"]), rel=0.02)
