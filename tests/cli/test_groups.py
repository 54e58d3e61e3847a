"""``--group``: a model and noise for each group, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import chainveil as cv
from tests.cli.program import called

ASKED = ("--column", "x", "--states", "0,1", "--series", "who", "--group", "ward")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two wards, whose names are numbers with a zero in front."""
    wards = {"01": (0.3, 0.4), "02": (0.15, 0.2)}
    lines = [
        f"{ward}{person},{ward},{value}"
        for ward, ends in wards.items()
        for person in "ab"
        for value in cv.MarkovChain.binary(*ends).sample(300, rng=int(ward) + ord(person))
    ]
    path = tmp_path / "t.csv"
    path.write_text("who,ward,x\n" + "\n".join(lines) + "\n")
    return path


def test_from_table_to_estimate(table: Path) -> None:
    folder = table.parent
    told = called("sanitize", table, *ASKED, "--epsilon", "4", "--mechanism", "independent",
                  "--pooled", "-o", "r.csv", folder=folder)  # fmt: skip
    text = told.stdout.decode()
    assert "groups              2 by ward, each with noise of its own" in text
    for words in ("columns             x, who, ward", "01: loss", "02: changed points",
                  "02: own chains"):  # fmt: skip
        assert words in text
    asked = ("verify", "r.certificate.json", "r.csv", "--json")
    found = json.loads(called(*asked, folder=folder).stdout)
    assert found["holds"]
    assert sum(line["field"] == "loss.epsilon" for line in found["checks"]) == 2
    # The names of the wards are numbers when the release is read again.
    answers = called("estimate", "r.csv", "frequency", "--by", "ward", "--json", folder=folder)
    assert {row["group"] for row in json.loads(answers.stdout)["answers"]} == {1, 2}
    windows = called("estimate", "r.csv", "frequency", "--window", "300", folder=folder)
    assert "02b, window 0: 1" in windows.stdout.decode()
    failed = called("estimate", "r.csv", "transitions", folder=folder, code=2)
    assert "only shares and pairs add up" in failed.stderr.decode()
    failed = called("estimate", "r.csv", "denoise", folder=folder, code=2)
    assert "each group of ward has its own" in failed.stderr.decode()
    failed = called("attack", "r.csv", "--original", table, folder=folder, code=3)
    assert "certificate.groups[label]" in failed.stderr.decode()


def test_fit_tells_of_each_group(table: Path) -> None:
    told = called("fit", table, *ASKED, folder=table.parent).stdout.decode()
    assert "01: q " in told
    assert "02: own chains" not in told
    found = json.loads(called("fit", table, *ASKED, "--json", folder=table.parent).stdout)
    assert [group["group"] for group in found["groups"]] == ["01", "02"]
    wrong = called("fit", table, *ASKED, "-o", "chain.json", folder=table.parent, code=2)
    assert "-o writes one chain or family" in wrong.stderr.decode()


def test_not_on_spark(table: Path) -> None:
    asked = ("sanitize", table, *ASKED, "--epsilon", "4", "-o", "r", "--engine", "spark")
    assert "--group is for tables on this machine" in called(
        *asked, folder=table.parent, code=2
    ).stderr.decode()  # fmt: skip
