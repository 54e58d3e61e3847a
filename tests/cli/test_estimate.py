"""An analyst's questions on the command line: noise from the certificate, never the original."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from tests.cli.program import called

START = datetime(2026, 3, 2, 22, 0)
STATES = ["--column", "bpm", "--series", "person", "--threshold", "60", "--labels", "low,high"]
CHAIN = ["--q", "0.3", "--r", "0.4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of four series over three hours and two days, without its original."""
    place = tmp_path_factory.mktemp("estimate")
    x = cv.MarkovChain.binary(0.3, 0.4).sample(600, 4, 1)
    lines = ["person,room,when,bpm"]
    for minute in range(600):
        when = START + timedelta(seconds=20 * minute)
        lines += [f"{p},{'AB'[p % 2]},{when:%Y-%m-%d %H:%M:%S},{58 + 5 * x[p, minute]}"
                  for p in range(4)]  # fmt: skip
    (place / "heart.csv").write_text("\n".join(lines) + "\n")
    for name, seed in (("release.csv", "5"), ("other.csv", "6")):
        called("sanitize", "heart.csv", *STATES, "--epsilon", "3", *CHAIN, "--seed", seed,
                "--keep", "room,when", "-o", name, folder=place)  # fmt: skip
    np.save(place / "truth.npy", x)
    (place / "heart.csv").unlink()
    return place


def ask(folder: Path, *arguments: str) -> Any:
    return json.loads(called("estimate", "release.csv", *arguments, "--json",
                              folder=folder).stdout)  # fmt: skip


def test_answers_are_those_of_the_library(folder: Path) -> None:
    found = ask(folder, "frequency", "--by", "person")
    assert found["covers"] == "noise"
    assert [(a["group"], a["about"]) for a in found["answers"][:3]] == [
        (0, "low"), (0, "high"), (1, "low"),
    ]  # fmt: skip
    truth = np.load(folder / "truth.npy").mean(axis=1)
    high = [answer for answer in found["answers"] if answer["about"] == "high"]
    for answer, share in zip(high, truth, strict=True):
        assert abs(answer["value"] - share) < 5 * answer["standard_error"]
    steps = ask(folder, "transitions", "--covers", "sampling")
    assert [a["about"] for a in steps["answers"]] == [
        "low -> low", "low -> high", "high -> low", "high -> high",
    ]  # fmt: skip
    assert len(ask(folder, "durations")["answers"]) == 2
    assert len(ask(folder, "autocorrelation", "--lags", "1,3")["answers"]) == 4


def test_groups_of_columns_and_windows(folder: Path) -> None:
    rooms = ask(folder, "frequency", "--by", "room")
    assert {answer["group"] for answer in rooms["answers"]} == {"A", "B"}
    windows = ask(folder, "frequency", "--window", "300")
    assert len(windows["answers"]) == 16
    assert windows["answers"][-1]["group"] == "3, window 1"


def test_pictures_and_denoised_rows(folder: Path) -> None:
    done = called("estimate", "release.csv", "frequency", "--by", "person", "--plot", "f.png",
                   folder=folder)  # fmt: skip
    assert b"the series as it was" in done.stdout
    assert (folder / "f.png").stat().st_size > 1000
    called("estimate", "release.csv", "transitions", "--plot", "t.svg", folder=folder)
    called("estimate", "release.csv", "denoise", "-o", "clean.csv", folder=folder)
    with (folder / "clean.csv").open() as file:
        rows = list(csv.DictReader(file))
    truth = np.load(folder / "truth.npy").T.reshape(-1)
    guess = np.array([row["likeliest"] == "high" for row in rows])
    assert len(rows) == 2400
    assert (guess == truth).mean() > 0.7
    assert float(rows[0]["probability of low"]) + float(rows[0]["probability of high"]) == (
        pytest.approx(1, abs=1e-5)
    )


