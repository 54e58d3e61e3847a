"""Giving several files their names together, although a system can rename only one at a time.

What is published together (a certificate and its release) takes its names in this order, while
a lock on the folders is held:

1. A note of what is about to happen is written beside the last file: names and a digest.
2. What stood under the names is put aside, the last file first.
3. The new ones take their names, the last file last. From here on it is there to be seen.
4. The note is renamed to say that this is done; what was put aside is removed, then the note.

So no release stands under its name without its own certificate under its, whenever the process
is killed. Who finds a note and gets the lock knows that its writer is dead: if the new release
stands under its name, the rest is finished; if not, nobody has seen it, and everything is put
back as it was.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from chainveil.errors import InvalidInput
from chainveil.table.write.locks import is_abandoned, is_file, locked

FORMAT = "chainveil-publication-1"
PENDING, DONE = ".pending", ".done"
NOTE = re.compile(r"\.chainveil-[0-9a-f]{8}\.(pending|done)")
NOTE_BYTES = 1 << 16


class Entry(Protocol):
    """Something finished that waits for its name: a file or a folder."""

    @property
    def goal(self) -> Path:
        """The name it will have, in a folder without symbolic links on the way."""

    def check(self, force: bool) -> None:
        """Error where something stands there that may not be replaced."""

    def place(self) -> None:
        """Give it its name; an error if something stands there."""

    def replace(self) -> None:
        """Give it its name in place of what stands there, in one step."""

    def stands(self) -> bool:
        """Whether it has its name."""

    def sha256(self) -> str | None:
        """Digest of a file; None for a folder."""


def publish(entries: Sequence[Entry], force: bool) -> None:
    """Give all entries their names, or none; the last one is what the others speak of."""
    if not entries:
        # The release went to standard output, and no certificate was asked for.
        return
    try:
        with locked(entry.goal.parent for entry in entries):
            _settle_notes({entry.goal.parent for entry in entries})
            for entry in entries:
                entry.check(force)
            _publish(entries, force)
            sync(entry.goal.parent for entry in entries)
    except KeyboardInterrupt as stop:
        if entries[-1].stands():
            raise was_written(entries[-1].goal) from stop
        raise


def was_written(goal: str | Path) -> KeyboardInterrupt:
    """An interrupt that came too late, in words for who sent it."""
    return KeyboardInterrupt(f"{goal} was written")


def recover(goals: Iterable[Path]) -> None:
    """Finish or undo what a process that was killed has left under these names."""
    goals = list(goals)
    folders = {goal.parent for goal in goals if goal.parent.is_dir()}
    # Locks are for the rare case: a folder in which nothing was left is only looked at.
    if not any(_notes(folder) for folder in folders) and not any(map(left_over, goals)):
        return
    with locked(folders):
        _settle_notes(folders)
        for path in (path for goal in goals for path in left_over(goal)):
            if is_abandoned(path):
                remove(path)


def beside(goal: Path, ending: str = "part") -> Path:
    """A hidden name in the folder of the goal that nobody has taken."""
    return goal.with_name(f".{goal.name}.{secrets.token_hex(4)}.{ending}")


def left_over(goal: Path) -> list[Path]:
    """Unfinished files and folders for a goal: in the making, or left by a process that died."""
    pattern = re.compile(re.escape(f".{goal.name}.") + r"[0-9a-f]{8}\.part")
    return [path for path in _listed(goal.parent) if pattern.fullmatch(path.name)]


def remove(path: Path) -> None:
    """Remove a file or a folder; a link is removed, not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class _File:
    """One line of a note: a name, where what stood there was put, and what the new one is."""

    goal: Path
    aside: Path | None
    sha256: str | None

    @property
    def is_new(self) -> bool:
        """Whether the file under the name is the new one, by its content."""
        return self.sha256 is not None and _digest(self.goal) == self.sha256

    @property
    def was_moved(self) -> bool:
        return self.aside is not None and os.path.lexists(self.aside)

    def put_back(self) -> bool:
        """What stood there before, or nothing; False where a third thing stands there now."""
        if self.aside is None:
            if self.is_new:
                self.goal.unlink()
        elif self.was_moved:
            if os.path.lexists(self.goal) and not self.is_new:
                return False
            self.aside.replace(self.goal)
        return True


