"""A curator's morning, command by command; what belongs together in real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.cli.demo import write_sample
from tests.cli.program import called, program

WHERE = ["--column", "bpm", "--series", "person", "--time", "minute"]
STATES = ["--threshold", "60", "--labels", "low,high"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table in it."""
    place = tmp_path_factory.mktemp("session")
    write_sample(place / "heart.csv")
    return place


def _json(*arguments: str, folder: Path) -> Any:
    return json.loads(program(*arguments, "--json", folder=folder).stdout)


def test_fit_calibrate_sanitize_verify_attack(folder: Path) -> None:
    fit = program("fit", "heart.csv", *WHERE, *STATES, "-o", "chain.json", folder=folder)
    assert b"rows" in fit.stdout
    assert b"warning: the chain was fitted on the data" in fit.stderr
    done = called("calibrate", "--chain", "chain.json", "--epsilon", "2", "-o", "plan.json",
                  "--json", folder=folder)  # fmt: skip
    facts = json.loads(done.stdout)
    assert facts["plan"]["loss"]["epsilon"] <= 2
    assert {other["method"] for other in facts["others"]} >= {"Lange et al.", "group privacy"}
    # The plan knows the limits that the chain was fitted with.
    done = program("sanitize", "heart.csv", *WHERE, "--plan", "plan.json",
                   "-o", "release.parquet", folder=folder)  # fmt: skip
    assert b"30,000 rows in 20 series" in done.stdout
    assert b"not covered by epsilon" in done.stderr
    verified = _json("verify", "release.certificate.json", "release.parquet", folder=folder)
    assert verified["holds"] is True
    assert {check["status"] for check in verified["checks"]} == {"holds", "open"}
    done = called("attack", "release.parquet", "--original", "heart.csv", "--json", folder=folder)
    attacked = json.loads(done.stdout)
    rates = {name: score["right"] for name, score in attacked["attackers"].items()}
    assert set(rates) == {"single bit", "posterior", "Viterbi"}
    assert max(rates.values()) < attacked["bound"]
    kept = pq.read_table(folder / "release.parquet")
    assert kept.schema.names == ["person", "bpm"]
    assert set(kept["bpm"].to_pylist()) == {"low", "high"}


def test_changes_are_found(folder: Path) -> None:
    called("sanitize", "heart.csv", *WHERE, *STATES, "--epsilon", "1", "--q", "0.09",
           "--r", "0.11", "-o", "tampered.csv", folder=folder)  # fmt: skip
    text = (folder / "tampered.csv").read_text()
    other = "high" if text.rstrip().endswith("low") else "low"
    changed = text.rstrip().rsplit(",", 1)[0] + f",{other}\n"
    (folder / "changed.csv").write_text(changed)
    done = called("verify", "tampered.certificate.json", "changed.csv", folder=folder, code=1)
    lines = done.stdout.splitlines()
    assert lines[0].split(None, 1) == [b"verdict", b"fails: not as claimed"]
    assert lines[1].startswith(b"FAILS")
    assert b"release.states_sha256" in lines[1]
    # Nothing is promised then, only claimed.
    assert b"\npromise " not in done.stdout
    certificate = (folder / "tampered.certificate.json").read_text()
    forged = certificate.replace('"epsilon": 1.0', '"epsilon": 1.5')
    (folder / "forged.json").write_text(forged)
    done = called("verify", "forged.json", folder=folder, code=1)
    assert b"FAILS" in done.stdout
    (folder / "broken.json").write_text(certificate[:100])
    done = program("verify", "broken.json", "--json", folder=folder, code=2)
    assert json.loads(done.stderr)["error"] == "InvalidInput"


@pytest.mark.slow
def test_standard_input_to_standard_output(folder: Path) -> None:
    table = (folder / "heart.csv").read_bytes()
    done = program("sanitize", "-", *WHERE, *STATES, "--epsilon", "1", "--q", "0.1", "--r", "0.1",
                   "-o", "-", "--certificate", "piped.json", folder=folder,
                   stdin=table)  # fmt: skip
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "person,bpm"
    assert len(lines) == 30_001
    assert {line.rsplit(",", 1)[1] for line in lines[1:]} == {"low", "high"}
    bare = called("sanitize", "-", *WHERE, *STATES, "--epsilon", "1", "--q", "0.1", "--r", "0.1",
                  "-o", "-", folder=folder, stdin=table)  # fmt: skip
    assert b"no certificate was written" in bare.stderr
    done = program("verify", "piped.json", "-", folder=folder, stdin=done.stdout)
    assert b"holds as promised to anyone" in done.stdout


