"""Nine ways in which private values left runs that ended well, tried on the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from chainveil.next.__main__ import main
from tests.next.table.tables import heart_rates

ASKED = ["--column", "bpm", "--series", "person", "--time", "minute", "--threshold", "70",
         "--epsilon", "2", "--q", "0.1", "--r", "0.2", "--mechanism", "independent"]  # fmt: skip


def sanitize(table: Path, output: Path, *more: str, asked: list[str] = ASKED) -> int:
    return main(["sanitize", str(table), *asked, "-o", str(output), *more])


@pytest.fixture
def heart(tmp_path: Path) -> Path:
    path = tmp_path / "heart.csv"
    heart_rates().write_csv(path)
    return path


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
@pytest.mark.parametrize("output", ["r.parquet", "r.arrow", "r.csv"])
def test_hidden_values_under_nulls_are_not_copied(tmp_path: Path, name: str, output: str) -> None:
    secret = int.from_bytes(b"SECRET!!", "little")
    rows = 64
    age = pa.Array.from_buffers(
        pa.int64(), rows,
        [pa.py_buffer(bytes([0b01010101] * (rows // 8))), pa.py_buffer(np.full(rows, secret))],
    )  # fmt: skip
    visible = pa.array([1 if i % 2 == 0 else None for i in range(rows)])
    age = pa.compute.if_else(visible.is_null(), age, visible)
    bpm = [50 + 40 * ((i // 5) % 2) for i in range(rows)]
    table = pa.table({"bpm": bpm, "minute": range(rows), "age": age})
    path = tmp_path / name
    pq.write_table(table, path) if name == "t.parquet" else feather.write_feather(
        table, str(path), compression="uncompressed"
    )
    asked = ["--column", "bpm", "--time", "minute", "--threshold", "70", "--epsilon", "2",
             "--q", "0.1", "--r", "0.2"]  # fmt: skip
    made = tmp_path / output
    assert sanitize(path, made, "--public", "age", "--allow-leak", "age", asked=asked) == 0
    assert b"SECRET" not in made.read_bytes()


@pytest.mark.parametrize("how", ["state in the name", "number of the bout"])
def test_series_that_are_stretches_of_one_state_are_refused(
    tmp_path: Path, how: str, capsys: Any
) -> None:
    frame = heart_rates().sort("person", "minute")
    high = pl.col("bpm") >= 70
    if how == "state in the name":
        name = pl.col("person") + pl.when(high).then(pl.lit("/active")).otherwise(pl.lit("/calm"))
    else:
        bout = (high != high.shift(1)).fill_null(True).cum_sum()
        name = pl.col("person") + "-" + bout.cast(pl.String)
    path = tmp_path / "t.csv"
    frame.with_columns(person=name).write_csv(path)
    assert sanitize(path, tmp_path / "r.csv") == 2
    assert "person: its series are stretches of one state" in capsys.readouterr().err
    assert not (tmp_path / "r.csv").exists()
    assert sanitize(path, tmp_path / "r.csv", "--allow-leak", "person") == 0
    assert '"person"' in (tmp_path / "r.certificate.json").read_text()


def test_the_order_of_the_rows_is_not_published(tmp_path: Path) -> None:
    frame = heart_rates()
    found = []
    for number, order in enumerate(("bpm", "person")):
        path = tmp_path / f"t{number}.csv"
        frame.sort("minute", order).write_csv(path)
        made = tmp_path / f"r{number}.csv"
        assert sanitize(path, made, "--seed", "1", "--public", "ward") == 0
        found.append(made.read_bytes())
    assert found[0] == found[1]


def test_a_public_column_that_was_replaced_fails(heart: Path, tmp_path: Path) -> None:
    made, certificate = tmp_path / "r.csv", str(tmp_path / "r.certificate.json")
    assert sanitize(heart, made, "--public", "ward") == 0
    assert main(["verify", certificate, str(made)]) == 0
    frame = pl.read_csv(made, infer_schema=False)
    secret = pl.Series("ward", [str(i) for i in range(len(frame))])
    frame.with_columns(secret).write_csv(made)
    assert main(["verify", certificate, str(made)]) == 1


@pytest.mark.parametrize(
    "copy",
    [
        pl.col("bpm"), pl.col("bpm") * -3 + 7, (pl.col("bpm") * 7919) % 1009, pl.col("bpm").exp(),
        pl.col("bpm").cast(pl.String), pl.col("bpm") // 20, pl.col("bpm") >= 70,
        pl.col("bpm").hash(1).cast(pl.String), (pl.col("bpm") + pl.col("minute") % 2),
        pl.col("bpm").shift(1).over("person").fill_null(0), pl.col("bpm").cum_sum().over("person"),
    ],
)  # fmt: skip
def test_transformed_copies_of_the_private_column_are_refused(
    tmp_path: Path, copy: pl.Expr, capsys: Any
) -> None:
    path = tmp_path / "t.csv"
    frame = heart_rates(1000).sort("person", "minute").with_columns(copy=copy)
    frame.write_csv(path)
    assert sanitize(path, tmp_path / "r.csv", "--public", "copy") == 2
    told = capsys.readouterr().err
    assert "the public column copy:" in told
    assert "--allow-leak copy" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("way", ["itself", "link", "hard link", "dots", "report", "certificate"])
def test_no_command_overwrites_what_it_reads(heart: Path, tmp_path: Path, way: str) -> None:
    before = heart.read_bytes()
    (tmp_path / "folder").mkdir()
    other = tmp_path / "folder" / "other.csv"
    if way == "link":
        other.symlink_to(heart)
    if way == "hard link":
        other.hardlink_to(heart)
    goals = {"itself": heart, "dots": tmp_path / "folder" / ".." / "heart.csv"}
    output = goals.get(way, other if "link" in way else tmp_path / "r.csv")
    more = {
        "report": ["--private-report", str(heart)],
        "certificate": ["--certificate", str(heart)],
    }
    assert sanitize(heart, output, "--force", *more.get(way, [])) == 2
    assert heart.read_bytes() == before
    assert not (tmp_path / "r.csv").exists()


def test_a_report_that_cannot_be_written_is_noticed_before_noise_is_drawn(
    heart: Path, tmp_path: Path
) -> None:
    report = str(tmp_path / "nowhere" / "who.csv")
    assert sanitize(heart, tmp_path / "r.csv", "--private-report", report) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["heart.csv"]


def test_a_crafted_leftover_deletes_nothing_else(heart: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    note = '{"format": "chainveil-publication-1", "files": [{"goal": "victim.txt", "aside": null}]}'
    (tmp_path / ".chainveil-0123abcd.done").write_text(note)
    (tmp_path / ".r.csv.0123abcd.part").write_text(note)
    (tmp_path / ".r.csv.0123abce.part").symlink_to(victim)
    assert sanitize(heart, tmp_path / "r.csv") == 0
    assert victim.read_text() == "mine"
    assert (tmp_path / ".r.csv.0123abce.part").is_symlink()
    assert not (tmp_path / ".r.csv.0123abcd.part").exists()


def test_a_closed_pipe_is_no_failed_verification(heart: Path, tmp_path: Path) -> None:
    made = tmp_path / "r.csv"
    assert sanitize(heart, made) == 0
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "chainveil.next", "verify", str(tmp_path / "r.certificate.json"),
         str(made)], stdout=write, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_private_report_is_for_its_owner_alone(heart: Path, tmp_path: Path) -> None:
    report = tmp_path / "who.csv"
    assert sanitize(heart, tmp_path / "r.csv", "--private-report", str(report)) == 0
    assert report.stat().st_mode & 0o777 == 0o600
    who = dict(pl.read_csv(report).rows())
    assert set(who.values()) == {f"person {i}" for i in range(4)}
    assert set(who) == set(pl.read_csv(tmp_path / "r.csv")["series"])
    assert "person 0" not in (tmp_path / "r.csv").read_text()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--public", "position"], "one of the columns"),
        (["--public", "bpm"], "columns other than the one to protect"),
        (["--public", "person"], "--series-names original"),
        (["--public", "ward,ward"], "each column once"),
        (["--allow-leak", "ward"], "declared public"),
        (["--threshold", "x"], "no list of numbers"),
        (["--public", "wart"], "Did you mean 'ward'?"),
    ],
)
def test_wrong_requests_end_with_one_sentence(
    heart: Path, tmp_path: Path, more: list[str], words: str, capsys: Any
) -> None:
    assert sanitize(heart, tmp_path / "r.csv", *more) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["heart.csv"]
