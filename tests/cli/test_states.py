"""More than two states, command by command, on real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.cli import run
from chainveil.cli.chain_file import read_chain_file
from chainveil.cli.output import open_loss

NAMES = ["rest", "walk", "run"]
CHAIN = cv.MarkovChain([[0.8, 0.15, 0.05], [0.2, 0.6, 0.2], [0.05, 0.25, 0.7]])
PEOPLE, HOURS = 3000, 2
WHERE = ["--series", "person", "--time", "hour"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with categories and with numbers that say the same."""
    place = tmp_path_factory.mktemp("states")
    states = CHAIN.sample(HOURS, PEOPLE, rng=5).reshape(-1)
    rows = np.arange(PEOPLE * HOURS)
    table = pa.table({
        "person": rows // HOURS, "hour": rows % HOURS,
        "level": pa.array(np.array(NAMES)[states]).dictionary_encode(),
        "pulse": 60.0 + 30 * states + rows % 30,
    })  # fmt: skip
    pq.write_table(table, place / "activity.parquet")
    return place


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


WAYS = {
    "level": ["--column", "level", "--states", "rest,walk,run"],
    "pulse": ["--column", "pulse", "--threshold", "90,120", "--labels", "rest,walk,run"],
}


@pytest.mark.slow
@pytest.mark.parametrize("column", WAYS)
def test_fit_calibrate_sanitize_verify_attack_estimate(
    column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    how = [*WHERE, *WAYS[column]]
    fitted = _json(capsys, "fit", "activity.parquet", *how, "-o", f"{column}.json")
    assert np.allclose(fitted["transition"], CHAIN.transition, atol=0.05)
    assert run(["fit", "activity.parquet", *how]) == 0
    assert "walk -> run" in capsys.readouterr().out
    plan, out = f"{column}-plan.json", f"{column}.csv"
    facts = _json(capsys, "calibrate", "--chain", f"{column}.json", "--epsilon", "3",
                  "--length", "2", "-o", plan)  # fmt: skip
    assert len(facts["plan"]["noise"]["matrix"]) == 3
    others = {other["method"]: other["flip_probability"] for other in facts["others"]}
    assert others["DP (ignores dependence)"] < facts["plan"]["noise"]["expected_flips"]
    # The plan knows the states, or the limits between them.
    where = [*WHERE, "--column", column]
    seed = ["--seed", "5"]
    assert run(["sanitize", "activity.parquet", *where, "--plan", plan, "-o", out, *seed]) == 0
    lines = Path(out).read_text().splitlines()
    place = lines[0].split(",").index(column)
    assert {line.split(",")[place] for line in lines[1:]} == set(NAMES)
    assert run(["verify", f"{column}.certificate.json", out]) == 4
    capsys.readouterr()
    facts = _json(capsys, "attack", out, "--original", "activity.parquet")
    rates = {name: score["right"] for name, score in facts["attackers"].items()}
    assert 1 / 3 < rates["single bit"] < rates["posterior"] < facts["bound"]
    found = _json(capsys, "estimate", out, "frequency")
    original = pq.read_table("activity.parquet")["level"].to_pylist()
    for name, answer in zip(NAMES, found["answers"], strict=True):
        # Seeded, and four standard errors: a correct program misses one for one seed in 5,000.
        truth = original.count(name) / len(original)
        assert abs(answer["value"] - truth) < 4 * answer["standard_error"]
    found = _json(capsys, "estimate", out, "transitions")
    assert [answer["about"] for answer in found["answers"]][1] == "rest -> walk"


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["uniform", "ordinal", "per-state"])
def test_every_family_in_one_step(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = f"{shape}.parquet"
    how = [*WHERE, *WAYS["level"], "--epsilon", "3", "--length", "2", "--family", shape]
    objective = ["--objective", "distance"] if shape == "ordinal" else []
    kept = ["--keep", "pulse"]
    assert run(["sanitize", "activity.parquet", *how, *objective, *kept, "-o", out]) == 2
    assert "Of 'pulse', its value is right about 9" in capsys.readouterr().err
    kept += ["--allow-leak", "pulse"]
    assert run(["sanitize", "activity.parquet", *how, *objective, *kept, "-o", out]) == 0
    # A column that was let through makes the promise a weaker one.
    assert run(["verify", f"{shape}.certificate.json", out]) == 4
    assert "published without a test of what they say about the states: pulse" in " ".join(
        capsys.readouterr().out.split()
    )
    certificate = cv.Certificate.read(f"{shape}.certificate.json")
    flips = certificate.plan().channel.flip_probabilities
    assert (len(set(flips)) == 1) == (shape == "uniform")
    released = pq.read_table(out)
    # Categories stay categories, and what is kept is as it was.
    before = pq.read_table("activity.parquet")
    assert released.schema.field("level").type == before.schema.field("level").type
    assert released.drop(["level"]).equals(before.drop(["level", "hour"]))


def test_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    level = [*WHERE, "--column", "level", "--epsilon", "3", "-o", "never.csv"]
    wrong: list[tuple[list[str], int, str]] = [
        (["--states", "rest,walk"], 2, "none of the states"),
        (["--states", "rest,walk,Run"], 2, "but for upper and lower case"),
        (["--states", "rest,walk,rest"], 2, "differ"),
        (["--threshold", "1,2"], 2, "numbers"),
        (["--threshold", "2,1"], 2, "increasing"),
        (["--states", "rest,walk,run", "--q", "0.1", "--r", "0.1"], 2, "2, as the chain has"),
        (["--states", "rest,walk,run", "--mechanism", "correlated"], 3, "two-state"),
        (["--states", "rest,walk,run", "--labels", "a,b"], 2, "3 labels"),
        (["--states", "rest,walk,run", "--length", "1"], 2, "2 rows"),
        (["--states", "rest,walk,run", "--family", "odd"], 2, "odd"),
    ]
    for more, code, message in wrong:
        assert run(["sanitize", "activity.parquet", *level, *more]) == code, more
        assert message in capsys.readouterr().err, more
    assert not list(Path().glob("never*"))
    assert (
        run(["calibrate", "--q", "0.1", "--r", "0.1", "--epsilon", "1", "--family", "ordinal"]) == 2
    )


def test_the_loss_of_many_states(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "activity.parquet", *WHERE, *WAYS["level"], "-o", "loss.json"]) == 0
    capsys.readouterr()
    how = ["loss", "--chain", "loss.json", "--length", "3"]
    facts = _json(capsys, *how, "--rho", "0.6")
    chain = read_chain_file("loss.json").chain
    noise = cv.Channel.randomized_response(3, 0.6)
    assert facts["epsilon"] == cv.privacy_loss(chain, noise, length=3).epsilon
    for wrong in (["--rho0", "0.6", "--rho1", "0.6"], ["--rho", "0.6", "--correlated"]):
        assert run([*how, *wrong]) == 2
        assert "3 states" in capsys.readouterr().err


def test_a_loss_that_stays_open_is_told_as_such() -> None:
    loss = cv.PrivacyLoss(2.0, 1.9999999, None, "any", None)
    assert open_loss(loss).endswith("at most that, and at least 1.999999")
