"""Locks by which programs that publish to the same folder tell each other that they are alive."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from chainveil.errors import InvalidInput

# A publication holds the lock for milliseconds; a disk that is busy, for longer.
PATIENCE_SECONDS = 60.0
# Errors by which a file system says that folders cannot be locked; files perhaps can.
_NO_FOLDER_LOCKS = {errno.EBADF, errno.EINVAL, errno.EISDIR, errno.EOPNOTSUPP, errno.ENOSYS}
LOCK = ".chainveil.lock"


def claim(handle: int) -> None:
    """Show others that the file or folder is in use for as long as this process lives."""
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_abandoned(path: Path) -> bool:
    """Whether the process that claimed a file or folder is dead, as far as locks can tell."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        ours = os.fstat(handle).st_uid == os.geteuid()
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return ours


@contextmanager
def locked(folders: Iterable[Path]) -> Iterator[None]:
    """Hold the locks of folders; waits for another publication, which takes milliseconds."""
    # In one order everywhere, and each folder once, or two processes could wait for ever.
    known = {(there.st_dev, there.st_ino): folder
             for folder in folders for there in [folder.stat()]}  # fmt: skip
    with contextlib.ExitStack() as held:
        for _, folder in sorted(known.items()):
            held.callback(os.close, _lock(folder))
        yield


def _lock(folder: Path) -> int:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < end:
                time.sleep(0.02)
                continue
            os.close(handle)
            raise InvalidInput(
                "output", f"{folder}, in which another program is publishing", "a folder that is "
                f"free within {PATIENCE_SECONDS:.0f} seconds", "Try again when it has ended.",
            ) from None  # fmt: skip
        except OSError as error:
            if error.errno in _NO_FOLDER_LOCKS and not is_file(handle):
                os.close(handle)
                # Left there: who removed it could remove the one that another has just locked.
                handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
                continue
            os.close(handle)
            raise InvalidInput(
                "output", f"{folder}: {error.strerror}", "a folder on a file system with locks",
                "Publish to another folder, and copy the release and its certificate.",
            ) from None  # fmt: skip
        return handle


def is_file(handle: int) -> bool:
    """Whether an open file is a plain one."""
    return stat.S_ISREG(os.fstat(handle).st_mode)
