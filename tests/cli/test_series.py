"""Series one by one in ``fit`` and ``sanitize``, and regions wherever a chain is given."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import chainveil as cv
from tests.cli.program import called

BOX = ("--q", "0.05..0.12", "--r", "0.08..0.2")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A quick person, a slow one, and one with too few points."""
    chains = {"quick": (0.3, 0.4, 600), "slow": (0.03, 0.04, 2000), "short": (0.2, 0.2, 30)}
    lines = [
        f"{name},{value}"
        for name, (q, r, points) in chains.items()
        for value in cv.MarkovChain.binary(q, r).sample(points, rng=1)
    ]
    path = tmp_path / "data" / "t.csv"
    path.parent.mkdir()
    path.write_text("who,x\n" + "\n".join(lines) + "\n")
    return path


COLUMNS = ("--column", "x", "--states", "0,1", "--series", "who")


def test_fit_tells_of_each_series(table: Path) -> None:
    told = called("fit", table, *COLUMNS, "--epsilon", "2", folder=table.parent).stdout.decode()
    for words in ("parameters   q ", "own chains   at most ",
                  "above epsilon 2 by more than the error of the fits on 1 of 2",
                  "far apart    points ", "slow         loses ",
                  "left out     1 series have too few points"):  # fmt: skip
        assert words in told
    done = called("fit", table, *COLUMNS, "--epsilon", "2", "--json", folder=table.parent)
    each = json.loads(done.stdout)["each_series"]
    assert each["share_above"] == 0.5
    assert [row["series"] for row in each["rows"]] == ["quick", "slow", "short"]
    assert each["rows"][1]["loss"] > 2.0 > each["rows"][0]["loss"]
    assert each["rows"][2]["loss"] is None
    plain = called("fit", table, *COLUMNS, folder=table.parent).stdout.decode()
    assert "own chains   at most" not in plain
    assert "parameters" in plain
    wrong = called("fit", table, *COLUMNS[:4], "--epsilon", "2", folder=table.parent, code=2)
    assert "--epsilon belongs to --series" in wrong.stderr.decode()


def test_sanitize_checks_in_two_lines_and_reports_in_private(table: Path, tmp_path: Path) -> None:
    out, private = tmp_path / "public", tmp_path / "private"
    out.mkdir()
    private.mkdir()
    asked = ("sanitize", table, *COLUMNS, "--epsilon", "2", "--q", "0.1", "--r", "0.1", "-o")
    done = called(*asked, out / "r.csv", "--private-report", private / "p.csv", folder=tmp_path)
    told = done.stdout.decode()
    assert "own chains      at most " in told
    assert "fit             order 1 for " in told
    with (private / "p.csv").open() as file:
        rows = {row["series"]: row for row in csv.DictReader(file)}
    assert rows["slow"]["above"] == "True"
    assert rows["quick"]["above"] == "False"
    assert [path.name for path in sorted(out.iterdir())] == ["r.certificate.json", "r.csv"]
    certificate = (out / "r.certificate.json").read_text()
    assert "own" not in json.loads(certificate)
    for figure in (rows["slow"]["loss"], rows["slow"]["q"]):
        assert figure[:8] not in certificate
    unchecked = called(*asked, out / "s.csv", "--no-check", folder=tmp_path).stdout.decode()
    assert "own chains" not in unchecked


def test_a_private_report_is_refused_where_others_would_find_it(
    table: Path, tmp_path: Path
) -> None:
    asked = ("sanitize", table, *COLUMNS, "--epsilon", "2", "-o", "r.csv", "--private-report")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "other").mkdir()
    for place in ("p.csv", "link/p.csv", str(tmp_path / "p.csv")):
        done = called(*asked, place, folder=tmp_path, code=2)
        assert "found a file in the folder of the release" in done.stderr.decode()
    beside = called(*asked, "other/p.csv", "--certificate", "other/c.json", folder=tmp_path, code=2)
    assert "in the folder of the release" in beside.stderr.decode()
    (tmp_path / "other" / "p.csv").write_text("mine")
    there = called(*asked, "other/p.csv", folder=tmp_path, code=2)
    assert "exists; --force overwrites it" in there.stderr.decode()
    alone = called(*asked, "other/q.csv", "--no-check", folder=tmp_path, code=2)
    assert "--private-report takes --series and --check" in alone.stderr.decode()
    assert not (tmp_path / "r.csv").exists()
    assert (tmp_path / "other" / "p.csv").read_text() == "mine"


