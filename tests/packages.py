"""Wheel and sdist, tried in empty environments: ``python -m tests.packages [WORD …] [--extras]``.

The wheel is built from the sdist, so that the sdist is complete. It is installed without extras on
every Python that is declared and here, and with the lowest versions that are declared; each time
the commands and the tests of the core run from what was installed. Extras are put on top.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.interpreters import interpreter

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = ROOT / "constraints.txt"
CORE = ("tests/privacy/test_closed_form.py", "tests/privacy/test_loss.py",
        "tests/mechanism/test_stream.py", "tests/mechanism/test_exact.py", "tests/noise",
        "tests/device", "tests/cli/test_export.py", "tests/cli/test_help.py")  # fmt: skip
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
TESTERS = ("pytest", "hypothesis")
# Extras, and what shows that they are there; the long ones on request only, since the development
# environment has them all.
EXTRAS = {
    "plot": "import chainveil as cv; cv.plot.tradeoff([1, 2], {'a': [0.2, 0.1]})",
    "report": "import chainveil as cv; plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), 2); "
    "cv.report.release_page(plan.certificate()).save('page.html')",
    "docs": "import furo, myst_parser, numpydoc, sphinx",
    "lstm": "import chainveil as cv; cv.attack.LSTMSettings()",
    "spark": "import chainveil.spark",
}
QUICK = ("plot", "report")
SESSION = """
import csv, pathlib, random
random.seed(1)
with open("pace.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["person", "bpm"])
    rows.writerows([[n % 3, random.randint(50, 70)] for n in range(300)])
"""
COMMANDS = (
    ("--version",),
    ("calibrate", "--q", "0.2", "--r", "0.3", "--epsilon", "3", "--mechanism", "independent",
     "-o", "plan.json"),
    ("sanitize", "pace.csv", "--column", "bpm", "--series", "person", "--threshold", "60", "--plan",
     "plan.json", "-o", "out.parquet"),
    ("verify", "out.certificate.json", "out.parquet"),
    ("export", "plan.json", "-o", "sanitizer.py"),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One environment: its Python, whether versions are the lowest, extras to put on top."""

    python: str
    lowest: bool = False
    extras: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Python and versions, in words."""
        versions = "lowest versions" if self.lowest else "versions of constraints.txt"
        return f"Python {self.python.removeprefix('python')}, {versions}"


def cases(all_extras: bool) -> Iterator[Case]:
    """All environments."""
    minors = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"]
              if re.search(r":: 3\.\d+$", line)]  # fmt: skip
    extras = tuple(EXTRAS) if all_extras else QUICK
    for number, minor in enumerate(minors):
        yield Case(f"python{minor}", extras=extras if number == 0 else ())
    yield Case(f"python{minors[0]}", lowest=True)


def lowest_pins() -> list[str]:
    """The declared requirements with their least versions."""
    return [line.replace(">=", "==") for line in PROJECT["dependencies"]]


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel, built from the sdist, and the unpacked sdist."""
    home = folder / "builder"
    _call([sys.executable, "-m", "venv", str(home)], folder)
    python = str(home / "bin/python")
    _call([python, *PIP, "install", "--no-compile", "hatchling", "--constraint", str(PINS)], home)
    hatchling = [python, "-m", "hatchling", "build", "-d", str(folder), "-t"]
    _call([*hatchling, "sdist"], ROOT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    source = folder / archive.name.removesuffix(".tar.gz")
    _call([*hatchling, "wheel"], source)
    (wheel,) = folder.glob("*.whl")
    return wheel, source


def missing(wheel: Path, source: Path) -> list[str]:
    """Tracked files that the sdist lacks, and what a wheel must have and has not."""
    told = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    tracked = told.stdout.splitlines() if told.returncode == 0 else []
    gone = [f"sdist: {name}" for name in tracked if not (source / name).exists()]
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (ROOT / "src/chainveil").rglob("*")
             if path.is_file() and "__pycache__" not in path.parts]  # fmt: skip
    wanted = {path.relative_to(ROOT / "src").as_posix() for path in files}
    return gone + [f"wheel: {name}" for name in sorted(wanted - names)]


def try_out(case: Case, wheel: Path, source: Path, folder: Path) -> str:
    """What became of one case, in words; an error where something failed."""
    python = interpreter(case.python)
    if python is None:
        return f"skipped: {case.python} is not installed"
    begin = time.perf_counter()
    home = folder / re.sub(r"\W+", "-", case.name)
    _call([python, "-m", "venv", str(home)], folder)
    _install(case, str(wheel), home)
    _session(home)
    done = _call([str(home / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m",
                  "not slow", "-o", "addopts=", *CORE], source)  # fmt: skip
    last = done.strip().splitlines()[-1]
    for extra in case.extras:
        _install(case, f"{wheel}[{extra}]", home)
        _call([str(home / "bin/python"), "-c", EXTRAS[extra]], home)
    told = f"; extras {', '.join(case.extras)}" if case.extras else ""
    return f"{last}{told}; {time.perf_counter() - begin:.0f} s in all"


def _install(case: Case, target: str, home: Path) -> None:
    """The wheel from its file, everything else from the index; nothing may contradict."""
    chosen = lowest_pins() if case.lowest else ["--constraint", str(PINS)]
    pip = [str(home / "bin/python"), *PIP]
    # Most of what is installed is never imported: what is gets compiled then.
    _call([*pip, "install", "--no-compile", target, *TESTERS, *chosen], home)
    _call([*pip, "check"], home)


def _session(home: Path) -> None:
    """From a table to a release, its check and a program, by the installed command."""
    _call([str(home / "bin/python"), "-c", SESSION], home)
    for command in COMMANDS:
        _call([str(home / "bin/chainveil"), *command], home)


def _call(command: list[str], folder: Path) -> str:
    """What a command printed; an error with its last lines where it failed."""
    clean = {name: value for name, value in os.environ.items()
             if name not in ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")}  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, env=clean, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-30:])
        raise RuntimeError(f"{Path(command[0]).name} {' '.join(command[1:4])} …:\n{tail}")
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    """Try all cases, two at a time; the exit code counts those that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--extras", action="store_true", help="all of them, also those that take long"
    )
    parser.add_argument(
        "words", nargs="*", help="only environments with one of these in their name"
    )
    given = parser.parse_args(arguments)
    failures = 0
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(2) as workers:
        folder = Path(place)
        wheel, source = build(folder)
        gone = missing(wheel, source)
        print(f"{wheel.name}, built from the sdist: {'; '.join(gone) or 'complete'}", flush=True)
        tried = {case: workers.submit(try_out, case, wheel, source, folder)
                 for case in cases(given.extras)
                 if not given.words or any(word in case.name for word in given.words)}  # fmt: skip
        for case, work in tried.items():
            error = work.exception()
            failures += error is not None
            told = work.result() if error is None else f"FAILED: {error}"
            print(f"{case.name}: {told}", flush=True)
    return failures + bool(gone)


if __name__ == "__main__":
    sys.exit(main())
