"""A folder that holds one release, whole, or is not there.

Spark may run a task again: after a failure, because it is slow, because an executor was
lost. Each attempt would draw other noise for the same rows, and two of them together say
more than one is allowed to. So every attempt writes a file of its own into a hidden folder,
and tells the driver its name. Spark gives the driver one answer for each partition, that of
one attempt, whatever else ran. Only the files named in these answers are moved into the
release; the hidden folder is removed with all the others in it, and an attempt that still
runs then has no folder left to write to.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chainveil.certificate import ReleasedFile, listing_digest
from chainveil.errors import InvalidInput
from chainveil.spark.part import WrittenPart
from chainveil.table.read.reading import part_files
from chainveil.table.write.atomic import check_goal, folder_in_words, real_path
from chainveil.table.write.locks import claim, locked
from chainveil.table.write.publishing import beside, recover, sync

FORMAT = "parquet"


@dataclass(frozen=True)
class Staging:
    """A hidden folder beside the goal, in which a release is put together."""

    goal: Path
    folder: Path

    @property
    def attempts(self) -> Path:
        """Where tasks write."""
        return self.folder / "attempts"

    @property
    def release(self) -> Path:
        """What will become the release."""
        return self.folder / "release"

    def gather(self, parts: Sequence[WrittenPart]) -> list[tuple[str, WrittenPart]]:
        """Take one file for each partition, and give it the name it will keep."""
        chosen = sorted(parts, key=lambda part: part.partition)
        if len({part.partition for part in chosen}) < len(chosen):
            raise AssertionError("two answers for one partition")
        width = max(5, len(str(len(chosen))))
        named = [(f"part-{i:0{width}d}.parquet", part) for i, part in enumerate(chosen)]
        for name, part in named:
            self._take(part, self.release / name)
        return named

    def check(self, force: bool) -> None:
        """Error where something stands there that may not be replaced."""
        check_folder_goal(self.goal, force)

    def place(self) -> None:
        """Give the folder its name, unless something stands there."""
        if os.path.lexists(self.goal):
            raise _exists(self.goal)
        sync([self.release])
        self.release.rename(self.goal)

    def replace(self) -> None:
        """Never: a folder is published with its certificate, which puts the old one aside."""
        raise AssertionError("a release has a certificate")

    def stands(self) -> bool:
        """Whether the folder has its name."""
        return not self.release.exists()

    def sha256(self) -> None:
        """A folder has none."""

    def _take(self, part: WrittenPart, goal: Path) -> None:
        path = self.attempts / part.file
        if not path.is_file() or path.stat().st_size != part.bytes:
            raise InvalidInput(
                "output", f"{self.goal}: a part that a worker wrote cannot be seen here",
                "a folder that the driver and all workers share under this path",
            )  # fmt: skip
        path.rename(goal)


@contextmanager
def staging(goal: Path, force: bool) -> Iterator[Staging]:
    """A hidden folder that is gone at the end, with everything that was not published.

    The driver claims it while it lives; what a driver that was killed has left, the next one
    for the same goal removes.
    """
    recover([goal])
    check_folder_goal(goal, force)
    made = Staging(goal, beside(goal))
    with contextlib.ExitStack() as until:
        until.callback(_remove_for_sure, made.folder)
        with folder_in_words(goal), locked([goal.parent]):
            made.attempts.mkdir(parents=True)
            made.release.mkdir()
            handle = os.open(made.folder, os.O_RDONLY)
            until.callback(os.close, handle)
            claim(handle)
        yield made


def local_path(path: str | Path) -> Path:
    """A path that driver and workers share; other addresses are refused."""
    text = str(path)
    scheme, found, rest = text.partition("://")
    if found and scheme != "file":
        raise InvalidInput(
            "output", text, "a folder that the driver and all workers share under one path",
            "Mount the store, or copy the finished release there.",
        )  # fmt: skip
    return real_path(Path(rest if found else text.removeprefix("file:")).absolute())


def check_folder_goal(goal: Path, force: bool) -> None:
    """Error if something would be overwritten that should not be."""
    if not goal.parent.is_dir():
        raise InvalidInput("output", str(goal), "a folder that exists")
    if not os.path.lexists(goal):
        return
    if not goal.is_dir() or goal.is_symlink():
        # A file may make room for a folder; links, pipes and devices may not.
        check_goal(goal, force)
    if not force:
        raise _exists(goal)
    if goal.is_dir() and any(goal.iterdir()) and not _is_release(goal):
        raise InvalidInput(
            "output", f"{goal}, a folder with other things in it", "a folder of Parquet files"
        )


def _exists(goal: Path) -> InvalidInput:
    return InvalidInput(
        "output", f"{goal}, which exists", "a new folder", "Overwrite it with --force."
    )


def released_file(parts: Sequence[tuple[str, WrittenPart]]) -> ReleasedFile:
    """Format, size and digest of all parts together."""
    listing = [(name, part.bytes, part.sha256) for name, part in parts]
    return ReleasedFile(FORMAT, sum(part.bytes for _, part in parts), listing_digest(listing))


def states_digest(parts: Sequence[tuple[str, WrittenPart]]) -> str:
    """Digest of the published states of all parts together."""
    return listing_digest((name, part.rows, part.states_sha256) for name, part in parts)


def _is_release(folder: Path) -> bool:
    try:
        return all(path.suffix == ".parquet" for path in part_files(folder))
    except InvalidInput:
        return False


def _remove_for_sure(folder: Path) -> None:
    try:
        _remove(folder)
    except KeyboardInterrupt:
        _remove(folder)
        raise


def _remove(folder: Path) -> None:
    """Remove a folder into which a lost attempt may be writing at this moment."""
    for _ in range(10):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.2)
