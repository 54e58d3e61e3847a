"""All benchmarks in one run, written to a page: ``python -m benchmarks [NAME …] [-o FILE]``.

Without names, all that take minutes at most, one after another. The page says when, on what
machine and with which versions; it names no host and no folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import chainveil

HERE = Path(__file__).parent
RESULTS = HERE / "results.md"
# Studies of many minutes, each with a table of its own in the documentation; the peers of
# sanitizing are called by its benchmark; the clock is shared; versions are compared by hand.
STUDIES = {
    "coverage",
    "coverage_sticky",
    "coverage_table",
    "estimate_error",
    "finite_states",
    "false_alarms",
    "left_out",
    "recommendation",
}
SKIP = STUDIES | {"__init__", "__main__", "core_versions", "sanitize_peers", "timing"}
PACKAGES = ("numpy", "numba", "scipy", "cryptography", "python-flint", "hmmlearn", "dynamax")
# A Python with the packages of peers.txt, which want older versions of what we use.
PEERS = "CHAINVEIL_PEERS"


def names() -> list[str]:
    """The benchmarks of this folder."""
    return [path.stem for path in sorted(HERE.glob("*.py")) if path.stem not in SKIP]


def machine() -> str:
    """Processor, cores and memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}"


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    found = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.machine()


def versions() -> str:
    """Of Python and of the packages that are compared, those that are missing among them."""
    told = [f"Python {platform.python_version()}", f"chainveil {chainveil.__version__}"]
    for name in PACKAGES:
        try:
            told.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            told.append(f"{name} not installed")
    return ", ".join(told)


def head(chosen: list[str]) -> str:
    """When, where and with what."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"# Benchmarks\n\nWritten by `python -m benchmarks {' '.join(chosen)}`, in one run; times "
        f"differ from run to run, ratios less.\n\n- date: {now}\n- machine: {machine()}\n"
        f"- versions: {versions()}\n"
    )


def section(name: str, text: str) -> str:
    """One benchmark: its command, and what it printed; tables stay tables."""
    body = text.strip()
    shown = body if body.startswith("|") else f"```text\n{body}\n```"
    return f"## {name}\n\n`python -m benchmarks.{name}`\n\n{shown}\n"


def run(name: str) -> tuple[int, str]:
    """The exit code of a benchmark, and what it printed."""
    python = os.environ.get(PEERS, sys.executable) if name == "peers" else sys.executable
    command = [python, "-m", f"benchmarks.{name}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmarks and write the page; the exit code counts the failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(names()))
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    unknown = set(given.names) - set(names())
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    parts, failures = [head(given.names or names())], 0
    for name in given.names or names():
        print(f"== {name}", flush=True)
        code, text = run(name)
        print(text, flush=True)
        failures += code != 0
        parts.append(section(name, text if code == 0 else f"failed with exit code {code}"))
    draft = given.output.with_suffix(".new")
    draft.write_text("\n".join(parts), encoding="utf-8")
    draft.replace(given.output)
    return failures


if __name__ == "__main__":
    sys.exit(main())