def test_loss_and_budgets_that_cannot_be_met(folder: Path) -> None:
    done = called("loss", "--q", "0.1", "--r", "0.1", "--rho", "0.02", "--length", "5", "--json",
                  folder=folder)  # fmt: skip
    facts = json.loads(done.stdout)
    loss = cv.privacy_loss(cv.MarkovChain.symmetric(0.1), cv.Channel.binary(0.02, 0.02), length=5)
    assert facts["epsilon"] == loss.epsilon
    done = called(
        "loss", "--q", "0.1", "--r", "0.1", "--rho", "0.02", "--length", "5", folder=folder
    )
    shown = done.stdout.decode().split("at most ")[1].split()[0]
    assert float(shown) >= loss.epsilon
    for slow in ("1e-6", "1e-200"):
        done = called("calibrate", "--q", slow, "--r", slow, "--epsilon", "1", "--json",
                      "--mechanism", "correlated", folder=folder, code=None)  # fmt: skip
        if slow == "1e-6":
            assert 0.99 <= json.loads(done.stdout)["plan"]["loss"]["epsilon"] <= 1
        else:
            assert done.returncode == 3
            assert b"error: " in done.stderr
    for wrong in (["--q", "0.1", "--r", "0.1"], ["--rho", "0.1"], ["--q", "0.1", "--rho", "0.1"]):
        called("loss", *wrong, folder=folder, code=2)
    both = ["--chain", "chain.json", "--q", "0.1", "--r", "0.1", "--rho", "0.1"]
    assert b"not both" in called("loss", *both, folder=folder, code=2).stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--column", "bmp", "--threshold", "60", "--epsilon", "1"], "Did you mean 'bpm'"),
        (["--column", "bpm", "--threshold", "60"], "epsilon"),
        (["--column", "bpm", "--epsilon", "1"], "become states"),
        (["--column", "bpm", "--threshold", "sixty", "--epsilon", "1"], "not a number"),
        (["--column", "bpm", "--time", "minute", "--threshold", "60", "--epsilon", "1"],
         "step back in row 1501"),
        (["--column", "bpm", "--threshold", "60", "--plan", "none.json"], "exists"),
        (["--column", "bpm", "--threshold", "60", "--epsilon", "0"], "epsilon"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(folder: Path, more: list[str], message: str) -> None:
    done = called("sanitize", "heart.csv", *more, "-o", "never.csv", folder=folder, code=2)
    assert message in done.stderr.decode()
    assert not done.stdout
    assert not list(folder.glob("*never*"))


def test_no_header_and_white_space(folder: Path) -> None:
    (folder / "beats.txt").write_text(
        "\n".join(f" {t}   {50 + 20 * (t // 7 % 2)}" for t in range(90))
    )
    how = ["--no-header", "--column", "column2", "--time", "column1", "--threshold", "60"]
    done = called("fit", "beats.txt", *how, "--public", "--json", folder=folder)
    assert json.loads(done.stdout)["rows"] == 90
    called("sanitize", "beats.txt", *how, "--epsilon", "1", "--q", "0.2", "--r", "0.2",
           "-o", "beats.csv", folder=folder)  # fmt: skip
    lines = (folder / "beats.csv").read_text().splitlines()
    # Columns that are left out would leave the others without a name.
    assert lines[0] == "column2"
    assert len(lines) == 91
    called("verify", "beats.certificate.json", "beats.csv", folder=folder)
    called("attack", "beats.csv", "--original", "beats.txt", "--no-header", folder=folder)


@pytest.mark.slow
def test_the_demo_leaves_release_certificate_and_picture(folder: Path) -> None:
    done = program("demo", "--folder", "shown", "--offline", folder=folder)
    assert b"holds as promised to anyone" in done.stdout
    assert b"% with independent noise, " in done.stdout
    names = {path.name for path in (folder / "shown").iterdir()}
    assert names >= {"release.parquet", "release.certificate.json", "release.png", "chain.json"}
    certificate = json.loads((folder / "shown" / "release.certificate.json").read_text())
    assert certificate["noise"]["mechanism"] == "sticky"


@pytest.mark.slow
def test_the_demo_says_what_memory_gains(folder: Path) -> None:
    done = called("demo", "--folder", "gained", "--offline", "--json", folder=folder)
    (wrong,) = json.loads(done.stdout)["wrong"]
    assert wrong["sticky"] < 0.32 < 0.42 < wrong["independent"]
