"""Release and certificate are published as a pair or not at all, whatever happens on the way."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import chainveil as cv
from chainveil.table.files import file_sink
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.request import Layout
from chainveil.table.write.atomic import drafts
from chainveil.table.write.locks import claim
from chainveil.table.write.publishing import recover
from tests.table.samples import CHAIN, asked

ROOT = Path(__file__).parents[3]


STOPPED = [
    ("kill", "force"),
    ("interrupt", "new apart"),
    ("kill", "force folder"),
]
STOPPED_ELSEWHERE = [
    ("kill", "new"),
    ("kill", "force apart named"),
    ("interrupt", "force named"),
    ("kill", "force named linkless"),
    ("interrupt", "new folder"),
]
TRACED = [("strace signal=SIGKILL", "force")]
TRACED_ELSEWHERE = [
    ("strace signal=SIGTERM", "new apart"),
    ("strace error=ENOSPC", "force"),
]
SCENES = pytest.mark.parametrize(
    "elsewhere", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["", "elsewhere"]
)


def _run(folder: Path, asked: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """All in one program: most of what one costs is its start."""
    words = [word for pair in asked for word in pair]
    command = [sys.executable, "-m", "tests.table.write.interrupting", str(folder), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False,
                          timeout=900)  # fmt: skip
    if done.returncode and "strace:" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _check(asked: list[tuple[str, str]], folder: Path) -> None:
    """At once: never a release without its own certificate. After the next run: a whole pair.

    ``force`` has an old pair there, ``apart`` puts the certificate into another folder, and
    ``named`` is a file system without nameless files, ``linkless`` one without hard links.
    """
    for (how, scene), found in zip(asked, _run(folder, asked), strict=True):
        where = how, scene
        assert found["wrong"] == [], where
        # The steps reach from before the first change to after the last.
        assert sum(found["later"].values()) >= 25, where
        assert set(found["later"]) == {"old", "new"}, where
        if "kill" in how.lower():
            assert found["at once"]["no release"] > 0, where


@SCENES
def test_stopped_at_every_step(elsewhere: bool, tmp_path: Path) -> None:
    _check(STOPPED_ELSEWHERE if elsewhere else STOPPED, tmp_path)


@pytest.mark.slow
@SCENES
def test_stopped_at_every_system_call(elsewhere: bool, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("no strace; the steps that Python reports are tried anyway")
    _check(TRACED_ELSEWHERE if elsewhere else TRACED, tmp_path)


@pytest.mark.slow
def test_two_at_once_leave_one_pair(tmp_path: Path) -> None:
    assert _run(tmp_path, [("together", "force")]) == [{"found": {"new [0, 0] []": 40}}]


def _table(folder: Path, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text("x\n" + ("0\n" * 10 + "1\n" * 10) * 50)
    # Of yesterday: a change within one tick of the clock would leave the time as it is.
    os.utime(path, (0, path.stat().st_mtime - 86_400))
    return path


def _release(source: Path, goal: Any, certificate: Any = None, force: bool = False,
             progress: Any = None, **more: Any) -> None:  # fmt: skip
    table = open_source(source)
    how = {"chain": CHAIN, **more}
    request = asked(Layout("x"), states=(0, 1), epsilon=1.0, **how)
    where = None if certificate is None else str(certificate)
    release_table(table, file_sink(str(goal), table, where, force), request, None, progress)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("which", ["release", "certificate"])
@pytest.mark.parametrize("kind", ["dangling", "link", "pipe", "device", "link to a device"])
def test_what_is_no_file_is_never_replaced(
    kind: str, which: str, force: bool, tmp_path: Path
) -> None:
    source, there, other = _table(tmp_path), tmp_path / "there.csv", tmp_path / "other"
    other.write_text("precious")
    if kind == "pipe":
        os.mkfifo(there)
    elif kind == "device":
        there = Path("/dev/null")
    else:
        target = {"dangling": "nothing", "link": "other", "link to a device": "/dev/null"}[kind]
        there.symlink_to(target)
    goal = {"release": there, "certificate": tmp_path / "r.certificate.json"}
    if which == "certificate":
        goal = {"release": tmp_path / "r.csv", "certificate": there}
    before, mode = _names(tmp_path), there.lstat().st_mode
    with pytest.raises(cv.InvalidInput, match="a symbolic link|a pipe, a socket or a device|ends"):
        _release(source, goal["release"], goal["certificate"], force)
    assert _names(tmp_path) == before
    assert there.lstat().st_mode == mode
    assert other.read_text() == "precious"


@pytest.mark.parametrize("spelling", ["out/r.csv", "out/../out/r.csv", "./out/r.csv", "link/r.csv"])
@pytest.mark.parametrize("force", [False, True])
def test_one_path_for_both_in_any_spelling(spelling: str, force: bool, tmp_path: Path) -> None:
    source = _table(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    if force:
        (tmp_path / "out" / "r.csv").write_text("precious")
    with pytest.raises(cv.InvalidInput, match="another file than the release"):
        _release(source, tmp_path / "out" / "r.csv", f"{tmp_path}/{spelling}", force)
    assert _names(tmp_path / "out") == (["r.csv"] if force else [])


def test_a_folder_behind_a_link_is_a_folder(tmp_path: Path) -> None:
    source = _table(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    _release(source, tmp_path / "link" / "r.csv")
    _release(source, tmp_path / "link" / "r.csv", force=True)
    assert _names(tmp_path / "out") == ["r.certificate.json", "r.csv"]
    assert cv.verify(tmp_path / "out" / "r.certificate.json", tmp_path / "out" / "r.csv").holds


def test_what_was_abandoned_is_removed_and_what_is_claimed_is_not(tmp_path: Path) -> None:
    source, goal = _table(tmp_path), tmp_path / "r.csv"
    abandoned, used = tmp_path / ".r.csv.01234567.part", tmp_path / ".r.csv.89abcdef.part"
    alike = tmp_path / ".other.csv.01234567.part"
    for path in (abandoned, used, alike):
        path.write_text("noise")
    with used.open("rb") as file:
        claim(file.fileno())
        _release(source, goal)
        assert not abandoned.exists()
        assert used.exists()
    recover([goal])
    assert _names(tmp_path) == [alike.name, "r.certificate.json", "r.csv", "t.csv"]


def test_a_note_that_is_not_whole_has_done_nothing(tmp_path: Path) -> None:
    source = _table(tmp_path)
    (tmp_path / ".chainveil-01234567.pending").write_text('{"format": "chainveil-pub')
    _release(source, tmp_path / "r.csv")
    assert _names(tmp_path) == ["r.certificate.json", "r.csv", "t.csv"]


def _note(folder: Path, goal: str, aside: str | None, sha256: str | None = None) -> Path:
    note = folder / ".chainveil-01234567.done"
    file = {"goal": goal, "aside": aside, "sha256": sha256}
    note.write_text(json.dumps({"format": "chainveil-publication-1", "files": [file]}))
    return note


@pytest.mark.parametrize("aside", ["precious", "../precious", ".r.csv.01234567.part"])
def test_a_note_names_nothing_but_what_was_put_aside(aside: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for place in (folder, tmp_path):
        (place / "precious").write_text("precious")
    _note(folder, "r.csv", aside)
    recover([folder / "r.csv"])
    assert (folder / "precious").exists()
    assert (tmp_path / "precious").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
def test_the_note_of_somebody_else_is_not_obeyed(tmp_path: Path) -> None:
    aside = tmp_path / ".r.csv.01234567.old"
    aside.write_text("precious")
    os.chown(_note(tmp_path, "r.csv", aside.name), 65534, 65534)
    recover([tmp_path / "r.csv"])
    assert aside.exists()


def test_a_file_put_there_since_is_not_overwritten(tmp_path: Path) -> None:
    """The note says that a certificate stood there; now a third thing does."""
    goal, aside = tmp_path / "c.json", tmp_path / ".c.json.01234567.old"
    goal.write_text("somebody's")
    aside.write_text("old")
    lines = [
        {"goal": "c.json", "aside": aside.name, "sha256": "0" * 64},
        {"goal": "r.csv", "aside": None, "sha256": None},
    ]
    note = tmp_path / ".chainveil-01234567.pending"
    note.write_text(json.dumps({"format": "chainveil-publication-1", "files": lines}))
    with pytest.raises(cv.InvalidInput, match="move one of them"):
        recover([tmp_path / "r.csv"])
    assert goal.read_text() == "somebody's"
    assert aside.read_text() == "old"
    recover([tmp_path / "r.csv"])


def test_a_file_that_appears_meanwhile_is_kept_and_nothing_is_published(tmp_path: Path) -> None:
    two = tmp_path / "two"
    with pytest.raises(cv.InvalidInput, match="force"), drafts([tmp_path / "one", two]):
        two.write_bytes(b"theirs")
    assert _names(tmp_path) == ["two"]
    assert two.read_bytes() == b"theirs"


@pytest.mark.parametrize("change", ["rewritten", "appended", "exchanged", "removed", "longer"])
def test_a_table_that_changes_between_two_readings(change: str, tmp_path: Path) -> None:
    source, text = _table(tmp_path), (tmp_path / "t.csv").read_text()

    def progress(what: str, rows: int) -> None:
        if what != "calibrating":
            return
        if change == "rewritten":
            # As many bytes, in the same file.
            source.write_text(text.replace("1", "0"))
        elif change == "appended":
            with source.open("a") as file:
                file.write("1\n")
        elif change == "removed":
            source.unlink()
        else:
            (tmp_path / "u.csv").write_text(text if change == "exchanged" else text * 2)
            (tmp_path / "u.csv").replace(source)

    with pytest.raises(cv.InvalidInput, match="changed, exchanged or removed"):
        _release(source, tmp_path / "r.csv", chain=None, progress=progress)
    assert not (tmp_path / "r.csv").exists()
    assert not (tmp_path / "r.certificate.json").exists()


@pytest.mark.parametrize("change", ["a part more", "a part less", "other rows"])
def test_a_folder_that_changes_between_two_readings(change: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "t").mkdir()
    part = pa.table({"x": ([0] * 10 + [1] * 10) * 50})
    for name in ("a", "b"):
        pq.write_table(part, tmp_path / "t" / f"{name}.parquet")

    def progress(what: str, rows: int) -> None:
        if what == "calibrating" and change == "a part less":
            (tmp_path / "t" / "b.parquet").unlink()
        elif what == "calibrating":
            name = "c" if change == "a part more" else "b"
            pq.write_table(part, tmp_path / "t" / f"{name}.parquet")

    with pytest.raises(cv.InvalidInput, match="changed, exchanged or removed"):
        _release(tmp_path / "t", tmp_path / "r.parquet", chain=None, progress=progress)
    assert _names(tmp_path) == ["t"]


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(cv.InvalidInput, match="a pipe or device.*- for standard input"):
        _release(tmp_path / "t.csv", tmp_path / "r.csv")
    assert stat.S_ISFIFO((tmp_path / "t.csv").lstat().st_mode)
