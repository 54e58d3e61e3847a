"""Every format in and out, and files that cannot be read or written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.table import files
from chainveil.table.files import certificate_path, file_sink
from chainveil.table.read import reading as reading_module
from chainveil.table.read.formats import Format
from chainveil.table.read.reading import FileSource, open_source
from chainveil.table.release import release_table
from chainveil.table.request.kept import Kept
from chainveil.table.request.request import Layout
from chainveil.table.write.atomic import Digested, drafts
from chainveil.table.write.writing import open_writer
from tests.table.samples import CHAIN, KEEP_AWKWARD, KEEP_FLAT, ROWS, asked, awkward, flat

BINARY = ["a.parquet", "a.arrow", "a.feather"]
TEXT = ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.zst", "a.csv.zst"]


def _write(table: pa.Table, path: Path) -> Path:
    from chainveil.table.read.formats import by_path

    with drafts([path], force=True) as (draft,):
        writer = open_writer(Digested(draft.file), table.schema, by_path(path))
        for batch in table.to_batches(max_chunksize=37):
            writer.write(batch)
        writer.close()
    return path


def _release(source: Path, goal: Path, force: bool = False, **more: Any) -> cv.Certificate:
    layout = Layout("bpm", "person")
    how: dict[str, Any] = {"threshold": 60.0, "epsilon": 1.0, "chain": CHAIN, **more}
    table = open_source(source)
    return release_table(table, file_sink(str(goal), table, None, force), asked(layout, **how))


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several batches even from a small table."""
    monkeypatch.setattr(reading_module, "BATCH_ROWS", 64)
    monkeypatch.setattr(reading_module, "BLOCK_BYTES", 4096)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("goal", BINARY[:2])
def test_typed_files_keep_the_columns_that_are_named(name: str, goal: str, tmp_path: Path) -> None:
    source = _write(awkward(), tmp_path / name)
    certificate = _release(source, tmp_path / f"out-{goal}", kept=KEEP_AWKWARD)
    result = pa.Table.from_batches(open_source(tmp_path / f"out-{goal}").batches())
    kept, before = result.drop(["bpm"]), awkward().drop(["bpm"])
    # Arrow files hold one list of categories for all rows, written first: values are plain there.
    plain = before.schema.set(4, pa.field("kind", pa.string()))
    assert kept.schema.equals(before.schema if goal.endswith("parquet") else plain)
    assert kept.to_pylist() == before.to_pylist()
    beside = certificate_path(tmp_path / f"out-{goal}")
    assert cv.Certificate.read(beside) == certificate
    assert cv.verify(beside, tmp_path / f"out-{goal}").holds


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("goal", [*TEXT[:3], "a.parquet"])
def test_text_files_keep_cells_of_named_columns_to_the_letter(
    name: str, goal: str, tmp_path: Path
) -> None:
    source = _write(flat(), tmp_path / name)
    _release(source, tmp_path / f"out-{goal}", kept=KEEP_FLAT)
    before = pa.Table.from_batches(open_source(source).batches())
    after = pa.Table.from_batches(open_source(tmp_path / f"out-{goal}").batches())
    assert after.drop(["bpm"]).equals(before.drop(["bpm"]))
    assert set(after["bpm"].cast(pa.string()).to_pylist()) == {"0", "1"}
    assert cv.verify(certificate_path(tmp_path / f"out-{goal}"), tmp_path / f"out-{goal}").holds


def test_files_can_be_read_by_others(tmp_path: Path) -> None:
    source = _write(awkward(), tmp_path / "a.parquet")
    _release(source, tmp_path / "b.parquet", kept=KEEP_AWKWARD)
    _release(source, tmp_path / "c.feather", kept=KEEP_AWKWARD)
    assert pl.read_parquet(tmp_path / "b.parquet").height == ROWS
    assert pyarrow.feather.read_table(tmp_path / "c.feather").num_rows == ROWS
    text = _write(flat(), tmp_path / "a.csv")
    _release(text, tmp_path / "d.csv", kept=KEEP_FLAT)
    frame = pl.read_csv(tmp_path / "d.csv")
    assert frame["word"].fill_null("").to_list() == flat()["word"].to_pylist()


def test_parquet_keeps_its_compression(tmp_path: Path) -> None:
    pq.write_table(awkward(), tmp_path / "a.parquet", compression="snappy")
    _release(tmp_path / "a.parquet", tmp_path / "b.parquet", kept=KEEP_AWKWARD)
    found = pq.read_metadata(tmp_path / "b.parquet")
    codecs = {found.row_group(0).column(i).compression for i in range(found.num_columns)}
    assert codecs <= {"SNAPPY", "ZSTD"}


