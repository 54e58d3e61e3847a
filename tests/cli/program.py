"""Run the real program in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-m", "chainveil.cli"]


def environment() -> dict[str, str]:
    """Ours, without what could colour the output."""
    dropped = ("FORCE_COLOR", "COLORTERM", "CHAINVEIL_COMPLETE")
    return {name: value for name, value in os.environ.items() if name not in dropped}


def experiments(
    *arguments: str | Path, folder: Path, code: int | None = 0
) -> subprocess.CompletedProcess[bytes]:
    """``python -m experiments`` of this checkout, run in a folder."""
    command = [sys.executable, "-m", "experiments", *map(str, arguments)]
    return _run(command, folder, environment() | {"PYTHONPATH": str(ROOT)}, b"", code)


def program(
    *arguments: str | Path, folder: Path, stdin: bytes = b"", code: int | None = 0
) -> subprocess.CompletedProcess[bytes]:
    """One command; fails the test where the exit code is another than ``code``."""
    return _run([*PROGRAM, *map(str, arguments)], folder, environment(), stdin, code)


def _run(
    command: list[str], folder: Path, variables: dict[str, str], stdin: bytes, code: int | None
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        command, input=stdin, capture_output=True, cwd=folder, env=variables, check=False,
        timeout=120,
    )  # fmt: skip
    told = f"{done.stdout.decode()}\n{done.stderr.decode()}"
    assert code is None or done.returncode == code, f"exit code {done.returncode}: {told}"
    assert b"Traceback" not in done.stderr, told
    assert b"\x1b[" not in done.stdout + done.stderr, "colour off a terminal"
    return done
