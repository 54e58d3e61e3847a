"""A release that is stopped at each of its steps, one process a step; run as a program.

``python -m tests.table.write.interrupting FOLDER HOW SCENE HOW SCENE …`` prints one JSON object a
line: how many steps there were, what stood there after each, and what was wrong.

The steps are those that Python itself reports (files opened, renamed, linked, removed, locked),
or, where HOW begins with "strace", every system call of the thread that publishes and that may
change a file; there "signal=SIGKILL" or "error=ENOSPC" follows. With "together" two releases run
at the same time.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chainveil as cv
from chainveil.spark.staging import staging
from chainveil.table.files import file_sink
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.request import Layout
from chainveil.table.write.atomic import drafts
from chainveil.table.write.publishing import recover
from tests.table.samples import asked

STEPS = {
    "open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "os.scandir",
    "fcntl.flock",
}  # fmt: skip
MOST_STEPS = 2_000
# System calls that fail on a disk that is full or broken.
MAY_FAIL = ("openat", "linkat", "rename", "unlink", "fsync", "flock", "write", "getdents64")
# System calls that leave every file as it was: stopped there, or at the next one, is the same.
ONLY_LOOK = {
    "newfstatat", "read", "lseek", "close", "getdents64", "futex", "getrandom", "getpid", "gettid",
    "brk", "mmap", "munmap", "mprotect", "madvise", "rt_sigprocmask", "rt_sigaction", "ioctl",
    "fcntl", "clone3", "clone",
}  # fmt: skip
PR_SET_PTRACER, ANY = 0x59616D61, -1


@dataclass(frozen=True)
class Scene:
    """Where the release goes, and what stands there before."""

    folder: Path
    force: bool
    apart: bool
    named: bool
    linkless: bool

    @property
    def release(self) -> Path:
        return self.folder / "out" / "r.csv"

    @property
    def certificate(self) -> Path:
        return self.folder / ("apart" if self.apart else "out") / "r.certificate.json"

    def prepare(self) -> None:
        for name in ("out", "apart"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir()
        if self.force:
            certificate, release = self.old()
            self.certificate.write_bytes(certificate or b"")
            self.put(release or b"")

    def put(self, release: bytes) -> None:
        self.release.write_bytes(release)

    def held(self) -> bytes:
        return self.release.read_bytes()

    def run(self) -> None:
        table = open_source(self.folder / "t.csv")
        goal = file_sink(str(self.release), table, str(self.certificate), self.force)
        chain = cv.MarkovChain.binary(0.1, 0.2)
        request = asked(Layout("x"), states=(0, 1), plan=PLAN or cv.calibrate(chain, 1.0))
        release_table(table, goal, request)

    def found(self) -> tuple[bytes | None, bytes | None]:
        certificate = self.certificate.read_bytes() if self.certificate.exists() else None
        return certificate, self.held() if self.release.exists() else None

    def hidden(self) -> list[str]:
        places = (self.certificate.parent, self.release.parent)
        return [path.name for place in places for path in place.iterdir() if path.name[0] == "."]

    def old(self) -> tuple[bytes | None, bytes | None]:
        if not self.force:
            return None, None
        return (self.folder / "old.json").read_bytes(), (self.folder / "old.csv").read_bytes()

    def word(self) -> str:
        """What stands there: "old", "new", "no release", or what must never be."""
        certificate, release = self.found()
        if (certificate, release) == self.old():
            return "old"
        if release is None:
            return "no release"
        if certificate is None:
            return "A RELEASE WITHOUT A CERTIFICATE"
        told = json.loads(certificate)["release"]["file"]["sha256"]
        return "new" if told == hashlib.sha256(release).hexdigest() else "A PAIR THAT IS NONE"


class FolderScene(Scene):
    """The release is a folder, as Spark's is; here without Spark."""

    @property
    def release(self) -> Path:
        return self.folder / "out" / "r.parquet"

    def run(self) -> None:
        goal = self.release
        with (
            staging(goal, self.force) as place,
            drafts([self.certificate], self.force, last=place) as (draft,),
        ):
            part = os.urandom(64)
            (place.attempts / "a").write_bytes(part)
            (place.attempts / "a").rename(place.release / "part-00000.parquet")
            digest = hashlib.sha256(part).hexdigest()
            draft.file.write(json.dumps({"release": {"file": {"sha256": digest}}}).encode())

    def put(self, release: bytes) -> None:
        self.release.mkdir()
        (self.release / "part-00000.parquet").write_bytes(release)

    def held(self) -> bytes:
        (part,) = self.release.iterdir()
        return part.read_bytes()


PLAN: Any = None


class Hook:
    """Ends the process, or interrupts it, at one of the steps that Python reports."""

    def __init__(self, scene: Scene, at: int, how: str) -> None:
        self.scene, self.at, self.how, self.count = scene, at, how, 0

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in STEPS:
            return
        nameless = event == "open" and isinstance(args[2], int) and _is_nameless(args[2])
        if self.scene.named and nameless:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        if self.scene.linkless and event == "os.link":
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        self.count += 1
        if self.count == self.at:
            if self.how == "interrupt":
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGKILL)


