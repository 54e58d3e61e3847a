"""Folders of part files: read as one table, and verified by listings of digests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.certificate import Discretization, Released, ReleasedFile, certify
from chainveil.table.read.reading import open_source

STATES = {"part-0.parquet": [0, 1, 1], "part-1.parquet": [1], "part-10.parquet": [0, 0]}


def _folder(path: Path) -> Path:
    path.mkdir()
    for name, states in STATES.items():
        pq.write_table(pa.table({"who": ["a"] * len(states), "x": states}), path / name)
    return path


def _listing(lines: dict[str, tuple[int, bytes]]) -> str:
    """The definition of docs/certificate.md, by hand."""
    text = "".join(
        f"{hashlib.sha256(held).hexdigest()} {size} {name}\n"
        for name, (size, held) in sorted(lines.items())
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _certificate(folder: Path) -> cv.Certificate:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    states = _listing({name: (len(held), bytes(held)) for name, held in STATES.items()})
    digest = _listing({name: (len(held), held) for name, held in files.items()})
    file = ReleasedFile("parquet", sum(map(len, files.values())), digest)
    plan = cv.calibrate(cv.MarkovChain.binary(0.1, 0.2), 1.0)
    released = Released("x", "who", 6, 1, states, file, parts=3)
    return certify(plan, "given", Discretization("states", [], [0, 1]), "release", released)


def test_the_digests_are_those_of_the_page(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "r.parquet")
    result = cv.verify(_certificate(folder), folder)
    assert result.holds, str(result)
    checked = {check.field for check in result.checks if check.status == "holds"}
    assert {"release.parts", "release.states_sha256", "release.file.sha256"} <= checked


@pytest.mark.parametrize("path", ["parts", "states_sha256", "file.sha256", "file.bytes"])
def test_another_claim_is_rejected(path: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path / "r.parquet")
    document: dict[str, Any] = dict(_certificate(folder).document)
    release = {**document["release"], "file": {**document["release"]["file"]}}
    part, key = (release["file"], path[5:]) if "." in path else (release, path)
    part[key] = part[key] + 1 if isinstance(part[key], int) else "0" * 64
    claimed = cv.Certificate.sealed({**document, "release": release})
    failed = {check.field for check in cv.verify(claimed, folder).failures}
    assert failed == {f"release.{path}"}


def test_a_folder_is_one_table(tmp_path: Path) -> None:
    source = open_source(_folder(tmp_path / "r.parquet"))
    assert source.rows == 6
    assert source.columns == ["who", "x"]
    rows = [value for batch in source.batches(["x"]) for value in batch["x"].to_pylist()]
    assert rows == [0, 1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("notes.txt", b"mine", "folder of Parquet files alone"),
        ("part-2.parquet", b"PAR1 broken", "can be read"),
        ("inner", None, "which is no file"),
    ],
)
def test_folders_that_cannot_be_read(
    name: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    folder = _folder(tmp_path / "r.parquet")
    certificate = _certificate(folder)
    if content is None:
        (folder / name).mkdir()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(cv.InvalidInput, match=message):
        list(open_source(folder).batches())
    assert not cv.verify(certificate, folder).holds
