"""Strict reading of text files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainveil.errors import InvalidInput
from chainveil.next.table.read import open_table

WRONG = [
    (b"a,b\n1,2\n3\n", "1 cell in row 2"),
    (b"a,b\n1,2\n3,4,5\n", "3 cells in row 2"),
    (b"a,b\n1,2\n3,4,5\n6\n", "3 cells in row 2"),
    (b'a,b\n1,x"y\n', "a quote inside a cell"),
    (b'a,b\n1,"x"y\n', "text after the closing quote"),
    (b'a,b\n1,"x\n3,4\n', "a quote that is not closed"),
    (b"a,b\n1,\xff\n", "not UTF-8 in line 2"),
    (b"a\xff,b\n1,2\n", "not UTF-8 in line 1"),
    (b"a,b\n1,2\n\n3,4\n", "a blank line, in row 2"),
    (b"a,b\n1,2\r3,4\n", "a carriage return that ends no line"),
    (b"a,a\n1,2\n", "two columns named 'a'"),
    (b"1,1\n1,2\n", "two columns named by one number"),
    (b"", "no rows"),
    (b'"a,b\n1,2\n', "a quote that is not closed"),
]


def whole(path: Path) -> pl.DataFrame:
    """All columns of a table."""
    table = open_table(path)
    return table.read(table.columns)


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_wrong_text_is_refused_with_its_place(tmp_path: Path, text: bytes, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text)
    with pytest.raises(InvalidInput, match=words) as error:
        whole(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-6]), ("t.csv.gz", b"no gzip"),
        ("t.csv.zst", b"\x28\xb5\x2f\xfd broken"), ("t.parquet", b"PAR1 broken PAR1"),
        ("t.arrow", b"ARROW1 broken"), ("t.arrow", b"\xff\xff\xff\xff broken"),
    ],
)  # fmt: skip
def test_broken_files_are_refused_in_words(
    tmp_path: Path, name: str, data: bytes, capfd: Any
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=r"read"):
        whole(path)
    assert capfd.readouterr().err == ""


def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    import os

    looks: list[int] = []
    fstat = os.fstat

    def slow(handle: int) -> os.stat_result:
        looks.append(handle)
        if len(looks) == 2:
            path.write_text("a,b\n1,2\n3,4\n")
        return fstat(handle)

    monkeypatch.setattr(os, "fstat", slow)
    with pytest.raises(InvalidInput, match="changed, exchanged or removed"):
        open_table(path)


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)


@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_cells_are_read_to_the_letter(rows: list[list[str]], tmp_path_factory: Any) -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([["a", "b"], *rows])
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    found = open_table(path, multiline=True).read(["b", "a"])
    assert found.get_column("a").to_list() == [row[0] for row in rows]
    assert found.get_column("b").to_list() == [row[1] for row in rows]


@given(data=st.binary(max_size=60).map(lambda b: b"a,b\n" + b))
@settings(max_examples=200, deadline=None)
def test_rows_are_those_of_a_strict_reader_or_refused(data: bytes, tmp_path_factory: Any) -> None:
    """What is accepted holds as many rows and cells as the rules say, whatever Polars forgives."""
    path = tmp_path_factory.getbasetemp() / "bytes.csv"
    path.write_bytes(data)
    try:
        frame = open_table(path).read(["a", "b"])
    except InvalidInput:
        return
    import csv
    import io

    lines = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    assert frame.rows() == [tuple(line) for line in lines[1:]]


def test_columns_of_text_files_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n007,1.50\n,NA\n")
    frame = open_table(path).read(["a", "b"])
    assert frame.rows() == [("007", "1.50"), ("", "NA")]
    assert frame.schema == {"a": pl.String, "b": pl.String}