@pytest.mark.slow
def test_regions_wherever_a_chain_is_given(table: Path) -> None:
    folder = table.parent
    region = cv.ChainRegion((0.05, 0.12), (0.08, 0.2))
    called("calibrate", *BOX, "--epsilon", "2", "-o", "plan.json", folder=folder)
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["chain"]["region"] == [[0.05, 0.12], [0.08, 0.2]]
    lost = json.loads(called("loss", *BOX, "--rho", "0.3", "--json", folder=folder).stdout)
    exact = cv.privacy_loss(region, cv.Channel.binary(0.3, 0.3))
    assert lost["epsilon"] == exact.epsilon
    assert lost["worst_chain"][0][1] == 0.05
    mixed = called("loss", "--q", "0.05..0.12", "--r", "0.1", "--rho", "0.3", folder=folder)
    assert b"worst chain   q 0.05, r 0.1" in mixed.stdout
    planned = called("plan", *BOX, "--epsilon", "2", "--rows", "1000", folder=folder)
    assert b"epsilon 2" in planned.stdout
    called("sanitize", table, *COLUMNS, *BOX, "--epsilon", "2", "-o", "r.csv", folder=folder)
    told = called("verify", "r.certificate.json", "r.csv", folder=folder).stdout.decode()
    assert "holds as promised to anyone" in told


def test_regions_come_from_files(table: Path) -> None:
    folder = table.parent
    fitted = ("fit", table, *COLUMNS, "--public", "--pooled", "--confidence",
              "0.95", "-o", "region.json")  # fmt: skip
    assert b"region       q " in called(*fitted, folder=folder).stdout
    written = json.loads((folder / "region.json").read_text())
    assert set(written["region"]) == {"q", "r", "estimate"}
    assert "counts" not in written
    called("calibrate", "--chain", "region.json", "--epsilon", "2", "-o", "p.json", folder=folder)
    plan = json.loads((folder / "p.json").read_text())
    assert plan["chain"]["region"] == [written["region"]["q"], written["region"]["r"]]
    assert plan["chain"]["origin"] == "reference"
    written["region"]["q"] = [0.5, 0.2]
    (folder / "wrong.json").write_text(json.dumps(written))
    wrong = called("loss", "--chain", "wrong.json", "--rho", "0.3", folder=folder, code=2)
    assert "a pair (least, largest)" in wrong.stderr.decode()
    written["region"] = [1, 2]
    (folder / "wrong.json").write_text(json.dumps(written))
    wrong = called("loss", "--chain", "wrong.json", "--rho", "0.3", folder=folder, code=2)
    assert "chain region" in wrong.stderr.decode()


@pytest.mark.parametrize("text", ["0.1..0.2..0.3", "a..0.2", "0.1.."])
def test_what_is_no_interval_is_said_to_be_none(text: str, tmp_path: Path) -> None:
    done = called("loss", "--q", text, "--r", "0.1", "--rho", "0.2", folder=tmp_path, code=2)
    assert b"--q: " in done.stderr


@pytest.mark.slow
def test_fit_tells_what_promises_cost(table: Path) -> None:
    asked = ("fit", table, *COLUMNS, "--public", "--epsilon", "2", "--price", "--mechanism")
    done = called(*asked, "sticky", "--json", folder=table.parent)
    paid = {(p["model"], p["mechanism"]): p for p in json.loads(done.stdout)["prices"]}
    assert paid["pooled", "sticky"]["wrong"] < paid["family", "sticky"]["wrong"]
    assert paid["family", "sticky"]["loss"] <= 2.0
    wrong = called("fit", table, *COLUMNS, "--price", folder=table.parent, code=2)
    assert "--price takes --series and --epsilon" in wrong.stderr.decode()


