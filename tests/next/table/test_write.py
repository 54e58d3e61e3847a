"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chainveil.errors import InvalidInput
from chainveil.next.table import write
from chainveil.next.table.read import open_table
from chainveil.next.table.released import verify
from chainveil.next.table.write import Draft, Goal, outputs, sanitize_to_file
from tests.next.table.tables import heart_rates, request


class Killed(BaseException):
    """What a process that is killed does not outlive."""


def release(folder: Path, name: str = "r.csv", force: bool = False) -> None:
    table = open_table(heart_rates(50))
    sanitize_to_file(table, request(), Goal(str(folder / name), force=force))


def _killed(patch: pytest.MonkeyPatch, folder: Path, at: int) -> None:
    """A run that ends without clearing up when the ``at``-th name is given."""
    calls: list[Path] = []
    place = Draft.place

    def dying(self: Draft, force: bool) -> None:
        calls.append(self.goal)
        if len(calls) == at:
            raise Killed
        place(self, force)

    with patch.context() as held:
        held.setattr(Draft, "place", dying)
        held.setattr(Draft, "discard", lambda self: self.file.close())
        held.setattr(Draft, "remove", lambda self: None)
        with pytest.raises(Killed):
            release(folder)


@pytest.mark.parametrize("at", [1, 2])
def test_a_run_after_a_kill_clears_up(
    tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _killed(monkeypatch, tmp_path, at)
    names = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")}
    assert names == (set() if at == 1 else {"r.certificate.json"})
    release(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"r.csv", "r.certificate.json"}
    assert verify(tmp_path / "r.certificate.json", tmp_path / "r.csv").exit_code == 0


def test_a_certificate_that_no_unfinished_run_left_needs_force(tmp_path: Path) -> None:
    release(tmp_path)
    (tmp_path / "r.csv").unlink()
    before = (tmp_path / "r.certificate.json").read_bytes()
    with pytest.raises(InvalidInput, match="which exists"):
        release(tmp_path)
    assert (tmp_path / "r.certificate.json").read_bytes() == before
    release(tmp_path, force=True)
    assert verify(tmp_path / "r.certificate.json", tmp_path / "r.csv").exit_code == 0


def test_files_in_use_by_another_run_are_left_alone(tmp_path: Path) -> None:
    with outputs([tmp_path / "r.csv"]) as (draft,):
        draft.hide()
        assert write.recover([tmp_path / "r.csv"]) == set()
        assert draft.hidden is not None
        assert draft.hidden.exists()
        draft.file.write(b"whole")
    assert (tmp_path / "r.csv").read_bytes() == b"whole"


def test_nothing_stays_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with outputs([tmp_path / "a", tmp_path / "b"]) as files:
            files[0].file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    def meanwhile() -> None:
        with outputs([tmp_path / "a", tmp_path / "b"]) as files:
            files[1].file.write(b"ours")
            (tmp_path / "b").write_bytes(b"theirs")

    with pytest.raises(InvalidInput, match="which exists"):
        meanwhile()
    assert (tmp_path / "b").read_bytes() == b"theirs"
    assert {path.name for path in tmp_path.iterdir()} == {"b"}


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_only_files_are_replaced(tmp_path: Path, kind: str) -> None:
    goal = tmp_path / "r.csv"
    if kind == "folder":
        goal.mkdir()
    elif kind == "link":
        goal.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(goal)
    with pytest.raises(InvalidInput, match="output"):
        release(tmp_path, force=True)


def test_a_folder_without_permission_is_told_in_words(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidInput, match="may be written to"):
        release(tmp_path)


def test_without_nameless_files_hidden_ones_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "other")
    release(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"r.csv", "r.certificate.json"}
    assert verify(tmp_path / "r.certificate.json", tmp_path / "r.csv").exit_code == 0


def test_a_release_to_standard_output_is_csv(tmp_path: Path, capfdbinary: object) -> None:
    table = open_table(heart_rates(50))
    goal = Goal("-", certificate=tmp_path / "c.json")
    sanitize_to_file(table, request(), goal)
    out = capfdbinary.readouterr().out  # type: ignore[attr-defined]
    assert out.startswith(b"series,position,bpm\n")
    assert out.count(b"\n") == 201
    (tmp_path / "r.csv").write_bytes(out)
    assert verify(tmp_path / "c.json", tmp_path / "r.csv").exit_code == 0
