"""Files that appear whole or not at all, and never in the place of one that was read.

All outputs are opened in their final folders before noise is drawn, so that nothing can be missing
afterwards: no folder, no permission. They have no names then, or hidden ones where a file system
knows no nameless files. They take their names together at the end, the release last:

1. The release gets a hidden name, ``.NAME.XXXXXXXX.part``, beside its own.
2. The other files take their names; with ``force``, the old release goes first.
3. The hidden name becomes the release's own.

A process that is killed before 3 leaves at most files beside which the release is missing, and the
hidden file. A later run finds that by its name pattern, its owner, its type and a lock that nobody
holds, and removes it; a certificate that tells its digest is of the same run, and is replaced.
Nothing that is named *inside* a file is ever touched.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from chainveil.errors import ChainveilError, InvalidInput
from chainveil.mechanism.randomness import Source as Randomness
from chainveil.next.certificate.document import Certificate, read_regular
from chainveil.next.certificate.make import ReleasedFile
from chainveil.next.table.read import (
    COMPRESSED,
    ENDINGS,
    Format,
    Table,
    format_of_path,
)
from chainveil.next.table.release import Prepared, Release, draw, prepare, with_file
from chainveil.next.table.states import Progress, Request, is_category

# Errors by which a file system says that it has no nameless files, or no second names.
_NO_NAMELESS = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Seconds to wait for another program that publishes to the same folder, which takes milliseconds.
PATIENCE_SECONDS = 60.0
# Rows of a record batch, and of a row group: those of every release, whatever its input had.
GROUP_ROWS = 1 << 18
CERTIFICATE_BYTES = 16 << 20


# --- formats ---------------------------------------------------------------------------------


def write_frame(frame: pl.DataFrame, form: Format, file: BinaryIO) -> None:
    """Write a release in a format."""
    if form.is_text:
        _write_text(frame, form, file)
    elif form.name == "parquet":
        frame.write_parquet(file, compression="zstd", row_group_size=GROUP_ROWS, metadata=None)
    else:
        frame.write_ipc(file, compression="lz4", compat_level=pl.CompatLevel.oldest(),
                        record_batch_size=GROUP_ROWS)  # fmt: skip


def _write_text(frame: pl.DataFrame, form: Format, file: BinaryIO) -> None:
    if not form.has_quotes:
        _check_cells(frame, form)
    options: dict[str, Any] = {"null_value": form.empty}
    if form.compression is not None:
        options |= {"compression": form.compression, "check_extension": False}
    frame.write_csv(file, separator=form.separator,
                    quote_style="necessary" if form.has_quotes else "never", **options)  # fmt: skip


def _check_cells(frame: pl.DataFrame, form: Format) -> None:
    """Error for the first cell that a format without quotes cannot hold."""
    pattern = r"[\t\r\n]" if form.name == "tsv" else r"^$|\s"
    what = {"tsv": "a tab or a line end", "text": "a blank, or nothing"}[form.name]
    for name in frame.columns:
        if re.search(pattern, name):
            raise _unwritable(what, "the header", name)
    for column in frame:
        if column.dtype == pl.String or is_category(column.dtype) or column.dtype.is_temporal():
            wrong = column.cast(pl.String).str.contains(pattern).fill_null(False)
            if wrong.any():
                raise _unwritable(what, f"row {int(wrong.arg_max() or 0) + 1}", column.name)


def _unwritable(what: str, place: str, name: str) -> InvalidInput:
    return InvalidInput("output", f"a cell that holds {what}, in {place} of the release, column "
                        f"{name!r}", "cells that the format can hold",
                        "Write CSV instead, which has quotes.")  # fmt: skip


# --- outputs ---------------------------------------------------------------------------------


@dataclass
class Draft:
    """A file in its final folder that has no name yet, or a hidden one."""

    goal: Path
    mode: int = 0o666
    hidden: Path | None = None
    # What the file will replace, where that is known to be an unfinished run's.
    replaces: bool = False

    def __post_init__(self) -> None:
        self.file = self._open()

    def _open(self) -> BinaryIO:
        flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
        if sys.platform == "linux" and Path("/proc/self/fd").exists():
            try:
                handle = os.open(self.goal.parent, os.O_TMPFILE | flags, self.mode)
                _claim(handle)
                return os.fdopen(handle, "wb")
            except OSError as error:
                if error.errno not in _NO_NAMELESS:
                    raise
        self.hidden = _beside(self.goal)
        handle = os.open(self.hidden, os.O_CREAT | os.O_EXCL | flags, self.mode)
        _claim(handle)
        return os.fdopen(handle, "wb")

    def seal(self) -> None:
        """All of it, on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def described(self) -> tuple[int, str]:
        """Size and SHA-256 of what was written."""
        self.file.flush()
        with open(os.dup(self.file.fileno()), "rb") as again:  # noqa: PTH123
            again.seek(0)
            found = hashlib.file_digest(again, "sha256").hexdigest()
            return again.tell(), found

    def hide(self) -> None:
        """Give a nameless file a hidden name beside its own."""
        if self.hidden is None:
            name = _beside(self.goal)
            self._link(name)
            self.hidden = name

    def place(self, force: bool) -> None:
        """Give the finished file its name; without ``force`` nothing may stand there."""
        if force or self.replaces:
            self.hide()
            assert self.hidden is not None
            self.hidden.replace(self.goal)
            self.hidden = None
            return
        try:
            if self.hidden is None:
                self._link(self.goal)
                return
            try:
                os.link(self.hidden, self.goal)
                self.hidden.unlink()
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if os.path.lexists(self.goal):
                    raise FileExistsError(str(self.goal)) from None
                self.hidden.rename(self.goal)
            self.hidden = None
        except FileExistsError:
            raise _exists(self.goal) from None

    def remove(self) -> None:
        """Take the name away again that the file was given."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self.file.fileno()), self.goal.lstat()):
                self.goal.unlink()

    def discard(self) -> None:
        """Leave nothing behind but what has its name."""
        if self.hidden is not None:
            with contextlib.suppress(OSError):
                self.hidden.unlink()
        with contextlib.suppress(OSError):
            self.file.close()

    def _link(self, name: Path) -> None:
        folder = os.open(name.parent, os.O_RDONLY)
        try:
            # Only with a folder given does the call follow the link in /proc to the file.
            here = f"/proc/self/fd/{self.file.fileno()}"
            os.link(here, name.name, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)


def _claim(handle: int) -> None:
    """Show other runs that the file is in use for as long as this process lives."""
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _beside(goal: Path) -> Path:
    return goal.with_name(f".{goal.name}.{secrets.token_hex(4)}.part")


def real_path(goal: str | Path) -> Path:
    """The path without symbolic links and dots in its folders; its last name stays."""
    path = Path(goal)
    return path.parent.resolve() / path.name


def check_goal(goal: Path, force: bool, reads: Iterable[Path] = (), name: str = "output") -> None:
    """Error if something would be overwritten that should not be: files that are read, never."""
    try:
        found = goal.lstat()
    except OSError:
        found = None
    if found is not None:
        for path in reads:
            with contextlib.suppress(OSError):
                if os.path.samestat(found, path.stat()) or os.path.samestat(found, path.lstat()):
                    raise InvalidInput(name, f"{goal}, a file that this command reads",
                                       "another file")  # fmt: skip
        kind = stat.S_IFMT(found.st_mode)
        if kind == stat.S_IFDIR:
            raise InvalidInput(name, str(goal), "a file, not a folder")
        if kind == stat.S_IFLNK:
            raise InvalidInput(name, f"{goal}, a symbolic link", "a file or a new name",
                               "Name what it points to.")  # fmt: skip
        if kind != stat.S_IFREG:
            raise InvalidInput(
                name, f"{goal}, a pipe, a socket or a device", "a file or a new name",
                "These are never replaced; a release goes to a pipe with -o -.",
            )  # fmt: skip
        if not force:
            raise _exists(goal, name)
    if not goal.parent.is_dir():
        raise InvalidInput(name, str(goal), "a folder that exists")


def _exists(goal: Path, name: str = "output") -> InvalidInput:
    return InvalidInput(name, f"{goal}, which exists", "a new file", "Overwrite it with --force.")


def _check_apart(goals: Sequence[Path]) -> None:
    """Error where two outputs are one file, however they are spelled."""
    for i, goal in enumerate(goals):
        for other in goals[:i]:
            same = real_path(goal) == real_path(other)
            with contextlib.suppress(OSError):
                same = same or os.path.samestat(goal.lstat(), other.lstat())
            if same:
                raise InvalidInput("output", f"{goal}, for two files", "a file for each")


@contextmanager
def outputs(
    goals: Sequence[str | Path],
    force: bool = False,
    reads: Iterable[Path] = (),
    private: Sequence[bool] = (),
    names: Sequence[str] = (),
) -> Iterator[list[Draft]]:
    """Files that take their names together at the end, the last one last; none on an error.

    Parameters
    ----------
    goals : sequence of path
        The files, the release last.
    force : bool
        Whether files that stand there are replaced.
    reads : iterable of path
        Files that the command reads, which are never replaced.
    private, names : sequence, optional
        For each goal: whether its owner alone may read it, and the option that names it.
    """
    paths, reads = [real_path(goal) for goal in goals], list(reads)
    _check_apart(paths)
    unfinished = recover(paths) if paths else set()
    drafts: list[Draft] = []
    try:
        for number, path in reversed(list(enumerate(paths))):
            option = names[number] if names else "output"
            check_goal(path, force or path in unfinished, reads, option)
        with _in_words(paths):
            for number, path in enumerate(paths):
                mode = 0o600 if private and private[number] else 0o666
                drafts.append(Draft(path, mode, replaces=path in unfinished))
            yield drafts
            for draft in drafts:
                draft.seal()
            _publish(drafts, force, reads)
    finally:
        for draft in drafts:
            draft.discard()


def _publish(drafts: list[Draft], force: bool, reads: list[Path]) -> None:
    if not drafts:
        return
    *others, last = drafts
    with _locked({draft.goal.parent for draft in drafts}):
        for draft in drafts:
            check_goal(draft.goal, force or draft.replaces, reads)
        if others:
            last.hide()
        if force and others and last.goal.exists():
            last.goal.unlink()
        placed: list[Draft] = []
        try:
            for draft in others:
                draft.place(force)
                placed.append(draft)
            _sync({draft.goal.parent for draft in others})
            last.place(force)
        except BaseException:
            if not _stands(last):
                for draft in placed:
                    draft.remove()
            raise
        _sync({last.goal.parent})


def _stands(draft: Draft) -> bool:
    try:
        return os.path.samestat(os.fstat(draft.file.fileno()), draft.goal.lstat())
    except (OSError, ValueError):
        return False


def recover(goals: Sequence[Path]) -> set[Path]:
    """Remove what a run that was killed has left; returns the goals that it had written.

    The release is the last of the goals. A certificate is taken for that run's if the release is
    not there and the certificate tells the digest of the hidden file.
    """
    release, unfinished = goals[-1], set()
    for goal in goals:
        for path in _left_over(goal):
            if goal == release and not os.path.lexists(release):
                found = _digest(path)
                unfinished |= {other for other in goals[:-1] if _tells(other, found)}
            with contextlib.suppress(OSError):
                path.unlink()
    return unfinished


def _left_over(goal: Path) -> list[Path]:
    """Hidden files of ours for a goal that no process uses any more."""
    pattern = re.compile(re.escape(f".{goal.name}.") + r"[0-9a-f]{8}\.part")
    try:
        found = [path for path in goal.parent.iterdir() if pattern.fullmatch(path.name)]
    except OSError:
        return []
    return [path for path in found if _is_abandoned(path)]


def _is_abandoned(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        there = os.fstat(handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return stat.S_ISREG(there.st_mode) and there.st_uid == os.geteuid()


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _tells(path: Path, digest: str | None) -> bool:
    """Whether a file is a certificate of ours that speaks of a file with this digest."""
    try:
        if path.lstat().st_uid != os.geteuid() or digest is None:
            return False
        text = read_regular(path, CERTIFICATE_BYTES)
        return text is not None and Certificate.from_json(text)["release.file.sha256"] == digest
    except (OSError, ChainveilError):
        return False


@contextmanager
def _locked(folders: set[Path]) -> Iterator[None]:
    """Hold the locks of folders while names are given, where a file system has such locks."""
    # In one order everywhere, and each folder once, or two processes could wait for ever.
    known = {(there.st_dev, there.st_ino): folder
             for folder in folders for there in [folder.stat()]}  # fmt: skip
    with contextlib.ExitStack() as held:
        for _, folder in sorted(known.items()):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            held.callback(os.close, handle)
            _wait_for(handle, folder)
        yield


def _wait_for(handle: int, folder: Path) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < end:
                time.sleep(0.02)
                continue
            raise InvalidInput(
                "output", f"{folder}, in which another program is publishing", "a folder that is "
                f"free within {PATIENCE_SECONDS:.0f} seconds", "Try again when it has ended.",
            ) from None  # fmt: skip
        except OSError:
            # No locks here: links still refuse what exists.
            return
        return


def _sync(folders: set[Path]) -> None:
    """Put the names in folders on the disk."""
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        except OSError as error:
            # Some file systems have no way to do this for a folder.
            if error.errno not in (errno.EINVAL, errno.EBADF, errno.EOPNOTSUPP):
                raise
        finally:
            os.close(handle)


@contextmanager
def _in_words(goals: Sequence[Path]) -> Iterator[None]:
    """A full disk, or a folder that may not be written to, as an error of ours."""
    folder = goals[0].parent if goals else Path()
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        # Polars tells the number of an error of the system in its message alone.
        told = re.search(r"os error (\d+)", str(error))
        code = getattr(error, "errno", None) or (int(told[1]) if told else None)
        if code in _FULL:
            raise InvalidInput("output", f"no space left in {folder}", "room for the whole release",
                               "Nothing was written.") from None  # fmt: skip
        if code in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise InvalidInput("output", f"{folder}: {os.strerror(code)}",
                               "a folder that may be written to") from None  # fmt: skip
        raise


# --- a release from table to files -----------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """Where a release goes.

    Attributes
    ----------
    release : str
        A path, or - for standard output.
    certificate, who : path, optional
        The certificate, by default beside the release, and the private list of who is who.
    force : bool
        Whether files that stand there are replaced.
    reads : tuple of path
        Files besides the table that the command reads.
    """

    release: str
    certificate: Path | None = None
    who: Path | None = None
    force: bool = False
    reads: tuple[Path, ...] = ()

    def format(self, delimiter: str = ",") -> Format:
        """The format that the name of the release tells; CSV on standard output."""
        if self.release == "-":
            return Format("csv", None, delimiter)
        found = format_of_path(self.release, argument="output")
        return Format(found.name, found.compression, delimiter)


def certificate_path(release: str | Path) -> Path:
    """``release.parquet`` has its certificate in ``release.certificate.json``."""
    path = Path(release)
    name = path.name
    if not name:
        raise InvalidInput("release", str(release), "a file, not a folder")
    for ending in reversed(path.suffixes):
        if ending.lower() in {**ENDINGS, **COMPRESSED}:
            name = name.removesuffix(ending)
    return path.with_name(name + ".certificate.json")


def sanitize_to_file(
    table: Table,
    request: Request,
    goal: Goal,
    rng: Randomness | None = None,
    progress: Progress | None = None,
    told: Any = None,
) -> Release:
    """Release a table to files: all of them, or none.

    ``told`` gets what was prepared, before noise is drawn; what it returns is published as it is.
    """
    form = goal.format(table.format.delimiter)
    certificate = goal.certificate
    if certificate is None and goal.release != "-":
        certificate = certificate_path(goal.release)
    plan = [("private_report", goal.who, True), ("certificate", certificate, False),
            ("output", None if goal.release == "-" else Path(goal.release), False)]  # fmt: skip
    wanted = [(name, path, private) for name, path, private in plan if path is not None]
    with outputs(
        [path for _, path, _ in wanted], goal.force, (*table.files, *goal.reads),
        [private for *_, private in wanted], [name for name, *_ in wanted],
    ) as drafts:  # fmt: skip
        files = {name: draft for (name, *_), draft in zip(wanted, drafts, strict=True)}
        prepared: Prepared = prepare(table, request, rng, progress)
        if told is not None:
            told(prepared)
        release = draw(prepared, form.empty)
        if "output" in files:
            write_frame(release.frame, form, files["output"].file)
            size, found = files["output"].described()
            release = with_file(release, ReleasedFile(str(form), size, found))
        if "certificate" in files:
            files["certificate"].file.write(release.certificate.to_json().encode())
        if "private_report" in files:
            files["private_report"].file.write(who_is_who(prepared))
        if goal.release == "-":
            for draft in drafts:
                draft.seal()
            write_frame(release.frame, form, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    return release


def who_is_who(prepared: Prepared) -> bytes:
    """The names of the series beside their pseudonyms, as CSV. Private."""
    named = prepared.request.series is not None
    names = prepared.points.names if named else []
    published = prepared.points.published if named else []
    frame = pl.DataFrame({"series": published, "name": names},
                         schema={"series": pl.String, "name": pl.String})  # fmt: skip
    return frame.write_csv().encode()
