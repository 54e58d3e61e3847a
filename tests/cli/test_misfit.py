"""``chainveil misfit`` and ``chainveil audit``: the real program on real files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import chainveil as cv
from chainveil.attack import misfit
from chainveil.certificate import Certificate
from tests.cli.program import called, program

LONGER = cv.HigherOrderChain([[0.91, 0.09], [0.25, 0.75], [0.75, 0.25], [0.1, 0.9]], order=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of three persons whose series remember two points, and a plan of order 1."""
    place = tmp_path_factory.mktemp("misfit")
    x = LONGER.sample(1200, 3, rng=1)
    lines = [f"p{i},{t},{v}" for i, row in enumerate(x) for t, v in enumerate(row)]
    (place / "t.csv").write_text("who,t,x\n" + "\n".join(lines) + "\n")
    np.save(place / "x.npy", x)
    called("fit", "t.csv", "--column", "x", "--states", "0,1", "--series", "who", "--public",
           "--pooled", "-o", "chain.json", folder=place)  # fmt: skip
    called("calibrate", "--chain", "chain.json", "--epsilon", "1", "-o", "plan.json", folder=place)
    return place


READ = ("misfit", "t.csv", "--column", "x", "--states", "0,1", "--series", "who")


@pytest.mark.slow
def test_what_a_promise_is_worth(folder: Path) -> None:
    done = program(
        *READ,
        "--plan",
        "plan.json",
        "--orders",
        "1,2",
        "--each",
        "--effort",
        "5000",
        folder=folder,
    )
    told = done.stdout.decode()
    assert "promise        epsilon 1\n" in told
    assert "data           3,600 points in 3 series\n" in told
    assert "3 own fits: worst " in told
    assert "verdict        Above epsilon 1: the loss is " in told
    assert "as private as the data" in done.stderr.decode()


@pytest.mark.slow
def test_the_figures_are_those_of_python(folder: Path) -> None:
    done = called(
        *READ,
        "--plan",
        "plan.json",
        "--orders",
        "1,2",
        "--effort",
        "5000",
        "--json",
        folder=folder,
    )
    facts = json.loads(done.stdout)
    x = np.load(folder / "x.npy")
    plan = Certificate.read(folder / "plan.json").plan()
    found = misfit(x, plan, (1, 2), effort=5000)
    for reading, told in zip(found.readings, facts["readings"], strict=True):
        assert told["order"] == reading.order
        assert told["attained"] == reading.loss.lower
        assert told["not_exceeded"] == reading.loss.epsilon
    assert facts["readings"][0]["not_exceeded"] == found.reading(1).loss.epsilon
    assert facts["verdict"].startswith("Above epsilon 1: the loss is ")
    assert facts["series"] == 3


@pytest.mark.parametrize(
    "mechanism", ["tracking", pytest.param("independent", marks=pytest.mark.slow)]
)
def test_certificates_of_releases_are_plans_too(folder: Path, mechanism: str) -> None:
    release = f"{mechanism}.csv"
    called("sanitize", "t.csv", "--column", "x", "--states", "0,1", "--chain", "chain.json",
           "--epsilon", "2", "--mechanism", mechanism, "--series", "who", "-o", release,
           folder=folder)  # fmt: skip
    document = f"{mechanism}.certificate.json"
    done = called(
        *READ, "--plan", document, "--orders", "2", "--effort", "5000", "--json", folder=folder
    )
    (reading,) = json.loads(done.stdout)["readings"]
    assert reading["attained"] > 2.0
    assert (reading["not_exceeded"] is None) == (mechanism == "tracking")
    told = called("audit", release, "--original", "t.csv", "--json", folder=folder, code=None)
    facts = json.loads(told.stdout)
    assert told.returncode == int(facts["exceeds_promise"])
    assert facts["promise"] == 2.0
    assert facts["value_trials"] > 20


@pytest.mark.parametrize(
    "plan",
    [
        "rare.json",
        pytest.param("plan.json", marks=pytest.mark.slow),
        pytest.param("region.json", marks=pytest.mark.slow),
    ],
)
def test_an_audit_of_a_plan(folder: Path, plan: str) -> None:
    if not (folder / plan).exists():
        how = ["--every", "2", "--q", "0.2", "--r", "0.2"] if plan == "rare.json" else [
            "--q", "0.2..0.25", "--r", "0.2..0.3", "--mechanism", "independent",
        ]  # fmt: skip
        called("calibrate", *how, "--epsilon", "1", "-o", plan, folder=folder)
    done = called("audit", "--plan", plan, "--trials", "4000", "--seed", "1", "--json",
                  folder=folder)  # fmt: skip
    facts = json.loads(done.stdout)
    # At 99% confidence; the seed is of the series alone, so that one run in a hundred may fail:
    # with a third of the promise as slack none of a million would.
    assert 0 <= facts["lower_bound"] < 1.0
    assert facts["value_trials"] == 2000
    assert facts["exceeds_promise"] is False


def test_an_audit_in_words(folder: Path) -> None:
    told = called("audit", "--plan", "plan.json", "--trials", "2000", folder=folder).stdout.decode()
    assert "promise  epsilon 1\n" in told
    assert "was not refuted, which does not confirm it" in told


def test_wrong_use(folder: Path) -> None:
    for arguments, words in [
        (("audit",), "Give a RELEASE with --original, or --plan"),
        (("audit", "t.csv"), "RELEASE takes --original"),
        ((*READ, "--plan", "plan.json", "--orders", "1,x"), "--orders: '1,x' is not a list"),
        ((*READ, "--plan", "plan.json", "--orders", "7"), "orders from 1 to 4"),
        ((*READ,), "Missing option '--plan'"),
    ]:
        done = called(*arguments, folder=folder, code=2)
        assert words in done.stderr.decode()
    three = ("misfit", "t.csv", "--column", "x", "--threshold", "0.2,0.5", "--plan", "plan.json")
    assert "The plan is for 2 states" in called(*three, folder=folder, code=2).stderr.decode()
