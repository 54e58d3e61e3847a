"""Text on Spark: read by the rules of one machine, or not at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chainveil.cli import run
from tests.spark.tables import folder_table, in_order

ASK = ["--column", "bpm", "--series", "person", "--time", "minute", "--threshold", "60"]
HOW = [*ASK, "--labels", "low,high", "--q", "0.2", "--r", "0.2", "--epsilon", "1", "--seed", "7"]
SPARK = ["--engine", "spark", "--master", "local[2]"]
GOOD = "person,minute,bpm\n" + "".join(
    f"{'ab'[i // 30]},{i % 30},{50 + 20 * (i // 3 % 2)}\n" for i in range(60)
)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", GOOD.replace("a,7", '"a,7'), "not closed on its line, in row 8"),
        ("t.csv", GOOD.replace("a,7", '"a"SECRET72,7'), "text after the closing quote"),
        ("t.csv", GOOD.replace("b,0", "\nb,0"), "a blank line, in row 31"),
        ("t.csv", GOOD.replace("b,7", "SECRET72"), "2 cells in row 38"),
        (
            "t.csv",
            GOOD + "b,30,SECRET72\n",
            "not a (whole )?number.*(row 61|series 'b')",
        ),
        ("t.tsv", GOOD.replace(",", "\t").replace("a\t7", "a\r\t7"), "carriage return"),
    ],
)
def test_what_one_machine_refuses(
    name: str, content: str, message: str, spark_session: Any, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("t").mkdir()
    first = Path("t/one").with_suffix(Path(name).suffix)
    first.write_text(GOOD if name.endswith("csv") else GOOD.replace(",", "\t"))
    for place in (Path(name), Path("t") / name):
        place.write_bytes(content.encode())
        table = str(place.parent) if place.parent.name else name
        assert run(["sanitize", table, *HOW, *SPARK, "-o", "r.parquet"]) == 2
        told = capfd.readouterr().err
        assert re.search(message, told), told
        assert "SECRET72" not in told
    assert not list(tmp_path.glob("r.*"))


def test_what_both_read_alike(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = GOOD.replace("a,", '"a ""1"", or\\",').replace("b,", '"b;",')
    lines = named.replace('or\\"', 'or\nso\\"')
    quotes = GOOD.replace("a,", '"a,').replace("b,", 'b\\"c,').replace(",", "\t")
    tables: dict[str, tuple[str, list[str]]] = {
        "t.csv": (named, []),
        "m.csv": (lines, ["--multiline"]),
        "q.tsv": (quotes, []),
        "d.csv": (GOOD.replace(",", "|"), ["--delimiter", "|"]),
    }
    for name, (content, more) in tables.items():
        Path(name).write_text(content)
        stem = name[0]
        more = [*more, "--keep-time"]
        assert run(["sanitize", name, *HOW, *more, *SPARK, "-o", f"{stem}-there.parquet"]) == 0
        assert run(["sanitize", name, *HOW, *more, "-o", f"{stem}-here.parquet"]) == 0
        there, here = (
            folder_table(Path(f"{stem}-there.parquet")),
            pq.read_table(f"{stem}-here.parquet"),
        )
        assert in_order(there).equals(in_order(here)), name


def test_one_column_and_one_state(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    how = ["--column", "bpm", "--q", "0.2", "--r", "0.2", "--epsilon", "1", *SPARK]
    Path("a.csv").write_text("bpm\n55\n\n71\n")
    command = ["sanitize", "a.csv", *how, "--missing", "keep", "-o", "r.parquet"]
    assert run([*command, "--threshold", "60"]) == 2
    assert "an empty line in row 2" in capfd.readouterr().err
    Path("a.csv").write_text("bpm\n55\n72\n71\n")
    assert run([*command, "--threshold", "6"]) == 0
    assert "leave only one state" in capfd.readouterr().err


def test_what_spark_says_of_rows_stays_there(spark_session: Any, tmp_path: Path) -> None:
    from chainveil import spark
    from chainveil.errors import EngineFailure
    from tests.spark.tables import two_states

    path = tmp_path / "a.csv"
    path.write_text("person,bpm\na,55\na,SECRET72\n")
    reader = spark_session.read.schema("person string, bpm double").option("mode", "FAILFAST")
    frame = reader.csv(str(path), header=True)
    with pytest.raises(EngineFailure) as caught:
        spark.sanitize(frame, two_states(), column="bpm", threshold=60, path=tmp_path / "r.parquet")
    assert "SECRET72" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert list(tmp_path.iterdir()) == [path]