def _promised(folder: Path, name: str) -> tuple[list[list[float]], float]:
    """The box that a certificate promises for, and its noise."""
    certificate = json.loads((folder / name).read_text())
    return certificate["chain"]["region"], certificate["noise"]["expected_flips"]


def test_the_default_is_the_family_of_the_series(table: Path) -> None:
    folder, asked = table.parent, ("sanitize", table, *COLUMNS, "--epsilon", "2", "--mechanism",
                                   "independent", "-o")  # fmt: skip
    done = called(*asked, "r.csv", folder=folder)
    assert "by more than the error of the fits on 0 of 2" in done.stdout.decode()
    assert b"pooled" not in done.stderr
    pooled = called(*asked, "p.csv", "--pooled", folder=folder)
    assert "pooled: the noise is for the chain of all series together" in pooled.stderr.decode()
    assert "by more than the error of the fits on 1 of 2" in pooled.stdout.decode()
    (wide, much), (narrow, less) = (_promised(folder, f"{n}.certificate.json") for n in "rp")
    assert wide[0][0] < narrow[0][0] < narrow[0][1] < wide[0][1]
    assert much > less
    assert b"holds as promised" in called("verify", "r.certificate.json", "r.csv",
                                          folder=folder).stdout  # fmt: skip
    called(*asked, "q.csv", "--parts", "2", folder=folder)
    assert _promised(folder, "q.certificate.json")[0][0][0] <= wide[0][0]
    wrong = called(*asked, "n.csv", "--parts", "2", "--pooled", folder=folder, code=2)
    assert "beside pooled" in wrong.stderr.decode()


@pytest.mark.slow
def test_families_are_written_to_files_and_read(table: Path) -> None:
    folder = table.parent
    told = called("fit", table, *COLUMNS, "-o", "family.json", folder=folder).stdout.decode()
    assert "family       a family of 3 models on 2 states" in told
    written = json.loads((folder / "family.json").read_text())
    assert written["family"]["names"] == ["series quick", "series slow", "all series together"]
    how = ("--epsilon", "2", "--mechanism", "independent")
    called("calibrate", "--chain", "family.json", *how, "-o", "plan.json", folder=folder)
    called("sanitize", table, *COLUMNS, *how, "-o", "r.csv", folder=folder)
    called("sanitize", table, *COLUMNS, *how, "--chain", "family.json", "-o", "f.csv",
           folder=folder)  # fmt: skip
    plan, own, read = (_promised(folder, f"{name}.json")
                       for name in ("plan", "r.certificate", "f.certificate"))  # fmt: skip
    assert plan == own == read
    lost = called("loss", "--chain", "family.json", "--rho", "0.45", "--json", folder=folder)
    assert json.loads(lost.stdout)["epsilon"] > 0
    called("plan", "--chain", "family.json", "--epsilon", "2", "--rows", "1000", folder=folder)
    called("fit", table, *COLUMNS, "--pooled", "-o", "chain.json", folder=folder)
    assert "transition" in json.loads((folder / "chain.json").read_text())


def test_a_family_file_that_is_wrong_is_refused_in_words(table: Path) -> None:
    folder = table.parent
    called("fit", table, *COLUMNS, "-o", "family.json", folder=folder)
    written = json.loads((folder / "family.json").read_text())
    for wrong, words in (
        ({"family": []}, "members, names and typical"),
        ({"family": written["family"] | {"members": [["chain"]]}}, "members, names and typical"),
        ({"origin": "reference"}, "as the file says"),
    ):
        (folder / "wrong.json").write_text(json.dumps(written | wrong))
        done = called("loss", "--chain", "wrong.json", "--rho", "0.3", folder=folder, code=2)
        assert words in done.stderr.decode()
    done = called("fit", table, *COLUMNS[:4], "--pooled", folder=folder, code=2)
    assert "--pooled takes --series" in done.stderr.decode()