def test_the_original_is_drawn_for_the_curator_alone(folder: Path, tmp_path: Path) -> None:
    x = np.load(folder / "truth.npy")
    lines = [f"{p},{58 + 5 * x[p, minute]}" for minute in range(600) for p in range(4)]
    private = tmp_path / "again.csv"
    private.write_text("\n".join(["person,bpm", *lines]) + "\n")
    for question, by in (("frequency", "--by=person"), ("durations", "--window=200")):
        done = called("estimate", "release.csv", question, by, "--original", str(private),
                      "--plot", "truth.png", "--force", folder=folder)  # fmt: skip
        assert b"truth.png shows the original" in done.stderr
    picture = folder / "truth.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    alone = called("estimate", "release.csv", "frequency", "--original", str(private),
                   folder=folder, code=2)  # fmt: skip
    assert b"--original is for --plot" in alone.stderr
    private.write_text("\n".join(["person,bpm", *lines[:-1]]) + "\n")
    short = called("estimate", "release.csv", "frequency", "--original", str(private), "--plot",
                   "truth.png", folder=folder, code=2)  # fmt: skip
    assert b"2,399 rows" in short.stderr
    assert not picture.exists()


def test_gaps_of_the_time_column(tmp_path: Path) -> None:
    """Two runs of one state each, with a pause between: no step leads from one to the other."""
    when = [10 * t for t in range(300)] + [10 * t for t in range(500, 800)]
    lines = ["when,bpm", *(f"{t},{50 if t < 3000 else 70}" for t in when)]
    (tmp_path / "heart.csv").write_text("\n".join(lines) + "\n")
    called("sanitize", "heart.csv", "--column", "bpm", "--threshold", "60", "--labels", "low,high",
            "--time", "when", "--step", "10", "--max-gap", "10", "--epsilon", "25", *CHAIN,
            "--mechanism", "independent", "--seed", "1", "--keep-time", "-o", "release.csv",
            folder=tmp_path)  # fmt: skip
    gaps = ["--time", "when", "--max-gap", "10"]
    for more in ([], ["--step", "10"]):
        found = ask(tmp_path, "transitions", *gaps, *more)["answers"]
        assert found[1]["about"] == "low -> high"
        assert found[1]["value"] == pytest.approx(0, abs=1e-6)
        called("estimate", "release.csv", "denoise", *gaps, *more, "-o", "clean.csv", "--force",
                folder=tmp_path)  # fmt: skip
        with (tmp_path / "clean.csv").open() as file:
            rows = [row["likeliest"] for row in csv.DictReader(file)]
        assert rows == ["low"] * 300 + ["high"] * 300
    for asked in (["transitions"], ["denoise"], ["frequency", "--covers", "sampling"]):
        done = called("estimate", "release.csv", *asked, folder=tmp_path)
        assert b"are no neighbouring points" in done.stderr
    assert b"neighbouring" not in called("estimate", "release.csv", "frequency",
                                          folder=tmp_path).stderr  # fmt: skip
    closed = ask(tmp_path, "transitions")["answers"]
    assert closed[1]["value"] == pytest.approx(1 / 300, rel=0.01)
    # A gap that is looked for, and not found, is as unknown as before.
    done = called("estimate", "release.csv", "transitions", *gaps[:-1], "9000", folder=tmp_path)
    assert b"1 neighbouring rows are no neighbouring points" in done.stderr
    same = [ask(tmp_path, "frequency", *how)["answers"][1]["value"] for how in ([], gaps)]
    assert same[0] == same[1]
    for how, message in (
        (["--max-gap", "10"], b"time: found None"),
        (["--time", "when", "--step", "10"], b"max_gap: found None"),
        (["--time", "when", "--step", "7", "--max-gap", "30"], b"a longer step in row 2"),
    ):
        done = called("estimate", "release.csv", "transitions", *how, folder=tmp_path, code=2)
        assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["frequency", "--by", "ward"],
            b"'person', 'room', 'when', 'bpm'. Others are published "
            b"only when they are named: sanitize with --keep",
        ),
        (["transitions", "--time", "minute", "--max-gap", "1"], b"--keep-time or --time-as"),
        (["frequency", "--certificate", "other.certificate.json"], b"belongs to the release"),
        (["frequency", "--certificate", "missing.json"], b"a file that exists"),
        (["autocorrelation", "--lags", "600"], b"below the 600 points"),
        (["autocorrelation", "--lags", "one"], b"whole numbers"),
        (["denoise", "--by", "person"], b"--by is for frequency and transitions"),
        (["denoise", "--level", "0.5"], b"--level is for"),
        (["frequency", "--lags", "1"], b"--lags is for autocorrelation"),
        (["frequency", "-o", "answer.csv"], b"--output is for denoise"),
        (["transitions", "--model", "chain.json"], b"--model is for denoise"),
        (["denoise", "--model", "chain.json"], b"a file that exists"),
        (["frequency", "--by", "bpm"], b"other than the released one"),
        (["frequency", "--plot", "answer.xyz"], b"plot: found 'answer.xyz'; allowed: a file end"),
        (["autocorrelation", "--by", "room", "--lags", "600"], b"below the 600 points"),
        (["mood"], b"mood"),
        (["denoise", "-o", "clean.parquet"], b"a file ending in .csv"),
        (["denoise", "-o", "release.csv", "--force"], b"another file than the release"),
        (["frequency", "--level", "1"], b"level: found 1.0"),
        (["frequency", "--plot", "other.csv"], b"which exists"),
        (["frequency", "--plot", "nowhere/f.png"], b"nowhere"),
        (["denoise", "-o", "other.csv"], b"which exists"),
        (["transitions", "--window", "3"], b"at least"),
    ],
)
def test_what_is_refused(folder: Path, arguments: list[str], message: bytes) -> None:
    done = called("estimate", "release.csv", *arguments, folder=folder, code=2)
    assert message in done.stderr


