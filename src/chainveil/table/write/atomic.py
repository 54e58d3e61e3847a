"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from chainveil.errors import InvalidInput
from chainveil.table.write.locks import claim, locked
from chainveil.table.write.publishing import Entry, beside, publish, recover, was_written

# Errors by which a file system says that it has no nameless files.
_NO_NAMELESS = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}
# And those by which it says that a file has one name.
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


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

    A nameless file vanishes with the process, however that ends: kill -9 included. One with a
    hidden name is claimed by the process, so that a later one knows when it is abandoned.
    """

    def __init__(self, goal: Path) -> None:
        self.goal = goal
        self._name: Path | None = None
        self.file = self._open()

    def check(self, force: bool) -> None:
        """Error where something stands there that may not be replaced."""
        check_goal(self.goal, force)

    def seal(self) -> None:
        """All of it, on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def place(self) -> None:
        """Give the finished file its name, in one step, unless something stands there."""
        try:
            if self._name is None:
                self._link(self.goal)
            else:
                self._rename_to_nothing(self._name)
        except FileExistsError:
            raise _exists(self.goal) from None

    def replace(self) -> None:
        """Give the finished file its name, in one step, in place of what stands there."""
        if self._name is None:
            name = beside(self.goal)
            self._link(name)
            self._name = name
        self._name.replace(self.goal)

    def stands(self) -> bool:
        """Whether the file under the name of the goal is this one."""
        try:
            return os.path.samestat(os.fstat(self.file.fileno()), self.goal.lstat())
        except OSError:
            return False

    def sha256(self) -> str:
        """Digest of a sealed file."""
        with open(os.dup(self.file.fileno()), "rb") as again:  # noqa: PTH123
            again.seek(0)
            return hashlib.file_digest(again, "sha256").hexdigest()

    def discard(self) -> None:
        """Leave nothing behind but what has its name."""
        with contextlib.suppress(OSError):
            self.file.close()
        self._forget_name()

    def _forget_name(self) -> None:
        if self._name is None:
            return
        try:
            self._name.unlink(missing_ok=True)
        except KeyboardInterrupt:
            self._name.unlink(missing_ok=True)
            raise

    def _open(self) -> BinaryIO:
        if sys.platform == "linux" and Path("/proc/self/fd").exists():
            try:
                handle = os.open(self.goal.parent, os.O_TMPFILE | os.O_RDWR, 0o666)
                claim(handle)
                return os.fdopen(handle, "wb", buffering=1 << 20)
            except OSError as error:
                if error.errno not in _NO_NAMELESS:
                    raise
        self._name = beside(self.goal)
        try:
            # Within the lock: nobody finds the file before it is claimed.
            with locked([self.goal.parent]):
                handle = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
                claim(handle)
            return os.fdopen(handle, "wb", buffering=1 << 20)
        except BaseException:
            self._forget_name()
            raise

    def _link(self, name: Path) -> None:
        folder = os.open(name.parent, os.O_RDONLY)
        try:
            # Only with a folder given does the call follow the link in /proc to the file.
            here = f"/proc/self/fd/{self.file.fileno()}"
            os.link(here, name.name, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)

    def _rename_to_nothing(self, name: Path) -> None:
        try:
            os.link(name, self.goal)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if os.path.lexists(self.goal):
                raise FileExistsError(str(self.goal)) from None
            name.rename(self.goal)


@contextmanager
def drafts(
    goals: Sequence[str | Path], force: bool = False, last: Entry | None = None
) -> Iterator[list[Draft]]:
    """Files that take their names together, at the end, in the order given; none on an error.

    ``last`` is something else, ready by then, that takes its name with them and after them.
    """
    paths, done = [real_path(goal) for goal in goals], False
    try:
        with _in_words(paths), contextlib.ExitStack() as opened:
            check_apart([*paths, *([] if last is None else [last.goal])])
            recover(paths)
            files = [_opened(goal, force, opened) for goal in paths]
            yield files
            for draft in files:
                draft.seal()
            publish([*files, *([] if last is None else [last])], force)
            done = True
    except KeyboardInterrupt as stop:
        if done:
            raise was_written(paths[-1]) from stop
        raise


def _opened(goal: Path, force: bool, until: contextlib.ExitStack) -> Draft:
    check_goal(goal, force)
    with folder_in_words(goal):
        draft = Draft(goal)
    until.callback(draft.discard)
    return draft


@contextmanager
def _in_words(goals: Sequence[Path]) -> Iterator[None]:
    """A full disk, as an error of ours."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InvalidInput(
            "output", f"no space left in {goals[0].parent}", "room for the whole release",
            "Nothing was written.",
        ) from None  # fmt: skip


def real_path(goal: str | Path) -> Path:
    """The path without symbolic links and dots in its folders; its last name stays."""
    path = Path(goal)
    return path.parent.resolve() / path.name


def check_apart(goals: Sequence[Path], name: str = "certificate") -> None:
    """Error where two names are one file, however they are spelled."""
    for i, goal in enumerate(goals):
        for other in goals[:i]:
            if real_path(goal) == real_path(other) or _same(goal, other):
                raise InvalidInput(name, str(other), "another file than the release")


def _same(one: Path, other: Path) -> bool:
    """Whether both exist and are one file, as two spellings are where case does not count."""
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def check_goal(goal: Path, force: bool, name: str = "output") -> None:
    """Error if a file would be overwritten that should not be, or something that is no file."""
    kind = _kind(goal)
    if kind == "a folder":
        raise InvalidInput(name, str(goal), "a file, not a folder")
    if kind == "a symbolic link":
        raise InvalidInput(
            name, f"{goal}, a symbolic link", "a file or a new name", "Name what it points to."
        )
    if kind == "no file":
        raise InvalidInput(
            name, f"{goal}, a pipe, a socket or a device", "a file or a new name",
            "These are never replaced; a release goes to a pipe with -o -.",
        )  # fmt: skip
    if kind == "a file" and not force:
        raise _exists(goal, name)
    if not goal.parent.is_dir():
        raise InvalidInput(name, str(goal), "a folder that exists")


def _kind(goal: Path) -> str | None:
    """What stands there, itself and not what it may point to; None for nothing."""
    try:
        mode = goal.lstat().st_mode
    except OSError:
        return None
    kinds = {stat.S_IFREG: "a file", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a symbolic link"}
    return kinds.get(stat.S_IFMT(mode), "no file")


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


def _exists(goal: Path, name: str = "output") -> InvalidInput:
    return InvalidInput(name, f"{goal}, which exists", "a new file", "Overwrite it with --force.")
