"""Run the real program: in a process of its own, or in this one, without a second of imports."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from chainveil.cli import run

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


def called(
    *arguments: str | Path, folder: Path, stdin: bytes = b"", code: int | None = 0
) -> subprocess.CompletedProcess[bytes]:
    """As :func:`program`, in this process."""
    given, out, err = (io.TextIOWrapper(io.BytesIO(held), "utf-8") for held in (stdin, b"", b""))
    command = [str(argument) for argument in arguments]
    streams = (chdir(folder), redirect_stdout(out), redirect_stderr(err))
    with streams[0], streams[1], streams[2], pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", given)
        found = run(command)
    out.flush()
    err.flush()
    told = [stream.buffer.getvalue() for stream in (out, err)]
    return _checked(subprocess.CompletedProcess(command, found, *told), code)


def _run(
    command: list[str], folder: Path, variables: dict[str, str], stdin: bytes, code: int | None
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        command, input=stdin, capture_output=True, cwd=folder, env=variables, check=False,
        timeout=120,
    )  # fmt: skip
    return _checked(done, code)


def _checked(
    done: subprocess.CompletedProcess[bytes], code: int | None
) -> subprocess.CompletedProcess[bytes]:
    told = f"{done.stdout.decode()}\n{done.stderr.decode()}"
    assert code is None or done.returncode == code, f"exit code {done.returncode}: {told}"
    assert b"Traceback" not in done.stderr, told
    assert b"\x1b[" not in done.stdout + done.stderr, "colour off a terminal"
    return done
