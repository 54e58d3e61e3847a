"""Text is read strictly: nothing is guessed, and what is refused leaves nothing behind."""

from __future__ import annotations

import csv
import gzip
import io
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainveil as cv
from chainveil.table.files import file_sink
from chainveil.table.read import reading as reading_module
from chainveil.table.read.formats import Format
from chainveil.table.read.reading import FileSource, open_source
from chainveil.table.read.strict import StrictText
from chainveil.table.release import release_table
from chainveil.table.request.request import Layout
from tests.table.samples import CHAIN, asked

STRAY = b'person,bpm,note\n1,55,ok\n2,71,"look\n3,62,ok\n4,48,ok\n'


def _rows(content: bytes, name: str = "csv", **how: Any) -> dict[str, list[str]]:
    table = FileSource(content, Format(name), **how)  # type: ignore[arg-type]
    return pa.Table.from_batches(list(table.batches())).to_pydict()  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block ends in the middle of everything."""
    monkeypatch.setattr(reading_module, "BLOCK_BYTES", 64)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (STRAY, r"not closed on its line, in row 2, column 'note'.*--multiline"),
        (b'a,b\n1,2\n"x"y,1\n', "text after the closing quote of a cell, in row 2, column 'a'"),
        (b'a,b\n1,5"x\n', "a quote inside a cell.*row 1, column 'b'"),
        (b'a,b\n1, "x"\n', "a quote inside a cell.*row 1, column 'b'"),
        (b'a,b\n1,"x', "never closed, in row 1, column 'b'"),
        (b'a,"b\n1,2\n', "not closed on its line, in the header, column 2"),
        (b"a,b\r1,2\r", "a carriage return that ends no line, in the header"),
        (b"a,b\n1,2\n3,\r4\n", "a carriage return that ends no line, in row 2"),
        (b"a,b\n1,2\n\n3,4\n", "a blank line, in row 2"),
        (b"a,b\n1,2\n3,4\n\n", "a blank line, in row 3"),
        (b"a,b\r\n1,2\r\n\r\n", "a blank line, in row 2"),
        (b"\na,b\n1,2\n", "a blank first line"),
        (b"a,b\n" + b"1,2\n" * 500 + b'1,"\n', "row 501, column 'b'"),
        (b"a,b\n" + b'"1",2\n' * 500 + b'"1",2"\n', "row 501, column 'b'"),
    ],
)
def test_what_csv_does_not_allow(content: bytes, message: str) -> None:
    with pytest.raises(cv.InvalidInput, match=message):
        _rows(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (STRAY, "never closed, in row 2, column 'note'"),
        (b'a,b\n1,"x\ny"z\n', "text after the closing quote of a cell, in row 1, column 'b'"),
        (b'a,b\n1,"x\ny"\n3,4"\n', "a quote inside a cell.*row 2, column 'b'"),
    ],
)
def test_what_several_lines_in_a_cell_do_not_excuse(content: bytes, message: str) -> None:
    with pytest.raises(cv.InvalidInput, match=message):
        _rows(content, multiline=True)


def test_what_csv_allows() -> None:
    quoted = b'\xef\xbb\xbf"a",b\r\n"say ""hi"", you",1\r\n"",2\r\n'
    assert _rows(quoted) == {"a": ['say "hi", you', ""], "b": ["1", "2"]}
    several = b'a,b\n"two\nlines",1\n"and\r\nmore",2\n'
    assert _rows(several, multiline=True) == {"a": ["two\nlines", "and\r\nmore"], "b": ["1", "2"]}
    with pytest.raises(cv.InvalidInput, match="row 1, column 'a'"):
        _rows(several)


def test_quotes_mean_nothing_in_tsv_and_text() -> None:
    assert _rows(b'a\tb\n"1\t2\n3\t4"x\n', "tsv") == {"a": ['"1', "3"], "b": ["2", '4"x']}
    assert _rows(b' a  b\n "1 2\n3 4"x \n', "text") == {"a": ['"1', "3"], "b": ["2", '4"x']}


@pytest.mark.parametrize("name", ["csv", "tsv", "text"])
def test_blank_lines_are_rows_of_one_column_and_errors_of_more(name: str) -> None:
    assert _rows(b"a\n1\n\n3\n\n", name) == {"a": ["1", "", "3", ""]}
    two = {"csv": b"a,b\n1,2\n\n", "tsv": b"a\tb\n1\t2\n\n", "text": b"a b\n1 2\n \n"}[name]
    with pytest.raises(cv.InvalidInput, match="a blank line, in row 2"):
        _rows(two, name)


@pytest.mark.parametrize("name", ["csv", "tsv", "text"])
def test_a_carriage_return_ends_no_line(name: str) -> None:
    with pytest.raises(cv.InvalidInput, match=r"a carriage return.*in the header"):
        _rows(b"a\r1\r2\r", name)


# The grammar of RFC 4180, written down a second time.
BARE, QUOTED = r'[^",\r\n]*', r'"(?:[^"]|"")*"'
CELL = f"(?:{QUOTED}|{BARE})"
RECORD = f"{CELL}(?:,{CELL})*"
GRAMMAR = re.compile(f"{RECORD}(?:\r?\n{RECORD})*")
TEXTS = st.text(alphabet='ab",\r\n', max_size=24)


def _accepts(text: str, multiline: bool, sizes: list[int]) -> bool:
    file = StrictText(
        io.BytesIO(text.encode()), "t", ",", quoting=True, multiline=multiline, columns=()
    )
    try:
        for size in sizes:
            file.read(size)
        while file.read(5):
            pass
    except cv.InvalidInput:
        return False
    return True


@given(TEXTS, st.lists(st.integers(1, 8), max_size=6))
def test_what_is_accepted_is_the_grammar(text: str, sizes: list[int]) -> None:
    told = GRAMMAR.fullmatch(text) is not None
    assert _accepts(text, True, sizes) == told
    one_line = told and not re.search(r"[\r\n]", "".join(re.findall(QUOTED, text)))
    assert _accepts(text, False, sizes) == one_line


@given(TEXTS.filter(lambda text: GRAMMAR.fullmatch(text) is not None))
def test_what_is_accepted_is_read_as_others_read_it(text: str) -> None:
    lines = list(csv.reader(io.StringIO("x,y\n" + text, newline=""), strict=True))[1:]
    if any(len(line) != 2 for line in lines):
        return
    expected = [list(column) for column in zip(*lines, strict=True)] or [[], []]
    if any(expected):
        found = _rows(b"x,y\n" + text.encode(), multiline=True)
        assert [found["x"], found["y"]] == expected


def _release(table: FileSource, goal: Path) -> None:
    request = asked(Layout("bpm", "person"), threshold=60.0, epsilon=1.0, chain=CHAIN)
    release_table(table, file_sink(str(goal), table, None, False), request)


@pytest.mark.parametrize("goal", ["r.csv", "r.parquet", "r.arrow", "r.csv.gz"])
@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_a_late_quote_leaves_nothing_behind(
    goal: str, multiline: bool, packed: bool, tmp_path: Path
) -> None:
    content = b"person,bpm,note\n" + b"1,55,ok\n2,71,ok\n" * 400 + b'3,60,"ok\n4,61,ok\n'
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(cv.InvalidInput, match="row 801, column 'note'"):
        _release(open_source(path, text=goal.startswith("r.csv"), multiline=multiline),
                 tmp_path / goal)  # fmt: skip
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("cell", ["a\tb", "a\nb", "a\rb"])
def test_tsv_holds_no_tab_and_no_line_end(cell: str, tmp_path: Path) -> None:
    table = pa.table({"person": ["p", cell, "p"], "bpm": [50.0, 70.0, 60.0]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(cv.InvalidInput, match=r"output: .*row 2, column 'person'.*no quotes"):
        _release(open_source(tmp_path / "a.parquet"), tmp_path / "r.tsv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_headers_that_are_too_long(tmp_path: Path) -> None:
    wide = ",".join(f"column_number_{i}" for i in range(100_000))
    for content in (b"a" * (1 << 21) + b"\n1\n", wide.encode() + b"\n", b"a" * (1 << 21)):
        (tmp_path / "a.csv").write_bytes(content)
        with pytest.raises(cv.InvalidInput, match="a first line of more than"):
            _ = open_source(tmp_path / "a.csv").columns
    (tmp_path / "a.csv").write_bytes(b'"' + b"a" * 200_000 + b'",b\n1,2\n')
    with pytest.raises(cv.InvalidInput, match="131,072 characters"):
        _ = open_source(tmp_path / "a.csv").columns


def test_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "BLOCK_BYTES", 1 << 23)
    names = ",".join(f"c{i}" for i in range(100_000))
    table = FileSource(f"{names}\n{','.join('1' * 100_000)}\n".encode(), Format("csv"))
    assert next(table.batches(["c99999"])).num_rows == 1
    with pytest.raises(cv.InvalidInput, match=r"and 99,970 more\. Did you mean 'c1'") as caught:
        Layout("C1").check(table)
    assert len(str(caught.value)) < 2000
    with pytest.raises(cv.InvalidInput, match="two columns named 'c0'"):
        _ = FileSource(f"{names},c0\n".encode(), Format("csv")).columns


@pytest.mark.parametrize("name", ["a\udcff.csv", "a\udcff.parquet", "a\udcff.arrow"])
def test_names_of_files_that_are_not_utf8(name: str, tmp_path: Path) -> None:
    goal = tmp_path / name
    (tmp_path / "a.csv").write_bytes(b"person,bpm\n1,55\n1,71\n")
    _release(open_source(tmp_path / "a.csv", text=False), goal)
    table = open_source(goal)
    assert sum(batch.num_rows for batch in table.batches()) == 2
    assert cv.verify(goal.with_name("a\udcff.certificate.json"), goal).holds


@pytest.mark.parametrize("line", [1, 3])
def test_lone_surrogates_are_no_text(line: int) -> None:
    lines = [b"a,b", b"1,2", b"3,4"]
    lines[line - 1] += b"\xed\xa0\x80"
    with pytest.raises(cv.InvalidInput, match=f"not UTF-8 in line {line}"):
        _rows(b"\n".join(lines))


def test_other_delimiters() -> None:
    content = b'a;b\n"1;2";3\n'
    form = Format("csv").delimited(";")
    table = FileSource(content, form)
    assert next(table.batches()).to_pydict() == {"a": ["1;2"], "b": ["3"]}
    for wrong in ("", ";;", '"', "\n", "é", "\x1b"):
        with pytest.raises(cv.InvalidInput, match="delimiter"):
            Format("csv").delimited(wrong)
    with pytest.raises(cv.InvalidInput, match="--format csv"):
        Format("text").delimited(";")