REMOVED = {
    "method": (["transitions", "--method", "likelihood"], "--method was removed"),
    "method, as ever": (["transitions", "--method", "counts"], "--method was removed"),
    "anyway": (["denoise", "--anyway"], "--anyway was removed"),
    "chain": (["denoise", "--chain", "certificate"], "--model FILE"),
    "hours": (["frequency", "--by", "hour", "--time", "when"], "of a time column were removed"),
    "weekdays": (["frequency", "--by", "weekday"], "of a time column were removed"),
    "dates": (["frequency", "--by", "date"], "of a time column were removed"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REMOVED)
def test_what_was_removed_says_so_in_one_sentence(folder: Path, kind: str) -> None:
    arguments, sentence = REMOVED[kind]
    done = called("estimate", "release.csv", *arguments, folder=folder, code=2)
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("error: ")
    assert sentence in line
    assert done.stdout == b""


def test_columns_with_the_names_of_a_calendar_are_columns(tmp_path: Path) -> None:
    x = cv.MarkovChain.binary(0.3, 0.4).sample(400, rng=1)
    rows = [f"2026-03-{2 + i // 200:02},{i // 50 % 4},{58 + 5 * state}"
            for i, state in enumerate(x)]  # fmt: skip
    (tmp_path / "heart.csv").write_text("\n".join(["date,hour,bpm", *rows]) + "\n")
    called("sanitize", "heart.csv", "--column", "bpm", "--threshold", "60", "--labels", "low,high",
            "--epsilon", "4", *CHAIN, "--keep", "date,hour", "-o", "release.csv",
            folder=tmp_path)  # fmt: skip
    found = ask(tmp_path, "frequency", "--by", "date")["answers"]
    assert [answer["group"] for answer in found] == ["2026-03-02"] * 2 + ["2026-03-03"] * 2
    found = ask(tmp_path, "frequency", "--by", "hour")["answers"]
    assert [answer["group"] for answer in found[::2]] == [0, 1, 2, 3]


def test_denoising_with_the_model_of_the_certificate_or_of_a_file(
    folder: Path, tmp_path: Path
) -> None:
    found = ask(folder, "denoise")
    assert found["transition"] == [[0.7, 0.3], [0.4, 0.6]]
    assert found["model"] == "certificate"
    x = np.load(folder / "truth.npy")
    lines = [f"{p},{58 + 5 * x[p, minute]}" for minute in range(600) for p in range(4)]
    (tmp_path / "public.csv").write_text("\n".join(["person,bpm", *lines]) + "\n")
    fit = ["fit", "public.csv", *STATES, "--public"]
    called(*fit, "--pooled", "-o", "chain.json", folder=tmp_path)
    other = ask(folder, "denoise", "--model", str(tmp_path / "chain.json"))
    wanted = cv.MarkovChain.fit(list(x), public=True).transition
    np.testing.assert_allclose(other["transition"], wanted)
    assert other["expected_accuracy"] != found["expected_accuracy"]
    called(*fit, "-o", "family.json", folder=tmp_path)
    called("fit", "public.csv", *STATES, "--public", "--threshold", "61", "--pooled", "-o",
           "61.json", folder=tmp_path)  # fmt: skip
    for name, message in (("family.json", b"--model FILE"), ("61.json", b"as in the release")):
        done = called("estimate", "release.csv", "denoise", "--model", str(tmp_path / name),
                      folder=folder, code=2)  # fmt: skip
        assert message in done.stderr
    # A certificate of several models names none to denoise with.
    called("sanitize", "public.csv", *STATES, "--chain", "family.json", "--epsilon", "3", "-o",
           "release.csv", folder=tmp_path)  # fmt: skip
    done = called("estimate", "release.csv", "denoise", folder=tmp_path, code=2)
    assert b"--model FILE" in done.stderr
    assert ask(tmp_path, "denoise", "--model", "chain.json")["model"] == "chain.json"


def test_a_release_that_is_not_there_or_was_changed(folder: Path) -> None:
    done = called("estimate", "nowhere.csv", "frequency", folder=folder, code=2)
    assert b"nowhere.csv" in done.stderr
    lines = (folder / "release.csv").read_text().splitlines(keepends=True)
    swap = {"low": "high", "high": "low"}
    head, state = lines[7].rstrip().rsplit(",", 1)
    lines[7] = f"{head},{swap[state]}\n"
    (folder / "changed.csv").write_text("".join(lines))
    done = called("estimate", "changed.csv", "frequency", "--certificate",
                   "release.certificate.json", folder=folder, code=2)  # fmt: skip
    assert b"states_sha256" in done.stderr
    (folder / "short.csv").write_text("".join(lines[:-1]))
    done = called("estimate", "short.csv", "frequency", "--certificate",
                   "release.certificate.json", folder=folder, code=0)  # fmt: skip
    assert b"2,399 of the 2,400 rows" in done.stderr
    (folder / "long.csv").write_text("".join([*lines, lines[-1]]))
    done = called("estimate", "long.csv", "frequency", "--certificate",
                   "release.certificate.json", folder=folder, code=2)  # fmt: skip
    assert b"claimed 2400, found 2401" in done.stderr


def test_plan(tmp_path: Path) -> None:
    asked = ["plan", *CHAIN, "--json"]
    found = json.loads(called(*asked, "--error", "0.02", "--rows", "5000", folder=tmp_path).stdout)
    assert found["error"] <= 0.02
    rows = json.loads(
        called(*asked, "--error", "0.02", "--epsilon", str(found["epsilon"]),
                folder=tmp_path).stdout
    )["rows"]  # fmt: skip
    assert 4800 < rows <= 5000
    assert b"one standard error" in called(
        "plan", *CHAIN, "--epsilon", "2", "--rows", "1000", "--question", "durations",
        folder=tmp_path,
    ).stdout  # fmt: skip
    called("plan", *CHAIN, "--epsilon", "2", folder=tmp_path, code=2)
    done = called("plan", *CHAIN, "--error", "0.001", "--rows", "100", "--covers", "sampling",
                   folder=tmp_path, code=3)  # fmt: skip
    assert b"release more rows" in done.stderr
