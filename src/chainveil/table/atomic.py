"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from chainveil.errors import InvalidInput

# Errors by which a file system says that it has no nameless files.
_NO_NAMELESS = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}


class Digested:
    """A file to write to that knows its size and digest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._abandoned = False
        self.bytes = 0
        self.closed = False

    def abandon(self) -> None:
        """Take nothing more: writers that are cleared away later would like to end the file."""
        self._abandoned = True

    def write(self, data: Any) -> int:
        """Write and digest."""
        size = memoryview(data).nbytes
        if self._abandoned:
            return size
        self._file.write(data)
        self._hash.update(data)
        self.bytes += size
        return size

    @property
    def sha256(self) -> str:
        """Digest of everything written so far."""
        return self._hash.hexdigest()

    def tell(self) -> int:
        """Bytes written so far."""
        return self.bytes

    def flush(self) -> None:
        """Hand everything to the file."""
        if not self._abandoned:
            self._file.flush()

    def close(self) -> None:
        """Flush; the file itself is closed by who opened it."""
        self.flush()
        self.closed = True

    def readable(self) -> bool:
        """Never."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Never."""
        return False


class Draft:
    """A file beside its goal, nameless where the system can do that.

    A nameless file vanishes with the process, however that ends: kill -9 included.
    """

    def __init__(self, goal: Path, force: bool) -> None:
        self.goal, self._force = goal, force
        self._name: Path | None = None
        self.file = self._open()

    def publish(self) -> None:
        """Give the finished file its name, in one step."""
        self.file.flush()
        os.fsync(self.file.fileno())
        if self._name is None and not self._force:
            self._link(self.goal)
        else:
            if self._name is None:
                name = _beside(self.goal)
                self._link(name)
                self._name = name
            self._rename(self._name)
        self._name = None
        self.file.close()

    def discard(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(OSError):
            self.file.close()
        if self._name is not None:
            self._name.unlink(missing_ok=True)

    def _open(self) -> BinaryIO:
        folder = self.goal.parent
        if sys.platform == "linux":
            try:
                handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
                return os.fdopen(handle, "wb", buffering=1 << 20)
            except OSError as error:
                if error.errno not in _NO_NAMELESS:
                    raise
        self._name = _beside(self.goal)
        return self._name.open("xb", buffering=1 << 20)

    def _link(self, name: Path) -> None:
        folder = os.open(name.parent, os.O_RDONLY)
        try:
            # Only with a folder given does the call follow the link in /proc to the file.
            here = f"/proc/self/fd/{self.file.fileno()}"
            os.link(here, name.name, dst_dir_fd=folder, follow_symlinks=True)
        except FileExistsError:
            raise _exists(self.goal) from None
        finally:
            os.close(folder)

    def _rename(self, name: Path) -> None:
        if not self._force and self.goal.exists():
            raise _exists(self.goal)
        name.replace(self.goal)


@contextmanager
def drafts(goals: Sequence[str | Path], force: bool = False) -> Iterator[list[Draft]]:
    """Files that take their names together, at the end, in the order given; none on an error."""
    opened: list[Draft] = []
    try:
        for goal in map(Path, goals):
            check_goal(goal, force)
            with folder_in_words(goal):
                opened.append(Draft(goal, force))
        yield opened
        for draft in opened:
            draft.publish()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            folder = str(Path(goals[0]).parent)
            raise InvalidInput(
                "output", f"no space left in {folder}", "room for the whole release",
                "Nothing was written.",
            ) from None  # fmt: skip
        raise
    finally:
        for draft in opened:
            draft.discard()


def check_goal(goal: Path, force: bool, name: str = "output") -> None:
    """Error if a file would be overwritten that should not be."""
    if goal.is_dir():
        raise InvalidInput(name, str(goal), "a file, not a folder")
    if goal.exists() and not force:
        raise _exists(goal, name)
    if not goal.parent.is_dir():
        raise InvalidInput(name, str(goal), "a folder that exists")


@contextmanager
def folder_in_words(goal: Path) -> Iterator[None]:
    """Errors of a folder that may not be written to, as ours."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise InvalidInput(
                "output", f"{goal.parent}: {error.strerror}", "a folder that may be written to"
            ) from None
        raise


def _beside(goal: Path) -> Path:
    return goal.with_name(f".{goal.name}.{secrets.token_hex(4)}.part")


def _exists(goal: Path, name: str = "output") -> InvalidInput:
    return InvalidInput(name, f"{goal}, which exists", "a new file", "Overwrite it with --force.")
