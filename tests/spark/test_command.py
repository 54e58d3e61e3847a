"""``chainveil sanitize --engine spark``: the real command, with a Spark of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from chainveil.cli import run
from tests.cli.program import PROGRAM, environment, program
from tests.spark.tables import folder_table, in_order, long_table, shuffled

COMMON = ["--column", "bpm", "--series", "person", "--threshold", "60", "--labels", "low,high"]
CHAIN = ["--q", "0.1", "--r", "0.2", "--epsilon", "1"]
ON_SPARK = ["--engine", "spark", "--master", "local[2]"]


@pytest.mark.slow
def test_the_whole_way(spark_session: Any, tmp_path: Path) -> None:
    """A program of its own, from a text file; what it prints is what one machine prints."""
    pyarrow.csv.write_csv(shuffled(long_table()), tmp_path / "t.csv")
    pyarrow.csv.write_csv(long_table(), tmp_path / "sorted.csv")
    fitted = ["--time", "minute", "--epsilon", "1", "--seed", "4", "--keep-time", "--pooled"]
    command = ["sanitize", "t.csv", *COMMON, *fitted]
    there = program(*command, "-o", "there.parquet", *ON_SPARK, folder=tmp_path)
    here = program(*["sanitize", "sorted.csv", *command[2:]], "-o", "here.parquet",
                   folder=tmp_path)  # fmt: skip
    assert there.stdout.decode() == here.stdout.decode().replace("here", "there")
    assert there.stderr == here.stderr
    tables = folder_table(tmp_path / "there.parquet"), pq.read_table(tmp_path / "here.parquet")
    assert in_order(tables[0]).equals(in_order(tables[1]))
    program("verify", "there.certificate.json", "there.parquet", folder=tmp_path, code=4)


def test_files_and_folders_in_the_session_there_is(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    table = long_table()
    Path("t").mkdir()
    pq.write_table(table.slice(0, 100), "t/a.parquet")
    pq.write_table(table.slice(100), "t/b.parquet")
    how = ["sanitize", "t", *COMMON, "--time", "minute", "--epsilon", "1", *ON_SPARK]
    assert run([*how, "--reference", "t", "-o", "r.parquet", "--json"]) == 0
    said = capfd.readouterr()
    assert "on Spark one chain is fitted to all series" in said.err
    told = json.loads(said.out)
    assert told["contents"]["chain"]["origin"] == "reference"
    assert told["contents"]["release"]["rows"] == table.num_rows
    assert run(["verify", told["certificate"], told["release"]]) == 0
    assert (
        run(
            [
                "calibrate",
                "--q",
                "0.1",
                "--r",
                "0.2",
                "--epsilon",
                "1",
                "--mechanism",
                "independent",
                "-o",
                "p.json",
            ]
        )
        == 0
    )
    assert run(["sanitize", "t", *COMMON, "--plan", "p.json", *ON_SPARK, "-o", "s.parquet"]) == 0
    assert run([*how, "-o", "r.parquet"]) == 2
    assert "Overwrite it with --force" in capfd.readouterr().err
    # The session was there before the command, and is there still.
    assert spark_session.range(3).count() == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["t.csv", "-o", "-"], "not -"),
        (["-", "-o", "r.parquet"], "not standard input"),
        (["t.csv", "-o", "r.csv"], "folder of Parquet files"),
        (["t.csv", "-o", "r"], "end its name in .parquet"),
        (["t.arrow", "-o", "r.parquet"], "does not read arrow"),
        (["none.csv", "-o", "r.parquet"], "exists"),
        (["none\udcff.csv", "-o", "r.parquet"], "a path in UTF-8"),
        (["t.csv", "-o", "r.parquet", "--series", "persn"], "Did you mean 'person'"),
        (["t.csv", "-o", "r.parquet", "--keep", "minut"], "Did you mean 'minute'"),
        (["t.csv", "-o", "none/r.parquet"], "a folder that exists"),
    ],
)
def test_what_is_refused_before_spark_starts(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(long_table(), "t.csv")
    pa.ipc.new_file("t.arrow", long_table().schema).close()
    # A Spark that is started would find no Java.
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    before = sorted(tmp_path.iterdir())
    assert run(["sanitize", *arguments[:1], *COMMON, *CHAIN, *ON_SPARK, *arguments[1:]]) == 2
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_a_master_without_spark(tmp_path: Path, capsys: Any) -> None:
    goal = str(tmp_path / "r.csv")
    assert run(["sanitize", "t.csv", *COMMON, *CHAIN, "--master", "yarn", "-o", goal]) == 2
    assert "--engine spark" in capsys.readouterr().err


@pytest.mark.slow
def test_without_java_the_command_says_what_to_install(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    pyarrow.csv.write_csv(long_table(), tmp_path / "t.csv")
    bare = {**environment(), "PATH": "", "JAVA_HOME": ""}
    done = subprocess.run(
        [*PROGRAM, "sanitize", "t.csv", *COMMON, *CHAIN, *ON_SPARK, "-o", "r.parquet"],
        cwd=tmp_path, env=bare, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "needs Java 17 or later" in done.stderr
    assert "JAVA_HOME" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["t.csv"]  # noqa: PTH208


def test_without_pyspark_the_extra_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from chainveil import spark\n"
        "spark.fit(None, None, 'time', 'x', threshold=1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtra" in done.stderr
    assert "pip install 'chainveil[spark]'" in done.stderr