@dataclass(frozen=True)
class _Note:
    """What is about to be published, in the folder of the last file."""

    path: Path
    files: tuple[_File, ...]

    @property
    def is_done(self) -> bool:
        return self.path.suffix == DONE

    @property
    def last_stands(self) -> bool:
        """Whether the new one of the last name stands there, by the names alone.

        What stood there is removed only once the note says that all is done.
        """
        last = self.files[-1]
        return os.path.lexists(last.goal) and (last.aside is None or last.was_moved)

    def write(self) -> None:
        """On the disk, before anything is done."""
        folder = self.path.parent
        files = [
            {
                "goal": os.path.relpath(file.goal, folder),
                "aside": None if file.aside is None else file.aside.name,
                "sha256": file.sha256,
            }
            for file in self.files
        ]
        text = json.dumps({"format": FORMAT, "files": files}).encode()
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, text)
            os.fsync(handle)
        finally:
            os.close(handle)
        self.sync()

    def settle(self, finish: bool) -> None:
        """Finish, or put everything back: the others before the last, which they belong to."""
        if finish:
            self._finish()
            return
        kept = [file for file in self.files if not file.put_back()]
        self.sync()
        self.path.unlink(missing_ok=True)
        if kept:
            raise InvalidInput(
                "output", f"{kept[0].goal}, which was put there while it was published or after",
                "what stood there before", f"That is in {kept[0].aside} now: move one of them.",
            )  # fmt: skip

    def _finish(self) -> None:
        done = self.path.with_suffix(DONE)
        if not self.is_done:
            self.sync()
            self.path.rename(done)
            self.sync()
        for file in self.files:
            if file.aside is not None:
                remove(file.aside)
        done.unlink(missing_ok=True)

    def sync(self) -> None:
        """Names, too, have to reach the disk."""
        sync({self.path.parent, *(file.goal.parent for file in self.files)})


def _publish(entries: Sequence[Entry], force: bool) -> None:
    if len(entries) > 1:
        _publish_together(entries)
    elif force:
        entries[0].replace()
    else:
        entries[0].place()


def _publish_together(entries: Sequence[Entry]) -> None:
    last = entries[-1]
    files = tuple(
        _File(
            entry.goal,
            beside(entry.goal, "old") if os.path.lexists(entry.goal) else None,
            None if entry is last else entry.sha256(),
        )
        for entry in entries
    )
    note = _Note(last.goal.parent / f".chainveil-{secrets.token_hex(4)}{PENDING}", files)
    try:
        note.write()
        for file in reversed(files):
            if file.aside is not None:
                file.goal.rename(file.aside)
        for entry in entries:
            entry.place()
        note.settle(finish=True)
    except BaseException:
        _settle_again(note, last.stands())
        raise


def _settle_again(note: _Note, finish: bool) -> None:
    """After an error: from whichever of its two names the note has by now."""
    found = [path for path in (note.path, note.path.with_suffix(DONE)) if path.exists()]
    if found:
        _Note(found[0], note.files).settle(finish)


def _settle_notes(folders: Iterable[Path]) -> None:
    """Whoever holds the locks and finds a note knows that its writer is dead."""
    for path in (path for folder in folders for path in _notes(folder)):
        note = _read(path)
        if note is None:
            # Nothing is done before the note is whole.
            path.unlink(missing_ok=True)
        else:
            note.settle(note.is_done or note.last_stands)


def _notes(folder: Path) -> list[Path]:
    """Notes of our own; those of others are not obeyed."""
    return [path for path in _listed(folder) if NOTE.fullmatch(path.name) and _is_ours(path)]


def _is_ours(path: Path) -> bool:
    try:
        there = path.lstat()
    except OSError:
        return False
    small = there.st_size <= NOTE_BYTES
    return stat.S_ISREG(there.st_mode) and there.st_uid == os.geteuid() and small


def _read(path: Path) -> _Note | None:
    try:
        document = json.loads(path.read_bytes())
        if document["format"] != FORMAT:
            return None
        files = tuple(_read_file(path.parent, words) for words in document["files"])
    except (ValueError, KeyError, TypeError):
        return None
    return _Note(path, files) if files else None


def _read_file(folder: Path, words: dict[str, Any]) -> _File:
    goal = Path(os.path.normpath(folder / str(words["goal"])))
    aside, sha256 = words["aside"], words["sha256"]
    if aside is not None:
        # Names of ours only: a note that came from elsewhere touches nothing else.
        if not re.fullmatch(re.escape(f".{goal.name}.") + r"[0-9a-f]{8}\.old", aside):
            raise ValueError(aside)
        aside = goal.with_name(aside)
    return _File(goal, aside, None if sha256 is None else str(sha256))


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith("."))
    except OSError:
        return []


def _digest(path: Path) -> str | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not is_file(handle):
            return None
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(folders: Iterable[Path]) -> None:
    """Put the names in folders on the disk."""
    for folder in set(folders):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        except OSError as error:
            # Some file systems have no way to do this for a folder.
            if error.errno not in (errno.EINVAL, errno.EBADF, errno.EOPNOTSUPP):
                raise
        finally:
            os.close(handle)