def test_awkward_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"  t \t v\r\n 1   50 \r\n2\t70\n3 50")
    table = pa.Table.from_batches(open_source(path).batches())
    assert table.to_pydict() == {"t": ["1", "2", "3"], "v": ["50", "70", "50"]}
    bare = open_source(path, header=False)
    assert bare.columns == ["column1", "column2"]
    assert bare.schema.names == bare.columns
    bom = tmp_path / "b.csv"
    bom.write_bytes(b"\xef\xbb\xbfbpm,x\n50,1\n")
    assert open_source(bom).columns == ["bpm", "x"]
    assert next(open_source(bom).batches()).schema.names == ["bpm", "x"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"person,bpm\na,50\na\n", "1 cell in row 2.*2 cells"),
        (b"person,bpm\na,50\na,60,7\n", "3 cells in row 2.*2 cells"),
        (b"person,bpm\na,50\n\xff,60\n", "UTF-?8"),
        (b"person,bpm\na,50\na,abc\n", "not a number.*row 2"),
        (b"person,bpm\na,50\na,\n", "missing value.*row 2"),
        (b"person,bpm\na,50\na,nan\n", "missing value.*row 2"),
        (b"person,bpm,bpm\na,50,1\n", "two columns named 'bpm'"),
        (b"person,BPM\na,50\n", "'bpm'.*'BPM'"),
        (b"person,bpm\n", "no rows"),
        (b"", "no rows"),
        (b"\n\n", "no rows"),
    ],
)
def test_broken_text_is_named_and_nothing_is_written(
    content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(cv.InvalidInput, match=message):
        _release(tmp_path / "a.csv", tmp_path / "b.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_bytes() == content


@pytest.mark.parametrize("goal", ["out.csv", "out.parquet"])
def test_bytes_that_are_no_text_are_named_with_their_line(goal: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("person,bpm,word\na,50,x\na,70,é\n".encode("latin1"))
    table = open_source(tmp_path / "a.csv", text=goal.endswith(".csv"))
    with pytest.raises(cv.InvalidInput, match="not UTF-8 in line 3.*iconv"):
        release_table(
            table,
            file_sink(str(tmp_path / goal), table, None, False),
            asked(
                Layout("bpm", "person"),
                threshold=60.0,
                epsilon=1.0,
                chain=CHAIN,
                kept=Kept(("word",)),
            ),
        )
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = pa.table([pa.array([1.0]), pa.array([2.0])], names=["bpm", "bpm"])
    pq.write_table(twice, tmp_path / "a.parquet")
    with pytest.raises(cv.InvalidInput, match="two columns named 'bpm'"):
        _release(tmp_path / "a.parquet", tmp_path / "out.csv")


def test_a_late_broken_byte_is_found(tmp_path: Path) -> None:
    lines = b"person,bpm\n" + b"a,50\n" * 5000 + b"a\xe9,50\n"
    (tmp_path / "a.csv").write_bytes(lines)
    with pytest.raises(cv.InvalidInput, match=r"UTF-8 in line 5002"):
        _release(tmp_path / "a.csv", tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv.gz", "a.csv.zst"])
def test_truncated_files_are_errors_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    table = flat() if ".csv" in name else awkward()
    whole = _write(table, tmp_path / name).read_bytes()
    for size in (len(whole) // 2, len(whole) - 5, 3):
        (tmp_path / name).write_bytes(whole[:size])
        with pytest.raises(cv.InvalidInput, match="table"):
            _release(tmp_path / name, tmp_path / "b.csv")
        assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_damaged_arrow_file_is_an_error_whatever_arrow_makes_of_it(tmp_path: Path) -> None:
    whole = _write(flat().select(["person", "bpm"]), tmp_path / "a.arrow").read_bytes()
    refused = set()
    for place in range(8, len(whole) - 4, 3):
        # A length that no memory holds, where one stands.
        (tmp_path / "a.arrow").write_bytes(whole[:place] + b"\xff\xff\xff\x7f" + whole[place + 4 :])
        try:
            list(open_source(tmp_path / "a.arrow").batches())
        except cv.InvalidInput as error:
            refused.add(str(error).rpartition("found ")[2][:6])
    assert "malloc" in refused


def test_nothing_is_overwritten_without_a_word(tmp_path: Path) -> None:
    source = _write(flat(), tmp_path / "a.csv")
    goal = tmp_path / "b.csv"
    goal.write_text("precious")
    with pytest.raises(cv.InvalidInput, match="force"):
        _release(source, goal)
    assert goal.read_text() == "precious"
    _release(source, goal, force=True)
    assert goal.read_text() != "precious"
    with pytest.raises(cv.InvalidInput, match="force"):
        _release(source, tmp_path / "b.tsv")  # Its certificate would be b's.
    assert not (tmp_path / "b.tsv").exists()


def test_the_table_itself_is_never_overwritten(tmp_path: Path) -> None:
    source = _write(flat(), tmp_path / "a.csv")
    before = source.read_bytes()
    (tmp_path / "b.csv").symlink_to(source)
    for name in ("a.csv", "b.csv"):
        with pytest.raises(cv.InvalidInput, match="the table itself"):
            _release(source, tmp_path / name, force=True)
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("source", "goal", "message"),
    [
        ("none.csv", "b.csv", "exists"),
        ("a.xyz", "b.csv", "ends in"),
        ("a.csv", "b.xyz", "ends in"),
        ("a.csv", "none/b.csv", "folder that exists"),
        ("folder", "b.csv", "a folder of Parquet files"),
        ("a.parquet", "b.csv", "nested"),
        ("a.csv", "b.txt", "blanks"),
        ("a.csv", "b.parquet.gz", "compress"),
    ],
)
def test_places_that_cannot_be_used(source: str, goal: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.xyz").touch()
    _write(flat(), tmp_path / "a.csv")
    _write(awkward(), tmp_path / "a.parquet")
    before = sorted(tmp_path.rglob("*"))
    kept = KEEP_AWKWARD if source == "a.parquet" else KEEP_FLAT
    with pytest.raises(cv.InvalidInput, match=message):
        _release(tmp_path / source, tmp_path / goal, kept=kept)
    assert sorted(tmp_path.rglob("*")) == before


class _Full:
    """A file on a disk that is full after a few bytes."""

    def __init__(self, file: Any) -> None:
        self._file, self._room = file, 300

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._room -= size
        if self._room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.mark.parametrize("goal", ["b.csv", "b.parquet", "b.arrow", "b.csv.gz"])
def test_a_full_disk_leaves_nothing(
    goal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _write(flat(), tmp_path / "a.csv")
    full: Any = lambda file: Digested(_Full(file))  # type: ignore[arg-type]  # noqa: E731
    monkeypatch.setattr(files, "Digested", full)
    with pytest.raises(cv.InvalidInput, match="no space left"):
        _release(source, tmp_path / goal, kept=KEEP_FLAT)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _write(flat(), tmp_path / "a.csv")
    whole = FileSource.batches

    def stopped(self: FileSource, columns: Any = None) -> Iterator[pa.RecordBatch]:
        yield next(whole(self, columns))
        raise KeyboardInterrupt

    monkeypatch.setattr(FileSource, "batches", stopped)
    with pytest.raises(KeyboardInterrupt):
        _release(source, tmp_path / "b.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_formats_have_names() -> None:
    assert str(Format("csv", "gzip")) == "csv+gzip"
    assert certificate_path("x/a.b.csv.gz") == Path("x/a.b.certificate.json")
    assert certificate_path("release") == Path("release.certificate.json")


@pytest.mark.parametrize("system", ["linux", "elsewhere"])
def test_drafts_with_and_without_nameless_files(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chainveil.table.write.atomic.sys.platform", system)
    one, two = tmp_path / "one", tmp_path / "two"
    with drafts([one, two]) as (first, second):
        first.file.write(b"1")
        second.file.write(b"2")
        assert not one.exists()
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
    with pytest.raises(cv.InvalidInput, match="force"), drafts([one]):
        pass
    with drafts([one], force=True) as (draft,):
        draft.file.write(b"3")
    assert one.read_bytes() == b"3"
    with pytest.raises(ZeroDivisionError), drafts([one, tmp_path / "new"], force=True):
        raise ZeroDivisionError
    with pytest.raises(cv.InvalidInput, match="force"), drafts([tmp_path / "new"]) as (draft,):
        # Somebody else was quicker.
        (tmp_path / "new").write_bytes(b"theirs")
    assert (tmp_path / "new").read_bytes() == b"theirs"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "one", "two"]