def _is_nameless(flags: int) -> bool:
    return flags & os.O_TMPFILE == os.O_TMPFILE


def _child(scene: Scene, at: int, how: str) -> None:
    code = 0
    try:
        if how.startswith("strace"):
            ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_long(ANY), 0, 0, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            sys.addaudithook(Hook(scene, at, how))
        scene.run()
    except KeyboardInterrupt:
        code = 3
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        code = 4
    finally:
        os._exit(code)


def attempt(scene: Scene, at: int, how: str, tracing: Sequence[str] = ()) -> int:
    """Run once, stopped at a step; the exit code, which is 0 where the step was never reached."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _child(scene, at, how)
    if tracing:
        _attach(child, tracing)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _attach(child: int, options: Sequence[str]) -> None:
    """Trace the one thread that publishes, from where it has stopped itself."""
    os.waitpid(child, os.WUNTRACED)
    command = ["strace", "-p", str(child), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracing:
        assert tracing.stderr is not None
        told = tracing.stderr.readline()
        os.kill(child, signal.SIGCONT)
        if "attached" not in told:
            os.kill(child, signal.SIGKILL)
            raise SystemExit(f"strace: {told}")
        tracing.stderr.read()


def calls(scene: Scene) -> list[tuple[str, int]]:
    """Every system call from the first draft on, with its number among those of its name."""
    scene.prepare()
    log = scene.folder / "calls"
    attempt(scene, 0, "strace", ["-o", str(log)])
    counts: Counter[str] = Counter()
    found, begun = [], False
    for line in log.read_text().splitlines():
        name = re.match(r"(\w+)\(", line)
        if name is None or name[1] in ("exit_group", "restart_syscall"):
            continue
        counts[name[1]] += 1
        begun = begun or "O_TMPFILE" in line
        if begun:
            found.append((name[1], counts[name[1]]))
    return found


def codes(scene: Scene, how: str) -> Iterator[tuple[str, int]]:
    """Stop at the first step, the second, and so on until the release is done."""
    if how.startswith("strace"):
        what = how.partition(" ")[2]
        found = calls(scene)
        for name, at in found:
            fails = what.startswith("error")
            ends = (name, at) in (found[0], found[-1])
            if name not in MAY_FAIL if fails else name in ONLY_LOOK and not ends:
                continue
            scene.prepare()
            inject = f"inject={name}:{what}:when={at}"
            yield f"{name} {at}", attempt(scene, at, how, ["-o", "/dev/null", "-e", inject])
        return
    for at in range(1, MOST_STEPS):
        scene.prepare()
        code = attempt(scene, at, how)
        if code == 0:
            return
        yield str(at), code
    raise SystemExit("never done")


def steps(scene: Scene, how: str) -> dict[str, Any]:
    """What stands there after each step at which it was stopped, at once and later."""
    at_once: Counter[str] = Counter()
    later: Counter[str] = Counter()
    wrong: list[str] = []
    for step, code in codes(scene, how):
        word, hidden = scene.word(), scene.hidden()
        at_once[word] += 1
        if word.isupper() or (how == "interrupt" and (word == "no release" or hidden)):
            wrong.append(f"step {step}, at once: {word}, {hidden}, code {code}")
        recover([scene.certificate, scene.release])
        later[scene.word()] += 1
        if scene.word() not in ("old", "new") or scene.hidden():
            wrong.append(f"step {step}, later: {scene.word()}, {scene.hidden()}, code {code}")
    return {"at once": at_once, "later": later, "wrong": wrong}


def together(scene: Scene, rounds: int = 40) -> dict[str, Any]:
    """Two releases to the same place at the same time, again and again."""
    found: Counter[str] = Counter()
    for _ in range(rounds):
        scene.prepare()
        pids = [_begin(scene) for _ in range(2)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        found[f"{scene.word()} {codes} {scene.hidden()}"] += 1
    return {"found": found}


def _begin(scene: Scene) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _child(scene, 0, "run")
    return child


def main() -> None:
    global PLAN
    folder, asked = Path(sys.argv[1]), sys.argv[2:]
    PLAN = cv.calibrate(cv.MarkovChain.binary(0.1, 0.2), 1.0)
    (folder / "t.csv").write_text("x\n" + "0\n1\n1\n0\n" * 20)
    for how, words in zip(asked[::2], asked[1::2], strict=True):
        print(json.dumps(_played(folder, how, words.split())), flush=True)


def _played(folder: Path, how: str, words: list[str]) -> dict[str, Any]:
    """What comes of one way to be stopped in one scene."""
    kind = FolderScene if "folder" in words else Scene
    scene = kind(folder, *(word in words for word in ("force", "apart", "named", "linkless")))
    # The old pair; the compiled loops are loaded on the way.
    first = kind(folder, False, scene.apart, scene.named, scene.linkless)
    first.prepare()
    first.run()
    (folder / "old.csv").write_bytes(first.held())
    shutil.copy(first.certificate, folder / "old.json")
    return together(scene) if how == "together" else steps(scene, how)


if __name__ == "__main__":
    main()
