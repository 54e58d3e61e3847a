"""The same data published twice: what is noticed, what it costs, how it is planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import chainveil as cv
from chainveil.certificate import certify
from chainveil.cli import run
from chainveil.privacy.rounding import upper

CHAIN = ["--q", "0.1", "--r", "0.2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tables in the folder we are in."""
    monkeypatch.chdir(tmp_path)
    Path("beats.csv").write_text("x\n" + "0\n1\n" * 50)
    Path("longer.csv").write_text("x\n" + "0\n1\n" * 60)
    return tmp_path


def _sanitize(table: str, out: str, *more: str) -> int:
    return run(["sanitize", table, "--column", "x", *CHAIN, "-o", out, *more])


def test_a_second_release_of_the_same_data_is_warned_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sanitize("beats.csv", "first.csv", "--epsilon", "1") == 0
    assert capsys.readouterr().err == ""
    assert _sanitize("beats.csv", "second.csv", "--epsilon", "2") == 0
    told = capsys.readouterr().err
    chain = cv.MarkovChain.binary(0.1, 0.2)
    names = ("first", "second")
    plans = [cv.Certificate.read(f"{name}.certificate.json").plan() for name in names]
    noises = [plan.noise for plan in plans]
    assert [noise.kind for noise in noises] == ["sticky", "sticky"]
    # The fewest wrong reports of the first budget would only guess.
    assert cv.Certificate.read("first.certificate.json")["noise.objective"] == "share"
    loss = cv.privacy_loss(chain, noises)
    assert "first.certificate.json is the certificate of an earlier release" in told
    assert f"together lose {upper(loss.epsilon)}, not {upper(plans[1].loss.epsilon)}" in told
    assert "--spent first.certificate.json" in told
    assert len(told.splitlines()) == 1


def test_an_overwritten_release_is_one_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["calibrate", *CHAIN, "--epsilon", "1", "-o", "plan.json"]) == 0
    how = ["sanitize", "beats.csv", "--column", "x", "--plan", "plan.json", "-o", "first.csv"]
    assert run(how) == 0
    assert capsys.readouterr().err == ""
    assert run([*how, "--force", "--json"]) == 0
    told = capsys.readouterr()
    assert "first.certificate.json is the certificate" in told.err
    assert json.loads(told.out)["earlier"] == ["first.certificate.json"]
    assert run([*how[:-1], "third.csv"]) == 0
    assert "and so are" not in capsys.readouterr().err
    assert run([*how[:-1], "fourth.csv"]) == 0
    assert "and so are 1 more" in capsys.readouterr().err


def test_other_data_studies_and_strangers_are_no_reason_to_warn(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.certificate.json").write_text("{")
    assert _sanitize("beats.csv", "study.csv", "--epsilon", "1", "--seed", "1") == 0
    capsys.readouterr()
    assert _sanitize("beats.csv", "first.csv", "--epsilon", "1") == 0
    assert _sanitize("longer.csv", "longer-out.csv", "--epsilon", "1") == 0
    assert capsys.readouterr().err == ""
    assert _sanitize("beats.csv", "study2.csv", "--epsilon", "1", "--seed", "1") == 0
    assert "earlier release" not in capsys.readouterr().err


def test_correlated_noise_adds_up_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first.csv", "second.csv"):
        assert _sanitize("beats.csv", name, "--epsilon", "3", "--mechanism", "correlated") == 0
    noise = cv.Certificate.read("first.certificate.json").plan().noise
    both = cv.privacy_loss(cv.MarkovChain.binary(0.1, 0.2), [noise, noise])
    assert f"together lose {upper(both.epsilon)}, not 3" in capsys.readouterr().err
    spent = ["--epsilon", "5", "--spent", "first.certificate.json"]
    assert _sanitize("beats.csv", "third.csv", *spent) == 0
    made = cv.Certificate.read("third.certificate.json")
    assert made["noise.earlier"][0]["kind"] == "correlated"
    assert 3 < made["loss.epsilon"] <= 5


@pytest.mark.slow
def test_what_was_spent_is_planned_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _sanitize("beats.csv", "first.csv", "--epsilon", "1") == 0
    spent = ["--spent", "first.certificate.json"]
    assert _sanitize("beats.csv", "second.csv", "--epsilon", "2", *spent) == 0
    assert capsys.readouterr().err == ""
    assert run(["verify", "second.certificate.json", "second.csv"]) == 0
    second = cv.Certificate.read("second.certificate.json")
    chain = cv.MarkovChain.binary(0.1, 0.2)
    first = cv.Certificate.read("first.certificate.json").plan().noise
    assert second["noise.earlier"] == [first.to_json()]
    assert second["loss.epsilon"] == cv.privacy_loss(chain, [first, second.plan().noise]).epsilon
    # The second knows of the first, so that the third needs to name the second alone.
    then = ["--epsilon", "3", "--spent", "second.certificate.json"]
    capsys.readouterr()
    assert run(["calibrate", *CHAIN, *then, "-o", "third.json", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert len(plan["noise"]["earlier"]) == 2
    assert run(["verify", "third.json"]) == 4
    # A plan brings what was spent along.
    again = ["sanitize", "beats.csv", "--column", "x", "--plan", "third.json", "-o", "third.csv"]
    assert run([*again, *spent]) == 2
    assert run(again) == 0
    assert run(["verify", "third.certificate.json", "third.csv"]) == 0


def test_nothing_is_left_or_cannot_be_trusted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sanitize("beats.csv", "first.csv", "--epsilon", "2") == 0
    spent = ["--spent", "first.certificate.json"]
    assert _sanitize("beats.csv", "second.csv", "--epsilon", "1", *spent) == 3
    assert not Path("second.csv").exists()
    document = json.loads(Path("first.certificate.json").read_text())
    document["loss"]["epsilon"] = 0.5
    Path("forged.json").write_text(json.dumps(document))
    for wrong in ("forged.json", "nowhere.json"):
        assert _sanitize("beats.csv", "second.csv", "--epsilon", "4", "--spent", wrong) == 2
    assert not Path("second.csv").exists()


def test_in_python() -> None:
    import pyarrow as pa

    chain = cv.MarkovChain.binary(0.1, 0.2)
    first = cv.calibrate(chain, 1.0)
    table = pa.table({"x": [0, 1] * 20})
    how: dict[str, Any] = {"chain": chain, "earlier": [first.channel]}
    done = cv.sanitize_table(table, "x", 2.0, **how)
    assert cv.verify(done.certificate, done.table).holds
    with pytest.raises(cv.InvalidInput, match="earlier"):
        cv.sanitize_table(table, "x", plan=first, earlier=[first.channel])
    assert certify(cv.calibrate(chain, 2.0, earlier=[first.channel])).verify().holds
